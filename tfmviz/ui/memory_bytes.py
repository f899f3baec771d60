"""Where a model's bytes go as its text grows, by arithmetic: the sidebar's, or one whose sizes are typed in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

from tfmviz.analysis.memory_models import SHARINGS, ModelShape, Sharing, decoder, model_bytes, shared
from tfmviz.charts import curves_layout, memory_growth
from tfmviz.charts.memory_growth import Growth
from tfmviz.charts.memory_levels import Level
from tfmviz.charts.memory_numbers import bytes_text, short_length
from tfmviz.errors import TfmvizError
from tfmviz.ui import address, cache, errors, loading, memory_bytes_words, pickers
from tfmviz.ui.address import Notes
from tfmviz.ui.requests import ModelRequest, TraceRequest
from tfmviz.ui.shelf import Job, Shelf, Step

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

SOURCES = ("this model", "typed in")
FORMATS = ("float32", "bfloat16", "int8")
TOKENS = tuple(64 << i for i in range(15))  # to 1,048,576
CARDS = (8, 16, 24, 80, 141)  # GB, 10⁹ bytes
DRAWN = (8, 80)  # of these: more lines would lie on each other
MOST_BYTES = 10**13  # what is drawn: far beyond any machine the rest only squeezes the picture
MOST_BATCH = 256
# an 8-billion decoder of today, to begin with
TYPED = {
    "size_layers": ("Layers", 32, 1_000),
    "size_width": ("d_model", 4_096, 100_000),
    "size_heads": ("Heads", 32, 1_000),
    "size_kv": ("KV heads", 8, 1_000),
    "size_head": ("d_head", 128, 10_000),
    "size_ff": ("d_ff", 14_336, 1_000_000),
    "size_vocabulary": ("Vocabulary", 128_256, 10_000_000),
}

_shapes: Shelf[ModelRequest, ModelShape] = Shelf(budget=10**6, most=64, weigh=lambda _: 1_000, workers=1, name="shape")
_machines: Shelf[str, tuple[str, int]] = Shelf(budget=10**4, most=8, weigh=lambda _: 100, workers=1, name="machine")


def draw(request: TraceRequest) -> None:
    """The whole view.

    Args:
        request: the sidebar's; of it model and device count.
    """
    line, notes, notices = loading.Line(st.container(key="line")), Notes(), st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        source = _segments("Sizes", "sizes_of", SOURCES, notes)
        dtype = _segments("Format", "bytes_format", FORMATS, notes)
        sharing: Sharing = _segments("Keys and values", "sharing", SHARINGS, notes)
        batch = _number("Batch", "bytes_batch", 1, MOST_BATCH, 1, notes)
        window = _number("Window", "bytes_window", 1, TOKENS[-1], 4_096, notes, disabled=sharing != "sliding window")
    typed = _typed(notes) if source == "typed in" else None
    n_tokens = _tokens(notes)
    notes.say(notices)
    try:
        own = decoder(**typed[0], tied=typed[1]) if typed else loading.wait(_shape_job(request.model), line)
    except TfmvizError as error:  # sizes that describe no model
        line.say("")
        errors.show(error)
        return
    machine = loading.wait(_machine_job(request.model.device), line)
    line.say(memory_bytes_words.line(own, tied=typed[1] if typed else None))
    shape = shared(own, sharing, window)
    figure = _figure(shape, n_tokens, batch=batch, dtype=dtype, machine=machine)
    config = curves_layout.config("tfmviz bytes")
    st.plotly_chart(figure, key="bytes_chart", theme=None, config=config, alt="Bytes of a model's parts against tokens")
    st.markdown(memory_bytes_words.seen(shape, n_tokens, batch=batch, dtype=dtype))
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown(memory_bytes_words.sharings(own, n_tokens, window, batch=batch, dtype=dtype))
    with right:
        rooms = [machine, *((f"{card} GB", card * 10**9) for card in CARDS)]
        st.markdown(memory_bytes_words.fits(shape, n_tokens, rooms, batch=batch, dtype=dtype))
    st.markdown(memory_bytes_words.textbook())


def _segments(label: str, key: str, options: Any, notes: Notes) -> Any:
    notes.add(address.settle(key, options, options[0], what=label.lower(), among=f"There are {', '.join(options)}"))
    value = st.segmented_control(
        label, options, default=options[0], key=key, bind="query-params", persist_state="session", required=True
    )
    return value if value in options else options[0]


def _number(label: str, key: str, low: int, high: int, default: int, notes: Notes, *, disabled: bool = False) -> int:
    width = 120 if high <= 1_000 else 128 if high < 10**6 else 152  # up to four digits; up to six; more
    return pickers.whole_number(label, key, low, high, default, notes, disabled=disabled, width=width)


def _typed(notes: Notes) -> tuple[dict[str, int], bool]:
    """Sizes of a decoder, as `decoder` takes them, and whether its input and output share one table."""
    names = ("n_layers", "d_model", "n_heads", "n_kv_heads", "d_head", "d_ff", "vocab_size")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        values = [_number(label, key, 1, high, default, notes) for key, (label, default, high) in TYPED.items()]
        notes.add(address.settle_switch("size_tied", what="tied embeddings"))
        tied = st.toggle(
            "Tied embeddings",
            key="size_tied",
            bind="query-params",
            persist_state="session",
            help="One table for input and output, `tie_word_embeddings` in a config. Off, the output has its own.",
        )
    return dict(zip(names, values, strict=True)), bool(tied)


def _tokens(notes: Notes) -> int:
    """How long each text is, in binary thousands on the slider as on the axis."""
    lengths = {short_length(n): n for n in TOKENS}
    default = short_length(4_096)
    among = f"There are powers of 2 from {next(iter(lengths))} to {next(reversed(lengths))}"
    notes.add(address.settle("bytes_tokens", tuple(lengths), default, what="length", among=among))
    chosen = st.select_slider(
        "Tokens in each text (log scale, 1k = 1,024)",
        tuple(lengths),
        default,
        key="bytes_tokens",
        bind="query-params",
        persist_state="session",
    )
    return lengths.get(chosen, lengths[default])


def _figure(shape: ModelShape, n_tokens: int, *, batch: int, dtype: str, machine: tuple[str, int]) -> Figure:
    """Every part against the length of the text, with the memory of some machines to compare."""
    by_length = {n: model_bytes(shape, n, batch=batch, dtype=dtype) for n in TOKENS}
    parts: tuple[tuple[str, str, Literal["solid", "dash", "dot", "dashdot"]], ...] = (
        ("weights", "weights", "solid"),
        ("activations", "activations", "dash"),
        ("cache", "KV cache", "dashdot"),
        ("matrix", "one matrix", "solid"),
        ("matrices", "all matrices", "dot"),
    )
    growths = [
        Growth(
            name=name,
            colour=colour,
            line={n: float(size) for n, found in by_length.items() if 0 < (size := getattr(found, part)) <= MOST_BYTES},
            dash=dash,
        )
        for colour, (part, name, dash) in enumerate(parts)
    ]
    cards = [Level(name=f"{card} GB", value=card * 1e9) for card in DRAWN]
    return memory_growth.figure(
        [growth for growth in growths if len(growth.line) > 1],  # a single point is no line, and its name stood alone
        title=f"bytes, {shape.name}, {dtype}, batch {batch}",
        unit="bytes",
        lengths=TOKENS,
        levels=[Level(name=f"here: {bytes_text(machine[1])}", value=machine[1]), *cards],
        mark=n_tokens,
        dark=pickers.is_dark(),
    )


def _shape_job(request: ModelRequest) -> Job[ModelShape]:
    """The sizes of the sidebar's model, which is not loaded for it."""

    def make(job: Job[ModelShape]) -> ModelShape:
        job.report(Step(what="Reading the model's config"))
        from tfmviz.analysis.memory_catalogue import model_shape, of_config

        if request.private:  # trained in this session: it has no files
            model: Any = cache.model(request)
            return of_config(model.module.config, name=request.name)
        return model_shape(request.name, allow_local=cache.local_models_allowed())

    return _shapes.ask(request, make)


def _machine_job(device: str) -> Job[tuple[str, int]]:
    """The memory of this machine, or of its card."""

    def make(job: Job[tuple[str, int]]) -> tuple[str, int]:
        job.report(Step(what="Asking the machine for its memory"))
        from tfmviz.analysis.memory_machine import machine_bytes

        size = machine_bytes(device)
        return f"this machine, {bytes_text(size)}", size

    return _machines.ask(device, make)
