"""What a head mostly does, read from its weights: looks one back, at itself, at the first token, nowhere in particular.

A role is a rule that marks, for every query, the keys it speaks of. Two numbers are measured for each rule, over the
queries that had a choice and see a marked key: the mean weight that falls on the marked keys, and the share of queries
whose strongest key is a marked one. The head's role is the rule that holds the most weight, when that is enough to be
worth saying and enough queries are spoken of.

Source: Clark et al. 2019, "What does BERT look at?" (previous, next, special tokens, broad attention);
Olsson et al. 2022, "In-context learning and induction heads" (induction); Voita et al. 2019 (positional heads).
Shapes: q queries, k keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from tfmviz.text.token import Token

if TYPE_CHECKING:
    from torch import Tensor

Role = Literal["previous", "self", "next", "first", "special", "same", "induction", "punctuation", "diffuse", "mixed"]
RULES: tuple[Role, ...] = get_args(Role)[:-2]

# Least mean weight for a rule to name the head. Below it, several things go on at once.
ENOUGH = 0.4
# Least share of the queries that must see a marked key: two words that repeat do not make an induction head.
WIDELY = 0.3
# Share of the largest possible entropy above which a head is called diffuse.
SPREAD = 0.8
# Share of the weight on special tokens that makes the first of them the one to name.
MOSTLY = 0.85
ROWS_AT_ONCE = 256


class WeightSource(Protocol):
    """Anything that gives weights of a head by rows, as ``AttentionStack`` does."""

    @property
    def query_tokens(self) -> Sequence[Token]:
        """The rows."""
        ...

    @property
    def key_tokens(self) -> Sequence[Token]:
        """The columns."""
        ...

    def weights(self, layer: int, head: int, rows: Any = None, cols: Any = None) -> Tensor:
        """float32 [rows, cols]."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class HeadRole:
    """The measured role of one head on one text.

    Attributes:
        role: the rule that holds the most weight; "diffuse" or "mixed" where none holds enough.
        weight: mean weight on the role's keys; for "diffuse", mean entropy as a share of the largest possible;
            for "mixed", mean weight on each query's strongest key.
        share: share of those queries whose strongest key is one of the role's.
        n_queries: queries that had a choice: typed, visible, with at least two keys to look at.
        weights: mean weight of every rule that speaks of enough queries, for the reader who wants more than one.
    """

    role: Role
    weight: float
    share: float
    n_queries: int
    weights: dict[Role, float]


def head_role(stack: WeightSource, layer: int, head: int) -> HeadRole:
    """Measure the role of a head, some hundred rows at a time.

    Raises:
        NoAttention: if the layer has no attention.
    """
    rules, n = Rules.of(stack.query_tokens, stack.key_tokens), len(stack.query_tokens)
    return _measure(lambda rows: stack.weights(layer, head, rows=rows)[None], rules, _blocks(n))[0]


def head_roles(stack: WeightSource, layer: int, heads: Sequence[int], *, most_rows: int = 128) -> list[HeadRole]:
    """Measure the roles of several heads at once, on at most so many rows, evenly spread over the text."""
    import torch

    rules, n = Rules.of(stack.query_tokens, stack.key_tokens), len(stack.query_tokens)
    rows = torch.arange(n) if n <= most_rows else torch.linspace(0, n - 1, most_rows).round().long()
    return _measure(lambda some: torch.stack([stack.weights(layer, head, rows=some) for head in heads]), rules, [rows])


def role_of_weights(weights: Tensor, queries: Sequence[Token], keys: Sequence[Token]) -> HeadRole:
    """Measure the role that weights float32 [q, k] show, such as an average over heads or a part of a map."""
    return _measure(lambda rows: weights[None, rows], Rules.of(queries, keys), _blocks(len(queries)))[0]


def _blocks(n: int) -> list[Tensor]:
    import torch

    return list(torch.arange(n).split(ROWS_AT_ONCE)) if n else []


