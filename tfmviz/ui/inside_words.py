"""Sentences that read the Inside page: the followed pair, one thing to try, and whether the steps are the model's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfmviz.text import display
from tfmviz.ui.inside_closer import spreads
from tfmviz.ui.inside_row import products_of
from tfmviz.ui.inside_view import InsideView

if TYPE_CHECKING:
    from tfmviz.analysis.inside import Check
    from tfmviz.trace import LayerInside

# Largest difference that counts as equal, relative to the largest number where that is above 1.
TOLERANCE = 1e-4
_TRY = {
    "query": "Press the right arrow: the keys have as many dimensions, or no product could be formed.",
    "key": "Follow another key: which dimensions change their sign?",
    "value": "Go on to *output*: the head mixes these rows in the shares of its weights.",
    "scores": "Pick a key by hand and see which dimensions make its score.",
    "scaled": "Switch on *Without √d* and go to *weights*.",
    "masked": "Hatched cells are −∞, not a small score: go on to see what the softmax makes of them.",
    "weights": "Open *why √d* and move the temperature: entropy and gradient go opposite ways at the cold end.",
    "output": "Follow the key of the largest weight: how much of the output is its value alone?",
    "projection": "Compare *value-weighted* with the weights: are resting places as important as they look?",
    "residual": "Compare lengths: one head adds little to the stream, and the stream remembers the rest.",
}


def paragraph(step: str, view: InsideView) -> str:
    """*What you see* and *Try*, as Markdown; at most 60 words for the first."""
    query, key = (display.markdown(display.label(token)) for token in (view.query_token, view.key_token))
    each, found = products_of(view), view.found
    weight, score = float(found.weights[view.row, view.key]), float(found.scores[view.row, view.key])
    if not bool(found.visible[view.row, view.key]):
        pair = f"“{query}” may not look at “{key}”: their q · k of {score:.3g} never reaches the softmax."
    else:
        pair = f"“{query}” gives “{key}” a weight of {weight:.3f}, from q · k = {score:.3g}."
    largest = int(np.abs(each).argmax())
    share = each[np.abs(each).argsort()[::-1]][: max(1, len(each) // 10)].sum()
    parts = f"Dimension {largest} alone makes {each[largest]:.3g} of it"
    if len(each) >= 20:  # of fewer the strongest tenth is that very dimension
        parts += f", the strongest tenth of the {len(each)} dimensions {share:.3g}"
    said = f"{pair} {parts}. {_spread(view)}".replace(" -", " −")
    return f"**What you see** {said}\n\n**Try** {_TRY[step]}"


def _spread(view: InsideView) -> str:
    own, found = spreads(view)
    largest = float(found.largest.mean())
    weight = f"{largest:.2f}" if largest >= 0.1 else f"{largest:.2g}"
    now = f"Rows here: entropy {float(found.entropy.mean()):.2f} bits, largest weight {weight}"
    if view.turns.is_the_models:
        return f"{now}."
    return f"{now}; by the model's own formula {float(own.entropy.mean()):.2f} and {float(own.largest.mean()):.2f}."


def checks_out(found: Check) -> bool:
    """Whether every difference is as small as rounding."""
    fits = found.output <= TOLERANCE * max(found.output_size, 1.0) and found.row_sum <= TOLERANCE and found.masked == 0
    if found.block is None or found.block_size is None:
        return fits
    return fits and found.block <= TOLERANCE * max(found.block_size, 1.0)


def check_line(found: Check, inside: LayerInside) -> str:
    """What was recomputed, laid beside the model's own numbers, as Markdown."""
    sums = "Rows sum to 1" if inside.source.sink is None else "Rows and their sink sum to 1"
    cells = "1 masked cell is" if found.n_masked == 1 else f"{found.n_masked:,} masked cells are"
    masked = f"{cells} {'0' if found.masked == 0 else f'up to {found.masked:.1e}'}"
    if not found.n_masked:
        masked = "no cell is masked"
    heads = f"every head's output equals the model's own within {found.output:.1e}"
    if found.block is None:
        whole = "the sum over heads cannot be formed"
    else:
        whole = f"the sum over heads equals the block's output within {found.block:.1e}"
    return f"{sums} within {found.row_sum:.1e}; {masked}; {heads}; {whole}."


def remarks(inside: LayerInside) -> list[str]:
    """What this model does beside the textbook, as far as the pass showed it."""
    said = list(inside.missing)
    if inside.projection is not None and inside.projection.changed > 0:
        said.append(
            "On their way to the output projection this model changes its heads (a gate or a norm, by up to "
            f"{inside.projection.changed:.2g}): the projection step takes them as they arrive there."
        )
    if inside.residual is not None and inside.residual.changed > 0:
        said.append(
            "Between the block's output and the stream stands a norm or a factor: it changes the numbers by up to "
            f"{inside.residual.changed:.2g}."
        )
    if inside.residual is not None and not inside.residual.alone:
        said.append("The feed-forward part is added in the same step: the stream after holds both.")
    return said
