"""What the atlas sends, and what it believes of what comes back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tfmviz.components import atlas
from tfmviz.components.atlas import _choice_of, _masks
from tfmviz.components.payload import unpack


def page(options):
    import numpy as np

    from tfmviz.components import atlas

    options = {"selected": (0, 0)} | options
    overview = (np.arange(30 * 9 * 64 * 64, dtype=np.int64) % 251).astype(np.uint8).reshape(30, 9, 64, 64)
    atlas(overview, n_tokens=(2048, 2048), **options)


def sent(**options: Any) -> tuple[dict[str, Any], dict[str, np.ndarray], int]:
    app = AppTest.from_function(page, args=(options,), default_timeout=60).run()
    assert not app.exception
    message = app.get("bidi_component")[0].proto.bytes
    return *unpack(message), len(message)


def test_all_270_heads_with_pairs_and_roles_take_under_1_2_mb():
    pair = ("a fairly long token ‹é›", "another quite long one", 0.123456789)
    options = {
        "strongest": [[pair] * 9] * 30,
        "roles": [["previous token 0.82"] * 9] * 30,
        "visible": np.tril(np.ones((64, 64), dtype=bool)),
        "n_kv_heads": 3,
    }
    header, arrays, size = sent(**options)
    assert size < 1_200_000
    assert arrays["overview"].shape == (30, 9, 64, 64)
    assert arrays["overview"][29, 8, 63, 63] == (30 * 9 * 64 * 64 - 1) % 251
    assert header["kv_heads"] == 3
    assert header["strongest"][29][8] == [pair[0], pair[1], 0.123457]


def test_the_selected_head_is_no_part_of_the_big_message():
    app = AppTest.from_function(page, args=({},), default_timeout=60).run()
    big, small = (component.proto for component in app.get("bidi_component"))
    assert "selected" not in unpack(big.bytes)[0]
    assert '"selected": [0, 0]' in small.json


def test_a_head_that_is_looked_at_elsewhere_is_told_as_null():
    app = AppTest.from_function(page, args=({"selected": None},), default_timeout=60).run()
    assert '"selected": null' in app.get("bidi_component")[1].proto.json


def test_equal_masks_are_sent_once():
    causal = np.tril(np.ones((4, 4), dtype=bool))
    sliding = causal & ~np.tril(causal, -2)
    table, of = _masks(np.stack([sliding, causal, sliding]), 3)
    assert len(table) == 2
    assert [table[index].astype(bool).tolist() for index in of] == [
        sliding.tolist(),
        causal.tolist(),
        sliding.tolist(),
    ]
    assert _masks(np.ones((4, 4), dtype=bool), 3)[1] == [-1, -1, -1]
    with pytest.raises(ValueError, match="2 masks for 3 layers"):
        _masks(np.stack([causal, sliding]), 3)


@pytest.mark.parametrize(
    "raw",
    [None, "3,5", [1, 2], [6, 0, 1], [0, 12, 1], [-1, 0, 1], [0.0, 1, 1], [True, 1, 1], ["0", 1, 1], [1, 2, 3, 4], {}],
)
def test_nonsense_from_the_browser_is_no_selection(raw):
    assert _choice_of({"selected": raw}, 6, 12) is None


def test_a_head_that_exists_is_a_selection():
    assert _choice_of({"selected": [5, 11, 77]}, 6, 12) == (5, 11, 77)
    assert _choice_of(None, 6, 12) is None


def test_overviews_and_lists_that_do_not_fit_are_refused():
    good = np.zeros((2, 3, 8, 8), dtype=np.uint8)
    with pytest.raises(ValueError, match="float32"):
        atlas(good.astype(np.float32), n_tokens=(8, 8), selected=(0, 0))
    with pytest.raises(ValueError, match="3, 8, 8"):
        atlas(good[0], n_tokens=(8, 8), selected=(0, 0))
    with pytest.raises(ValueError, match="roles"):
        atlas(good, n_tokens=(8, 8), selected=(0, 0), roles=[["a", "b"], ["c", "d"]])
    with pytest.raises(ValueError, match="3 statuses for 2 layers"):
        atlas(good, n_tokens=(8, 8), selected=(0, 0), statuses=["exact"] * 3)
