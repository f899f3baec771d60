"""Many texts, pasted or from a file: every number as a mean with its spread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np
import streamlit as st

from tfmviz.charts import curves_layout, text_spread
from tfmviz.errors import ConfigError, TfmvizError
from tfmviz.text import display
from tfmviz.text.files import read_text
from tfmviz.ui import compare_batches, compare_said, errors, inputs, live_run, pickers
from tfmviz.ui.live_run import LiveRun
from tfmviz.ui.samples import samples

if TYPE_CHECKING:
    from tfmviz.analysis.alignment import Grain
    from tfmviz.analysis.batch import Measured, Summary
    from tfmviz.analysis.matching import Head
    from tfmviz.ui.compare_batches import BatchRequest
    from tfmviz.ui.compare_sides import Side

NAME = "texts"
MOST_TEXTS = 200
_ASKED = "compare_texts_asked"
_FILE_MB = 1
_MOST_FAULTS = 10


def draw(a: Side, b: Side, heads: tuple[Head, Head], grain: Grain) -> None:
    """Where the texts go in, the button, and what came out."""
    place = st.container()
    try:
        texts = _texts()
    except TfmvizError as error:
        errors.show(error)
        texts = ()
    wanted = compare_batches.request(a, b, heads, grain, texts)
    models = (wanted.a, wanted.b)
    run, asked = live_run.held(NAME, models), st.session_state.get(_ASKED, wanted)
    _button(run, wanted, partial(compare_batches.measured, wanted, a, b))
    if run is None:
        place.markdown(compare_said.BEFORE_TEXTS)
        return
    live_run.watch(run, partial(_found, run=run, asked=asked, wanted=wanted), key="texts_run")


def _button(run: LiveRun[Measured] | None, wanted: BatchRequest, measure: Callable[[], Iterator[Measured]]) -> None:
    """Stop, or Start with the number of texts."""
    if run is not None and run.is_under_way:
        st.button("Stop", key="stop_texts", icon=":material/stop:", on_click=live_run.stop, args=(NAME,))
        return
    n = len(wanted.texts)
    st.button(
        f"Measure {n:,} text{'' if n == 1 else 's'}",
        key="measure_texts",
        icon=":material/play_arrow:",
        on_click=_start,
        args=(wanted, measure),
        disabled=not n,
    )


def _start(wanted: BatchRequest, measure: Callable[[], Iterator[Measured]]) -> None:
    # Kept for as long as the models are the same: with other heads or texts, what was measured is still worth reading.
    live_run.start(NAME, (wanted.a, wanted.b), measure)
    st.session_state[_ASKED] = wanted


def _found(points: Sequence[Measured], run: LiveRun[Measured], asked: BatchRequest, wanted: BatchRequest) -> None:
    """How far the run is; once it is over, what it has found."""
    from tfmviz.analysis.batch import with_cosines

    if run.is_under_way:
        done, said = compare_said.texts_so_far(run, len(asked.texts))
        st.progress(done, text=said)
        return
    if run.error is not None:
        errors.show(run.error)
    found = with_cosines(points)
    st.markdown(compare_said.texts(found, len(asked.texts), asked.heads))
    if asked != wanted:
        st.caption("Heads, units or texts have been changed since: measure again for these.")
    _results(found)


def _texts() -> tuple[str, ...]:
    """The lines of the box, or those of a file.

    Raises:
        UnreadableFile: for a file that is no text.
        ConfigError: for more lines than are read at once.
    """
    left, right = st.columns([3, 2], gap="medium")
    with left:
        typed = _box()
    with right:
        file = st.file_uploader(
            "or a file of plain text, one text a line",
            type=["txt", "csv", "tsv"],
            key="lines_file",
            max_upload_size=_FILE_MB,
            help=f"UTF-8 or UTF-16, at most {_FILE_MB} MB. It takes the place of the box.",
        )
    if file is not None:
        typed = read_text(file.getvalue())
    lines = tuple(line.strip() for line in typed.splitlines() if line.strip())
    if len(lines) > MOST_TEXTS:
        raise ConfigError(f"There are {len(lines):,} texts, and {MOST_TEXTS} are read at once. Leave some out.")
    return lines


def _box() -> str:
    """Texts in the page, one a line; in the address where they fit there."""
    first = "\n".join(one.text for one in samples() if "\n" not in one.text and not one.pair and not one.target)
    kept = st.session_state.get("lines", "")
    linkable = len(quote(kept, safe="")) <= inputs.LONGEST_LINK // 2
    return st.text_area(
        "Texts, one a line",
        value=first,
        key="lines",
        height=148,
        bind="query-params" if linkable else None,
        persist_state="session",
    )


def _results(found: Sequence[Measured]) -> None:
    """Mean and spread as a picture and as a table, what could not be read, and every text's own numbers."""
    from tfmviz.analysis.batch import as_csv, summaries

    if every := summaries(found):
        left, right = st.columns(2, gap="medium")
        with left:
            _picture(found, every)
        with right:
            _table(every)
    if faults := [one for one in found if one.fault]:
        said = [f"- {display.markdown(display.label(one.text, 40))}: {display.markdown(one.fault)}" for one in faults]
        more = [f"- and {len(faults) - _MOST_FAULTS:,} more, in the file below"] if len(faults) > _MOST_FAULTS else []
        st.warning("\n".join([f"{len(faults):,} could not be compared:", "", *said[:_MOST_FAULTS], *more]))
    st.download_button(
        "Every text's numbers as CSV",
        as_csv(found).encode("utf-8-sig"),
        file_name="tfmviz-texts.csv",
        mime="text/csv",
        key="texts_csv",
        icon=":material/download:",
        on_click="ignore",
    )


def _picture(found: Sequence[Measured], every: Sequence[Summary]) -> None:
    from tfmviz.analysis.batch import DISTANCES

    rows = [
        text_spread.Spread(
            name=one.name,
            values=np.array([text.values[one.name] for text in found if one.name in text.values]),
            texts=[text.text for text in found if one.name in text.values],
            mean=one.mean,
            deviation=one.spread,
        )
        for one in every
        if one.name in DISTANCES
    ]
    st.plotly_chart(
        text_spread.figure(rows, dark=pickers.is_dark()),
        key="text_spread",
        theme=None,
        config=curves_layout.config("tfmviz many texts"),
        alt="Distances of each text as dots, their mean as a diamond with its standard deviation",
    )


def _table(every: Sequence[Summary]) -> None:
    import pandas as pd

    rows = pd.DataFrame(
        {
            "": [one.name for one in every],
            "mean": [round(one.mean, 4) for one in every],
            "spread": [round(one.spread, 4) for one in every],
            "texts": [one.n for one in every],
        }
    )
    st.dataframe(rows, key="text_summary", hide_index=True)
