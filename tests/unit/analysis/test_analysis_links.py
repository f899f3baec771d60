"""Links are the strongest pairs, counted honestly, whatever is in the weights."""

from __future__ import annotations

import numpy as np
import pytest

from tfmviz.analysis.links import hidden_share, strongest_links, visible_spans


def attention(heads: int, queries: int, keys: int, seed: int = 0) -> np.ndarray:
    scores = np.random.default_rng(seed).normal(size=(heads, queries, keys)) * 3
    weights = np.exp(scores)
    return (weights / weights.sum(-1, keepdims=True)).astype(np.float32)


def pairs(links, count=None):
    return list(zip(links.head[:count], links.query[:count], links.key[:count], links.weight[:count], strict=True))


def test_drawn_links_are_the_budget_strongest_of_a_full_sort():
    weights = attention(3, 17, 11)
    links = strongest_links(weights, 0.05, 40)
    everything = sorted(
        ((-float(w), h, q, k) for (h, q, k), w in np.ndenumerate(weights) if w >= np.float32(0.05)),
    )
    assert links.n_drawn == 40
    assert links.n_above == len(everything)
    got = [(-float(w), int(h), int(q), int(k)) for h, q, k, w in pairs(links, 40)]
    assert got == everything[:40]


def test_every_token_keeps_its_five_strongest_keys_and_queries():
    weights = attention(2, 30, 30, seed=1)
    links = strongest_links(weights, 2.0, 100)  # nothing reaches the threshold: only the tokens' own pairs are left
    assert links.n_drawn == links.n_above == 0
    kept = {(int(h), int(q), int(k)) for h, q, k, _ in pairs(links)}
    for h in range(2):
        for q in range(30):
            assert {(h, q, int(k)) for k in np.argsort(-weights[h, q])[:5]} <= kept
        for k in range(30):
            assert {(h, int(q), k) for q in np.argsort(-weights[h, :, k])[:5]} <= kept
    assert len(kept) == len(links.weight) <= 2 * 30 * 10


def test_no_pair_comes_twice():
    links = strongest_links(attention(2, 20, 20), 0.01, 500)
    assert len({(h, q, k) for h, q, k, _ in pairs(links)}) == len(links.weight)


def test_nan_rows_have_no_link():
    weights = attention(1, 6, 6)
    weights[0, 2] = np.nan
    links = strongest_links(weights, 0.0, 1000)
    assert 2 not in links.query
    assert np.isfinite(links.weight).all()
    assert links.n_above == 30


def test_zero_weights_are_no_links_even_at_threshold_zero():
    weights = np.tril(np.ones((4, 4), dtype=np.float32)) / np.arange(1, 5, dtype=np.float32)[:, None]
    links = strongest_links(weights, 0.0, 1000)
    assert links.n_above == 10
    assert (links.key <= links.query).all()


def test_left_out_queries_and_keys_have_no_link():
    keep = np.array([False, True, True, True, False])
    links = strongest_links(attention(1, 5, 5), 0.0, 1000, keep_queries=keep, keep_keys=keep)
    assert set(links.query.tolist()) == set(links.key.tolist()) == {1, 2, 3}


def test_weights_arrive_unrounded():
    weights = attention(1, 9, 4)
    links = strongest_links(weights, 0.0, 36)
    assert np.array_equal(links.weight, weights[0, links.query, links.key])


def test_the_weights_handed_in_stay_as_they_were():
    weights = attention(1, 5, 5)
    before = weights.copy()
    strongest_links(weights, 0.1, 3, keep_keys=np.array([True, False, True, True, True]))
    assert np.array_equal(weights, before)


def test_one_vector_of_weights_is_refused():
    with pytest.raises(ValueError, match=r"\(7,\)"):
        strongest_links(np.ones(7, dtype=np.float32), 0.1, 3)


def test_hidden_share_is_hidden_weight_over_all_weight():
    weights = np.array([[0.7, 0.2, 0.1], [0.5, 0.0, 0.0], [0.0, 0.5, 0.5]], dtype=np.float32)
    hidden = np.array([True, False, False])
    assert hidden_share(weights, hidden) == pytest.approx(1.2 / 2.5)
    assert hidden_share(weights, hidden, keep_queries=np.array([True, False, True])) == pytest.approx(0.7 / 2.0)
    assert hidden_share(np.zeros((2, 3)), hidden) == 0.0


def test_spans_of_causal_sliding_and_broken_masks():
    causal = np.tril(np.ones((4, 4), dtype=bool))
    assert visible_spans(causal).tolist() == [[0, 0, 1], [1, 0, 2], [2, 0, 3], [3, 0, 4]]
    sliding = causal & ~np.tril(causal, -2)
    assert visible_spans(sliding).tolist() == [[0, 0, 1], [1, 0, 2], [2, 1, 3], [3, 2, 4]]
    broken = np.array([[True, False, True], [False, False, False]])
    assert visible_spans(broken).tolist() == [[0, 0, 1], [0, 2, 3]]
