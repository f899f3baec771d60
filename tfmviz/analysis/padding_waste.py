"""Lines of different lengths in one batch: what the padding between them costs in tokens, bytes and time.

A batch is a rectangle. Lines shorter than its longest one are filled with padding, on which the model works as on
anything else: the work of its layers grows with the rectangle, and the attention matrix with the rectangle's width
squared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tfmviz.analysis.memory import attention_bytes
from tfmviz.errors import ConfigError, EmptyText
from tfmviz.models import Model
from tfmviz.models.memory import PassShape

Method = Literal["fixed", "dynamic", "bucketed"]
METHODS: tuple[Method, ...] = ("fixed", "dynamic", "bucketed")


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line of the text as a model reads it.

    Attributes:
        text: as typed.
        ids: its vocabulary numbers, special tokens included.
    """

    text: str
    ids: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Some lines padded to one length.

    Attributes:
        lines: which ones, by their places in the text.
        length: tokens of each after padding.
    """

    lines: tuple[int, ...]
    length: int

    @property
    def n_tokens(self) -> int:
        """Tokens that the model computes, padding included."""
        return len(self.lines) * self.length

    @property
    def cells(self) -> int:
        """Weights of one head: a square for each line."""
        return len(self.lines) * self.length**2


@dataclass(frozen=True, kw_only=True, slots=True)
class Batching:
    """One way to put all lines into batches, against the lines alone.

    Attributes:
        method: "fixed" (all to one length that somebody set), "dynamic" (to the longest line) or "bucketed" (lines of
            like length together).
        lengths: real tokens of each line.
        batches: every line is in one of them.
    """

    method: Method
    lengths: tuple[int, ...]
    batches: tuple[Batch, ...]

    @property
    def n_tokens(self) -> int:
        """Tokens that the model computes, padding included."""
        return sum(batch.n_tokens for batch in self.batches)

    @property
    def n_padding(self) -> int:
        """Those of them that are padding."""
        return self.n_tokens - sum(self.lengths)

    @property
    def padding_share(self) -> float:
        """Share of the tokens that are padding."""
        return self.n_padding / self.n_tokens

    @property
    def cells(self) -> int:
        """Weights of one head of one layer, over all batches."""
        return sum(batch.cells for batch in self.batches)

    @property
    def matrix_ratio(self) -> float:
        """How many times the attention matrix of the lines alone, each at its own length."""
        return self.cells / sum(length**2 for length in self.lengths)

    def matrix_bytes(self, n_heads: int, dtype: Any = "float32") -> int:
        """Bytes of the attention matrices of one layer, over all batches, where they are stored."""
        return sum(
            attention_bytes(batch.length, n_heads=n_heads, batch=len(batch.lines), dtype=dtype)
            for batch in self.batches
        )

    def largest_matrix_bytes(self, n_heads: int, dtype: Any = "float32") -> int:
        """The same at the worst moment: batches run one after the other."""
        return max(
            attention_bytes(batch.length, n_heads=n_heads, batch=len(batch.lines), dtype=dtype)
            for batch in self.batches
        )

    def activation_bytes(self, shape: PassShape) -> int:
        """Bytes of the activations of one layer at its widest moment, in the largest batch.

        The residual stream, the projections, and the gate and product of the feed-forward part: 8 d_model + 3 d_ff
        numbers a token, as `tfmviz.models.memory.predicted_bytes` counts them.
        """
        widest = shape.itemsize * (8 * shape.d_model + 3 * shape.d_ff)
        return widest * max(batch.n_tokens for batch in self.batches)


def lines_of(model: Model, text: str, most: int | None = None) -> tuple[Line, ...]:
    """The lines of a text that are not blank, as the model reads them.

    Args:
        model: of any kind; of an encoder-decoder its encoder reads.
        text: as typed.
        most: lines to take; None for all.

    Raises:
        EmptyText: if no line has a token.
        ConfigError: if a line has more tokens than the model takes.
    """
    typed = [line for line in text.splitlines() if line.strip()][:most]
    found = [Line(text=line, ids=tuple(token.id for token in model.tokenize(line))) for line in typed]
    found = [line for line in found if line.ids]
    if not found:
        raise EmptyText("There is nothing to pad: the text has no line with a token. Type some lines.")
    for number, line in enumerate(found, 1):
        if model.max_tokens is not None and len(line.ids) > model.max_tokens:
            raise ConfigError(
                f"Line {number} has {len(line.ids):,} tokens and {model.name} takes {model.max_tokens:,}. "
                "Break it into shorter lines."
            )
    return tuple(found)


def fixed(lengths: Sequence[int], max_length: int) -> Batching:
    """One batch, every line padded to ``max_length``.

    Raises:
        ConfigError: if a line is longer, which would cut it.
    """
    if max_length < max(lengths):
        raise ConfigError(
            f"max_length={max_length:,} would cut the longest line, which has {max(lengths):,} tokens. Use more."
        )
    return _one_batch("fixed", lengths, max_length)


def dynamic(lengths: Sequence[int]) -> Batching:
    """One batch, every line padded to the longest."""
    return _one_batch("dynamic", lengths, max(lengths))


def bucketed(lengths: Sequence[int], size: int) -> Batching:
    """Lines sorted by length, in batches of ``size``, each padded to its own longest.

    Raises:
        ConfigError: if ``size`` is below 1.
    """
    if size < 1:
        raise ConfigError(f"A bucket of {size} lines holds none. Use 1 or more.")
    order = sorted(range(len(lengths)), key=lambda line: (-lengths[line], line))
    buckets = [tuple(order[start : start + size]) for start in range(0, len(order), size)]
    batches = tuple(Batch(lines=bucket, length=lengths[bucket[0]]) for bucket in buckets)
    return Batching(method="bucketed", lengths=tuple(lengths), batches=batches)


def _one_batch(method: Method, lengths: Sequence[int], length: int) -> Batching:
    batch = Batch(lines=tuple(range(len(lengths))), length=length)
    return Batching(method=method, lengths=tuple(lengths), batches=(batch,))
