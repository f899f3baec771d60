"""A configuration that cannot be built says which field, which value, and what to do."""

from __future__ import annotations

import json
from typing import Any

import pytest
from nn_cases import config

from tfmviz.errors import ConfigError, UnknownMask
from tfmviz.nn import EncoderDecoder, Transformer, TransformerConfig


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"d_model": 25}, ["d_model=25", "n_heads=4", "d_model=28"]),
        ({"n_heads": 0}, ["n_heads=0", "1 or more"]),
        ({"n_kv_heads": 3}, ["n_kv_heads=3", "n_heads=4", "divisor"]),
        ({"position": "rotary", "d_head": 5}, ["d_head=5", "5 dimensions", "even"]),
        ({"position": "rotary", "rotary_fraction": 0.5, "d_head": 6}, ["rotary_fraction=0.5", "3 dimensions", "even"]),
        ({"position": "rotary", "rotary_fraction": 1.5}, ["rotary_fraction=1.5"]),
        ({"position": "rope"}, ["position='rope'", "'rotary'"]),
        ({"block": "prenorm"}, ["block='prenorm'", "'pre-norm'"]),
        ({"attention_form": "flash"}, ["attention_form='flash'", "'chunked'"]),
        ({"attention_softcap": 30.0}, ["attention_softcap", "chunked"]),
        ({"attention_softcap": -1.0, "attention_form": "chunked"}, ["attention_softcap=-1.0", "None"]),
        ({"dropout": 1.0}, ["dropout=1.0", "between 0 and 1"]),
        ({"norm_eps": 0.0}, ["norm_eps=0.0", "1e-5"]),
        ({"architecture": "encoder-decoder", "block": "parallel"}, ["block='parallel'", "pre-norm"]),
        ({"position": "relative", "relative_buckets": 2}, ["relative_buckets=2"]),
        ({"vocab_size": 0}, ["vocab_size=0"]),
        ({"position_base": 1.0}, ["position_base=1.0", "10000"]),
    ],
)
def test_errors_name_field_value_and_fix(changes: dict[str, Any], said: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        config(**changes)
    assert all(part in str(error.value) for part in said), str(error.value)


def test_unknown_mask_rule_is_refused() -> None:
    with pytest.raises(UnknownMask, match="diagonal"):
        config(mask="diagonal")


def test_zeros_are_derived() -> None:
    c = config(d_model=48)
    assert (c.n_kv_heads, c.d_head, c.d_ff, c.mask, c.n_decoder_layers) == (4, 12, 192, "causal", 0)
    c = config(architecture="encoder-decoder", n_layers=3)
    assert (c.mask, c.n_decoder_layers) == ("bidirectional", 3)
    assert c.scale == 6**-0.5


def test_json_there_and_back() -> None:
    c = config(position="rotary", rotary_scaling="llama3", rotary_factor=8.0, attention_scale=1.0)
    assert TransformerConfig.from_dict(json.loads(json.dumps(c.to_dict()))) == c


def test_a_field_from_nowhere_is_refused() -> None:
    with pytest.raises(ConfigError, match="n_head"):
        TransformerConfig.from_dict({**config().to_dict(), "n_head": 3})


def test_each_class_refuses_the_others_architecture() -> None:
    with pytest.raises(ConfigError, match="EncoderDecoder"):
        Transformer(config(architecture="encoder-decoder"))
    with pytest.raises(ConfigError, match="Transformer"):
        EncoderDecoder(config())
