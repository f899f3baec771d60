"""A page with a map of known numbers. The query string says which."""

import numpy as np
import streamlit as st

from tfmviz.components import token_map
from tfmviz.text import Token

ODD = ("</script>", "<b>bold</b>", "&amp;", "שלום", "👩🏽‍🚀", "\n", "cat", " extraordinarily-long-word")

st.set_page_config(layout="wide")
options = st.query_params
n = int(options.get("n", 200))
st.button("again")
head = st.number_input("head", value=0)

positions = np.arange(n)
scores = np.random.default_rng(head).normal(size=(n, n)) * 2
scores[positions[1:], positions[:-1]] += 8
visible = positions[:, None] >= positions if "causal" in options else np.ones((n, n), dtype=bool)
scores = np.where(visible, scores, -np.inf)
weights = np.exp(scores - scores.max(axis=1, keepdims=True))
weights = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
tokens = [Token(id=i, text=ODD[i] if i < len(ODD) else f" word{i}", start=i, end=i + 1, word=i) for i in range(n)]
if "special" in options:
    tokens[0] = Token(id=0, text="[CLS]", start=0, end=0, is_special=True)
keys = int(options.get("keys", n))
with st.container(width=int(options.get("width", 600))):
    token_map(
        weights[:, :keys],
        visible[:, :keys],
        tokens,
        tokens[:keys],
        title=f"L0 H{head}",
        row_scaled="scaled" in options,
        hide_special=options.get("special") == "hide",
    )
runs = st.session_state.runs = st.session_state.get("runs", 0) + 1
st.text(f"run {runs}")
