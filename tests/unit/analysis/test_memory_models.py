"""Bytes of whole models: parameters as they are loaded, parts as formulas say, texts that just fit."""

from __future__ import annotations

from typing import Literal

import pytest

from tfmviz.analysis.memory_catalogue import model_shape, of_config
from tfmviz.analysis.memory_models import decoder, longest, model_bytes, shared
from tfmviz.errors import ConfigError
from tfmviz.models import load_model
from tfmviz.nn import TransformerConfig, build

SIZES = {"n_layers": 3, "d_model": 32, "n_heads": 8, "n_kv_heads": 2, "d_head": 4, "d_ff": 80, "vocab_size": 100}


@pytest.mark.parametrize(
    "name",
    [
        "minilm",
        "smollm2",
        "scratch-minilm",
        "scratch-smollm2",
        "scratch-untrained",
        "scratch-induction",
        "scratch-dates",
    ],
)
def test_sizes_are_those_of_the_loaded_model(name: str) -> None:
    shape, model = model_shape(name), load_model(name, device="cpu")
    assert shape.n_parameters == model.n_parameters
    assert (shape.n_heads, shape.n_kv_heads, shape.d_model) == (model.n_heads, model.n_kv_heads, model.d_model)
    assert (shape.n_cached == 0) == (model.kind == "encoder")


def test_smollm2_is_its_card() -> None:
    shape = model_shape("smollm2")
    assert (shape.n_layers, shape.d_head, shape.d_ff) == (30, 64, 1536)
    assert shape.n_attention == shape.n_cached == 30


def test_an_encoder_decoder_caches_two_layers_a_block() -> None:
    config = TransformerConfig(architecture="encoder-decoder", vocab_size=9, d_model=8, n_heads=2, n_layers=3)
    shape = of_config(config, name="it")
    assert (shape.n_layers, shape.n_attention, shape.n_cached) == (6, 9, 6)


@pytest.mark.parametrize(("tied", "output"), [(True, "tied"), (False, "linear")])
def test_a_typed_decoder_has_as_many_parameters_as_one_that_is_built(
    tied: bool, output: Literal["tied", "linear"]
) -> None:
    config = TransformerConfig(
        architecture="decoder",
        **SIZES,
        position="rotary",
        norm="rms",
        feed_forward="gated",
        activation="silu",
        attention_bias="none",
        feed_forward_bias=False,
        output=output,
    )
    built = build(config, seed=0)
    assert decoder(**SIZES, tied=tied).n_parameters == sum(weight.numel() for weight in built.parameters())


def test_sharing_keys_shrinks_cache_and_projections_and_leaves_the_matrix() -> None:
    own = decoder(**SIZES, tied=True)
    alone = shared(own, "MQA", window=16)
    assert alone.n_parameters == decoder(**(SIZES | {"n_kv_heads": 1}), tied=True).n_parameters
    before, after = model_bytes(own, 64), model_bytes(alone, 64)
    assert 2 * after.cache == before.cache
    assert after.matrix == before.matrix == 4 * 8 * 64 * 64


def test_a_window_bounds_matrix_and_cache() -> None:
    windowed = shared(decoder(**SIZES, tied=True), "sliding window", window=16)
    long, longer = model_bytes(windowed, 64), model_bytes(windowed, 128)
    assert long.matrix == 4 * 8 * 64 * 16
    assert longer.matrix == 2 * long.matrix
    assert longer.cache == long.cache


def test_int8_halves_what_is_stored_and_not_what_is_computed() -> None:
    shape = decoder(**SIZES, tied=True)
    half, quarter = model_bytes(shape, 64, dtype="bfloat16"), model_bytes(shape, 64, dtype="int8")
    assert half.weights == 2 * quarter.weights == 2 * shape.n_parameters
    assert half.cache == 2 * quarter.cache
    assert half.matrix == quarter.matrix


def test_the_longest_text_fits_and_one_more_token_does_not() -> None:
    shape = decoder(**SIZES, tied=True)

    def needs(n: int) -> int:
        return model_bytes(shape, n).stored

    most = longest(needs, 10**7)
    assert needs(most) <= 10**7 < needs(most + 1)
    assert longest(needs, 1) == 0


def test_heads_that_do_not_divide_are_refused() -> None:
    with pytest.raises(ConfigError, match="n_kv_heads=3"):
        decoder(**(SIZES | {"n_kv_heads": 3}), tied=True)
