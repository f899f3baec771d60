"""Bytes of matrix and cache by arithmetic, against tensors that were really allocated."""

from __future__ import annotations

import pytest
import torch

from tfmviz.analysis.memory import attention_bytes, attention_weights, itemsize, kv_cache_bytes
from tfmviz.errors import ConfigError
from tfmviz.models import load_model
from tfmviz.nn import KeyValueCache, Transformer, TransformerConfig, attention_stages, build
from tfmviz.nn.attention import Scoring


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.int8])
def test_a_number_takes_what_torch_says(dtype: torch.dtype) -> None:
    assert itemsize(dtype) == torch.zeros(1, dtype=dtype).element_size()
    assert itemsize(str(dtype)) == itemsize(dtype)


def test_an_unknown_format_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="float128"):
        itemsize("float128")


@pytest.mark.parametrize(("batch", "heads", "queries", "keys"), [(1, 8, 64, 64), (3, 2, 5, 17)])
def test_the_matrix_is_the_tensor_that_attention_makes(batch: int, heads: int, queries: int, keys: int) -> None:
    query, key = torch.rand(batch, heads, queries, 4), torch.rand(batch, heads, keys, 4)
    made = attention_stages(query, key, key, Scoring(scale=1.0)).weights
    assert attention_bytes(queries, keys, n_heads=heads, batch=batch) == made.untyped_storage().nbytes()


def test_grouped_queries_leave_the_matrix_as_it_is() -> None:
    query, key = torch.rand(1, 8, 32, 4), torch.rand(1, 2, 32, 4)
    made = attention_stages(query, key, key, Scoring(scale=1.0)).weights
    assert attention_bytes(32, n_heads=8) == made.untyped_storage().nbytes()


@pytest.mark.parametrize(("tokens", "said"), [(1_024, 8.4e6), (4_096, 134e6), (32_768, 8.6e9)])
def test_the_textbooks_rows(tokens: int, said: float) -> None:
    assert attention_weights(tokens, n_heads=8) == pytest.approx(said, rel=0.005)


def test_twice_the_text_is_four_times_the_matrix() -> None:
    assert attention_bytes(2_000, n_heads=3) == 4 * attention_bytes(1_000, n_heads=3)


@pytest.mark.parametrize("kv_heads", [1, 2, 8])
def test_the_cache_is_what_a_model_from_scratch_keeps(kv_heads: int) -> None:
    config = TransformerConfig(
        architecture="decoder", vocab_size=50, d_model=32, n_heads=8, n_kv_heads=kv_heads, n_layers=3, position="rotary"
    )
    model = build(config, seed=0)
    assert isinstance(model, Transformer)
    cache = KeyValueCache()
    with torch.no_grad():
        model.hidden(torch.zeros(2, 21, dtype=torch.long), cache=cache)
    held = sum(tensor.untyped_storage().nbytes() for pair in cache.entries.values() for tensor in pair)
    assert kv_cache_bytes(21, n_layers=3, n_kv_heads=kv_heads, d_head=4, batch=2) == held


def test_the_cache_is_that_of_transformers_for_smollm2() -> None:
    model = load_model("smollm2", device="cpu")
    ids = torch.arange(100, 140)[None]
    with torch.no_grad():
        cache = model._module(ids, use_cache=True, logits_to_keep=1).past_key_values
    held = sum(x.numel() * x.element_size() for layer in cache.layers for x in (layer.keys, layer.values))
    assert kv_cache_bytes(40, n_layers=30, n_kv_heads=3, d_head=64) == held


def test_a_window_bounds_the_cache() -> None:
    sizes = {"n_layers": 2, "n_kv_heads": 2, "d_head": 8}
    assert kv_cache_bytes(10_000, **sizes, window=512) == kv_cache_bytes(512, **sizes)
    assert kv_cache_bytes(100, **sizes, window=512) == kv_cache_bytes(100, **sizes)


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(ConfigError, match="n_heads=-1"):
        attention_bytes(8, n_heads=-1)
