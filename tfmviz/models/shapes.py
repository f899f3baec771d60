"""What a model is made of, read from its config and from a first small pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfmviz.errors import UnsupportedModel
from tfmviz.models.memory import PassShape, StackShape
from tfmviz.trace import LayerAttention
from tfmviz.trace.capture import capture

_D_FF = ("intermediate_size", "ffn_dim", "d_ff", "n_inner", "ffn_hidden_size", "encoder_ffn_dim", "hidden_dim")


def pass_shape(module: Any, *, has_head: bool) -> PassShape:
    """Widths that memory use follows from."""
    config = module.config.get_text_config()
    embeddings = module.get_input_embeddings()
    d_model = int(getattr(config, "hidden_size", None) or embeddings.embedding_dim)
    return PassShape(
        d_model=d_model,
        d_ff=feed_forward_width(config, d_model),
        n_vocabulary=int(embeddings.num_embeddings) if has_head else 0,
        itemsize=module.dtype.itemsize,
    )


def feed_forward_width(config: Any, d_model: int) -> int:
    """Width inside the feed-forward part: it has many names, and GPT-2 leaves it out where it is 4 d_model."""
    widths = [width for name in _D_FF if isinstance(width := getattr(config, name, None), int)]
    return max(widths, default=4 * d_model)


def first_pass(module: Any, inputs: dict[str, Any], name: str) -> Mapping[str, tuple[LayerAttention, ...]]:
    """The layers of each stack, found by a pass over ``inputs``.

    Raises:
        UnsupportedModel: if the pass fails, or no layer has attention.
    """
    try:
        stacks = capture(module, inputs).stacks
    except Exception as error:
        raise UnsupportedModel(f"{name} cannot be run on a text: {str(error)[:200]}") from error
    if not any(layer.has_attention for layers in stacks.values() for layer in layers):
        kind = module.config.get_text_config().model_type
        raise UnsupportedModel(f"{name} ({kind}) has no layer with attention, so there is nothing to show.")
    return stacks


def stack_shapes(module: Any, stacks: Mapping[str, tuple[LayerAttention, ...]]) -> dict[str, StackShape]:
    """What memory use follows from, by stack; of layers that differ, the largest."""
    config = module.config.get_text_config()
    eager = getattr(config, "_attn_implementation", "eager") == "eager"
    return {name: _shape(layers, config, eager=eager) for name, layers in stacks.items()}


def _shape(layers: tuple[LayerAttention, ...], config: Any, *, eager: bool) -> StackShape:
    attending = [layer for layer in layers if layer.has_attention]
    n_heads = max((layer.n_heads for layer in attending), default=0)
    return StackShape(
        n_layers=len(layers),
        n_attending=len(attending),
        n_heads=n_heads,
        n_kv_heads=max((layer.n_kv_heads for layer in attending), default=0),
        d_head=max((_d_head(layer, config, n_heads) for layer in attending), default=0),
        dense=any(layer.status == "dense" for layer in attending),
        eager=eager,
    )


def _d_head(layer: LayerAttention, config: Any, n_heads: int) -> int:
    query = getattr(layer.source, "query", None)
    if query is not None:
        return int(query.shape[-1])
    return int(getattr(config, "head_dim", None) or getattr(config, "hidden_size", 0) // max(n_heads, 1))
