"""A page with an atlas of known numbers. The query string says which."""

import numpy as np
import streamlit as st

from tfmviz.components import atlas

st.set_page_config(layout="wide")
options = st.query_params
layers, heads, kv_heads, size = (
    int(options.get(name, default)) for name, default in (("layers", 6), ("heads", 12), ("kv", 12), ("size", 64))
)
version = st.number_input("version", value=0)

# Head (l, h) has one weight of 1 in its first row, at column (l + h) % size; version moves it on.
overview = np.zeros((layers, heads, size, size), dtype=np.uint8)
for layer in range(layers):
    for head in range(heads):
        overview[layer, head, 0, (layer + head + version) % size] = 255
if "full" in options:
    overview[int(options["full"]), 0] = 255
statuses = ["exact"] * layers
if "none" in options:
    statuses[int(options["none"])] = "none: state-space layer"
positions = np.arange(size)
strongest = [[("</script>", "<b>&amp;</b>", 0.123456) for _ in range(heads)] for _ in range(layers)]
roles = [[f"role {layer}.{head}" for head in range(heads)] for layer in range(layers)]


def choose(layer: int, head: int) -> None:
    st.session_state.layer, st.session_state.head = layer, head
    st.session_state.calls = st.session_state.get("calls", 0) + 1


layer = st.number_input("layer", 0, layers - 1, key="layer")
head = st.number_input("head", 0, heads - 1, key="head")
st.button("again")
selected = (-1, head) if "all_layers" in options else (layer, head)
if "nothing" in options and "calls" not in st.session_state:
    selected = None
picked = atlas(
    overview,
    n_tokens=(size, size),
    selected=selected,
    n_kv_heads=kv_heads,
    strongest=strongest,
    roles=roles,
    statuses=statuses,
    visible=positions[:, None] >= positions if "causal" in options else None,
    on_change=choose,
)
runs = st.session_state.runs = st.session_state.get("runs", 0) + 1
st.text(f"run {runs} calls {st.session_state.get('calls', 0)} picked {picked} selected {layer},{head}")
