"""Sentences that read the picture of generation: plain words for numbers that were just measured."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfmviz.analysis.memory import itemsize
from tfmviz.charts.memory_numbers import bytes_text, seconds_text
from tfmviz.text import display
from tfmviz.ui import live_run
from tfmviz.ui.counting import significant

if TYPE_CHECKING:
    from tfmviz.analysis.generation import CacheShape, TokenStep
    from tfmviz.models import Model
    from tfmviz.ui.live_run import LiveRun

NOTHING_TO_SEE = "nothing but blanks so far"
LATEST = 8  # steps whose median says what a token takes by now


def line(model: Model) -> str:
    """What the view shows, as Markdown."""
    return (
        f"**{display.markdown(model.name)}** writes on from your text, each token made twice: with the **keys and "
        "values** of earlier tokens kept in a cache, and reading the whole text anew."
    )


def no_cache(model: Model) -> str:
    """Why there is nothing to measure on an encoder or an encoder-decoder, as Markdown."""
    does = (
        "reads a whole text at once and writes none, so it keeps no cache"
        if model.kind == "encoder"
        else "reads one text and writes another; what is timed here is a model that writes on from the text itself"
    )
    return (
        f"**{display.markdown(model.name)}** is an {model.kind}: it {does}. Choose a decoder in the sidebar, such as "
        "**smollm2** (transformers’ own cache), **scratch-smollm2** or **scratch-induction** (the cache written here)."
    )


def no_room(model: Model, n_prompt: int) -> str:
    """Why nothing can be written behind this text, as Markdown."""
    return (
        f"The text has {n_prompt:,} tokens and {display.markdown(model.name)} takes {model.max_tokens:,}: there is no "
        "room to write on. Shorten the text."
    )


def state(run: LiveRun[TokenStep] | None, n_done: int, n_new: int) -> str:
    """How far it is, for the bar."""
    done = f"{n_done:,} of {n_new:,} tokens"
    match run.state if run is not None else "new":
        case "new":
            return f"Ready to write {n_new:,} tokens"
        case "waiting":
            return live_run.WAITING
        case "running":
            return f"{done}{_left(run, n_done, n_new)}"
        case "finished":
            return f"Measured here just now: {done}"
        case "stopped":
            return f"Stopped after {done}"
        case _:
            return f"Failed after {done}"


def _left(run: LiveRun[TokenStep] | None, n_done: int, n_new: int) -> str:
    if run is None or not n_done:
        return ", reading the prompt"
    recent = [step.seconds + step.seconds_without for step in run.points[-LATEST:]]
    return f", about {max(1, round(statistics.median(recent) * (n_new - n_done)))} s left"


def seen(steps: Sequence[TokenStep], n_prompt: int, n_new: int, shape: CacheShape) -> str:
    """*What you see* and *Try*, as Markdown."""
    if not steps:
        return (
            f"**What you see** The grey line is arithmetic: the cache of your {n_prompt:,} tokens will take "
            f"{bytes_text(shape.nbytes(n_prompt))}, and {bytes_text(shape.nbytes(n_prompt + n_new - 1))} at the "
            "end.\n\n**Try** Start, and see what a token costs with the cache and without it."
        )
    first, last = steps[0], steps[-1]
    kept = f"The cache holds {bytes_text(last.cache_bytes)}, {_against_formula(last, shape)}."
    if len(steps) == 1:
        return f"**What you see** Prefill, {n_prompt:,} tokens at once, took {seconds_text(first.seconds)}. {kept}"
    with_cache, without = _latest(steps)
    return (
        f"**What you see** Prefill, {n_prompt:,} tokens at once, took {seconds_text(first.seconds)}. By "
        f"{last.length:,} tokens one more takes {seconds_text(with_cache)} with the cache and "
        f"{seconds_text(without)} without, {without / with_cache:.2g} × as long. {kept} {_agreement(steps)}\n\n"
        "**Try** A text twice as long: which of the two curves feels it?"
    )


def _latest(steps: Sequence[TokenStep]) -> tuple[float, float]:
    """Median seconds of the latest tokens behind the prompt, with the cache and without."""
    latest = steps[1:][-LATEST:]
    return statistics.median(step.seconds for step in latest), statistics.median(s.seconds_without for s in latest)


def _against_formula(step: TokenStep, shape: CacheShape) -> str:
    predicted = shape.nbytes(step.length)
    return "exactly the formula’s" if predicted == step.cache_bytes else f"the formula says {bytes_text(predicted)}"


def _agreement(steps: Sequence[TokenStep]) -> str:
    same = _same(steps)
    if same < len(steps):
        return f"They part at token {same + 1:,}: two words were equally likely to within rounding."
    return (
        f"Both wrote the same {len(steps):,} tokens; logits agree to {significant(max(s.difference for s in steps))}."
    )


def _same(steps: Sequence[TokenStep]) -> int:
    """How many tokens the two have in common before they part."""
    return next((i for i, step in enumerate(steps) if step.token != step.token_without), len(steps))


def versions(steps: Sequence[TokenStep]) -> list[tuple[str, list[int]]]:
    """What was written, with a heading in Markdown: once where both wrote the same, else both."""
    with_cache, without = [step.token for step in steps], [step.token_without for step in steps]
    if with_cache == without:
        return [("Written, the same with and without the cache", with_cache)]
    return [("Written with the cache", with_cache), ("Written without it", without)]


def ending(steps: Sequence[TokenStep], end_id: int | None) -> str:
    """Where the model meant to end, if it did."""
    at = next((i for i, step in enumerate(steps, 1) if step.token == end_id), None)
    if at is None:
        return ""
    return f"It ended its text with token {at:,}. It is made to go on, because time against length is asked here."


def formula(shape: CacheShape) -> str:
    """How the bytes are worked out, as Markdown."""
    size = itemsize(shape.dtype)
    layers = len(shape.windows)
    each = 2 * layers * shape.n_kv_heads * shape.d_head * size
    numbers = f"2 (key and value) × {layers} layers × {shape.n_kv_heads} KV heads × {shape.d_head} × {size} bytes"
    if any(window is not None for window in shape.windows):
        narrow = min(window for window in shape.windows if window is not None)
        return f"A token: {numbers} = {each:,} bytes, until a layer’s window of {narrow:,} tokens is full."
    return f"A token: {numbers} = {each:,} bytes."
