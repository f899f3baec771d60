"""The Streamlit entry: what every page shares, and the way between pages.

Nothing here imports torch: the first page is painted before anything heavy is read.
"""

from __future__ import annotations

import sys
from pathlib import Path

import streamlit as st

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    # Streamlit puts this file's own folder on the path, not the one that holds the package.
    sys.path.insert(0, str(ROOT))

from tfmviz.components.theme_watch import theme_watch  # noqa: E402 - the path must be there first
from tfmviz.ui import inputs, style  # noqa: E402 - the path must be there first

# In the order of the menu; a page that this version does not have yet is left out.
PAGES = {
    "explore": "Explore",
    "inside": "Inside a layer",
    "masks": "Masks",
    "positions": "Positions",
    "memory": "Memory",
    "compare": "Compare",
    "architectures": "Architectures",
    "heads": "Heads",
    "training": "Training",
    "pitfalls": "Pitfalls",
}
files = {name: ROOT / "pages" / f"{name}.py" for name in PAGES}
page = st.navigation(
    [
        st.Page(file, title=PAGES[name], url_path=name, default=name == "explore")
        for name, file in files.items()
        if file.is_file()
    ]
)
# A favicon given as an icon's name would be fetched from Google; a file is not.
st.set_page_config(page_title=f"{page.title} · tfmviz", page_icon=str(ROOT / "assets" / "logo.png"), layout="wide")
st.logo(str(ROOT / "assets" / "wordmark.svg"), size="large", icon_image=str(ROOT / "assets" / "logo.svg"))
style.apply()
theme_watch()
with st.sidebar:
    st.session_state["request"] = inputs.shared()
page.run()
