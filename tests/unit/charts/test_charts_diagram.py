"""Block diagrams: every part is a box with its shape, and nothing lies on anything else."""

from __future__ import annotations

from itertools import pairwise

import pytest
from plotly.graph_objects import Figure

from tfmviz.analysis.architecture import Column, columns, untrained
from tfmviz.charts import diagram
from tfmviz.charts.palette import DARK, LIGHT

LENGTHS = {"self": 7, "encoder": 9, "decoder": 4}


def drawn(kind: str, dark: bool = False) -> tuple[tuple[Column, ...], Figure]:
    model_columns = columns(untrained(kind).config, LENGTHS)
    return model_columns, diagram.figure(model_columns, dark=dark)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "encoder-decoder"])
def test_every_part_is_a_box_with_its_shape(kind: str) -> None:
    model_columns, figure = drawn(kind)
    words = " ".join(note.text for note in figure.layout.annotations)
    for column in model_columns:
        for part in (*column.before, *column.block, *column.after):
            assert part.title in words
            assert diagram.shape_text(part.shape) in words
    boxes = [shape for shape in figure.layout.shapes if shape.type == "rect"]
    parts = sum(len(column.before) + len(column.block) + len(column.after) for column in model_columns)
    assert len(boxes) == parts + len(model_columns)  # and a frame around the repeated block


@pytest.mark.parametrize("kind", ["encoder", "decoder", "encoder-decoder"])
def test_no_two_boxes_overlap_and_all_lie_inside(kind: str) -> None:
    _, figure = drawn(kind)
    boxes = [shape for shape in figure.layout.shapes if shape.type == "rect" and shape.line.width > 1]
    for column in {int(box.x0) for box in boxes}:
        stacked = sorted((box.y0, box.y1) for box in boxes if int(box.x0) == column)
        assert all(below[1] < above[0] for below, above in pairwise(stacked))
        assert stacked[0][0] >= 0
        assert stacked[-1][1] <= figure.layout.height


def test_keys_and_values_come_from_the_encoder_in_the_colour_of_keys() -> None:
    _, figure = drawn("encoder-decoder")
    named = [note for note in figure.layout.annotations if note.text == "keys, values"]
    assert named[0].font.color == LIGHT.key_ink
    assert all("keys, values" not in note.text for note in drawn("decoder")[1].layout.annotations)


def test_keys_and_values_are_named_above_the_encoder_s_last_box_and_beside_the_decoder_s_frame() -> None:
    _, figure = drawn("encoder-decoder")
    named = next(note for note in figure.layout.annotations if note.text == "keys, values")
    boxes = [shape for shape in figure.layout.shapes if shape.type == "rect"]
    assert named.yanchor == "bottom"
    assert named.y >= max(box.y1 for box in boxes if box.x1 < 1)
    assert named.xanchor == "right"
    assert named.x < min(box.x0 for box in boxes if box.x0 > 1)


def test_the_dark_theme_has_its_own_ink() -> None:
    _, figure = drawn("encoder", dark=True)
    assert DARK.ink in {note.font.color for note in figure.layout.annotations if note.text}


def test_thousands_are_set_apart() -> None:
    assert diagram.shape_text((12, 30522)) == "12 × 30\u2009522"


def test_the_diagram_can_be_read_aloud() -> None:
    model_columns, _ = drawn("encoder-decoder")
    assert "Decoder: 2 blocks of Norm, Self-attention, Norm, Cross-attention" in diagram.alt(model_columns)
