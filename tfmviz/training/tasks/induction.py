"""Induction: in a random sequence that repeats itself, say what comes next.

The next token is known only from the earlier copy, so a model must look back to where the present token stood before
and one further. Two layers can: a head that looks one back, and a head that matches what that one found.

Source: Elhage et al. 2021; Olsson et al. 2022 (induction heads).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Float, Int

from tfmviz.errors import ConfigError
from tfmviz.nn import AnyTransformer, Recording, attention_stages
from tfmviz.training.task import IGNORED, VOCABULARY, Batch, Example, one_stack

Alphabet = Literal["letters", "printable", "any"]

LETTERS = [chr(i).encode() for i in range(ord("a"), ord("z") + 1)]
PRINTABLE = [chr(i).encode() for i in range(0x20, 0x7F)]
BYTES = [bytes([i]) for i in range(256)]
# first and last character of stretches that are printable throughout
SCRIPTS = [
    [chr(i).encode() for i in range(first, last + 1)]
    for first, last in (
        (0xC0, 0xFF),  # Latin letters with marks
        (0x391, 0x3A1),  # Greek capitals
        (0x3B1, 0x3C9),  # Greek small letters
        (0x410, 0x44F),  # Cyrillic
        (0x5D0, 0x5EA),  # Hebrew
        (0x627, 0x63A),  # Arabic
        (0x905, 0x939),  # Devanagari
        (0xE01, 0xE30),  # Thai
        (0x3041, 0x3096),  # Hiragana
        (0x4E00, 0x9FA5),  # Han
        (0xAC00, 0xD7A3),  # Hangul
        (0x2190, 0x21FF),  # arrows
        (0x1F300, 0x1F5FF),  # pictographs, four bytes each
    )
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Induction:
    """Random blocks, repeated to the end of the sequence.

    Attributes:
        alphabet: characters to draw from: "letters" (a to z), "printable" (ASCII) or "any" (those, raw bytes and
            other scripts, each sequence from a part of one alphabet).
        shortest: fewest characters before the sequence repeats.
        longest: most.
        length: tokens of a sequence.
        distinct: no character twice in a block, so that the present token alone says where to look. Without it, tokens
            before it must tell the places apart.
        slip: chance that a token of a later copy is replaced. Copies after it repeat the change, so that the latest
            occurrence is the one to look at.
        lead: most tokens of random text before the first copy.
        longer: other lengths; each batch has one of all, with fewer sequences the longer they are. Short ones let the
            heads form (there is less to look at by mistake), long ones teach them to look far.
    """

    alphabet: Alphabet = "any"
    shortest: int = 5
    longest: int = 40
    length: int = 128
    distinct: bool = False
    slip: float = 0.0
    lead: int = 0
    longer: tuple[int, ...] = ()

    name: ClassVar[str] = "induction"
    architecture: ClassVar[Literal["decoder"]] = "decoder"
    example: ClassVar[Example] = Example(text="k7#mQz2&k7#mQz2&k7#mQz2&")
    max_positions: ClassVar[int] = 2048

    def __post_init__(self) -> None:
        object.__setattr__(self, "longer", tuple(self.longer))  # JSON has lists only
        if not 1 < self.shortest <= self.longest:
            raise ConfigError(
                f"shortest={self.shortest} and longest={self.longest} leave no period. Use 2 or more, longest not less."
            )
        if self.distinct and self.alphabet == "any":
            raise ConfigError('distinct=True is for one alphabet: use alphabet="letters" or "printable".')
        if self.distinct and self.longest > 26:
            raise ConfigError(f"longest={self.longest} distinct letters do not exist. Use 26 or fewer.")
        if self.length < 2 * self.shortest + self.lead:
            raise ConfigError(f"length={self.length} has no room for two copies of {self.shortest} characters.")

    def options(self) -> Mapping[str, Any]:
        return asdict(self)

    def sample(self, size: int, rng: np.random.Generator) -> Batch:
        """Sequences; labels count from where the second copy has shown its first token.

        Args:
            size: sequences of ``length`` tokens; of a longer kind there are fewer, so that a batch costs the same.
            rng: decides every draw.
        """
        lengths = (self.length, *self.longer)
        length = lengths[int(rng.integers(len(lengths)))]
        # three copies fit, if the characters are single bytes
        longest = max(self.shortest, min(self.longest, (length - self.lead) // 3))
        periods = rng.integers(self.shortest, longest + 1, max(1, size * self.length // length))
        return self._repeats([self._block(int(period), rng) for period in periods], length, rng)

    def _repeats(self, blocks: list[bytes], length: int, rng: np.random.Generator) -> Batch:
        room = (length - self.lead) // 2  # a block too long to come twice is cut, wherever in a character that is
        lead = rng.integers(0, self.lead + 1, len(blocks)) * rng.integers(0, 2, len(blocks))
        return repeats([block[:room] for block in blocks], length, rng, slip=self.slip, lead=lead)

    def _block(self, period: int, rng: np.random.Generator) -> bytes:
        if self.alphabet != "any":
            return self._plain_block(period, rng)
        kind = rng.random()
        if kind < 0.4:
            return _draw(PRINTABLE, period, rng)
        if kind < 0.6:  # fewer letters: what follows depends on more than one token
            return _draw(_part(PRINTABLE, int(rng.integers(10, 60)), rng), period, rng)
        return _draw(BYTES, period, rng) if kind < 0.75 else _script_block(period, rng)

    def _plain_block(self, period: int, rng: np.random.Generator) -> bytes:
        alphabet = LETTERS if self.alphabet == "letters" else PRINTABLE
        if self.distinct:
            return b"".join(_part(alphabet, period, rng))
        return _draw(alphabet, period, rng)

    def measure(self, model: AnyTransformer, size: int, seed: int) -> Mapping[str, float]:
        """Accuracy on the second and third copy of printable characters, and how sharply the best head looks.

        "accuracy" counts from the second token of the second copy: its first token comes without any sign that the
        sequence repeats. "head_weight" is the mean weight, over the same tokens, that the best head of the second
        layer puts on the token after the previous occurrence; "head" is that head's number.
        """
        rng = np.random.default_rng([seed, 1])  # training draws from [seed, 0, step]
        right = counted = 0
        weight = torch.zeros(model.config.n_heads)
        for period in rng.integers(self.shortest, self.longest + 1, size):
            block = self._plain_block(int(period), rng)
            found = follow(model, block * 3, int(period))
            right, counted = right + found.right, counted + found.counted
            weight += found.head_weight * found.counted
        head = int(weight.argmax())
        return {"accuracy": right / counted, "head_weight": float(weight[head]) / counted, "head": head}


@dataclass(frozen=True, kw_only=True, slots=True)
class Following:
    """How a model follows one repeated sequence.

    Attributes:
        counted: tokens that could be known.
        right: how many of them the model got right.
        head_weight: for each head of the last layer, the mean weight on the token after the previous occurrence, [h].
    """

    counted: int
    right: int
    head_weight: Float[torch.Tensor, " h"]


@torch.no_grad()
def follow(model: AnyTransformer, text: bytes, period: int) -> Following:
    """Run a decoder on a text that repeats every ``period`` bytes."""
    device = next(model.parameters()).device
    tokens = torch.tensor([[VOCABULARY.start, *text]], device=device)
    recording = Recording()
    guesses = one_stack(model)(tokens, recording=recording)[0].argmax(-1)
    at = torch.arange(period + 1, len(text), device=device)  # token t is byte t - 1: these have stood there before
    record = recording.stack("self")[-1]
    weights = attention_stages(record.query, record.key, record.value, record.scoring).weights[0]
    return Following(
        counted=len(at),
        right=int((guesses[at] == tokens[0, at + 1]).sum()),
        head_weight=weights[:, at, at + 1 - period].mean(-1).cpu(),
    )


def _script_block(period: int, rng: np.random.Generator) -> bytes:
    """Characters of one script, sometimes with ASCII among them."""
    script = SCRIPTS[int(rng.integers(len(SCRIPTS)))]
    return _draw(script + (PRINTABLE if rng.random() < 0.3 else []), period, rng)


def _draw(alphabet: list[bytes], count: int, rng: np.random.Generator) -> bytes:
    return b"".join([alphabet[i] for i in rng.integers(0, len(alphabet), count)])


def _part(alphabet: list[bytes], count: int, rng: np.random.Generator) -> list[bytes]:
    return [alphabet[i] for i in rng.permutation(len(alphabet))[:count]]


def repeats(
    blocks: list[bytes], length: int, rng: np.random.Generator, *, slip: float, lead: Int[np.ndarray, " b"]
) -> Batch:
    """Each block over and over, behind ``<start>`` and a random lead.

    Shapes: b blocks, n = length tokens.
    """
    rows = np.arange(len(blocks))
    first = lead + np.array([len(block) for block in blocks])  # where each second copy begins
    text = rng.integers(0, 256, (len(blocks), length))
    slipped = rng.random((len(blocks), length)) < slip
    for row, block in enumerate(blocks):
        text[row, lead[row] : first[row]] = list(block)
    for t in range(length):  # byte t is the one a period before, unless it slips; later copies then take it from here
        later = (t >= first) & ~slipped[:, t]
        text[:, t] = np.where(later, text[rows, np.maximum(t - first + lead, 0)], text[:, t])
    # byte t + 1 can be known if byte t stood there before; a byte that has just slipped never did
    known = (np.arange(length - 1) >= first[:, None]) & ~slipped[:, :-1] & ~slipped[:, 1:]
    tokens = np.concatenate([np.full((len(blocks), 1), VOCABULARY.start), text[:, :-1]], axis=1)
    labels = np.full((len(blocks), length), IGNORED)
    labels[:, 1:] = np.where(known, text[:, 1:], IGNORED)
    return Batch(tokens=torch.from_numpy(tokens), labels=torch.from_numpy(labels))
