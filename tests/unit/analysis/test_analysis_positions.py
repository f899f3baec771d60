"""Positions against the formulas of the papers, transformers' own tables, and the models' own outputs."""

from __future__ import annotations

import math

import pytest
import torch

import tfmviz
from tfmviz.analysis import positions
from tfmviz.analysis.positions_order import VOCABULARY, small_model
from tfmviz.errors import ConfigError, TextTooLong
from tfmviz.models import Model
from tfmviz.text import Token


@pytest.mark.parametrize(("d_model", "base"), [(8, 10_000.0), (7, 100.0), (1, 2.0)])
def test_encoding_is_the_papers_formula(d_model: int, base: float) -> None:
    table = positions.encoding(50, d_model, base)
    for at in (0, 1, 17, 49):
        for i in range(d_model):
            angle = at / base ** ((i - i % 2) / d_model)
            assert table[at, i] == pytest.approx(math.cos(angle) if i % 2 else math.sin(angle), abs=1e-5)


def test_sinusoids_dot_product_depends_on_the_distance_alone() -> None:
    table = positions.encoding(60, 32)
    from_0, from_20 = positions.dots_by_distance(table, 0), positions.dots_by_distance(table, 20)
    assert (from_0[:40] - from_20[20:]).abs().max() < 1e-5
    assert from_0[0] == pytest.approx(1)


def test_wavelengths_are_where_the_curve_comes_round() -> None:
    first = positions.wavelengths(16)
    assert first[0] == pytest.approx(2 * math.pi)
    assert first[1] == pytest.approx(2 * math.pi * 10_000 ** (2 / 16), rel=1e-5)


@pytest.mark.parametrize("base", [1.0, 0.5])
def test_impossible_encodings_are_refused(base: float) -> None:
    with pytest.raises(ConfigError):
        positions.encoding(4, 4, base)
    with pytest.raises(ConfigError):
        positions.encoding(1 << 20, 64)


def test_minilms_table_is_the_one_in_its_file(minilm: Model) -> None:
    table = positions.learned(minilm)
    ours = positions.learned(tfmviz.load_model("scratch-minilm", device="cpu", allow_download=False))
    assert table is not None
    assert ours is not None
    assert table.shape == (512, 384)
    assert torch.equal(table, ours)


def test_a_rotary_model_has_no_table(smollm2: Model) -> None:
    assert positions.learned(smollm2) is None
    assert positions.learned(tfmviz.load_model("scratch-untrained", device="cpu")) is None


def test_neighbours_are_more_alike_than_strangers(minilm: Model) -> None:
    table = positions.learned(minilm)
    assert table is not None
    alike = positions.similarity(table)
    centred = (table - table.mean(0)).double()
    cosine = torch.nn.functional.cosine_similarity(centred[3], centred[9], dim=0)
    assert float(alike[3, 9]) == pytest.approx(float(cosine), abs=1e-5)
    assert alike.diagonal(1).mean() > alike.diagonal(100).mean()


def test_pairs_turn_as_fast_as_in_the_paper() -> None:
    found = positions.turns(64, base=10_000)
    expected = torch.tensor([10_000 ** (-2 * i / 64) for i in range(32)])
    assert (found.radians - expected).abs().max() < 1e-6
    assert found.angles(5)[3] == pytest.approx(5 * float(expected[3]), rel=1e-5)


def test_a_score_at_a_distance_is_that_of_rotated_vectors() -> None:
    from tfmviz.nn import TransformerConfig, rotate, rotation

    found = positions.turns(16)
    config = TransformerConfig(
        architecture="decoder", vocab_size=2, d_model=16, n_heads=1, n_layers=1, position="rotary"
    )
    ones = torch.ones(1, 1, 2, 16)
    turned = rotate(ones, rotation(torch.tensor([4, 11]), config))[0, 0]
    score = float(turned[0] @ turned[1]) / 16
    assert float(positions.score_by_distance(found, torch.tensor([7.0]))[0]) == pytest.approx(score, abs=1e-5)


def test_linear_scaling_squeezes_a_long_text_into_the_trained_range() -> None:
    plain, scaled = positions.turns(32), positions.turns(32, scaling="linear", factor=4)
    at = torch.arange(0, 100.0)
    apart = positions.score_by_distance(scaled, 4 * at) - positions.score_by_distance(plain, at)
    assert apart.abs().max() < 1e-5


