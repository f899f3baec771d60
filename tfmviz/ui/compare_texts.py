"""Many texts, pasted or from a file: every number as a mean with its spread."""

from __future__ import annotations

from concurrent import futures
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np
import streamlit as st

from tfmviz.charts import curves_layout, text_spread
from tfmviz.errors import ConfigError, TfmvizError
from tfmviz.text import display
from tfmviz.text.files import read_text
from tfmviz.ui import compare_batches, compare_said, errors, inputs, loading, pickers
from tfmviz.ui.samples import samples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfmviz.analysis.alignment import Grain
    from tfmviz.analysis.batch import Measured, Summary
    from tfmviz.analysis.matching import Head
    from tfmviz.ui.compare_batches import BatchRequest, Run
    from tfmviz.ui.compare_sides import Side

MOST_TEXTS = 200
EVERY_S = 1.0
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
    run = compare_batches.held()
    if run is None or not _is_of(run, a, b):
        place.markdown(compare_said.BEFORE_TEXTS)
        _measure_button(wanted)
        return
    under_way = compare_batches.found(run) is None

    def part() -> None:
        """Drawn again by itself: a page that waited here would not hear of a click on Stop before the end."""
        try:
            found = _found(run, a, b)
        except Exception as error:  # a fragment's errors do not reach the page
            errors.show(error)
            _measure_button(wanted)
            return
        if found is None:
            st.button("Stop", key="stop_texts", icon=":material/stop:", on_click=compare_batches.stop)
        elif under_way:
            st.rerun()  # the last drawing by itself; from here on it is part of the page again
        else:
            _measure_button(wanted)
            st.markdown(compare_said.texts(found, len(run.request.texts), run.request.heads))
            if run.request != wanted:
                st.caption("Heads, units or texts have been changed since: measure again for these.")
            _results(found)

    st.fragment(part, run_every=EVERY_S if under_way else None, key="texts_run")()


def _found(run: Run, a: Side, b: Side) -> tuple[Measured, ...] | None:
    """What the run has found; None, and a bar, while it is under way."""
    found = compare_batches.found(run)
    if found is not None:
        return found
    job = compare_batches.job(run, a, b)
    if not futures.wait([job.future], timeout=loading.QUIET_S).done:
        done = job.step.done or 0.0
        left = job.seconds * (1 - done) / done if done >= loading.ENOUGH_TO_TELL else None
        st.progress(done, text=job.step.what if left is None else f"{job.step.what}, about {max(left, 1):.0f} s left")
        return None
    try:
        found = job.future.result()
    except Exception:
        compare_batches.forget()  # else the next drawing of the page would begin it anew
        raise
    compare_batches.keep(run, found)
    return found


def _measure_button(wanted: BatchRequest) -> None:
    n = len(wanted.texts)
    st.button(
        f"Measure {n:,} text{'' if n == 1 else 's'}",
        key="measure_texts",
        icon=":material/play_arrow:",
        on_click=compare_batches.start,
        args=(wanted,),
        disabled=not n,
    )


def _is_of(run: Run, a: Side, b: Side) -> bool:
    """Whether a run is of the two models that are on the page."""
    now = compare_batches.request(a, b, run.request.heads, run.request.grain, run.request.texts)
    return run.request == now


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
