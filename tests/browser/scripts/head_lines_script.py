"""A page with token lines of known numbers. The query string says which."""

import numpy as np
import streamlit as st

from tfmviz.analysis.links import hidden_share, strongest_links
from tfmviz.components import head_lines
from tfmviz.text import Token

ODD = ("</script>", "<b>bold</b>", "&amp;", "שלום", "👩🏽‍🚀", "\n", "cat", "<img src=x onerror=boom()>")

st.set_page_config(layout="wide")
options = st.query_params
n, heads = int(options.get("n", 8)), int(options.get("heads", 1))
budget, threshold = int(options.get("budget", 500)), float(options.get("threshold", 0.05))
st.button("again")
shift = st.number_input("shift", value=0)

positions = np.arange(n)
if "one" in options:  # every query looks at the token `shift` before it and at nothing else
    weights = (positions[:, None] - positions == shift).astype(np.float32)[None]
else:
    scores = np.random.default_rng(0).normal(size=(heads, n, n)) * 2
    weights = (np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)).astype(np.float32)
visible = np.ones((n, n), dtype=bool)
if "causal" in options:
    visible = positions[:, None] >= positions
    weights = np.where(visible, weights, 0)
if "nan" in options:
    weights[:, int(options["nan"])] = np.nan
tokens = [
    Token(id=i, text=ODD[i % len(ODD)] if n <= len(ODD) else f"t{i}", start=i, end=i + 1, word=i) for i in range(n)
]
if "special" in options:
    tokens[0] = Token(id=0, text="[CLS]", start=0, end=0, is_special=True)
keys = tokens[: int(options["keys"])] if "keys" in options else tokens
special = np.array([token.is_special for token in keys])
hide = options.get("special") == "hide"
head_lines(
    strongest_links(weights[:, :, : len(keys)], threshold, budget, keep_keys=~special if hide else None),
    heads=[f"L{head} H{head}" for head in range(len(weights))],
    query_tokens=tokens,
    key_tokens=keys,
    threshold=threshold,
    visible=visible[:, : len(keys)],
    hide_special=hide,
    hidden_share=hidden_share(weights[:, :, : len(keys)], special, ~special) if hide else None,
)
runs = st.session_state.runs = st.session_state.get("runs", 0) + 1
st.text(f"run {runs}")
