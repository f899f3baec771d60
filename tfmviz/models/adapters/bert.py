"""BERT: post-norm encoder with learned positions and sentence types; with or without its masked-word head."""

from __future__ import annotations

from tfmviz.models.adapters.family import Family, Settings, Source, State, activation, demand, linear, without_prefix
from tfmviz.nn import TransformerConfig

_WORDS = "embeddings.word_embeddings.weight"
_strip = without_prefix("bert.")


def _rename(name: str) -> str:
    # the first checkpoints call a norm's weight and bias gamma and beta
    return _strip(name).replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


def _config(settings: Settings, state: State) -> TransformerConfig:
    demand(settings, "position_embedding_type", "absolute")
    demand(settings, "is_decoder", False)
    speaks = "cls.predictions.transform.dense.weight" in state
    return TransformerConfig(
        architecture="encoder",
        vocab_size=settings["vocab_size"],
        d_model=settings["hidden_size"],
        n_heads=settings["num_attention_heads"],
        n_layers=settings["num_hidden_layers"],
        d_ff=settings["intermediate_size"],
        max_positions=settings["max_position_embeddings"],
        position="learned",
        n_segments=settings.get("type_vocab_size", 2),
        embedding_norm=True,
        block="post-norm",
        norm="layer",
        norm_eps=settings.get("layer_norm_eps", 1e-12),
        activation=activation(settings.get("hidden_act", "gelu")),
        output="tied" if speaks else "none",
        output_bias=speaks,
        output_transform=speaks,
    )


def _sources(config: TransformerConfig) -> dict[str, Source]:
    found = {
        "tokens.weight": Source(_WORDS),
        "embedding.position.table.weight": Source("embeddings.position_embeddings.weight"),
        "embedding.segment.weight": Source("embeddings.token_type_embeddings.weight"),
        **linear("embedding.norm", "embeddings.LayerNorm", bias=True),
    }
    for layer in range(config.n_layers):
        ours, theirs = f"stack.blocks.{layer}", f"encoder.layer.{layer}"
        for name in ("query", "key", "value"):
            found |= linear(f"{ours}.attention.{name}", f"{theirs}.attention.self.{name}", bias=True)
        found |= linear(f"{ours}.attention.output", f"{theirs}.attention.output.dense", bias=True)
        found |= linear(f"{ours}.attention_norm", f"{theirs}.attention.output.LayerNorm", bias=True)
        found |= linear(f"{ours}.feed_forward.up", f"{theirs}.intermediate.dense", bias=True)
        found |= linear(f"{ours}.feed_forward.down", f"{theirs}.output.dense", bias=True)
        found |= linear(f"{ours}.feed_forward_norm", f"{theirs}.output.LayerNorm", bias=True)
    if config.output_transform:
        found |= linear("output.dense", "cls.predictions.transform.dense", bias=True)
        found |= linear("output.norm", "cls.predictions.transform.LayerNorm", bias=True)
        found["output.bias"] = Source("cls.predictions.bias")
    return found


FAMILY = Family(
    model_types=("bert",),
    rename=_rename,
    config=_config,
    sources=_sources,
    copies={"cls.predictions.decoder.weight": _WORDS, "cls.predictions.decoder.bias": "cls.predictions.bias"},
    unused={
        r"^embeddings\.position_ids$": "0, 1, 2, ...: computed here",
        r"^pooler\.": "a vector for the whole text, computed after the last layer and not part of any token's",
        r"^cls\.seq_relationship\.": "which of two sentences comes first, computed from the pooler",
    },
)