def _measure(weights: Callable[[Tensor], Tensor], rules: Rules, blocks: Sequence[Tensor]) -> list[HeadRole]:
    """Roles from weights float32 [h, rows, k], for blocks of rows."""
    total = _Sums()
    for rows in blocks:
        total.add(weights(rows), rules.block(rows), rules.choosing[rows])
    return total.roles()


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """The rules for one pair of sequences, as something that gives any block of rows.

    Attributes:
        choosing: bool [q], queries that count: typed and not padding.
        query_ids: int64 [q], the vocabulary's numbers, to compare tokens.
        key_ids: int64 [k], likewise.
        special: bool [k].
        punctuation: bool [k].
        aligned: queries and keys are the same sequence, so that distances between them mean something.
    """

    choosing: Tensor
    query_ids: Tensor
    key_ids: Tensor
    special: Tensor
    punctuation: Tensor
    aligned: bool

    @classmethod
    def of(cls, queries: Sequence[Token], keys: Sequence[Token]) -> Rules:
        """Read what the rules need from the tokens."""
        import torch

        return cls(
            choosing=torch.tensor([not (token.is_special or token.is_padding) for token in queries]),
            query_ids=torch.tensor([token.id for token in queries]),
            key_ids=torch.tensor([token.id for token in keys]),
            special=torch.tensor([token.is_special for token in keys]),
            punctuation=torch.tensor([_is_punctuation(token) for token in keys]),
            aligned=tuple(queries) == tuple(keys),
        )

    def block(self, rows: Tensor) -> dict[Role, Tensor]:
        """Which keys each rule marks for these rows: bool [rows, k]."""
        import torch

        query = rows[:, None]
        key = torch.arange(len(self.key_ids))[None]
        every = torch.ones(len(query), 1, dtype=torch.bool)
        marks: dict[Role, Tensor] = {
            "special": every & self.special[None],
            "punctuation": every & self.punctuation[None],
        }
        if not self.aligned:
            return marks | {"first": every & (key == 0)}
        alike = self.query_ids[rows, None] == self.key_ids[None]
        after_alike = torch.zeros_like(alike)
        after_alike[:, 1:] = alike[:, :-1]
        return marks | {
            "previous": key == query - 1,
            "self": key == query,
            "next": key == query + 1,
            "first": every & (key == 0),
            "same": alike & (key != query),
            "induction": after_alike & (key <= query),
        }


class _Sums:
    """Running sums over blocks of rows, for each head: float64 [h]."""

    def __init__(self) -> None:
        self.n: Tensor | float = 0.0
        self.entropy: Tensor | float = 0.0
        self.strongest: Tensor | float = 0.0
        self.spoken_of: dict[Role, Tensor | float] = dict.fromkeys(RULES, 0.0)
        self.weight: dict[Role, Tensor | float] = dict.fromkeys(RULES, 0.0)
        self.hits: dict[Role, Tensor | float] = dict.fromkeys(RULES, 0.0)

    def add(self, weights: Tensor, marks: dict[Role, Tensor], choosing: Tensor) -> None:
        """Add the rows of one block: weights float32 [h, r, k], marks bool [r, k], choosing bool [r]."""
        import torch

        seen = weights > 0
        n_seen = seen.sum(-1)
        rows = (choosing & (n_seen > 1)).double()  # [h, r], 1 where the row counts
        top, at = weights.max(-1)
        self.n = self.n + rows.sum(-1)
        self.strongest = self.strongest + (top * rows).sum(-1)
        entropy = -torch.special.xlogy(weights, weights).sum(-1) / n_seen.clamp(min=2).log()
        self.entropy = self.entropy + (entropy * rows).sum(-1)
        for role, mark in marks.items():
            self.spoken_of[role] = self.spoken_of[role] + ((seen & mark).any(-1) * rows).sum(-1)
            self.weight[role] = self.weight[role] + ((weights * mark).sum(-1) * rows).sum(-1)
            hit = mark.expand_as(weights).gather(-1, at[..., None])[..., 0]
            self.hits[role] = self.hits[role] + (hit * rows).sum(-1)

    def roles(self) -> list[HeadRole]:
        """The rule that holds the most weight in each head, or what to say where none does."""
        import torch

        if not isinstance(self.n, torch.Tensor):
            return []
        return [self._role(head) for head in range(len(self.n))]

    def _role(self, head: int) -> HeadRole:
        def of(sums: Tensor | float) -> float:
            return sums if isinstance(sums, float) else float(sums[head])

        n = max(of(self.n), 1.0)
        told = [role for role in RULES if of(self.spoken_of[role]) >= max(WIDELY * n, 1)]
        weights = {role: of(self.weight[role]) / of(self.spoken_of[role]) for role in told}
        best = max(told, key=lambda role: (round(weights[role], 6), -RULES.index(role)), default=None)
        if best == "special" and weights.get("first", 0) >= MOSTLY * weights["special"]:
            best = "first"  # the narrower rule says more: [CLS], not "special tokens"
        role: Role
        if best is not None and weights[best] >= ENOUGH:
            role, weight, share = best, weights[best], of(self.hits[best]) / of(self.spoken_of[best])
        elif of(self.entropy) / n >= SPREAD:
            role, weight, share = "diffuse", of(self.entropy) / n, 0.0
        else:
            role, weight, share = "mixed", of(self.strongest) / n, 0.0
        return HeadRole(role=role, weight=weight, share=share, n_queries=int(of(self.n)), weights=weights)


def _is_punctuation(token: Token) -> bool:
    text = token.text.strip()
    return bool(text) and not token.is_special and not any(c.isalnum() or ord(c) > 0x2FFF for c in text)
