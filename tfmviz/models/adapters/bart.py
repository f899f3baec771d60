"""BART: post-norm encoder-decoder with learned positions that start at row 2 of their table."""

from __future__ import annotations

from tfmviz.errors import UnsupportedModel
from tfmviz.models.adapters.family import Family, Settings, Source, State, activation, linear, without_prefix
from tfmviz.nn import TransformerConfig

_WORDS = "shared.weight"


def _config(settings: Settings, state: State) -> TransformerConfig:
    for name in ("attention_heads", "ffn_dim"):
        sizes = settings[f"encoder_{name}"], settings[f"decoder_{name}"]
        if sizes[0] != sizes[1]:
            raise UnsupportedModel(f"encoder_{name}={sizes[0]} and decoder_{name}={sizes[1]}: one number serves both.")
    speaks = "final_logits_bias" in state
    return TransformerConfig(
        architecture="encoder-decoder",
        vocab_size=settings["vocab_size"],
        d_model=settings["d_model"],
        n_heads=settings["encoder_attention_heads"],
        n_layers=settings["encoder_layers"],
        n_decoder_layers=settings["decoder_layers"],
        d_ff=settings["encoder_ffn_dim"],
        max_positions=settings["max_position_embeddings"],
        position="learned",
        position_offset=2,
        embedding_scale=settings["d_model"] ** 0.5 if settings.get("scale_embedding") else 1.0,
        embedding_norm=True,
        block="post-norm",
        norm="layer",
        norm_eps=1e-5,
        activation=activation(settings.get("activation_function", "gelu")),
        output="tied",
        output_bias=speaks,
    )


def _attention(ours: str, theirs: str) -> dict[str, Source]:
    found: dict[str, Source] = {}
    for name, short in (("query", "q"), ("key", "k"), ("value", "v"), ("output", "out")):
        found |= linear(f"{ours}.{name}", f"{theirs}.{short}_proj", bias=True)
    return found


def _sources(config: TransformerConfig) -> dict[str, Source]:
    found = {"tokens.weight": Source(_WORDS)}
    if config.output_bias:
        found["output.bias"] = Source("final_logits_bias", lambda tensor: tensor[0])  # stored [1, vocab]
    stacks = (("encoder", "source", config.n_layers), ("decoder", "target", config.n_decoder_layers))
    for stack, side, n_layers in stacks:
        found[f"{side}_embedding.position.table.weight"] = Source(f"{stack}.embed_positions.weight")
        found |= linear(f"{side}_embedding.norm", f"{stack}.layernorm_embedding", bias=True)
        for layer in range(n_layers):
            ours, theirs = f"{stack}.blocks.{layer}", f"{stack}.layers.{layer}"
            found |= _attention(f"{ours}.attention", f"{theirs}.self_attn")
            found |= linear(f"{ours}.attention_norm", f"{theirs}.self_attn_layer_norm", bias=True)
            if stack == "decoder":
                found |= _attention(f"{ours}.cross", f"{theirs}.encoder_attn")
                found |= linear(f"{ours}.cross_norm", f"{theirs}.encoder_attn_layer_norm", bias=True)
            found |= linear(f"{ours}.feed_forward.up", f"{theirs}.fc1", bias=True)
            found |= linear(f"{ours}.feed_forward.down", f"{theirs}.fc2", bias=True)
            found |= linear(f"{ours}.feed_forward_norm", f"{theirs}.final_layer_norm", bias=True)
    return found


FAMILY = Family(
    model_types=("bart",),
    rename=without_prefix("model."),
    config=_config,
    sources=_sources,
    copies={
        "encoder.embed_tokens.weight": _WORDS,
        "decoder.embed_tokens.weight": _WORDS,
        "lm_head.weight": _WORDS,
    },
)
