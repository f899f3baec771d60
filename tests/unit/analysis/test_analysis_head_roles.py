"""Head roles: measured on weights made by hand, against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from tfmviz.analysis.head_roles import ENOUGH, HeadRole, head_role, head_roles
from tfmviz.text import Token


@dataclass(frozen=True)
class OneHead:
    """A stack with one layer whose weights are given: [q, k], or [h, q, k]."""

    given: Tensor
    query_tokens: tuple[Token, ...]
    key_tokens: tuple[Token, ...]

    def weights(self, layer: int, head: int, rows: Tensor | None = None, cols: None = None) -> Tensor:
        of_head = self.given[head] if self.given.ndim == 3 else self.given
        return of_head if rows is None else of_head[rows]


def tokens(text: str) -> tuple[Token, ...]:
    """One token a word; words in brackets are special."""
    words = text.split()
    ids = {word: i for i, word in enumerate(dict.fromkeys(words))}
    return tuple(Token(id=ids[w], text=w, start=0, end=0, is_special=w.startswith("[")) for w in words)


def role_of(weights: Tensor, text: str) -> HeadRole:
    names = tokens(text)
    return head_role(OneHead(weights, names, names), 0, 0)


def shifted(n: int, by: int, weight: float) -> Tensor:
    """Rows that put ``weight`` on the key ``by`` away and share the rest among all keys."""
    out = torch.full((n, n), (1 - weight) / n)
    for row in range(n):
        out[row, min(max(row + by, 0), n - 1)] += weight
    return out


@pytest.mark.parametrize(("by", "role"), [(-1, "previous"), (0, "self"), (1, "next")])
def test_a_shifted_diagonal_is_named_after_its_shift(by: int, role: str) -> None:
    found = role_of(shifted(9, by, 0.9), "a b c d e f g h i")
    assert found.role == role
    # Each row puts 0.9 + 0.1/9 on the marked key; the row at the edge has none and is not spoken of.
    assert found.weight == pytest.approx(0.9 + 0.1 / 9, abs=1e-6)
    assert found.share == 1


def test_only_typed_tokens_that_have_a_choice_count() -> None:
    weights = torch.tensor([[1.0, 0, 0, 0], [0.25, 0.75, 0, 0], [0.1, 0.8, 0.1, 0], [0.1, 0.1, 0.7, 0.1]])
    found = role_of(weights, "a b c [SEP]")
    # Row 0 sees one key only, row 3 is special: rows 1 and 2 are left, with 0.25 and 0.8 on the key before.
    assert found.n_queries == 2
    assert found.weights["previous"] == pytest.approx((0.25 + 0.8) / 2)


def test_the_first_special_token_is_named_rather_than_all_of_them() -> None:
    weights = torch.zeros(5, 5)
    weights[:, 0], weights[:, 2] = 0.8, 0.2
    assert role_of(weights, "[CLS] a b c [SEP]").role == "first"
    weights[:, 0], weights[:, 4], weights[:, 2] = 0.4, 0.4, 0.2
    found = role_of(weights, "[CLS] a b c [SEP]")
    assert (found.role, found.weight) == ("special", pytest.approx(0.8))


def test_induction_is_the_token_after_an_earlier_copy() -> None:
    target = torch.zeros(8, 8)
    for row in range(8):
        target[row, row - 3 if row >= 4 else 0] = 1.0
    assert role_of(target, "x y z q x y z q").n_queries == 0  # each row sees one key: none had a choice
    weights = 0.9 * target + 0.1 * torch.tril(torch.ones(8, 8)) / torch.arange(1, 9)[:, None]
    found = role_of(weights, "x y z q x y z q")
    assert found.role == "induction"
    # Rows 4 to 7 have an earlier copy; row r shares 0.1 among r + 1 keys. The first copy's rows are not spoken of.
    assert found.weight == pytest.approx(0.9 + 0.1 * sum(1 / (r + 1) for r in range(4, 8)) / 4, abs=1e-6)
    assert found.share == 1


def test_one_repeated_word_does_not_make_an_induction_head() -> None:
    weights = 0.5 * torch.eye(8) + 0.5 / 8
    weights[7] = 0.02
    weights[7, 1] = 1 - 7 * 0.02
    assert "induction" not in role_of(weights, "a b c d e f g a").weights


def test_even_weights_are_diffuse_and_say_how_even() -> None:
    found = role_of(torch.full((12, 12), 1 / 12), "a b c d e f g h i j k l")
    assert (found.role, found.weight) == ("diffuse", pytest.approx(1.0))


def test_no_pattern_is_called_mixed() -> None:
    torch.manual_seed(0)
    weights = torch.softmax(4 * torch.randn(40, 40), -1)
    found = role_of(weights, " ".join(f"w{i}" for i in range(40)))
    assert found.role == "mixed"
    assert found.weight == pytest.approx(float(weights.max(-1).values.mean()), abs=1e-6)
    assert max(found.weights.values()) < ENOUGH


def test_blocks_of_rows_give_what_one_block_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(1)
    weights, text = torch.softmax(3 * torch.randn(70, 70), -1), " ".join(f"w{i % 9}" for i in range(70))
    whole = role_of(weights, text)
    monkeypatch.setattr("tfmviz.analysis.head_roles.ROWS_AT_ONCE", 16)
    parts = role_of(weights, text)
    assert parts.role == whole.role
    assert parts.weights == pytest.approx(whole.weights, abs=1e-6)


def test_distances_mean_nothing_between_two_sequences() -> None:
    stack = OneHead(torch.tensor([[0.05, 0.95], [0.05, 0.95]]), tokens("u v"), tokens("a b"))
    found = head_role(stack, 0, 0)
    assert "previous" not in found.weights
    assert "self" not in found.weights
    assert found.role == "mixed"


def test_many_heads_at_once_are_what_each_is_alone() -> None:
    torch.manual_seed(2)
    names = tokens(" ".join(f"w{i % 11}" for i in range(60)))
    stack = OneHead(
        torch.stack([shifted(60, by, 0.8) for by in (-1, 0, 1)] + [torch.rand(60, 60).softmax(-1)]), names, names
    )
    together = head_roles(stack, 0, range(4))
    alone = [head_role(stack, 0, head) for head in range(4)]
    assert [found.role for found in together] == [found.role for found in alone]
    assert [found.weight for found in together] == pytest.approx([found.weight for found in alone], abs=1e-6)


def test_a_long_text_is_measured_on_rows_spread_over_it() -> None:
    names = tokens(" ".join(f"w{i}" for i in range(900)))
    found = head_roles(OneHead(shifted(900, -1, 0.9)[None], names, names), 0, [0], most_rows=100)[0]
    assert found.role == "previous"
    assert found.n_queries == 100
