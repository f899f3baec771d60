"""What the map on a canvas sends, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tfmviz.components.payload import unpack
from tfmviz.errors import ConfigError
from tfmviz.text import Token

LARGEST_MESSAGE = 1_500_000


def tokens(n: int) -> list[Token]:
    return [Token(id=i, text=f" word{i}", start=i, end=i + 1, is_special=i == 0) for i in range(n)]


def random_map(n: int) -> np.ndarray:
    weights = np.random.default_rng(0).random((n, n)).astype(np.float32) ** 4
    return weights / weights.sum(axis=1, keepdims=True)


def page(arguments, options):
    from tfmviz.components import token_map

    token_map(*arguments, title="L3 H5", **options)


def message(weights, visible=None, **options) -> bytes:
    described = tokens(weights.shape[0]), tokens(weights.shape[1])
    app = AppTest.from_function(page, args=((weights, visible, *described), options), default_timeout=60).run()
    assert not app.exception
    return app.get("bidi_component")[0].proto.bytes


def sent(weights, visible=None, **options) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    return unpack(message(weights, visible, **options))


def open_cells(arrays: dict[str, np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    """The mask as the browser reads it."""
    opened = np.zeros(shape, dtype=bool)
    for row, first, past in arrays.get("spans", ()):
        opened[row, first:past] = True
    if "bits" in arrays:
        opened = np.unpackbits(arrays["bits"])[: opened.size].reshape(shape).astype(bool)
    return opened


def test_weights_are_sent_exactly():
    weights = random_map(20)
    header, arrays = sent(weights)
    assert arrays["weights"].dtype == np.float32
    np.testing.assert_array_equal(arrays["weights"], weights)
    assert set(arrays) == {"weights"}
    assert (header["rows"], header["cols"], header["title"], header["note"]) == (20, 20, "L3 H5", "")


def test_labels_have_visible_blanks_and_equal_ones_go_once():
    header, _ = sent(random_map(3))
    assert header["query"] == ["␣word0", "␣word1", "␣word2"]
    assert header["keys"] is None
    header, _ = sent(random_map(3)[:, :2])
    assert header["keys"] == ["␣word0", "␣word1"]


@pytest.mark.parametrize("name", ["causal", "sliding", "scattered"])
def test_a_mask_arrives_as_it_was(name):
    place = np.arange(40)
    visible = {
        "causal": place[:, None] >= place,
        "sliding": (place[:, None] >= place) & (place[:, None] - place < 5),
        "scattered": np.random.default_rng(1).random((40, 40)) < 0.5,
    }[name]
    _, arrays = sent(random_map(40), visible)
    np.testing.assert_array_equal(open_cells(arrays, (40, 40)), visible)


def test_a_mask_that_hides_nothing_is_not_sent():
    _, arrays = sent(random_map(5), np.ones((5, 5), dtype=bool))
    assert set(arrays) == {"weights"}


@pytest.mark.parametrize("row_scaled", [False, True])
def test_512_tokens_stay_under_a_megabyte_and_a_half_whatever_the_mask(row_scaled):
    checkered = np.indices((512, 512)).sum(axis=0) % 2 == 0
    assert len(message(random_map(512), checkered, row_scaled=row_scaled)) < LARGEST_MESSAGE


def test_scaled_rows_reach_the_last_step_at_their_largest_weight_and_keep_their_weights():
    weights = random_map(12)
    header, arrays = sent(weights, row_scaled=True)
    assert header["scaled"] is True
    np.testing.assert_array_equal(arrays["steps"].argmax(axis=1), weights.argmax(axis=1))
    assert (arrays["steps"].max(axis=1) == 255).all()
    share = weights / weights.max(axis=1, keepdims=True)
    assert np.abs((arrays["steps"] - 1.0) / 254 - share).max() <= 0.5 / 254 + 1e-6
    np.testing.assert_array_equal(arrays["weights"], weights)


def test_hidden_special_tokens_take_their_row_and_column_along_and_their_share_is_said():
    weights = np.full((4, 4), 0.25, dtype=np.float32)
    visible = np.tril(np.ones((4, 4), dtype=bool))
    header, arrays = sent(weights, visible, hide_special=True)
    assert arrays["weights"].shape == (3, 3)
    np.testing.assert_array_equal(open_cells(arrays, (3, 3)), visible[1:, 1:])
    assert header["query"] == ["␣word1", "␣word2", "␣word3"]
    assert header["note"] == "Special tokens are hidden; 25% of the attention goes to them"


def test_the_same_numbers_have_the_same_version_and_others_another():
    weights = random_map(6)
    versions = [sent(one)[0]["version"] for one in (weights, weights.copy(), weights.T.copy())]
    assert versions[0] == versions[1] != versions[2]


def test_shapes_that_do_not_fit_are_refused():
    from tfmviz.components import token_map

    with pytest.raises(ConfigError, match="one row a query"):
        token_map(random_map(4), None, tokens(4), tokens(3), title="")
    with pytest.raises(ConfigError, match="as the weights have"):
        token_map(random_map(4), np.ones((3, 3), dtype=bool), tokens(4), tokens(4), title="")
