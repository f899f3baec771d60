"""A text file beside the text box: what it holds goes into the box, so that every page reads it."""

from __future__ import annotations

import streamlit as st

from tfmviz.errors import UnreadableFile
from tfmviz.text import display
from tfmviz.text.files import MOST_BYTES, read_text
from tfmviz.ui.counting import counted

KEY = "upload"
# What came of the last file: a sentence, and whether it is an error.
_TOLD = "upload_told"


def upload_box() -> None:
    """Let the visitor pick a file, and say what came of it."""
    with st.popover("Text file", icon=":material/upload_file:", width="stretch"):
        st.file_uploader(
            "A .txt file, at most 1 MB, in UTF-8 or UTF-16",
            type="txt",
            key=KEY,
            max_upload_size=-(-MOST_BYTES // 2**20),
            on_change=_take,
        )
        if (told := st.session_state.get(_TOLD)) is not None:
            sentence, failed = told
            (st.error if failed else st.caption)(sentence)


def _take() -> None:
    """Put the file's text into the box; the text that is there stays where the file cannot be read."""
    file = st.session_state[KEY]
    if file is None:
        st.session_state.pop(_TOLD, None)
        return
    name = display.markdown(file.name)
    try:
        text = read_text(file.getvalue())
    except UnreadableFile as error:
        st.session_state[_TOLD] = (f"{name}: {display.markdown(str(error))} Your text stays as it was.", True)
        return
    st.session_state["text"] = text
    st.session_state[_TOLD] = (f"{name}: {counted(len(text), 'character')}, in the box now.", False)
