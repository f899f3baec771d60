"""The peers in the smallest Streamlit page that can hold them: a text in, one view out.

`streamlit run benchmarks/peer_page.py`, then `?view=floor&weights=<folder>`. The floor is no product: one bare canvas
a head, bytes, block maxima to at most 96 x 96, no tokens; the least work that shows every head.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import circuitsvis
import inspectus
import IPython.display
import streamlit as st
import torch
from bertviz import head_view, model_view
from torch.nn.functional import adaptive_max_pool2d
from transformers import AutoModel, AutoTokenizer

Attentions = tuple[torch.Tensor, ...]  # a layer each, [1, h, n, n]
_FLOOR_SIDE = 96
_FLOOR_SCRIPT = Path(__file__).with_name("floor.html").read_text(encoding="utf-8")


@st.cache_resource
def load(folder: str) -> tuple[Any, Any]:
    """Tokenizer and model; eager, because none of the peers can be fed otherwise."""
    model = AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    return AutoTokenizer.from_pretrained(folder), model


def bertviz_head(attentions: Attentions, tokens: list[str]) -> str:
    return head_view(attentions, tokens, html_action="return").data


def bertviz_model(attentions: Attentions, tokens: list[str]) -> str:
    return model_view(attentions, tokens, html_action="return").data


def circuitsvis_layer(attentions: Attentions, tokens: list[str]) -> str:
    return circuitsvis.attention.attention_heads(attentions[0][0], tokens).local_src


def circuitsvis_all(attentions: Attentions, tokens: list[str]) -> str:
    return circuitsvis.attention.attention_heads(torch.cat([layer[0] for layer in attentions]), tokens).local_src


def inspectus_view(attentions: Attentions, tokens: list[str]) -> str:
    """Inspectus only displays; its HTML is caught on the way."""
    parts: list[str] = []
    display = IPython.display.display
    IPython.display.display = lambda shown, *_, **__: parts.append(shown.data)
    try:
        inspectus.attention(attentions, tokens)
    finally:
        IPython.display.display = display
    return "\n".join(parts)


def floor(attentions: Attentions, tokens: list[str]) -> str:
    side = min(_FLOOR_SIDE, len(tokens))
    maxima = torch.stack([adaptive_max_pool2d(layer, side)[0] for layer in attentions])
    levels = (maxima * 255).round().to(torch.uint8).numpy().tobytes()
    shape = {"heads": maxima.shape[1], "maps": maxima.shape[0] * maxima.shape[1], "side": side}
    script = _FLOOR_SCRIPT.replace("SHAPE", json.dumps(shape))
    return script.replace("LEVELS", base64.b64encode(levels).decode())


VIEWS: dict[str, Callable[[Attentions, list[str]], str]] = {
    "bertviz_head": bertviz_head,
    "bertviz_model": bertviz_model,
    "circuitsvis_layer": circuitsvis_layer,
    "circuitsvis_all": circuitsvis_all,
    "inspectus": inspectus_view,
    "floor": floor,
}

st.set_page_config(layout="wide")
tokenizer, model = load(st.query_params["weights"])
text = st.text_area("Text", "")
if text:
    inputs = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        attentions = model(**inputs, output_attentions=True).attentions
    tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0].tolist())
    st.components.v1.html(VIEWS[st.query_params["view"]](attentions, tokens), height=700, scrolling=True)
