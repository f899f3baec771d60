"""Position schemes against their papers' numbers and properties."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from nn_cases import config

from tfmviz.errors import ConfigError
from tfmviz.nn import alibi_slopes, build, frequencies, relative_bucket, rotate, rotation, sinusoidal
from tfmviz.nn.biases import RelativeBias


@pytest.mark.parametrize(
    ("position", "dimension", "expected"),
    [
        (0, 0, 0.0),
        (0, 1, 1.0),
        (1, 0, math.sin(1)),
        (1, 1, math.cos(1)),
        (10, 256, math.sin(10 / 100)),  # 10000^(256/512) = 100
        (10, 257, math.cos(10 / 100)),
        (5000, 510, math.sin(5000 / 10000 ** (510 / 512))),
        (1_000_000, 0, math.sin(1_000_000)),
    ],
)
def test_sinusoids_are_the_papers(position: int, dimension: int, expected: float) -> None:
    found = sinusoidal(torch.tensor([position]), 512)[0, dimension].item()
    assert found == pytest.approx(expected, abs=1e-6)


def test_sinusoids_have_any_width() -> None:
    wide, odd = sinusoidal(torch.arange(50), 8), sinusoidal(torch.arange(50), 7)
    assert odd.shape == (50, 7)
    assert odd[3, 6].item() == pytest.approx(math.sin(3 / 10000 ** (6 / 7)))
    # the dot product of two positions depends on their distance only: sin·sin + cos·cos
    products = wide @ wide.T
    torch.testing.assert_close(products[10, 14], products[40, 44])


def test_alibi_slopes_of_a_power_of_two_are_a_geometric_sequence() -> None:
    assert alibi_slopes(8).tolist() == [2.0**-i for i in range(1, 9)]


def test_alibi_slopes_of_twelve_heads_fill_in_between() -> None:
    expected = [2.0**-i for i in range(1, 9)] + [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]
    assert alibi_slopes(12).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("n_heads", [1, 3, 9, 16, 25])
def test_alibi_has_a_different_slope_for_every_head(n_heads: int) -> None:
    slopes = alibi_slopes(n_heads).tolist()
    assert len(set(slopes)) == n_heads
    assert all(0 < slope < 1 for slope in slopes)


def test_t5_buckets_in_both_directions() -> None:
    distance = torch.tensor([[0, -1, -7, -8, -16, -32, -64, -127, -500, 1, 7, 8, 16, 32, 64, 500]])
    # 16 buckets a side, 8 of them exact; from 8 on one for every factor 16^(1/8) = sqrt(2), so 16 is in 10, 32 in 12
    expected = [0, 1, 7, 8, 10, 12, 14, 15, 15, 17, 23, 24, 26, 28, 30, 31]
    assert relative_bucket(distance, 32, 128, both_directions=True).tolist() == [expected]


def test_t5_buckets_backwards_only() -> None:
    distance = torch.tensor([[3, 0, -1, -15, -16, -127, -1000]])
    # 16 exact, then 16 up to 128: 127 is in the last
    assert relative_bucket(distance, 32, 128, both_directions=False).tolist() == [[0, 0, 1, 15, 16, 31, 31]]


def test_t5_bias_is_the_tables_entry() -> None:
    bias = RelativeBias(config(position="relative"), both_directions=False)
    block = bias.block(torch.tensor([20]), torch.tensor([4, 5, 19]))
    torch.testing.assert_close(block[:, 0], bias.table.weight[[16, 15, 1]].T)


@given(st.integers(0, 5000), st.integers(0, 5000), st.integers(0, 5000), st.sampled_from(["half", "interleaved"]))
@settings(max_examples=60, deadline=None)
def test_rotary_scores_depend_on_the_difference_only(i: int, j: int, shift: int, pairing: str) -> None:
    c = config(d_model=64, position="rotary", rotary_pairing=pairing)
    generator = torch.Generator().manual_seed(i)
    query, key = torch.randn(2, 1, 1, 1, 16, generator=generator, dtype=torch.float64).unbind(0)

    def score(p: int, q: int) -> float:
        turned = [rotate(x, rotation(torch.tensor([at]), c), pairing) for x, at in ((query, p), (key, q))]
        return float((turned[0] * turned[1]).sum())

    # angles are computed in float32: 1e4 radians have an error of 1e-3
    assert score(i, j) == pytest.approx(score(i + shift, j + shift), abs=5e-3)


def test_rotary_turns_a_pair_by_position_times_frequency() -> None:
    c = config(d_model=16, position="rotary")  # d_head 4: frequencies 1 and 1/100
    assert frequencies(c).tolist() == pytest.approx([1.0, 0.01])
    x = torch.tensor([1.0, 1.0, 0.0, 0.0]).reshape(1, 1, 1, 4)
    half = rotate(x, rotation(torch.tensor([3]), c), "half").flatten().tolist()
    assert half == pytest.approx([math.cos(3), math.cos(0.03), math.sin(3), math.sin(0.03)], abs=1e-6)
    x = torch.tensor([1.0, 0.0, 1.0, 0.0]).reshape(1, 1, 1, 4)
    interleaved = rotate(x, rotation(torch.tensor([3]), c), "interleaved").flatten().tolist()
    assert interleaved == pytest.approx([math.cos(3), math.sin(3), math.cos(0.03), math.sin(0.03)], abs=1e-6)


def test_partial_rotation_leaves_the_rest() -> None:
    c = config(d_model=32, position="rotary", rotary_fraction=0.5)
    x = torch.randn(1, 4, 3, 8)
    turned = rotate(x, rotation(torch.arange(3), c))
    assert torch.equal(turned[..., 4:], x[..., 4:])
    torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1))
    assert (turned[:, :, 1:, :4] - x[:, :, 1:, :4]).abs().min() > 0


@pytest.mark.parametrize("fraction", [1.0, 1 / 3])
def test_rotated_heads_lie_token_by_token_so_that_bringing_heads_together_copies_nothing(fraction: float) -> None:
    heads = torch.randn(2, 5, 4, 6).transpose(1, 2)
    c = config(d_model=24, position="rotary", rotary_fraction=fraction)
    turned = rotate(heads, rotation(torch.arange(5), c))
    assert turned.shape == heads.shape
    assert turned.stride() == heads.stride()


def test_linear_scaling_squeezes_positions() -> None:
    plain, scaled = (config(d_model=64, position="rotary", **more) for more in ({}, SQUEEZED))
    torch.testing.assert_close(rotation(torch.tensor([12]), scaled).cos, rotation(torch.tensor([3]), plain).cos)


SQUEEZED = {"rotary_scaling": "linear", "rotary_factor": 4.0}


def test_ntk_scaling_keeps_the_fastest_pair_and_slows_the_slowest_by_the_factor() -> None:
    plain = frequencies(config(d_model=64, position="rotary"))
    scaled = frequencies(config(d_model=64, position="rotary", rotary_scaling="ntk", rotary_factor=8.0))
    assert scaled[0] == plain[0]
    assert (plain[-1] / scaled[-1]).item() == pytest.approx(8.0, rel=1e-5)


def test_llama3_scaling_by_wavelength() -> None:
    c = config(
        d_model=512, position="rotary", position_base=500_000.0, rotary_scaling="llama3", rotary_factor=8.0,
    )  # fmt: skip
    plain, scaled = frequencies(config(d_model=512, position="rotary", position_base=500_000.0)), frequencies(c)
    wavelength = 2 * math.pi / plain
    short, long = wavelength < 8192 / 4, wavelength > 8192
    assert torch.equal(scaled[short], plain[short])
    torch.testing.assert_close(scaled[long], plain[long] / 8)
    between = ~short & ~long
    assert between.any()
    assert (scaled[between] < plain[between]).all()
    assert (scaled[between] > plain[between] / 8).all()


@pytest.mark.parametrize("position", ["sinusoidal", "learned", "rotary", "alibi", "relative"])
def test_without_positions_a_shuffle_is_invisible_and_with_them_not(position: str) -> None:
    tokens = torch.arange(1, 13)[None]
    order = torch.randperm(12, generator=torch.Generator().manual_seed(0))

    def moved(scheme: str) -> float:
        model = build(config(architecture="encoder", position=scheme)).eval()
        if scheme == "relative":
            torch.nn.init.normal_(model.stack.bias.table.weight)
        return float((model.hidden(tokens)[:, order] - model.hidden(tokens[:, order])).detach().abs().max())

    assert moved("none") < 1e-5
    assert moved(position) > 1e-2


def test_learned_positions_end() -> None:
    model = build(config(max_positions=8))
    with pytest.raises(ConfigError, match="max_positions=8"):
        model(torch.zeros(1, 9, dtype=torch.long))


@pytest.mark.parametrize("position", ["none", "sinusoidal", "rotary", "alibi", "relative"])
def test_computed_positions_do_not(position: str) -> None:
    model = build(config(max_positions=8, position=position))
    assert model(torch.zeros(1, 40, dtype=torch.long)).shape == (1, 40, 31)
