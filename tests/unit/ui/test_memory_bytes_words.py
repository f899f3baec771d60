"""Sentences on where a model's bytes go."""

from __future__ import annotations

from tfmviz.analysis.memory_models import decoder
from tfmviz.ui import memory_bytes_words


def test_one_layer_and_one_head_are_said_in_the_singular() -> None:
    shape = decoder(n_layers=1, d_model=64, n_heads=1, n_kv_heads=1, d_head=64, d_ff=256, vocab_size=1_000, tied=True)
    assert "1 attention layer of 1 head." in memory_bytes_words.line(shape, tied=True)


def test_one_shared_pair_of_keys_and_values_is_said_in_the_singular() -> None:
    shape = decoder(n_layers=2, d_model=64, n_heads=4, n_kv_heads=1, d_head=16, d_ff=256, vocab_size=1_000, tied=True)
    assert "2 attention layers of 4 heads on 1 KV head." in memory_bytes_words.line(shape, tied=True)
