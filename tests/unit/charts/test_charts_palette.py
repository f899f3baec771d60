"""The colours, measured again."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tfmviz.charts.palette import DARK, LIGHT, contrast, ink_on, palette, plotly_scale, rgb, table

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])

# How people without one kind of cone see linear sRGB (Machado, Oliveira and Fernandes 2009, severity 1).
BLINDNESS = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def linear(colour: str) -> np.ndarray:
    value = np.array(rgb(colour)) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab(rgb_linear: np.ndarray) -> np.ndarray:
    """CIELAB under D65."""
    to_xyz = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    )
    ratio = to_xyz @ rgb_linear / to_xyz.sum(axis=1)
    f = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def lightness(colour: str) -> float:
    return float(lab(linear(colour))[0])


@THEMES
def test_weights_go_from_the_page_in_equal_steps_of_lightness(theme):
    steps = np.diff([lightness(colour) for colour in theme.weights])
    assert theme.weights[0] == theme.background
    assert np.all(steps < 0) or np.all(steps > 0)
    assert np.ptp(np.abs(steps)) < 0.12 * np.abs(steps).mean()
    assert abs(lightness(theme.weights[-1]) - lightness(theme.weights[0])) > 80


@THEMES
@pytest.mark.parametrize("kind", BLINDNESS)
def test_weights_keep_their_order_for_colour_blind_people(theme, kind):
    seen = [lab(np.clip(np.array(BLINDNESS[kind]) @ linear(colour), 0, 1))[0] for colour in theme.weights]
    steps = np.diff(seen)
    assert np.all(steps < 0) or np.all(steps > 0)


@THEMES
def test_differences_are_even_on_both_sides_of_the_page(theme):
    values = np.array([lightness(colour) for colour in theme.difference])
    middle = len(values) // 2
    assert theme.difference[middle] == theme.background
    for side in (values[: middle + 1][::-1], values[middle:]):
        steps = np.diff(side)
        assert np.all(steps < 0) or np.all(steps > 0)
        assert np.ptp(np.abs(steps)) < 0.2 * np.abs(steps).mean()
    assert values[0] == pytest.approx(values[-1], abs=3)


@THEMES
def test_words_can_be_read(theme):
    for ink in (theme.ink, theme.faint, theme.query_ink, theme.key_ink, theme.value_ink):
        assert contrast(ink, theme.background) >= 4.5


@THEMES
def test_marks_and_lines_stand_out(theme):
    for mark in (theme.query, theme.key, theme.value, *theme.heads):
        assert contrast(mark, theme.background) >= 3


@THEMES
def test_twelve_heads_can_be_told_apart(theme):
    assert len(theme.heads) == 12
    for a, b in combinations(theme.heads, 2):
        assert np.linalg.norm(lab(linear(a)) - lab(linear(b))) > 25
        for matrix in BLINDNESS.values():
            seen = [lab(np.clip(np.array(matrix) @ linear(colour), 0, 1)) for colour in (a, b)]
            assert np.linalg.norm(seen[0] - seen[1]) > 15


@THEMES
def test_masked_is_no_colour_of_a_weight(theme):
    weights = [lab(np.array(linear("#{:02X}{:02X}{:02X}".format(*c)))) for c in table(theme.weights, 64)]
    for colour in (theme.masked, theme.hatch):
        assert min(np.linalg.norm(lab(linear(colour)) - weight) for weight in weights) > 4
    assert contrast(theme.hatch, theme.masked) > 1.4


def test_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)  # the known grey that just fails
    assert (ink_on("#1B1464"), ink_on("#ECEFFE")) == ("#FFFFFF", "#000000")


@THEMES
def test_table_passes_through_the_stops(theme):
    colours = table(theme.weights, 16 * 16 + 1)
    assert [colours[i] for i in range(0, 257, 16)] == [rgb(stop) for stop in theme.weights]
    assert len(table(theme.weights)) == 256


def test_plotly_gets_the_same_stops():
    scale = plotly_scale(palette(dark=False).weights)
    assert (scale[0], scale[8], scale[-1]) == ([0, "#FFFFFF"], [0.5, LIGHT.weights[8]], [1, LIGHT.weights[-1]])
