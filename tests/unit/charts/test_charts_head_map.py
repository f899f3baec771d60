"""The map of one head: numbers, masks, labels and size."""

from __future__ import annotations

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from tfmviz.charts import head_map
from tfmviz.charts.map_layout import MOST_TICKS
from tfmviz.charts.palette import DARK, LIGHT
from tfmviz.errors import ConfigError
from tfmviz.text import Token


def tokens(texts: list[str], special: tuple[int, ...] = ()) -> list[Token]:
    return [Token(id=i, text=t, start=i, end=i + 1, is_special=i in special) for i, t in enumerate(texts)]


def softmax_map(n: int, visible: np.ndarray | None = None, seed: int = 0) -> np.ndarray:
    scores = np.random.default_rng(seed).normal(size=(n, n)) * 2
    if visible is not None:
        scores = np.where(visible, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def causal(n: int) -> np.ndarray:
    return np.tril(np.ones((n, n), bool))


def named(n: int) -> list[Token]:
    return tokens([f" word{i}" for i in range(n)])


def test_cells_are_the_weights_and_masked_ones_are_open():
    weights, visible = softmax_map(5, causal(5)), causal(5)
    (cells, masked) = head_map.figure(weights, visible, named(5), named(5)).data
    z = np.array(cells.z)
    assert z.dtype == np.float32
    np.testing.assert_array_equal(z[visible], weights[visible])
    assert np.isnan(z[~visible]).all()
    assert masked.fillpattern.shape == "/"


def test_a_weight_of_zero_that_is_not_masked_is_no_gap():
    weights = np.eye(3, dtype=np.float32)
    figure = head_map.figure(weights, np.ones((3, 3), bool), named(3), named(3))
    assert len(figure.data) == 1
    np.testing.assert_array_equal(figure.data[0].z, weights)


@pytest.mark.parametrize("dark", [False, True])
def test_colours_always_run_from_0_to_1_and_the_scale_is_shown(dark):
    cells = head_map.figure(softmax_map(4) / 10, None, named(4), named(4), dark=dark).data[0]
    assert (cells.zmin, cells.zmax) == (0, 1)
    assert cells.showscale is not False
    assert cells.colorbar.ticktext == ("0", "0.5", "1")
    assert [stop[1] for stop in cells.colorscale] == list((DARK if dark else LIGHT).weights)


def test_rows_are_queries_from_top_to_bottom_and_keys_go_across():
    layout = head_map.figure(np.zeros((3, 5), np.float32), None, named(3), named(5)).layout
    assert layout.yaxis.range == (2.5, -0.5)
    assert layout.xaxis.range == (-0.5, 4.5)
    assert (layout.yaxis.tickfont.color, layout.xaxis.tickfont.color) == (LIGHT.query_ink, LIGHT.key_ink)
    assert "Query" in layout.yaxis.title.text
    assert "Key" in layout.annotations[0].text


def test_equal_tokens_stay_separate_columns():
    axis = head_map.figure(softmax_map(4), None, named(4), tokens(["the", "a", "the", "a"])).layout.xaxis
    assert axis.type == "linear"
    assert axis.tickvals == (0, 1, 2, 3)
    assert axis.ticktext == ("the", "a", "the", "a")


def test_labels_are_escaped_and_blanks_are_seen():
    texts = ["</script>", "<b>x</b>", "&amp;", "$x$", "%{z}", " \n"]
    axis = head_map.figure(softmax_map(6), None, tokens(texts), tokens(texts)).layout.yaxis
    assert axis.ticktext == (
        "&lt;/script&gt;", "&lt;b&gt;x&lt;/b&gt;", "&amp;amp;", "&#36;x&#36;", "&#37;{z}", "␣↵",
    )  # fmt: skip


def test_title_is_escaped():
    title = head_map.figure(softmax_map(2), None, named(2), named(2), title="Layer 3 <b>").layout.title.text
    assert title == "Layer 3 &lt;b&gt;"


@pytest.mark.parametrize("n", [60, 61, 200])
def test_every_position_has_its_token_for_hover(n):
    axis = head_map.figure(softmax_map(n), None, named(n), named(n)).layout.xaxis
    if n <= MOST_TICKS:
        assert axis.ticktext == tuple(f"␣word{i}" for i in range(n))
    else:
        assert [axis.labelalias[str(i)] for i in range(n)] == [f"␣word{i}" for i in range(n)]
        assert axis.nticks < 60


@pytest.mark.parametrize("row_scaled", [False, True])
@pytest.mark.parametrize("mask", ["none", "causal", "sliding"])
def test_a_map_of_512_tokens_is_at_most_a_megabyte_and_a_half(mask, row_scaled):
    n = 512
    at = np.arange(n)
    visible = {
        "none": None,
        "causal": causal(n),
        "sliding": (at[:, None] >= at) & (at[:, None] - at < 128),
    }[mask]
    figure = head_map.figure(softmax_map(n, visible), visible, named(n), named(n), row_scaled=row_scaled, title="L3 H5")
    assert len(figure.to_json()) <= 1_500_000


def test_large_maps_are_rounded_by_less_than_a_millionth():
    weights = softmax_map(512)
    z = np.array(head_map.figure(weights, None, named(512), named(512)).data[0].z)
    assert np.abs(z - weights).max() < 5e-7
    assert z.max() <= 1


def test_large_masked_maps_are_covered_by_the_hatching():
    n = 460
    figure = head_map.figure(softmax_map(n, causal(n)), causal(n), named(n), named(n))
    assert (np.array(figure.data[0].z)[~causal(n)] == 0).all()
    assert figure.data[1].fillpattern.bgcolor == LIGHT.masked
    assert figure.data[1].hoveron == "fills"


def test_row_scaling_colours_the_largest_of_each_row_full_and_hovers_the_weight():
    weights = np.array([[0.1, 0.2], [0.9, 0.0]], np.float32)
    cells = head_map.figure(weights, None, named(2), named(2), row_scaled=True).data[0]
    np.testing.assert_array_equal(cells.z, [[128, 255], [255, 1]])
    np.testing.assert_array_equal(cells.customdata, weights)
    assert "%{customdata:.4f}" in cells.hovertemplate
    assert (cells.zmin, cells.zmax) == (0, 255)


def test_row_scaling_keeps_masked_cells_apart_from_small_ones():
    cells = head_map.figure(softmax_map(4, causal(4)), causal(4), named(4), named(4), row_scaled=True).data[0]
    z = np.array(cells.z)
    assert (z[~causal(4)] == 0).all()
    assert (z[causal(4)] >= 1).all()
    assert cells.colorscale[1] == (0.5 / 255, LIGHT.masked)


def test_a_row_that_sees_nothing_is_masked_not_divided_by_zero():
    visible = np.array([[False, False], [True, True]])
    weights = np.array([[0, 0], [0.5, 0.5]], np.float32)
    for row_scaled in (False, True):
        figure = head_map.figure(weights, visible, named(2), named(2), row_scaled=row_scaled)
        assert len(figure.data) == 2
        assert not np.isnan(np.array(figure.data[0].z, np.float32)[1]).any()


def test_hidden_special_tokens_are_gone_and_their_share_is_said():
    weights = np.array([[0.5, 0.3, 0.2], [0.8, 0.1, 0.1], [0.6, 0.3, 0.1]], np.float32)
    names = tokens(["[CLS]", "cat", "sat"], special=(0,))
    figure = head_map.figure(weights, None, names, names, hide_special=True)
    np.testing.assert_array_equal(figure.data[0].z, weights[1:, 1:])
    assert figure.layout.xaxis.ticktext == ("cat", "sat")
    assert "70%" in figure.layout.title.subtitle.text  # (0.8 + 0.6) / 2


def test_nothing_is_said_of_hidden_tokens_where_none_are():
    assert head_map.figure(softmax_map(2), None, named(2), named(2), hide_special=True).layout.title.subtitle.text == ""


def test_only_special_tokens_leave_an_empty_map():
    names = tokens(["[CLS]", "[SEP]"], special=(0, 1))
    figure = head_map.figure(softmax_map(2), causal(2), names, names, hide_special=True)
    assert np.array(figure.data[0].z).size == 0


@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (3,)])
def test_wrong_counts_are_refused(shape):
    with pytest.raises(ConfigError, match="shape"):
        head_map.figure(np.zeros(shape, np.float32), None, named(3), named(3))


