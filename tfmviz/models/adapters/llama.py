"""Llama and its kin: pre-norm decoder with RMSNorm, rotary positions, grouped queries and SwiGLU."""

from __future__ import annotations

from typing import Any

from tfmviz.errors import UnsupportedModel
from tfmviz.models.adapters.family import (
    Family,
    Settings,
    Source,
    State,
    activation,
    demand,
    linear,
    tie,
    without_prefix,
)
from tfmviz.nn import TransformerConfig
from tfmviz.nn.config import Bias

_WORDS, _HEAD = "embed_tokens.weight", "lm_head.weight"


def _config(settings: Settings, state: State) -> TransformerConfig:
    demand(settings, "mlp_bias", False)
    demand(settings, "use_sliding_window", False)
    window = settings.get("sliding_window") if settings["model_type"] == "mistral" else None
    return TransformerConfig(
        architecture="decoder",
        vocab_size=settings["vocab_size"],
        d_model=settings["hidden_size"],
        n_heads=settings["num_attention_heads"],
        n_layers=settings["num_hidden_layers"],
        n_kv_heads=settings.get("num_key_value_heads") or 0,
        d_head=settings.get("head_dim") or 0,
        d_ff=settings["intermediate_size"],
        max_positions=settings["max_position_embeddings"],
        mask=f"sliding:{window}" if window else "causal",
        attention_bias=_bias(settings),
        position="rotary",
        rotary_pairing="half",
        **_rotary(settings),
        block="pre-norm",
        norm="rms",
        norm_eps=settings.get("rms_norm_eps", 1e-6),
        feed_forward="gated",
        activation=activation(settings.get("hidden_act", "silu")),
        feed_forward_bias=False,
        **tie(state, _HEAD, _WORDS, tied=settings.get("tie_word_embeddings") is not False),
    )


def _bias(settings: Settings) -> Bias:
    if settings["model_type"] == "qwen2":
        return "qkv"
    return "all" if settings.get("attention_bias") else "none"


def _rotary(settings: Settings) -> dict[str, Any]:
    """Base and scaling, from where newer (``rope_parameters``) and older files (``rope_theta``) keep them."""
    rope = settings.get("rope_parameters") or settings.get("rope_scaling") or {}
    kind = rope.get("rope_type") or rope.get("type") or "default"
    fields: dict[str, Any] = {
        "position_base": rope.get("rope_theta") or settings.get("rope_theta") or 10_000.0,
        "rotary_fraction": rope.get("partial_rotary_factor") or settings.get("partial_rotary_factor") or 1.0,
    }
    if kind == "default":
        return fields
    if kind == "linear":
        return fields | {"rotary_scaling": "linear", "rotary_factor": rope["factor"]}
    if kind == "llama3":
        return fields | {
            "rotary_scaling": "llama3",
            "rotary_factor": rope["factor"],
            "rotary_low_frequency": rope["low_freq_factor"],
            "rotary_high_frequency": rope["high_freq_factor"],
            "rotary_trained_length": rope["original_max_position_embeddings"],
        }
    raise UnsupportedModel(f"Rotary scaling {kind!r} in config.json is none of 'default', 'linear', 'llama3'.")


def _sources(config: TransformerConfig) -> dict[str, Source]:
    qkv, out = config.attention_bias != "none", config.attention_bias == "all"
    found = {"tokens.weight": Source(_WORDS), "stack.final_norm.weight": Source("norm.weight")}
    for layer in range(config.n_layers):
        ours, theirs = f"stack.blocks.{layer}", f"layers.{layer}"
        for name, short in (("query", "q"), ("key", "k"), ("value", "v")):
            found |= linear(f"{ours}.attention.{name}", f"{theirs}.self_attn.{short}_proj", bias=qkv)
        found |= linear(f"{ours}.attention.output", f"{theirs}.self_attn.o_proj", bias=out)
        found |= linear(f"{ours}.attention_norm", f"{theirs}.input_layernorm", bias=False)
        for name in ("up", "gate", "down"):
            found |= linear(f"{ours}.feed_forward.{name}", f"{theirs}.mlp.{name}_proj", bias=False)
        found |= linear(f"{ours}.feed_forward_norm", f"{theirs}.post_attention_layernorm", bias=False)
    if config.output == "linear":
        found["output.linear.weight"] = Source(_HEAD)
    return found


FAMILY = Family(
    model_types=("llama", "mistral", "qwen2"),
    rename=without_prefix("model."),
    config=_config,
    sources=_sources,
    unused={
        r"rotary_emb\.inv_freq$": "computed here from the base",
        rf"^{_HEAD}$": "equal to the tokens' table, or it would be used",
    },
)
