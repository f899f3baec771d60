"""What can go wrong, said for the person at the screen: what it was, the value received, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal


class TfmvizError(Exception):
    """Base of every error this package raises on purpose. ``str(error)`` is a sentence fit to be shown."""


class ConfigError(TfmvizError):
    """A configuration that cannot be built, such as a width that the heads do not divide."""


class EmptyText(TfmvizError):
    """Nothing to look at: the text is empty or only blanks that the tokenizer drops."""


class UnreadableText(TfmvizError):
    """A text with half a surrogate pair: no character, and nothing a tokenizer can read.

    Attributes:
        at: offset of the first such half.
    """

    def __init__(self, text: str, at: int) -> None:
        self.at = at
        super().__init__(
            f"Character {at:,} of the text is U+{ord(text[at]):04X}, half of a character. "
            "The text was damaged on its way here: copy it again."
        )


class UnreadableFile(TfmvizError):
    """A file that holds no text that can be told: too large, not a text, or in an encoding that it does not name."""


class TextTooLong(TfmvizError):
    """A text with more tokens than the model takes.

    Attributes:
        n_tokens: tokens of the text (of both sentences, where there are two), special tokens included.
        max_tokens: the most that the model takes.
        cut_at: character offset of the last token border that still fits; ``text[:cut_at]`` is accepted.
        part: which of the texts to cut there: "text", "pair" (the second sentence) or "target".
    """

    _NAMES: ClassVar = {"text": "the text", "pair": "the second sentence", "target": "the target"}

    def __init__(
        self,
        n_tokens: int,
        max_tokens: int,
        cut_at: int,
        *,
        model: str = "the model",
        part: Literal["text", "pair", "target"] = "text",
        together: bool = False,
    ) -> None:
        self.n_tokens = n_tokens
        self.max_tokens = max_tokens
        self.cut_at = cut_at
        self.part = part
        name = self._NAMES[part]
        super().__init__(
            f"{'The two sentences have' if together else name.capitalize() + ' has'} {n_tokens:,} tokens and {model} "
            f"takes {max_tokens:,}. Shorten it, or cut {name} after character {cut_at:,}, the last token border that "
            "fits."
        )


class ModelNotFound(TfmvizError):
    """No model of this name in the catalogue, on this disk, or on the Hub.

    Attributes:
        name: what was asked for.
        tried: the places looked at, in order, each with why it failed.
    """

    def __init__(self, name: str, tried: Sequence[str]) -> None:
        self.name = name
        self.tried = tuple(tried)
        super().__init__(f"No model {name!r}. Tried: " + "; ".join(self.tried) + ".")


class CheckpointError(TfmvizError):
    """Weights that are damaged, of another shape, or in a format that could run code."""


class UnknownDevice(TfmvizError):
    """A device this machine does not have."""


class UnknownMask(TfmvizError):
    """A mask rule this model cannot run under."""


class UnsupportedModel(TfmvizError):
    """A model that loads but has no text attention to show."""


class NotEnoughMemory(TfmvizError):
    """A pass that would not fit, refused before it starts; or one that ran out of memory all the same.

    Attributes:
        needed: bytes the pass is predicted to take.
        available: bytes that are free on the device.
    """

    def __init__(
        self, needed: int, available: int, *, what: str, do: str = "Use a shorter text or a smaller model."
    ) -> None:
        self.needed = needed
        self.available = available
        foreseen, free = f"{needed / 1e9:.2g} GB", f"{available / 1e9:.2g} GB"
        said = (
            f"would need about {foreseen} and {free} are free"
            if needed > available
            else f"ran out of memory, though only about {foreseen} were foreseen and {free} are free now"
        )
        super().__init__(f"{what} {said}. {do}")


class NoAttention(TfmvizError):
    """Weights were asked of a layer that has no attention, such as a state-space layer of a hybrid."""


class OutOfRange(TfmvizError, IndexError):
    """A layer, head, row or column that is not there."""


class TrainingDiverged(TfmvizError):
    """A training whose loss or gradient is no longer a number.

    Attributes:
        step: the step that failed, from 1.
    """

    def __init__(self, step: int, learning_rate: float) -> None:
        self.step = step
        super().__init__(
            f"The loss was no longer a number at step {step:,}. A learning rate of {learning_rate:g} was too high: "
            "use a lower one, a longer warm-up, or pre-norm blocks."
        )
