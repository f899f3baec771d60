"""The tools that are compared: where each is, and how to tell in its page that the picture is on screen."""

from __future__ import annotations

from dataclasses import dataclass

PRODUCT = "tfmviz"
FLOOR = "floor"

# Counts a picture of canvases as drawn once the first two and the last two have a pixel in their upper part.
_CANVASES = """() => {
  const drawn = (canvas) =>
    canvas.width !== 300 &&
    canvas.getContext("2d")
      .getImageData(0, 0, Math.min(canvas.width, 400), Math.min(canvas.height, 60)).data.some(Boolean);
  const all = [...document.querySelectorAll("canvas")];
  return { view: all.length > 1 && [...all.slice(0, 2), ...all.slice(-2)].every(drawn) };
}"""

# Our own page is painted before the text changes: what counts is that it shows another text (or, after a click,
# another head). The goal says what is awaited; `painted_state` says what is there now.
PAINTED_STATE = """() => {
  const atlas = document.querySelector(".st-key-atlas [data-version]");
  const plot = document.querySelector(".st-key-head_map .js-plotly-plot");
  const cells = plot?.querySelector(".heatmaplayer image");
  // Two texts, and two heads, may have the very same cells: those of a head that always looks one token back.
  const { title, xaxis } = plot?._fullLayout ?? {};
  const href = cells?.getAttribute("href") ?? cells?.getAttribute("xlink:href");
  // Long texts have their map on a canvas of our own, which says what it has painted as the atlas does.
  const canvas = document.querySelector(".st-key-head_map [data-version]");
  return {
    version: atlas?.dataset.version,
    name: atlas?.dataset.ready,
    tokens: canvas ? Number(canvas.dataset.ready.split("x").pop()) : plot?.calcdata?.[0]?.[0]?.z?.length,
    image: canvas?.dataset.version ?? (href && [title?.text, xaxis?.ticktext?.join(" "), href].join("|")),
  };
}"""
_PRODUCT = f"""(probe) => {{
  if (!probe.goal) return {{}};
  const now = ({PAINTED_STATE})(), goal = probe.goal;
  const map = !!now.image && now.image !== goal.image && now.tokens === goal.tokens;
  return goal.clicked ? {{ map }} : {{ atlas: now.version !== goal.version && now.name === goal.name, map }};
}}"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """One way to see attention.

    Attributes:
        name: the view's name in `peer_page.py`, or the product's.
        title: heading of its column.
        ready: JavaScript function that tells which parts are on screen.
        hover: CSS selector of the things that a reader hovers; empty where there are none.
    """

    name: str
    title: str
    ready: str
    hover: str = ""

    @property
    def is_product(self) -> bool:
        return self.name == PRODUCT


def _view(selector: str) -> str:
    return f"() => ({{ view: !!document.querySelector({selector!r}) }})"


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(name=PRODUCT, title="tfmviz (all heads and one map)", ready=_PRODUCT, hover=".st-key-atlas canvas"),
        Tool(name=FLOOR, title="floor (all heads)", ready=_CANVASES),
        Tool(
            name="bertviz_head",
            title="BertViz head view (1 layer)",
            ready=_view("#vis svg > g:last-child > rect"),
            hover="#vis svg #left text",
        ),
        Tool(name="bertviz_model", title="BertViz model view (all)", ready=_view("#vis .attn_background")),
        Tool(name="circuitsvis_layer", title="CircuitsVis (1 layer)", ready=_CANVASES, hover="canvas"),
        Tool(name="circuitsvis_all", title="CircuitsVis (all heads)", ready=_CANVASES, hover="canvas"),
        Tool(name="inspectus", title="Inspectus (averages)", ready=_view("svg rect"), hover=".token"),
    )
}
