"""Where the bytes of a whole model go as its text grows: weights, activations, attention matrix, cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from tfmviz.analysis.memory import attention_bytes, itemsize, kv_cache_bytes
from tfmviz.errors import ConfigError

Sharing = Literal["as is", "MHA", "GQA", "MQA", "sliding window"]
SHARINGS: tuple[Sharing, ...] = ("as is", "MHA", "GQA", "MQA", "sliding window")
GROUP = 4
"""Query heads that share a key-value head under "GQA", where their number is a multiple of it."""

LONGEST = 1 << 40


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelShape:
    """A model, as far as its bytes go.

    Attributes:
        name: what it is called.
        n_layers: blocks, of encoder and decoder together.
        n_attention: attention layers; a decoder that reads an encoder has two a block.
        n_cached: those whose keys and values generation keeps; 0 in an encoder.
        d_model: width between the blocks.
        n_heads, n_kv_heads, d_head: of every attention layer.
        d_ff: width inside the feed-forward part.
        n_parameters: numbers in its weights.
        window: keys that a query sees, under a sliding window; None where it may see all.
    """

    name: str
    n_layers: int
    n_attention: int
    n_cached: int
    d_model: int
    n_heads: int
    n_kv_heads: int
    d_head: int
    d_ff: int
    n_parameters: int
    window: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelBytes:
    """Where the bytes are while a text runs through a model.

    Attributes:
        weights: of the model.
        activations: of one block at its widest moment; blocks come one after the other.
        cache: keys and values of all blocks, which generation keeps.
        matrix: attention weights of one layer, where they are stored for as long as the layer lasts.
        matrices: of all layers, where they are kept to be looked at.
    """

    weights: int
    activations: int
    cache: int
    matrix: int
    matrices: int

    @property
    def fused(self) -> int:
        """All of it where no matrix is stored."""
        return self.weights + self.activations + self.cache

    @property
    def stored(self) -> int:
        """All of it where each layer stores its matrix once."""
        return self.fused + self.matrix


def decoder(
    *, n_layers: int, d_model: int, n_heads: int, n_kv_heads: int, d_head: int, d_ff: int, vocab_size: int, tied: bool
) -> ModelShape:
    """A decoder of today from its sizes: gated feed-forward, RMS norms, no biases.

    It has V·d + L·(d·(h + 2 kv)·d_head + h·d_head·d + 3·d·d_ff + 2·d) + d parameters, and V·d more where its output
    has a table of its own.

    Args:
        n_layers, d_model, n_heads, n_kv_heads, d_head, d_ff: as in `ModelShape`.
        vocab_size: V, the tokens of its tables.
        tied: one table for input and output, which a config calls ``tie_word_embeddings``.

    Raises:
        ConfigError: if a size is below 1 or the KV heads do not divide the heads.
    """
    sizes = {"n_layers": n_layers, "d_model": d_model, "n_heads": n_heads, "n_kv_heads": n_kv_heads}
    sizes |= {"d_head": d_head, "d_ff": d_ff, "vocab_size": vocab_size}
    for name, size in sizes.items():
        if size < 1:
            raise ConfigError(f"{name}={size} is too small. Use 1 or more.")
    if n_heads % n_kv_heads:
        raise ConfigError(
            f"n_kv_heads={n_kv_heads} does not divide n_heads={n_heads}. Each key-value head serves the same number of "
            "query heads: use a divisor."
        )
    attention = d_model * (n_heads + 2 * n_kv_heads) * d_head + n_heads * d_head * d_model
    block = attention + 3 * d_model * d_ff + 2 * d_model
    return ModelShape(
        name="typed in",
        n_layers=n_layers,
        n_attention=n_layers,
        n_cached=n_layers,
        d_model=d_model,
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_head=d_head,
        d_ff=d_ff,
        n_parameters=(1 if tied else 2) * vocab_size * d_model + n_layers * block + d_model,
    )


def shared(shape: ModelShape, sharing: Sharing, window: int) -> ModelShape:
    """The same model with its keys and values shared in another way, or with a window.

    With fewer KV heads the projections of keys and values are smaller too (their biases are not counted).

    Args:
        shape: the model.
        sharing: "as is" leaves it as it is.
        window: keys that a query sees under "sliding window".
    """
    if sharing == "as is":
        return shape
    if sharing == "sliding window":
        return replace(shape, window=window)
    grouped = shape.n_heads // GROUP if shape.n_heads % GROUP == 0 else 1
    kv = {"MHA": shape.n_heads, "MQA": 1, "GQA": shape.n_kv_heads if 1 < shape.n_kv_heads < shape.n_heads else grouped}
    change = 2 * shape.d_model * shape.d_head * (kv[sharing] - shape.n_kv_heads) * shape.n_attention
    return replace(shape, n_kv_heads=kv[sharing], n_parameters=shape.n_parameters + change)


def model_bytes(shape: ModelShape, n_tokens: int, *, batch: int = 1, dtype: str = "float32") -> ModelBytes:
    """Where the bytes go.

    Args:
        shape: the model.
        n_tokens: of each text.
        batch: texts.
        dtype: of weights, cache and what is computed; with "int8" weights and cache alone are int8, and what is
            computed is bfloat16, as it is done.
    """
    computed = "bfloat16" if dtype == "int8" else dtype
    # residual, projections, gate and product, as `tfmviz.models.memory.predicted_bytes` has it
    width = 8 * shape.d_model + 3 * shape.d_ff
    seen = n_tokens if shape.window is None else min(n_tokens, shape.window)
    matrix = attention_bytes(n_tokens, seen, n_heads=shape.n_heads, batch=batch, dtype=computed)
    return ModelBytes(
        weights=shape.n_parameters * itemsize(dtype),
        activations=batch * n_tokens * width * itemsize(computed),
        cache=kv_cache_bytes(
            n_tokens,
            n_layers=shape.n_cached,
            n_kv_heads=shape.n_kv_heads,
            d_head=shape.d_head,
            batch=batch,
            dtype=dtype,
            window=shape.window,
        ),
        matrix=matrix,
        matrices=matrix * shape.n_attention,
    )


def longest(needs: Callable[[int], int], room: int) -> int:
    """The longest text whose bytes fit.

    Args:
        needs: bytes by tokens; never less for a longer text.
        room: bytes there are.

    Returns:
        Tokens; 0 where not even one fits.
    """
    low, high = 0, 1
    while high < LONGEST and needs(high) <= room:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if needs(middle) <= room else (low, middle)
    return low
