"""T5: encoder-decoder with RMSNorm, no biases, no scaling of q·k, and position as a bias by distance."""

from __future__ import annotations

from tfmviz.errors import UnsupportedModel
from tfmviz.models.adapters.family import Family, Settings, Source, State, activation, linear, tie
from tfmviz.nn import TransformerConfig

_WORDS, _HEAD = "shared.weight", "lm_head.weight"


def _config(settings: Settings, state: State) -> TransformerConfig:
    gated, _, name = settings.get("feed_forward_proj", "relu").rpartition("-")
    if gated not in ("", "gated"):
        raise UnsupportedModel(f"feed_forward_proj={settings['feed_forward_proj']!r} is not 'relu' or 'gated-gelu'.")
    name = "gelu_new" if gated and name == "gelu" else name  # "gated-gelu" means the approximation
    # version 1.0 scales the last states because its head is tied; 1.1 has its own head and does not
    scaled = settings.get("scale_decoder_outputs", settings.get("tie_word_embeddings", True))
    return TransformerConfig(
        architecture="encoder-decoder",
        vocab_size=settings["vocab_size"],
        d_model=settings["d_model"],
        n_heads=settings["num_heads"],
        n_layers=settings["num_layers"],
        n_decoder_layers=settings.get("num_decoder_layers") or 0,
        d_head=settings["d_kv"],
        d_ff=settings["d_ff"],
        max_positions=settings.get("n_positions") or 512,
        attention_scale=1.0,
        attention_bias="none",
        position="relative",
        relative_buckets=settings.get("relative_attention_num_buckets", 32),
        relative_max_distance=settings.get("relative_attention_max_distance", 128),
        block="pre-norm",
        norm="rms",
        norm_eps=settings.get("layer_norm_epsilon", 1e-6),
        feed_forward="gated" if gated else "plain",
        activation=activation(name),
        feed_forward_bias=False,
        output_scale=settings["d_model"] ** -0.5 if scaled else 1.0,
        **tie(state, _HEAD, _WORDS),
    )


def _attention(ours: str, theirs: str) -> dict[str, Source]:
    names = (("query", "q"), ("key", "k"), ("value", "v"), ("output", "o"))
    return {f"{ours}.{name}.weight": Source(f"{theirs}.{short}.weight") for name, short in names}


def _sources(config: TransformerConfig) -> dict[str, Source]:
    found = {"tokens.weight": Source(_WORDS)}
    wide = {"up": "wi_1", "gate": "wi_0"} if config.feed_forward == "gated" else {"up": "wi"}
    for stack, n_layers in (("encoder", config.n_layers), ("decoder", config.n_decoder_layers)):
        table = f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        found[f"{stack}.bias.table.weight"] = Source(table)
        found |= linear(f"{stack}.final_norm", f"{stack}.final_layer_norm", bias=False)
        for layer in range(n_layers):
            ours, theirs = f"{stack}.blocks.{layer}", f"{stack}.block.{layer}.layer"
            found |= _attention(f"{ours}.attention", f"{theirs}.0.SelfAttention")
            found |= linear(f"{ours}.attention_norm", f"{theirs}.0.layer_norm", bias=False)
            if stack == "decoder":
                found |= _attention(f"{ours}.cross", f"{theirs}.1.EncDecAttention")
                found |= linear(f"{ours}.cross_norm", f"{theirs}.1.layer_norm", bias=False)
            last = f"{theirs}.{2 if stack == 'decoder' else 1}"
            found |= linear(f"{ours}.feed_forward_norm", f"{last}.layer_norm", bias=False)
            for name, other in (*wide.items(), ("down", "wo")):
                found |= linear(f"{ours}.feed_forward.{name}", f"{last}.DenseReluDense.{other}", bias=False)
    if config.output == "linear":
        found["output.linear.weight"] = Source(_HEAD)
    return found


FAMILY = Family(
    model_types=("t5",),
    rename=str,
    config=_config,
    sources=_sources,
    copies={"encoder.embed_tokens.weight": _WORDS, "decoder.embed_tokens.weight": _WORDS},
    unused={
        r"EncDecAttention\.relative_attention_bias\.": "in the first checkpoints; cross-attention has no positions",
        rf"^{_HEAD}$": "equal to the tokens' table, or it would be used",
    },
)
