"""Links of a long text, found some rows at a time, are the links of the whole map."""

from __future__ import annotations

import numpy as np
import pytest
from long_stack import causal, layer, stack, tokens

from tfmviz.analysis import long_head
from tfmviz.analysis.links import LinkSieve, strongest_links, visible_spans
from tfmviz.analysis.long_head import LongHead
from tfmviz.analysis.long_links import long_links


def as_tuples(links, start=0, stop=None):
    numbers = (links.head, links.query, links.key, links.weight)
    return [tuple(float(x) for x in one) for one in zip(*(array[start:stop] for array in numbers), strict=True)]


def by_sorting(cube, threshold, budget, per_token=5):
    """Drawn links, how many reach the threshold, and each token's own, by sorting everything."""
    above = sorted((-float(w), at) for at, w in np.ndenumerate(cube) if w >= max(threshold, 1e-30))
    drawn = [at for _, at in above[:budget]]
    own = set()
    for head, weights in enumerate(cube):
        for query, row in enumerate(weights):
            best = sorted((-float(w), key) for key, w in enumerate(row) if w > 0)[:per_token]
            own |= {(head, query, key) for _, key in best}
        for key, column in enumerate(weights.T):
            best = sorted((-float(w), query) for query, w in enumerate(column) if w > 0)[:per_token]
            own |= {(head, query, key) for _, query in best}
    return drawn, len(above), own - set(drawn)


@pytest.mark.parametrize("kind", ["random", "causal", "ties"])
@pytest.mark.parametrize(("threshold", "budget"), [(0.05, 30), (0.0, 400), (0.0, 10_000), (0.9, 5), (0.02, 0)])
@pytest.mark.parametrize("rows", [1, 7, 60])
def test_bands_of_rows_give_what_a_full_sort_gives(kind: str, threshold: float, budget: int, rows: int) -> None:
    rng = np.random.default_rng(3)
    cube = np.exp(rng.normal(size=(2, 60, 37)) * 2).astype(np.float32)
    if kind == "causal":
        cube *= np.tri(60, 37, dtype=np.float32)
    if kind == "ties":
        cube = rng.integers(0, 3, size=cube.shape).astype(np.float32)
    cube /= np.maximum(cube.sum(axis=2, keepdims=True), 1e-9)
    sieve = LinkSieve(cube.shape, threshold, budget, 5)
    for head, weights in enumerate(cube):
        for first in range(0, 60, rows):
            sieve.take(head, first, weights[first : first + rows])
    links = sieve.links()
    drawn, n_above, own = by_sorting(cube, np.float32(threshold), budget)
    got = [(int(h), int(q), int(k)) for h, q, k in zip(links.head, links.query, links.key, strict=True)]
    assert got[: links.n_drawn] == drawn
    assert (links.n_drawn, links.n_above) == (len(drawn), n_above)
    assert set(got[links.n_drawn :]) == own
    assert len(got) == len(set(got))
    assert np.all(np.diff(links.weight[links.n_drawn :]) <= 0)
    np.testing.assert_array_equal(links.weight, cube[links.head, links.query, links.key])


@pytest.mark.parametrize("hide", [False, True])
def test_a_long_text_s_links_are_those_of_its_map_in_one_piece(hide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_head, "BAND_WEIGHTS", 60_000)
    n, special = 620, (0, 200)
    text = stack(layer(n, n, causal(n)), layer(n, n, causal(n), seed=1), queries=tokens(n, special=special))
    heads = [(0, 1), (1, 3)]
    found = long_links([LongHead.of(text, *one) for one in heads], 0.2, 300, hide_special=hide)
    weights = np.stack([text.weights(*one).numpy() for one in heads])
    keep = np.ones(n, dtype=bool)
    keep[list(special)] = not hide
    expected = strongest_links(weights, 0.2, 300, keep_queries=keep, keep_keys=keep)
    assert (found.links.n_drawn, found.links.n_above) == (expected.n_drawn, expected.n_above)
    assert found.links.n_above > found.links.n_drawn == 300
    np.testing.assert_array_equal(found.links.query, expected.query)
    np.testing.assert_array_equal(found.links.key, expected.key)
    np.testing.assert_array_equal(found.links.head, expected.head)
    np.testing.assert_allclose(found.links.weight, expected.weight, atol=1e-6)
    np.testing.assert_array_equal(found.spans, visible_spans(causal(n).numpy()))
    hidden = weights[:, keep][..., ~keep].sum() / weights[:, keep].sum()
    assert found.hidden_share == pytest.approx(hidden, abs=1e-6)


def test_where_everything_may_be_looked_at_there_are_no_spans() -> None:
    text = stack(layer(600, 600, None), queries=tokens(600))
    assert long_links([LongHead.of(text, 0, 0)], 0.1, 10).spans is None
