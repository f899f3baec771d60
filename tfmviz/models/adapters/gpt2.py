"""GPT-2: pre-norm decoder with learned positions; matrices stored [in, out]; queries, keys and values in one."""

from __future__ import annotations

from torch import Tensor

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

_WORDS, _HEAD = "wte.weight", "lm_head.weight"


def _config(settings: Settings, state: State) -> TransformerConfig:
    demand(settings, "scale_attn_by_inverse_layer_idx", False)
    demand(settings, "add_cross_attention", False)
    return TransformerConfig(
        architecture="decoder",
        vocab_size=settings["vocab_size"],
        d_model=settings["n_embd"],
        n_heads=settings["n_head"],
        n_layers=settings["n_layer"],
        d_ff=settings.get("n_inner") or 0,
        max_positions=settings["n_positions"],
        attention_scale=None if settings.get("scale_attn_weights", True) else 1.0,
        position="learned",
        block="pre-norm",
        norm="layer",
        norm_eps=settings.get("layer_norm_epsilon", 1e-5),
        activation=activation(settings.get("activation_function", "gelu_new")),
        **tie(state, _HEAD, _WORDS),
    )


def _turned(ours: str, theirs: str) -> dict[str, Source]:
    return {f"{ours}.weight": Source(f"{theirs}.weight", Tensor.t), f"{ours}.bias": Source(f"{theirs}.bias")}


def _third(ours: str, theirs: str, index: int) -> dict[str, Source]:
    """One of queries, keys and values, which lie side by side."""
    return {
        f"{ours}.weight": Source(f"{theirs}.weight", lambda tensor: tensor.t().chunk(3)[index]),
        f"{ours}.bias": Source(f"{theirs}.bias", lambda tensor: tensor.chunk(3)[index]),
    }


def _sources(config: TransformerConfig) -> dict[str, Source]:
    found = {
        "tokens.weight": Source(_WORDS),
        "embedding.position.table.weight": Source("wpe.weight"),
        **linear("stack.final_norm", "ln_f", bias=True),
    }
    for layer in range(config.n_layers):
        ours, theirs = f"stack.blocks.{layer}", f"h.{layer}"
        for index, name in enumerate(("query", "key", "value")):
            found |= _third(f"{ours}.attention.{name}", f"{theirs}.attn.c_attn", index)
        found |= _turned(f"{ours}.attention.output", f"{theirs}.attn.c_proj")
        found |= linear(f"{ours}.attention_norm", f"{theirs}.ln_1", bias=True)
        found |= _turned(f"{ours}.feed_forward.up", f"{theirs}.mlp.c_fc")
        found |= _turned(f"{ours}.feed_forward.down", f"{theirs}.mlp.c_proj")
        found |= linear(f"{ours}.feed_forward_norm", f"{theirs}.ln_2", bias=True)
    if config.output == "linear":
        found["output.linear.weight"] = Source(_HEAD)
    return found


FAMILY = Family(
    model_types=("gpt2",),
    rename=without_prefix("transformer."),
    config=_config,
    sources=_sources,
    unused={
        r"^h\.\d+\.attn\.(bias|masked_bias)$": "the causal mask as a table: a rule here",
        rf"^{_HEAD}$": "equal to the tokens' table, or it would be used",
    },
)
