"""The leakage test: change one token, and see which others notice.

Under a causal mask nothing before the changed token may change, in any layer. Under a bidirectional one everything does
from the first layer on, which is why a model that can see the future cannot be trained to foretell it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tfmviz.analysis.masks_pass import passed
from tfmviz.errors import ConfigError, OutOfRange
from tfmviz.models import Model
from tfmviz.nn import Mask, parse
from tfmviz.text import Token

# Characters of two, three and four bytes among them, for models that read bytes.
_OTHERS = ("a", "b", "x", "7", "one", "sea", "water", "é", "ж", "語", "あ", "🌊", "🚀")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Leakage:
    """How far each token's state moved, layer by layer, when one token was replaced.

    Attributes:
        tokens: before the change, n of them.
        changed: after it.
        at: the first position that holds another token.
        movement: length of the difference over length of the state before, after the embedding and each layer;
            exactly 0 where nothing changed. [layers + 1, n]
    """

    tokens: tuple[Token, ...]
    changed: tuple[Token, ...]
    at: int
    movement: Float[Tensor, "layers_and_one n"]

    @property
    def before(self) -> float:
        """The largest movement of a token before the changed one, in any layer; 0 if there is none before."""
        return float(self.movement[:, : self.at].max()) if self.at else 0.0

    @property
    def moved_before(self) -> int:
        """Tokens before the changed one whose state moved at all in the last layer."""
        return int((self.movement[-1, : self.at] > 0).sum())


def leakage(
    model: Model,
    text: str,
    at: int,
    *,
    replacement: str | None = None,
    mask: str | Mask | None = None,
    pair: str | None = None,
) -> Leakage:
    """Replace the token at a position and compare the states of all tokens.

    Args:
        model: any; of an encoder-decoder its encoder is tested.
        text: what was typed.
        at: position of the token to replace, counted as in ``model.tokenize(text)``.
        replacement: what to write in its place; None for the first thing that leaves the other tokens as they are.
        mask: in place of the model's own, for from-scratch models.
        pair: a second sentence, which stays as it is.

    Raises:
        OutOfRange: if there is no token at ``at``, or it was not typed.
        ConfigError: if the text with the replacement has another number of tokens, or the same ones.
        UnknownMask: if the model cannot run under the mask.
    """
    tokens = model.tokenize(text, pair)
    written, changed = _replaced(model, text, pair, tokens, at, replacement)
    first = next(i for i, (a, b) in enumerate(zip(tokens, changed, strict=True)) if a.id != b.id)
    states = [_states(model, one, pair, seen, mask) for one, seen in ((text, tokens), (written, changed))]
    movement = torch.stack(
        [
            (b - a).norm(dim=-1) / a.norm(dim=-1).clamp(min=torch.finfo(torch.float32).tiny)
            for a, b in zip(*states, strict=True)
        ]
    )
    return Leakage(tokens=tokens, changed=changed, at=first, movement=movement)


def _states(
    model: Model, text: str, pair: str | None, tokens: Sequence[Token], mask: str | Mask | None
) -> list[Float[Tensor, "n d_model"]]:
    if mask is not None:
        return list(passed(model, tokens, parse(mask) if isinstance(mask, str) else mask).hidden)
    states = model.trace(text, pair, hidden_states=True).hidden_states
    if not states:
        raise ConfigError(f"{model.name} leaves no hidden states behind, so nothing can be compared.")
    return [state.float().cpu() for state in states]


def _replaced(
    model: Model, text: str, pair: str | None, tokens: Sequence[Token], at: int, replacement: str | None
) -> tuple[str, tuple[Token, ...]]:
    """The text with another token, and its tokens: as many as before."""
    if not 0 <= at < len(tokens) or tokens[at].is_special or tokens[at].segment or tokens[at].start == tokens[at].end:
        raise OutOfRange(
            f"Position {at} holds no typed token of this text of {len(tokens)} tokens. Choose a token of the text."
        )
    token, fitting = tokens[at], None
    for other in swaps(tokens, at) if replacement is None else (replacement,):
        written = text[: token.start] + other + text[token.end :]
        changed = model.tokenize(written, pair)
        if len(changed) != len(tokens):
            continue
        differ = [i for i, (a, b) in enumerate(zip(tokens, changed, strict=True)) if a.id != b.id]
        if differ == [at]:
            return written, changed
        if differ and fitting is None:
            fitting = written, changed
    if fitting is None:
        raise ConfigError(
            f"No replacement was found for “{token.text}” at position {at} that leaves {len(tokens)} tokens. "
            "Choose another token."
        )
    return fitting


def swaps(tokens: Sequence[Token], at: int) -> Iterator[str]:
    """What a token could be replaced with: the text's other tokens, then a few letters and words, blanks kept."""
    own = tokens[at].text
    blank = own[: len(own) - len(own.lstrip())]
    seen = {own}
    others = [token.text for token in tokens if not (token.is_special or token.is_padding or token.segment)]
    for other in (*others, *(blank + letter for letter in _OTHERS)):
        if other.strip() and other not in seen:
            seen.add(other)
            yield other
