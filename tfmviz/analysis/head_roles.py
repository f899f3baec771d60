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
from typing import TYPE_CHECKING, Literal, Protocol, get_args

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

    def weights(self, layer: int, head: int, rows: slice | None = None, cols: slice | None = None) -> Tensor:
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
    return _measure(lambda rows: stack.weights(layer, head, rows=rows), Rules.of(stack.query_tokens, stack.key_tokens))


def role_of_weights(weights: Tensor, queries: Sequence[Token], keys: Sequence[Token]) -> HeadRole:
    """Measure the role that weights float32 [q, k] show, such as an average over heads or a part of a map."""
    return _measure(lambda rows: weights[rows], Rules.of(queries, keys))


def _measure(weights: Callable[[slice], Tensor], rules: Rules) -> HeadRole:
    total, n = _Sums(), len(rules.choosing)
    for start in range(0, n, ROWS_AT_ONCE):
        rows = slice(start, min(start + ROWS_AT_ONCE, n))
        total.add(weights(rows), rules.block(rows), rules.choosing[rows])
    return total.role()


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """The rules for one pair of sequences, as something that gives any block of rows.

    Attributes:
        choosing: bool [q], queries that count: typed and not padding.
        same: int64 [q] and [k], the vocabulary's numbers, to compare tokens.
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

    def block(self, rows: slice) -> dict[Role, Tensor]:
        """Which keys each rule marks for these rows: bool [rows, k]."""
        import torch

        query = torch.arange(rows.start, rows.stop)[:, None]
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
            "induction": after_alike & (key <= query) & (key != query + 1),
        }


class _Sums:
    """Running sums over blocks of rows."""

    def __init__(self) -> None:
        self.n = 0
        self.entropy = 0.0
        self.strongest = 0.0
        self.spoken_of: dict[Role, int] = dict.fromkeys(RULES, 0)
        self.weight: dict[Role, float] = dict.fromkeys(RULES, 0.0)
        self.hits: dict[Role, int] = dict.fromkeys(RULES, 0)

    def add(self, weights: Tensor, marks: dict[Role, Tensor], choosing: Tensor) -> None:
        """Add the rows of one block: weights float32 [r, k], marks bool [r, k], choosing bool [r]."""
        import torch

        visible = weights > 0
        rows = choosing & (visible.sum(-1) > 1)
        weights, visible = weights[rows], visible[rows]
        if not len(weights):
            return
        top, at = weights.max(-1)
        self.n += len(weights)
        self.strongest += float(top.sum())
        entropy = -torch.special.xlogy(weights, weights).sum(-1)
        self.entropy += float((entropy / visible.sum(-1).log()).sum())
        for role, mark in marks.items():
            marked = mark[rows]
            self.spoken_of[role] += int((marked & visible).any(-1).sum())
            self.weight[role] += float((weights * marked).sum())
            self.hits[role] += int(marked.gather(-1, at[:, None]).sum())

    def role(self) -> HeadRole:
        """The rule that holds the most weight, or what to say where none does."""
        n = max(self.n, 1)
        told = [role for role in RULES if self.spoken_of[role] >= max(WIDELY * n, 1)]
        weights = {role: self.weight[role] / self.spoken_of[role] for role in told}
        best = max(told, key=lambda role: (round(weights[role], 6), -RULES.index(role)), default=None)
        if best == "special" and weights.get("first", 0) >= MOSTLY * weights["special"]:
            best = "first"  # the narrower rule says more: [CLS], not "special tokens"
        spread = self.entropy / n
        role: Role
        if best is not None and weights[best] >= ENOUGH:
            role, weight, share = best, weights[best], self.hits[best] / self.spoken_of[best]
        elif spread >= SPREAD:
            role, weight, share = "diffuse", spread, 0.0
        else:
            role, weight, share = "mixed", self.strongest / n, 0.0
        return HeadRole(role=role, weight=weight, share=share, n_queries=self.n, weights=weights)


def _is_punctuation(token: Token) -> bool:
    text = token.text.strip()
    return bool(text) and not token.is_special and not any(c.isalnum() or ord(c) > 0x2FFF for c in text)
