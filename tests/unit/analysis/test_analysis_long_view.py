"""A long text's map: blocks hold the maxima of the head's exact weights, rectangles are its weights, nothing is n²."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import torch
from long_stack import HEADS, causal, eager, layer, stack, tokens

from tfmviz.analysis import long_head
from tfmviz.analysis.head_roles import head_roles
from tfmviz.analysis.head_view import head_view
from tfmviz.analysis.long_head import LongHead, goes_whole, is_long, n_weights
from tfmviz.analysis.long_view import BLOCKS, long_role, long_view
from tfmviz.errors import NoAttention, OutOfRange
from tfmviz.trace import LayerAttention


def slow_maxima(weights: np.ndarray, side: int) -> np.ndarray:
    rows, cols = range(0, weights.shape[0], side), range(0, weights.shape[1], side)
    return np.array([[weights[r : r + side, c : c + side].max() for c in cols] for r in rows])


CASES = {
    "causal": (1100, 1100, causal(1100)),
    "window": (1030, 1030, causal(1030) & ~torch.ones(1030, 1030, dtype=torch.bool).tril(-40)),
    "everything": (700, 700, None),
    "cross": (40, 1537, None),
}


@pytest.mark.parametrize("name", CASES)
def test_blocks_hold_the_maxima_of_the_formula_s_weights(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_head, "BAND_WEIGHTS", 100_000)  # many bands, the last of them short
    q, k, mask = CASES[name]
    one = layer(q, k, mask)
    view = long_view(LongHead.of(stack(one, queries=tokens(q), keys=tokens(k)), 0, 3))
    assert view.block == -(-max(q, k) // BLOCKS)
    np.testing.assert_allclose(view.maxima, slow_maxima(eager(one, 3, mask), view.block), atol=2e-6)
    if mask is None:
        assert view.visible is None
    else:
        assert view.visible is not None
        np.testing.assert_array_equal(view.visible, slow_maxima(mask.numpy(), view.block))


@pytest.mark.parametrize("name", CASES)
def test_a_rectangle_is_a_part_of_the_formula_s_weights_and_of_the_mask(name: str) -> None:
    q, k, mask = CASES[name]
    one = layer(q, k, mask)
    whole = LongHead.of(stack(one, queries=tokens(q), keys=tokens(k)), 0, 1)
    expected = eager(one, 1, mask)
    for rows, cols in ((slice(0, 40), slice(0, 64)), (slice(q - 9, q), slice(k - 70, k)), (slice(7, 8), slice(0, k))):
        found = whole.rectangle(rows, cols)
        np.testing.assert_allclose(found.weights, expected[rows, cols], atol=2e-6)
        np.testing.assert_allclose(found.largest, expected[rows].max(axis=1), atol=2e-6)
        seen = np.ones_like(expected, dtype=bool) if mask is None else mask.numpy()
        seen = seen[rows, cols]
        np.testing.assert_array_equal(seen if found.visible is None else found.visible, seen)


def test_a_high_and_narrow_rectangle_never_holds_the_whole_map(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_head, "BAND_WEIGHTS", 50_000)
    one, held, weights = layer(700, 700, None), [], LongHead.weights

    def noted(whole: LongHead, rows: slice) -> np.ndarray:
        held.append(weights(whole, rows))
        return held[-1]

    monkeypatch.setattr(LongHead, "weights", noted)
    found = LongHead.of(stack(one, queries=tokens(700)), 0, 1).rectangle(slice(0, 700), slice(3, 5))
    np.testing.assert_allclose(found.weights, eager(one, 1, None)[:, 3:5], atol=2e-6)
    assert max(each.size for each in held) <= 50_000


@pytest.mark.parametrize(
    ("rows", "cols"),
    [((0, 701), (0, 5)), ((5, 5), (0, 5)), ((0, 700), (0, 1000)), ((9, 3), (0, 5)), ((0, 5), (1300, 1301))],
)
def test_cells_that_are_not_there_or_too_many_are_refused(rows: tuple[int, int], cols: tuple[int, int]) -> None:
    whole = LongHead.of(stack(layer(700, 1300, None), queries=tokens(700), keys=tokens(1300)), 0, 0)
    with pytest.raises(OutOfRange):
        whole.rectangle(slice(*rows), slice(*cols))


@pytest.mark.parametrize(("layer_", "head"), [(0, None), (None, 2), (None, None)])
def test_an_average_is_the_mean_of_its_heads(layer_: int | None, head: int | None) -> None:
    n = 600
    layers = [layer(n, n, causal(n), seed) for seed in range(2)]
    whole = LongHead.of(stack(*layers, queries=tokens(n)), layer_, head)
    chosen = [layers[i] for i in (range(2) if layer_ is None else [layer_])]
    heads = range(HEADS) if head is None else [head]
    expected = np.mean([eager(one, h, causal(n)) for one in chosen for h in heads], axis=0)
    view = long_view(whole)
    np.testing.assert_allclose(view.maxima, slow_maxima(expected, view.block), atol=2e-6)
    np.testing.assert_allclose(whole.rectangle(slice(9, 40), slice(0, 600)).weights, expected[9:40], atol=2e-6)


def test_scaled_rows_are_shares_of_each_row_s_largest_weight() -> None:
    n = 600
    one = layer(n, n, causal(n))
    view = long_view(LongHead.of(stack(one, queries=tokens(n)), 0, 0), row_scaled=True)
    weights = eager(one, 0, causal(n))
    shares = weights / weights.max(axis=1, keepdims=True)
    assert view.shares is not None
    np.testing.assert_allclose(view.shares, slow_maxima(shares, view.block), atol=1e-5)


def test_hidden_special_tokens_are_no_rows_and_no_columns_and_their_share_is_told() -> None:
    n, special = 650, (0, 300, 649)
    one = layer(n, n, None)
    whole = LongHead.of(stack(one, queries=tokens(n, special=special)), 0, 2, hide_special=True)
    weights, kept = eager(one, 2, None), np.setdiff1d(np.arange(n), special)
    view = long_view(whole)
    assert [token.text for token in view.key_tokens] == [str(i) for i in kept]
    np.testing.assert_allclose(view.maxima, slow_maxima(weights[np.ix_(kept, kept)], view.block), atol=2e-6)
    assert view.special_share == pytest.approx(weights[np.ix_(kept, special)].sum() / len(kept), abs=1e-5)
    found = whole.rectangle(slice(298, 303), slice(297, 305))
    np.testing.assert_allclose(found.weights, weights[np.ix_(kept[298:303], kept[297:305])], atol=2e-6)


def test_a_part_of_a_pair_is_those_rows_and_columns_and_its_share_is_that_of_the_short_picture() -> None:
    n, second = 1300, 620
    one = layer(n, n, None)
    pair = stack(one, queries=tokens(n, second=second))
    view = long_view(LongHead.of(pair, 0, 0, "B→A"))
    weights = eager(one, 0, None)[second:, :second]
    np.testing.assert_allclose(view.maxima, slow_maxima(weights, view.block), atol=2e-6)
    assert view.part_share == pytest.approx(weights.sum() / (n - second), abs=1e-4)


def test_a_sink_s_share_is_that_of_the_picture_in_one_piece() -> None:
    n = 512
    one = layer(n, n, causal(n), sink=torch.full((HEADS,), 2.0))
    text = stack(one, queries=tokens(n))
    assert long_view(LongHead.of(text, 0, 1)).sink_share == pytest.approx(head_view(text, 0, 1).sink_share, abs=1e-6)


def test_the_role_is_that_of_the_same_rows_of_the_head() -> None:
    n = 640
    text = stack(layer(n, n, causal(n)), queries=tokens(n))
    assert long_role(LongHead.of(text, 0, 1)) == head_roles(text, 0, [1])[0]


def test_a_layer_without_attention_says_so() -> None:
    text = stack(LayerAttention.none("a state-space layer"), layer(600, 600, None), queries=tokens(600))
    with pytest.raises(NoAttention, match="state-space"):
        long_view(LongHead.of(text, 0, 0))
    assert long_view(LongHead.of(text, None, None)).maxima.any()


def test_what_is_shown_whole_is_counted_in_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 600
    text = stack(*(layer(n, n, None, seed) for seed in range(3)), queries=tokens(n))
    assert is_long(text)
    assert not is_long(stack(layer(512, 512, None), queries=tokens(512)))
    counts = [n_weights(text, *which) for which in ((0, 0), (0, None), (None, 0), (None, None))]
    assert counts == [n * n, 4 * n * n, 3 * n * n, 12 * n * n]
    monkeypatch.setattr(long_head, "MOST_WEIGHTS", 4 * n * n)
    whole = [goes_whole(text, *which) for which in ((0, 0), (0, None), (None, 0), (None, None))]
    assert whole == [True, True, True, False]


def test_memory_stays_far_below_the_map_s() -> None:
    n = 4096
    text = stack(layer(n, n, None), queries=tokens(n))
    whole = LongHead.of(text, 0, 0)
    long_view(whole)
    tracemalloc.start()
    long_view(whole, row_scaled=True)
    whole.rectangle(slice(1000, 1064), slice(2000, 2064))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * n * 4 / 4  # NumPy's share; torch's blocks are 2 MB each
