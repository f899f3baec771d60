"""Who may look at whom, as rules that give any block of the mask without the whole matrix.

A rule answers one question: may the query at position i see the key at position j? `Mask.block` answers it for chosen
rows (queries) and columns (keys), so that a mask of 100,000 x 100,000 tokens costs nothing until part of it is needed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from tfmviz.errors import UnknownMask

Reach = Literal["all", "causal", "mixed"]


class Mask(ABC):
    """A rule of visibility. Rules combine with ``&``: a cell is visible if every rule lets it be seen."""

    @abstractmethod
    def block(self, rows: Int[Tensor, " q"], cols: Int[Tensor, " k"]) -> Bool[Tensor, "*batch q k"]:
        """Visible cells (True) where queries at positions ``rows`` meet keys at positions ``cols``.

        Rules about a batch of different texts give [batch, 1, q, k], which fits beside heads; all others give [q, k].
        """

    def reach(self, n_queries: int, n_keys: int, first_row: int = 0) -> Reach:
        """What the rule comes to for queries ``first_row ... first_row + n_queries`` and the first ``n_keys`` keys.

        "all" and "causal" spare a kernel the mask altogether; "mixed" is everything else.
        """
        del n_queries, n_keys, first_row
        return "mixed"

    def to(self, device: torch.device | str) -> Mask:
        """The same rule with its tensors, if it has any, on a device."""
        del device
        return self

    def __and__(self, other: Mask) -> Mask:
        return Both(first=self, second=other)


@dataclass(frozen=True, slots=True)
class Bidirectional(Mask):
    """Every query sees every key: an encoder such as BERT."""

    def block(self, rows: Int[Tensor, " q"], cols: Int[Tensor, " k"]) -> Bool[Tensor, "q k"]:
        return cols.new_ones((), dtype=bool).expand(len(rows), len(cols))

    def reach(self, n_queries: int, n_keys: int, first_row: int = 0) -> Reach:
        return "all"

    def __str__(self) -> str:
        return "bidirectional"


@dataclass(frozen=True, slots=True)
class Causal(Mask):
    """A query sees itself and what came before: a decoder such as GPT."""

    def block(self, rows: Int[Tensor, " q"], cols: Int[Tensor, " k"]) -> Bool[Tensor, "q k"]:
        return rows[:, None] >= cols

    def reach(self, n_queries: int, n_keys: int, first_row: int = 0) -> Reach:
        if first_row >= n_keys - 1:  # one new token against a cache: everything lies behind it
            return "all"
        return "causal" if first_row == 0 and n_queries == n_keys else "mixed"

    def __str__(self) -> str:
        return "causal"


@dataclass(frozen=True, slots=True)
class SlidingWindow(Mask):
    """A query sees itself and the ``width - 1`` keys before it (Mistral; Beltagy et al. 2020)."""

    width: int

    def __post_init__(self) -> None:
        if self.width < 1:
            raise UnknownMask(f"sliding:{self.width} sees nothing, not even itself. Use a width of 1 or more.")

    def block(self, rows: Int[Tensor, " q"], cols: Int[Tensor, " k"]) -> Bool[Tensor, "q k"]:
        distance = rows[:, None] - cols
        return (distance >= 0) & (distance < self.width)

    def reach(self, n_queries: int, n_keys: int, first_row: int = 0) -> Reach:
        within = first_row + n_queries <= self.width
        return Causal().reach(n_queries, n_keys, first_row) if within else "mixed"

    def __str__(self) -> str:
        return f"sliding:{self.width}"


@dataclass(frozen=True, slots=True)
class Prefix(Mask):
    """Causal, but the first ``length`` tokens are seen by all, each other included (prefix LM; Raffel et al. 2020)."""

    length: int

    def __post_init__(self) -> None:
        if self.length < 0:
            raise UnknownMask(f"prefix:{self.length} is negative. Use the number of tokens that see each other.")

    def block(self, rows: Int[Tensor, " q"], cols: Int[Tensor, " k"]) -> Bool[Tensor, "q k"]:
        return (rows[:, None] >= cols) | (cols < self.length)

    def reach(self, n_queries: int, n_keys: int, first_row: int = 0) -> Reach:
        if n_keys <= self.length:
            return "all"
        # a prefix of one token is seen by all under the causal rule already
        return Causal().reach(n_queries, n_keys, first_row) if self.length <= 1 else "mixed"

    def __str__(self) -> str:
        return f"prefix:{self.length}"


@dataclass(frozen=True, slots=True, eq=False)
class Padding(Mask):
    """Keys that are padding are seen by nobody. Padding is a property of keys: padded queries still look.

    Args:
        keys: True where a key is a real token, [k] or, for a batch of texts, [batch, k].
    """

    keys: Bool[Tensor, "*batch k"]

    def block(self, rows: Int[Tensor, " q"], cols: Int[Tensor, " k"]) -> Bool[Tensor, "*batch q k"]:
        real = self.keys[..., cols]
        if real.ndim == 1:
            return real.expand(len(rows), len(cols))
        return real[:, None, None, :].expand(len(real), 1, len(rows), len(cols))

    def reach(self, n_queries: int, n_keys: int, first_row: int = 0) -> Reach:
        return "all" if bool(self.keys[..., :n_keys].all()) else "mixed"

    def to(self, device: torch.device | str) -> Mask:
        return Padding(self.keys.to(device))

    def __str__(self) -> str:
        return "padding"


@dataclass(frozen=True, slots=True, eq=False)
class Document(Mask):
    """Texts packed one after the other see only their own tokens.

    Args:
        ids: which text each position belongs to, [n] or [batch, n].
    """

    ids: Int[Tensor, "*batch n"]

    def block(self, rows: Int[Tensor, " q"], cols: Int[Tensor, " k"]) -> Bool[Tensor, "*batch q k"]:
        same = self.ids[..., rows][..., :, None] == self.ids[..., cols][..., None, :]
        return same if same.ndim == 2 else same[:, None]

    def to(self, device: torch.device | str) -> Mask:
        return Document(self.ids.to(device))

    def __str__(self) -> str:
        return "document"


@dataclass(frozen=True, slots=True)
class Both(Mask):
    """What two rules both allow; written ``first & second``."""

    first: Mask
    second: Mask

    def block(self, rows: Int[Tensor, " q"], cols: Int[Tensor, " k"]) -> Bool[Tensor, "*batch q k"]:
        return self.first.block(rows, cols) & self.second.block(rows, cols)

    def reach(self, n_queries: int, n_keys: int, first_row: int = 0) -> Reach:
        reaches = {rule.reach(n_queries, n_keys, first_row) for rule in (self.first, self.second)}
        if "mixed" in reaches:
            return "mixed"
        return "causal" if "causal" in reaches else "all"

    def to(self, device: torch.device | str) -> Mask:
        return Both(first=self.first.to(device), second=self.second.to(device))

    def __str__(self) -> str:
        return f"{self.first} & {self.second}"


# No text is longer than a number of so many digits; positions are 64-bit numbers.
MOST_DIGITS = 18
# Rules joined in one; each is a call within the call of the one after it.
MOST_RULES = 16
RULES = ("causal", "bidirectional", "sliding:<width>", "prefix:<length>")


def parse(rule: str) -> Mask:
    """The mask that a rule in words stands for, such as "causal", "sliding:8" or "causal & sliding:4".

    Raises:
        UnknownMask: if the rule is none of `RULES`; the message lists them.
    """
    if (n_rules := rule.count("&") + 1) > MOST_RULES:
        raise UnknownMask(f"{n_rules:,} rules are joined by '&'. Use {MOST_RULES} or fewer.")
    if "&" in rule:
        first, rest = rule.split("&", 1)
        return parse(first) & parse(rest)
    name, colon, number = rule.strip().partition(":")
    if not colon and name in ("causal", "bidirectional"):
        return Causal() if name == "causal" else Bidirectional()
    if colon and name in ("sliding", "prefix") and number.isascii() and number.isdigit() and len(number) <= MOST_DIGITS:
        return SlidingWindow(int(number)) if name == "sliding" else Prefix(int(number))
    raise UnknownMask(f"Unknown mask rule {rule!r}. Use one of: {', '.join(RULES)}, or several joined by '&'.")
