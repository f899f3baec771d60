"""The masks that the page compares, as rules for one text, and the name of a mask that was found in a pass."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from tfmviz.errors import ConfigError
from tfmviz.nn import Bidirectional, Causal, Document, Mask, Padding, Prefix, SlidingWindow
from tfmviz.text import Token

Pattern = Literal["causal", "bidirectional", "padding", "sliding", "prefix", "document"]
PATTERNS: tuple[Pattern, ...] = ("causal", "bidirectional", "padding", "sliding", "prefix", "document")
_ENDS = (".", "!", "?", "…", "\n", "。", "！", "？", "؟", "।")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """The numbers that some patterns need.

    Attributes:
        window: keys that a query sees under the sliding window, itself included.
        prefix: tokens that see each other under the prefix mask.
    """

    window: int = 4
    prefix: int = 3


def rule(pattern: Pattern, tokens: Sequence[Token], sizes: Sizes, *, causal: bool) -> Mask:
    """The mask of one pattern for one text.

    Padding and document masks say nothing of the future: they go with the model's own direction.

    Args:
        pattern: which one.
        tokens: the text, padding included.
        sizes: width of the window, length of the prefix.
        causal: whether the model reads left to right.

    Raises:
        ConfigError: if there is no such pattern.
        UnknownMask: if a size is none.

    Sources: sliding window: Beltagy et al. 2020; prefix: Raffel et al. 2020, section 3.2.1.
    """
    direction: Mask = Causal() if causal else Bidirectional()
    match pattern:
        case "causal":
            return Causal()
        case "bidirectional":
            return Bidirectional()
        case "padding":
            return direction & Padding(torch.tensor([not token.is_padding for token in tokens]))
        case "sliding":
            return SlidingWindow(sizes.window)
        case "prefix":
            return Prefix(sizes.prefix)
        case "document":
            return direction & Document(documents(tokens))
    raise ConfigError(f"There is no mask pattern {pattern!r}. Use one of {', '.join(PATTERNS)}.")


def documents(tokens: Sequence[Token]) -> Int[Tensor, " n"]:
    """Which text of a pack each token belongs to: a new one begins after the end of each sentence.

    A text of one sentence is cut in the middle, so that there is something to see; padding and the special tokens at
    the end stay with the last text.

    Args:
        tokens: n of them.

    Returns:
        0, 0, ..., 1, 1, ...; never decreasing.
    """
    typed = [i for i, token in enumerate(tokens) if not (token.is_special or token.is_padding)]
    starts = [
        after
        for at, after in itertools.pairwise(typed)
        if _ends_here(tokens[at].text) and not _ends_here(tokens[after].text)
    ]
    if not starts and len(typed) > 1:
        starts = [typed[len(typed) // 2]]
    ids = torch.zeros(len(tokens), dtype=torch.int64)
    for start in starts:
        ids[start:] += 1
    return ids


def _ends_here(text: str) -> bool:
    return text.endswith(_ENDS) or text.rstrip(" ").endswith(_ENDS)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Runs:
    """What a mask lets each query see, as a run of keys where it is one.

    Attributes:
        first: key of the first visible cell of each row, [q]; 0 where a row sees nothing.
        past: one past the last visible cell, [q].
        count: visible cells of each row, [q].
        n_keys: k.
    """

    first: Int[Tensor, " q"]
    past: Int[Tensor, " q"]
    count: Int[Tensor, " q"]
    n_keys: int

    @classmethod
    def of(cls, visible: Bool[Tensor, "q k"]) -> Runs:
        """Read from the cells themselves."""
        as_bytes = visible.to(torch.uint8)
        live = visible.any(-1)
        past = visible.shape[-1] - as_bytes.flip(-1).argmax(-1)
        return cls(first=as_bytes.argmax(-1) * live, past=past * live, count=visible.sum(-1), n_keys=visible.shape[-1])

    @classmethod
    def joined(cls, parts: Sequence[Runs]) -> Runs:
        """Rows of several pieces, in order."""
        return cls(
            first=torch.cat([part.first for part in parts]),
            past=torch.cat([part.past for part in parts]),
            count=torch.cat([part.count for part in parts]),
            n_keys=parts[0].n_keys,
        )

    @property
    def name(self) -> str:
        """The simplest rule that allows exactly these cells, in words; "of no simple shape" if there is none."""
        n = len(self.first)
        rows = torch.arange(n)
        if not bool((self.past - self.first == self.count).all()):
            return "of no simple shape"
        if bool((self.count == self.n_keys).all()):
            return "bidirectional: every token sees every token"
        if n != self.n_keys:
            return "of no simple shape"
        if torch.equal(self.past, rows + 1):
            width = int(self.count.max())
            if torch.equal(self.count, rows + 1):
                return "causal: a token sees itself and what came before"
            if torch.equal(self.first, (rows + 1 - width).clamp(min=0)):
                return f"sliding window: a token sees itself and the {width - 1:,} before it"
        return self._around_or_hidden(rows)

    def _around_or_hidden(self, rows: Int[Tensor, " q"]) -> str:
        n = len(rows)
        back, ahead = int((rows - self.first).max()), int((self.past - 1 - rows).max())
        around = torch.equal(self.first, (rows - back).clamp(min=0))
        if around and torch.equal(self.past, (rows + ahead + 1).clamp(max=n)):
            return f"window: a token sees the {back:,} before it and the {ahead:,} after it"
        if len(self.first.unique()) == 1 and len(self.past.unique()) == 1:
            return f"padding hidden: every token sees tokens {int(self.first[0]):,} to {int(self.past[0]) - 1:,}"
        low, high = int(self.first[self.count > 0].min()), int(self.past.max())
        live = rows >= low
        if torch.equal(self.past[live], (rows[live] + 1).clamp(max=high)) and bool((self.first[live] == low).all()):
            return f"causal, padding hidden: keys {low:,} to {high - 1:,} only"
        return "of no simple shape"
