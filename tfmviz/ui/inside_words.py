"""Sentences that read the Inside page: the followed pair, one thing to try, and whether the steps are the model's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfmviz.text import display
from tfmviz.ui.counting import counted, significant
from tfmviz.ui.inside_closer import spreads
from tfmviz.ui.inside_row import products_of
from tfmviz.ui.inside_view import InsideView

if TYPE_CHECKING:
    from torch import Tensor

    from tfmviz.analysis.inside import Check
    from tfmviz.trace import LayerInside
    from tfmviz.trace.inside import ResidualStep

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
    """*What you see* and *Try*, as Markdown; at most 60 words for the first, about the picture of this very step."""
    match step:
        case "scaled":
            said = _scaled(view)
        case "masked":
            said = _masked(view)
        case "weights":
            said = f"{_pair(view)} {_spread(view)}"
        case "value":
            said = _value(view)
        case "output":
            said = _output(view)
        case "projection" if view.inside.projection is not None:
            said = _projection(view)
        case "residual" if view.inside.projection is not None and view.inside.residual is not None:
            said = _residual(view, view.inside.residual)
        case _:
            said = f"{_pair(view)} {_products(view)}"
    return f"**What you see** {said}\n\n**Try** {_TRY[step]}"


def _names(view: InsideView) -> tuple[str, str]:
    query, key = (display.markdown(display.label(token)) for token in (view.query_token, view.key_token))
    return f"“{query}”", f"“{key}”"


def _three(number: Tensor | float) -> str:
    return significant(float(number), 3)


def _pair(view: InsideView) -> str:
    """The weight of the followed pair, and the product it comes from."""
    query, key = _names(view)
    score = _three(view.found.scores[view.row, view.key])
    if not bool(view.found.visible[view.row, view.key]):
        return f"{query} may not look at {key}: their q · k of {score} never reaches the softmax."
    return f"{query} gives {key} a weight of {float(view.found.weights[view.row, view.key]):.3f}, from q · k = {score}."


def _products(view: InsideView) -> str:
    """Which dimensions make that product."""
    each = products_of(view)
    largest = int(np.abs(each).argmax())
    share = each[np.abs(each).argsort()[::-1]][: max(1, len(each) // 10)].sum()
    parts = f"Dimension {largest} alone makes {_three(each[largest])} of it"
    if len(each) >= 20:  # of fewer the strongest tenth is that very dimension
        parts += f", the strongest tenth of the {len(each)} dimensions {_three(share)}"
    return f"{parts}."


def _scaled(view: InsideView) -> str:
    found, (query, key) = view.found, _names(view)
    bent = "" if found.softcap is None else f" and bent by the soft cap of {significant(found.softcap)}"
    row = found.scaled[view.row]
    return (
        f"{query} and {key}: q · k = {_three(found.scores[view.row, view.key])} times {_three(found.scale)}{bent} is "
        f"{_three(row[view.key])}. The scores of {query} go from {_three(row.min())} to {_three(row.max())}."
    )


def _masked(view: InsideView) -> str:
    found, (query, key) = view.found, _names(view)
    row = found.visible[view.row]
    seen = int(row.sum())
    score = "is hidden" if not bool(row[view.key]) else f"keeps its score of {_three(found.biased[view.row, view.key])}"
    return f"{query} may look at {seen:,} of {counted(len(row), 'key')}; {key} {score}."


def _value(view: InsideView) -> str:
    lengths = view.found.value.norm(dim=-1)
    longest = int(lengths.argmax())
    return (
        f"The value of {_names(view)[1]} is {_three(lengths[view.key])} long, the longest, of {_key(view, longest)}, "
        f"{_three(lengths[longest])}. Rows are keys: nothing has been weighted yet."
    )


def _output(view: InsideView) -> str:
    found, (query, key) = view.found, _names(view)
    weight = found.weights[view.row, view.key]
    share, whole = (weight * found.value[view.key]).norm(), found.output[view.row].norm()
    return (
        f"{query} takes {float(weight):.3f} of the value of {key}: that share is {_three(share)} long, the whole "
        f"output {_three(whole)}. Shares may cancel each other."
    )


def _projection(view: InsideView) -> str:
    from tfmviz.analysis.inside import contribution, value_weighted

    part = contribution(view.inside, view.place.head, view.found)[view.row].norm()
    brought = value_weighted(view.inside, view.place.head, view.found)[view.row]
    most, heaviest = int(brought.argmax()), int(view.found.weights[view.row].argmax())
    though = "" if most == heaviest else f", though {_key(view, heaviest)} has the largest weight"
    return (
        f"This head adds a vector {_three(part)} long to {_names(view)[0]}. Of the keys {_key(view, most)} brings the "
        f"most, {_three(brought[most])}{though}."
    )


def _residual(view: InsideView, residual: ResidualStep) -> str:
    from tfmviz.analysis.inside import contribution

    part = contribution(view.inside, view.place.head, view.found)[view.row].norm()
    before, update, after = (_three(x[view.query].norm()) for x in (residual.before, residual.update, residual.after))
    return (
        f"The stream of {_names(view)[0]} was {before} long. This head's part is {_three(part)} long, all that is "
        f"added {update}; afterwards the stream is {after} long."
    )


def _key(view: InsideView, key: int) -> str:
    """A key by its name; by its number where it stands outside of the picture."""
    if not view.cols.start <= key < view.cols.stop:
        return f"key {key:,}"
    return f"“{display.markdown(display.label(view.key_tokens[key - view.cols.start]))}”"


def _spread(view: InsideView) -> str:
    own, found = spreads(view)
    largest = float(found.largest.mean())
    weight = f"{largest:.2f}" if largest >= 0.1 else significant(largest)
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
    masked = f"{cells} {'0' if found.masked == 0 else f'up to {significant(found.masked)}'}"
    if not found.n_masked:
        masked = "no cell is masked"
    heads = f"every head's output equals the model's own {_within(found.output)}"
    if found.block is None:
        whole = "the sum over heads cannot be formed"
    else:
        whole = f"the sum over heads equals the block's output {_within(found.block)}"
    return f"{sums} {_within(found.row_sum)}; {masked}; {heads}; {whole}."


def _within(difference: float) -> str:
    return f"within {significant(difference)}" if difference else "exactly"


def remarks(inside: LayerInside) -> list[str]:
    """What this model does beside the textbook, as far as the pass showed it."""
    said = list(inside.missing)
    if inside.projection is not None and inside.projection.changed > 0:
        said.append(
            "On their way to the output projection this model changes its heads (a gate or a norm, by up to "
            f"{significant(inside.projection.changed)}): the projection step takes them as they arrive there."
        )
    if inside.residual is not None and inside.residual.changed > 0:
        said.append(
            "Between the block's output and the stream stands a norm or a factor: it changes the numbers by up to "
            f"{significant(inside.residual.changed)}."
        )
    if inside.residual is not None and not inside.residual.alone:
        said.append("The feed-forward part is added in the same step: the stream after holds both.")
    return said