def test_ntk_and_llama3_leave_the_fastest_pair_and_slow_the_slowest() -> None:
    plain = positions.turns(32, trained_length=256)
    for scaling in ("ntk", "llama3"):
        scaled = positions.turns(32, scaling=scaling, factor=4, trained_length=256)
        assert scaled.radians[0] == pytest.approx(float(plain.radians[0]))
        assert float(plain.radians[-1] / scaled.radians[-1]) == pytest.approx(4, rel=1e-3)


def test_unseen_pairs_are_those_that_never_come_round() -> None:
    found = positions.turns(64, base=10_000, trained_length=512)
    expected = sum(2 * math.pi * 10_000 ** (2 * i / 64) > 512 for i in range(32))
    assert found.unseen == expected


def test_alibi_of_eight_heads_is_the_papers() -> None:
    slopes, bias = positions.alibi(8, 5)
    assert slopes.tolist() == [2.0**-i for i in range(1, 9)]
    assert bias[2].tolist() == [-d / 8 for d in range(5)]


@pytest.mark.parametrize("both", [True, False])
def test_buckets_are_those_of_transformers_t5(both: bool) -> None:
    from transformers.models.t5.modeling_t5 import T5Attention

    distance, bucket = positions.buckets(300, both_directions=both)
    theirs = T5Attention._relative_position_bucket(distance, bidirectional=both, num_buckets=32, max_distance=128)
    assert torch.equal(bucket, theirs)


def _tokens(text: str) -> tuple[Token, ...]:
    return tuple(Token(id=ord(c), text=c, start=i, end=i + 1) for i, c in enumerate(text))


def test_without_positions_shuffled_tokens_give_shuffled_outputs_and_with_them_not() -> None:
    found = {one.scheme: one for one in positions.order(_tokens("the cat and the dog"))}
    assert list(found) == list(positions.SCHEMES)
    assert found["none"].error < 1e-5
    assert found["none"].same_token is not None
    assert found["none"].same_token < 1e-5
    for scheme in positions.SCHEMES[1:]:
        assert found[scheme].error > 1e-2
        assert found[scheme].same_token is not None
        assert found[scheme].same_token > 1e-3
    for one in found.values():
        assert (one.weights.sum(-1) - 1).abs().max() < 1e-5


def test_the_small_models_differ_in_nothing_but_the_scheme() -> None:
    plain = dict(small_model("none").named_parameters())
    for scheme in positions.SCHEMES[1:]:
        other = dict(small_model(scheme).named_parameters())
        assert all(torch.equal(other[name], weight) for name, weight in plain.items())
        assert all("table" in name for name in set(other) - set(plain))


def test_one_token_has_no_order_to_lose() -> None:
    for one in positions.order(_tokens("a")):
        assert one.error == 0
        assert one.same_token is None


def test_tokens_that_share_a_row_of_the_small_vocabulary_are_not_taken_for_equal() -> None:
    tokens = tuple(Token(id=7 + i * VOCABULARY, text=f"t{i}", start=i, end=i + 1) for i in range(3))
    assert all(one.same_token is None for one in positions.order(tokens))


def test_two_tokens_are_shuffled_too() -> None:
    found = {one.scheme: one for one in positions.order(_tokens("ab"))}
    assert found["rotary"].error > 1e-2
    assert found["alibi"].error < 1e-5, "the distance of the two is the same either way"


def test_a_text_beyond_the_small_model_says_so() -> None:
    with pytest.raises(TextTooLong, match="512"):
        positions.order(_tokens("ab" * 300))


def test_extrapolation_measures_what_it_trained() -> None:
    shares: list[float] = []
    found = positions.extrapolation("alibi", n_steps=3, report=shares.append)
    assert shares == [pytest.approx(i / 3) for i in (1, 2, 3)]
    assert list(found.accuracy) == list(positions.LENGTHS)
    assert all(0 <= share < 0.3 for share in found.accuracy.values())
    again = positions.extrapolation("alibi", n_steps=3)
    assert again.loss == found.loss


def test_a_learned_table_ends_where_training_did() -> None:
    found = positions.extrapolation("learned", n_steps=1)
    assert max(found.accuracy) == positions.TRAINED_LENGTH
