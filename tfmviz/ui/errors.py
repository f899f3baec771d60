"""What went wrong, as a sentence in the page, with the way out beside it where there is one."""

from __future__ import annotations

import logging

import streamlit as st

from tfmviz.errors import TextTooLong, TfmvizError
from tfmviz.text import display
from tfmviz.ui.requests import TraceRequest

# Characters shown on each side of the place where a text would be cut.
AROUND = 24


def show(error: BaseException, *, request: TraceRequest | None = None) -> None:
    """Show an error. What this package did not raise itself is logged in full and shown without its insides.

    Args:
        error: what was raised.
        request: what was asked for, to offer a cut where one of its texts is too long.
    """
    st.error(sentence(error), icon=":material/error:")
    if isinstance(error, TextTooLong) and request is not None:
        text = getattr(request, error.part) or ""
        if 0 < error.cut_at < len(text):
            offer_cut(error, text)


def sentence(error: BaseException) -> str:
    """The error in words for a visitor, as Markdown in which nothing they typed has a meaning."""
    if isinstance(error, TfmvizError):
        return display.markdown(str(error))
    if out_of_memory(error):
        return (
            "The machine ran out of memory during this pass, and nothing was kept of it. "
            "Use a shorter text or a smaller model."
        )
    logging.getLogger("tfmviz").error("unexpected error", exc_info=error)
    return (
        f"Something failed that this program did not foresee ({type(error).__name__}). "
        "Your text is still in its box: change it, or pick another model. The server's log has the details."
    )


def out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out, on the machine or on its accelerator."""
    kind = type(error).__name__
    text = str(error).lower()
    return isinstance(error, MemoryError) or kind == "OutOfMemoryError" or "not enough memory" in text


def offer_cut(error: TextTooLong, text: str) -> None:
    """One button that cuts the text that is too long at the last token border that fits, and says where that is."""

    def cut() -> None:
        st.session_state[error.part] = text[: error.cut_at]

    before = display.markdown(text[max(0, error.cut_at - AROUND) : error.cut_at])
    after = display.markdown(text[error.cut_at : error.cut_at + AROUND])
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(f"Cut after character {error.cut_at:,}", key="cut", on_click=cut, icon=":material/content_cut:")
        st.caption(f"…{before} **|** {after}… and {len(text) - error.cut_at:,} characters in all would go.")
