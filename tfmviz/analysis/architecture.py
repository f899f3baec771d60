"""What a from-scratch model is made of on a given text: its parts in order, each with the shape of what leaves it.

Shapes: n tokens of the source, m tokens of the target, d_model the width of the residual stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tfmviz.nn import AnyTransformer, StackName, TransformerConfig, build
from tfmviz.text.byte_vocabulary import ByteVocabulary

PartKind = Literal["tokens", "embedding", "norm", "attention", "cross", "feed-forward", "output"]
Shape = tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One box of the diagram.

    Attributes:
        kind: what it is.
        title: its name.
        shape: of what leaves it, without the batch.
        note: what else there is to know, such as the shape of the weights; may be empty.
    """

    kind: PartKind
    title: str
    shape: Shape
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """One stack of the diagram, from the bottom up.

    Attributes:
        stack: "self", "encoder" or "decoder".
        before: parts below the blocks.
        block: parts of one block, in the order in which they act.
        n_layers: how many such blocks there are.
        after: parts above the blocks.
    """

    stack: StackName
    before: tuple[Part, ...]
    block: tuple[Part, ...]
    n_layers: int
    after: tuple[Part, ...]


def columns(config: TransformerConfig, lengths: Mapping[StackName, int]) -> tuple[Column, ...]:
    """The diagram of a model: one column, or encoder and decoder.

    Args:
        config: the model.
        lengths: tokens that each stack reads; "self", or "encoder" and "decoder".
    """
    if not config.is_encoder_decoder:
        n = lengths["self"]
        return (
            Column(
                stack="self",
                before=_before(config, n),
                block=_block(config, n, n, has_memory=False),
                n_layers=config.n_layers,
                after=(*_last_norm(config, n), *_output(config, n)),
            ),
        )
    n, m = lengths["encoder"], lengths["decoder"]
    return (
        Column(
            stack="encoder",
            before=_before(config, n),
            block=_block(config, n, n, has_memory=False),
            n_layers=config.n_layers,
            after=_last_norm(config, n),
        ),
        Column(
            stack="decoder",
            before=_before(config, m),
            block=_block(config, m, n, has_memory=True),
            n_layers=config.n_decoder_layers,
            after=(*_last_norm(config, m), *_output(config, m)),
        ),
    )


def untrained(architecture: Literal["encoder", "decoder", "encoder-decoder"], seed: int = 0) -> AnyTransformer:
    """A small model over bytes at random weights, for an architecture of which no trained one is at hand."""
    config = TransformerConfig(
        architecture=architecture,
        vocab_size=ByteVocabulary().size,
        d_model=64,
        n_heads=4,
        n_layers=2,
        position="sinusoidal",
        embedding_scale=8.0,
    )
    return build(config, seed=seed).eval().requires_grad_(False)


def _before(config: TransformerConfig, n: int) -> tuple[Part, ...]:
    added = config.position in ("sinusoidal", "learned")  # a vector, where the others act inside attention
    acts = {"none": "no position", "rotary": "position by rotation", "alibi": "position as bias"}
    how = config.position if added else acts.get(config.position, f"{config.position} position")
    embedding = Part(
        kind="embedding",
        title="Embedding + position" if added else "Embedding",
        shape=(n, config.d_model),
        note=f"{config.vocab_size:,} entries; {how}",
    )
    norm = (Part(kind="norm", title="Norm", shape=(n, config.d_model)),) if config.embedding_norm else ()
    return (Part(kind="tokens", title="Tokens", shape=(n,)), embedding, *norm)


def _block(config: TransformerConfig, n: int, n_memory: int, *, has_memory: bool) -> tuple[Part, ...]:
    """The parts of one block in the order in which they act."""
    norm = Part(kind="norm", title="Norm", shape=(n, config.d_model))
    attention = _attention(config, n, n, "attention", "Self-attention")
    cross = (_attention(config, n, n_memory, "cross", "Cross-attention"),) if has_memory else ()
    wide = Part(
        kind="feed-forward",
        title="Feed-forward",
        shape=(n, config.d_model),
        note=f"{config.d_model} → {config.d_ff} → {config.d_model}",
    )
    parts: list[Part] = []
    for part in (attention, *cross, wide):
        parts += [part, norm] if config.block == "post-norm" else [norm, part]
    return tuple(parts)


def _attention(config: TransformerConfig, n: int, n_keys: int, kind: PartKind, title: str) -> Part:
    shared = "" if config.n_kv_heads == config.n_heads else f" on {config.n_kv_heads} key heads"
    return Part(
        kind=kind,
        title=title,
        shape=(n, config.d_model),
        note=f"{config.n_heads} heads{shared}, weights {config.n_heads} × {n} × {n_keys}",
    )


def _last_norm(config: TransformerConfig, n: int) -> tuple[Part, ...]:
    if config.block == "post-norm":
        return ()
    return (Part(kind="norm", title="Last norm", shape=(n, config.d_model)),)


def _output(config: TransformerConfig, n: int) -> tuple[Part, ...]:
    if config.output == "none":
        return ()
    tied = "the embedding's table again" if config.output == "tied" else "a table of its own"
    return (Part(kind="output", title="Logits", shape=(n, config.vocab_size), note=tied),)
