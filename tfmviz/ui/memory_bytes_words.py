"""Sentences and tables on where a model's bytes go: plain words for numbers that were just worked out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfmviz.analysis.memory import attention_bytes, attention_weights
from tfmviz.analysis.memory_models import SHARINGS, ModelBytes, ModelShape, longest, model_bytes, shared
from tfmviz.charts.memory_numbers import bytes_text, count_text
from tfmviz.text import display
from tfmviz.ui.counting import counted

TEXTBOOK_HEADS = 8
TEXTBOOK_LENGTHS = (1_024, 2_048, 4_096, 32_768)
TOO_LONG = 10**9  # tokens: nothing that anybody runs


def line(shape: ModelShape, *, tied: bool | None) -> str:
    """What the view shows, in one line.

    Args:
        shape: the model.
        tied: of sizes that are typed in, whether input and output share one table; None for any other model.
    """
    tables = "one table for input and output" if tied else "a table each for input and output"
    name = f"**{display.markdown(shape.name)}**" if tied is None else f"A decoder of these sizes, {tables}"
    shared_by = "" if shape.n_kv_heads == shape.n_heads else f" on {counted(shape.n_kv_heads, 'KV head')}"
    return (
        f"{name}: {count_text(shape.n_parameters)} parameters, "
        f"{counted(shape.n_attention, 'attention layer')} of {counted(shape.n_heads, 'head')}{shared_by}. "
        "Where its **bytes** go as the text grows, by arithmetic."
    )


def seen(shape: ModelShape, n_tokens: int, *, batch: int, dtype: str) -> str:
    """*What you see* and *Try*, as Markdown."""
    found = model_bytes(shape, n_tokens, batch=batch, dtype=dtype)
    parts = {
        "its weights": found.weights,
        "its activations": found.activations,
        "the KV cache": found.cache,
        "the matrix of one layer": found.matrix,
    }
    most = max(parts, key=lambda part: parts[part])
    doubled = model_bytes(shape, 2 * n_tokens, batch=batch, dtype=dtype)
    cache = "An encoder writes nothing, so it keeps no cache."
    grows = [f"matrix x {doubled.matrix / found.matrix:.2g}"]
    tries = "*Sliding window*: the matrix stops growing as it did."
    if shape.n_cached:
        cache = f"The cache takes {bytes_text(found.cache)}."
        grows.insert(0, f"cache x {doubled.cache / found.cache:.2g}")
        tries = "*MQA*: the cache falls, the matrix does not. *Sliding window*: both stop growing as they did."
    return (
        f"**What you see** At {n_tokens:,} tokens most goes to {most}: {bytes_text(parts[most])}. {cache} Twice the "
        f"text: {', '.join(grows)}.\n\n**Try** {tries}"
    )


def sharings(own: ModelShape, n_tokens: int, window: int, *, batch: int, dtype: str) -> str:
    """The same model with keys and values shared in each way, as a Markdown table."""
    rows = []
    for sharing in SHARINGS:
        shape = shared(own, sharing, window)
        found = model_bytes(shape, n_tokens, batch=batch, dtype=dtype)
        name = {"as is": "as it is", "sliding window": f"window of {window:,}"}.get(sharing, sharing)
        cells = [name, str(shape.n_kv_heads), _bytes(found.cache), _bytes(found.matrix), _bytes(found.weights)]
        rows.append("| " + " | ".join(cells) + " |")
    head = "| keys and values | KV heads | KV cache | matrix, one layer | weights |\n|:---|---:|---:|---:|---:|"
    note = (
        "Sharing keys (GQA, MQA) shrinks the **cache**, never the matrix: every query head has weights of its own. A "
        "window bounds what a query sees, and with it both."
    )
    return "\n".join([f"**Shared in other ways, at {n_tokens:,} tokens**\n", head, *rows, "", note])


def fits(shape: ModelShape, n_tokens: int, rooms: Sequence[tuple[str, int]], *, batch: int, dtype: str) -> str:
    """In which memories it fits, and how long a text could be there, as a Markdown table."""
    ways: tuple[Callable[[ModelBytes], int], ...] = (lambda found: found.fused, lambda found: found.stored)

    def needs(way: Callable[[ModelBytes], int]) -> Callable[[int], int]:
        return lambda n: way(model_bytes(shape, n, batch=batch, dtype=dtype))

    rows = []
    for name, room in rooms:
        cells = [name]
        for way in ways:
            most = longest(needs(way), room)
            yes = "fits" if most >= n_tokens else "**no**"
            cells += [yes, ":gray[none]" if not most else "any" if most >= TOO_LONG else count_text(most)]
        rows.append("| " + " | ".join(cells) + " |")
    fused, stored = (needs(way)(n_tokens) for way in ways)
    head = (
        f"| memory | fused: {_bytes(fused)} | longest text | matrix stored: {_bytes(stored)} | longest text |\n"
        "|:---|:---|---:|:---|---:|"
    )
    note = (
        "Longest text in tokens. Fused (Flash-style) attention never stores the matrix. Counted are weights, cache, "
        "one block's activations and, where it is stored, one layer's matrix; not the program itself."
    )
    return "\n".join([f"**Fits in, at {n_tokens:,} tokens**\n", head, *rows, "", note])


def textbook() -> str:
    """The rows that textbooks give for one layer of eight heads, worked out again and explained, as Markdown."""
    rows = []
    for n in TEXTBOOK_LENGTHS:
        weights = attention_weights(n, n_heads=TEXTBOOK_HEADS)
        taken = attention_bytes(n, n_heads=TEXTBOOK_HEADS)
        rows.append(f"| {n:,} | 8 x {n:,}² = {weights:,} | **{_precise(weights)}** | {bytes_text(taken)} |")
    head = "| tokens | weights of one layer, 8 heads | that is | in float32 |\n|---:|:---|---:|---:|"
    note = (
        "Heads x tokens²: one weight for each query, key and head. **Twice the text is four times the matrix**, as the "
        "first two rows show. Two things that are often said wrongly: grouped queries make the *cache* smaller, not "
        "the matrix; and Flash-style attention computes all these weights but never stores them: time grows with "
        "the square, memory does not."
    )
    return "\n".join(["**The textbook's rows**\n", head, *rows, "", note])


def _precise(n: int) -> str:
    """Millions or billions with one digit behind the point up to a hundred: 8.4 M, 134 M, 8.6 B."""
    value, unit = (n / 10**9, "B") if n >= 10**9 else (n / 10**6, "M")
    return f"{value:.1f} {unit}" if value < 100 else f"{value:.0f} {unit}"


def _bytes(n: int) -> str:
    return bytes_text(n).replace(" ", "\u00a0") if n else "none"  # in a narrow column a number keeps its unit