def test_wrong_mask_is_refused():
    with pytest.raises(ConfigError, match="visible has shape"):
        head_map.figure(np.zeros((3, 3), np.float32), np.ones((3, 4), bool), named(3), named(3))


@pytest.mark.parametrize("n", [3, 70])
@pytest.mark.parametrize("options", [{}, {"row_scaled": True}, {"hide_special": True, "dark": True}])
def test_plotly_finds_no_fault(n, options):
    """figure() leaves Plotly's checks out for speed; here they are made."""
    figure = head_map.figure(softmax_map(n, causal(n)), causal(n), named(n), named(n), title="x", **options)
    go.Figure(json.loads(figure.to_json()))


def test_download_is_a_vector_file():
    assert head_map.config("l3h5")["toImageButtonOptions"] == {"format": "svg", "filename": "l3h5"}


def test_margins_hold_the_labels_without_plotly_trying():
    """A label of 16 columns at 11 px in a font 0.6 wide takes 106 px."""
    layout = head_map.figure(softmax_map(3), None, tokens(["a" * 40, "b", "c"]), named(3)).layout
    assert layout.yaxis.automargin is False
    assert layout.margin.autoexpand is False
    assert layout.margin.l >= 106 + 13  # and the axis title
    wide = head_map.figure(softmax_map(3), None, tokens(["日" * 40, "b", "c"]), named(3)).layout
    assert wide.margin.l >= 2 * 106


@pytest.mark.parametrize(("n", "angle"), [(4, 0), (40, 90), (200, 90)])
def test_key_labels_stand_upright_where_they_would_overlap(n, angle):
    assert head_map.figure(softmax_map(n), None, named(n), named(n)).layout.xaxis.tickangle == angle


@pytest.mark.parametrize(("rows", "columns", "square"), [(1, 61, False), (11, 61, False), (5, 9, True), (30, 30, True)])
def test_a_map_of_few_rows_and_many_columns_is_no_strip(rows: int, columns: int, square: bool):
    weights = np.full((rows, columns), 1 / columns, np.float32)
    shape = head_map.figure(weights, None, named(rows), named(columns)).layout
    assert shape.yaxis.scaleanchor == ("x" if square else None)
    if not square:  # each row is as high as its label, and the map as its own title
        assert shape.height - shape.margin.t - shape.margin.b == max(20 * rows, 96)
