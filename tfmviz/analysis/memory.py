"""How many bytes the attention matrix and the cache of keys and values take: arithmetic, without torch.

What a whole call of attention takes at its highest point, form by form, is in `memory_peak`; whole models are in
`memory_models`.
"""

from __future__ import annotations

from typing import Any

from tfmviz.errors import ConfigError

ITEMSIZE = {"float32": 4, "bfloat16": 2, "float16": 2, "int8": 1}
"""Bytes of a number, by the format's name. int8 is counted bare: its scales (one a block or a channel) come on top."""


def itemsize(dtype: Any) -> int:
    """Bytes of one number.

    Args:
        dtype: a name of `ITEMSIZE`, or torch's own, such as ``torch.bfloat16``.

    Raises:
        ConfigError: if it is none of them.
    """
    name = str(dtype).removeprefix("torch.")
    if name not in ITEMSIZE:
        raise ConfigError(f"dtype={name[:40]!r} is not a format counted here. Use one of {', '.join(ITEMSIZE)}.")
    return ITEMSIZE[name]


def attention_weights(n_queries: int, n_keys: int | None = None, *, n_heads: int, n_layers: int = 1) -> int:
    """How many weights attention has: one for each query, key, head and layer. Shared keys change nothing in that.

    Args:
        n_queries: tokens that look.
        n_keys: tokens that are looked at; None for as many.
        n_heads: query heads.
        n_layers: layers.
    """
    keys = n_queries if n_keys is None else n_keys
    _check(n_queries=n_queries, n_keys=keys, n_heads=n_heads, n_layers=n_layers)
    return n_layers * n_heads * n_queries * keys


def attention_bytes(
    n_queries: int,
    n_keys: int | None = None,
    *,
    n_heads: int,
    n_layers: int = 1,
    batch: int = 1,
    dtype: Any = "float32",
) -> int:
    """Bytes of the attention weights where they are stored: a tensor [batch, head, query, key] for each layer.

    Fused attention never stores them; several such tensors are alive at once where they are made by the formula (see
    `memory_peak.peak_bytes`).

    Args:
        n_queries: tokens that look, padding included.
        n_keys: tokens that are looked at; None for as many.
        n_heads: query heads. Grouped queries share keys, not weights: ``n_kv_heads`` does not come in.
        n_layers: layers whose weights are kept.
        batch: texts.
        dtype: format of a weight.

    Raises:
        ConfigError: if a number is negative or the format is unknown.
    """
    _check(batch=batch)
    return batch * attention_weights(n_queries, n_keys, n_heads=n_heads, n_layers=n_layers) * itemsize(dtype)


def kv_cache_bytes(
    n_tokens: int,
    *,
    n_layers: int,
    n_kv_heads: int,
    d_head: int,
    batch: int = 1,
    dtype: Any = "float32",
    window: int | None = None,
) -> int:
    """Bytes of the keys and values that generation keeps: 2 · layers · texts · KV heads · tokens · d_head numbers.

    Args:
        n_tokens: tokens read so far.
        n_layers: layers with attention.
        n_kv_heads: heads of keys and values; this is what grouped queries make smaller.
        d_head: width of a key, and of a value.
        batch: texts.
        dtype: format of the cache.
        window: of a sliding window, the keys that a query can still see; older ones are dropped. None without one.

    Raises:
        ConfigError: if a number is negative or the format is unknown.
    """
    _check(n_tokens=n_tokens, n_layers=n_layers, n_kv_heads=n_kv_heads, d_head=d_head, batch=batch)
    kept = n_tokens if window is None else min(n_tokens, window)
    return 2 * n_layers * batch * n_kv_heads * kept * d_head * itemsize(dtype)


def _check(**sizes: int) -> None:
    for name, size in sizes.items():
        if size < 0:
            raise ConfigError(f"{name}={size} is negative. Use 0 or more.")
