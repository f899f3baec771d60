"""Sentences that read the picture on the screen: plain words for numbers that were just computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfmviz.analysis.head_roles import HeadRole, Role
from tfmviz.analysis.head_view import HeadView, Part
from tfmviz.charts.memory_numbers import bytes_text
from tfmviz.text import display
from tfmviz.ui.counting import percent
from tfmviz.ui.requests import HeadChoice
from tfmviz.ui.samples import Sample, of_text

if TYPE_CHECKING:
    from tfmviz.analysis.long_view import LongView
    from tfmviz.trace import AttentionStack
    from tfmviz.trace.memory import MemoryUse

# What a role looks like, as the end of a sentence about tokens.
_DOES: dict[Role, str] = {
    "previous": "look one back",
    "self": "look at themselves",
    "next": "look one ahead",
    "first": "look at the first token",
    "special": "look at special tokens",
    "same": "look at the same word elsewhere",
    "induction": "look at what followed the same token before",
    "punctuation": "look at punctuation",
}
# What one looks for in the map.
_SHAPE: dict[Role, str] = {
    "previous": "a stripe just left of the diagonal",
    "self": "the diagonal itself",
    "next": "a stripe just right of the diagonal",
    "first": "one strong column at the left",
    "special": "strong columns under the special tokens",
    "same": "dots where a word meets itself",
    "induction": "a slanted stripe far from the diagonal",
    "punctuation": "strong columns under the punctuation",
    "diffuse": "an even tint",
    "mixed": "several patterns at once",
}
_STATUS = {
    "exact": "exact, computed from the queries and keys of the model's own pass",
    "dense": "dense, taken as the model itself gives them",
}


def head_sentence(choice: HeadChoice, role: HeadRole) -> str:
    """What one head, or an average, does on this text. Under 40 words."""
    who = _who(choice)
    if not role.n_queries:
        return f"{who}: no typed token here has more than one key to choose from."
    if role.role == "diffuse":
        return f"{who}: attention is spread out, at {percent(role.weight)} of the most even spread there could be."
    if role.role == "mixed":
        return (
            f"{who}: no single pattern. A token's strongest key gets {_two(role.weight)} on average{_runner_up(role)}."
        )
    does, shape = _DOES[role.role], _SHAPE[role.role]
    return f"{who}: {_many(role.share)} tokens {does}, mean weight {_two(role.weight)}. Look for {shape}."


def paragraph(role: HeadRole, view: HeadView | LongView, choice: HeadChoice, part: Part, hide_special: bool) -> str:
    """*What you see*: the current picture in at most 60 words, as Markdown."""
    words = [head_sentence(choice, role)]
    if part != "all":
        words.append(f"{part} holds {percent(view.part_share)} of these rows' attention.")
    if hide_special:
        words.append(f"Hidden special tokens hold {percent(view.special_share)}.")
    elif view.special_share >= 0.3 and role.role not in ("special", "first"):
        words.append(f"Special tokens hold {percent(view.special_share)}.")
    if view.sink_share >= 0.005:
        words.append(f"A sink takes {percent(view.sink_share)}: rows sum to less.")
    return "**What you see** " + " ".join(words)


def invitation(text: str, choice: HeadChoice, *, lacks_target: bool = False) -> str:
    """*Try*: one thing to do next, as Markdown.

    Args:
        text: what was typed.
        choice: the head.
        lacks_target: the model has a decoder, which has read nothing yet.
    """
    return f"**Try** {_to_try(of_text(text), choice, lacks_target=lacks_target)}"


def _to_try(sample: Sample | None, choice: HeadChoice, *, lacks_target: bool) -> str:
    if lacks_target:  # whatever else one could look for needs more than the one row of its start token
        return "Type into “Text for the decoder” what it has read so far: each of its tokens becomes a row."
    if sample is not None and sample.why:
        return display.markdown(sample.why)
    if choice.layer is None or choice.head is None:
        return "Click a square: one head rarely looks like the average."
    return "Hover a token in the lines below, click to keep its lines lit, Escape to let go."


def footnote(memory: MemoryUse, stack: AttentionStack, choice: HeadChoice) -> str:
    """How the numbers came about, in small print: kept against dense bytes, and the layer's status."""
    lines = [f"Kept {bytes_text(memory.kept)} of queries and keys; all weights would take {bytes_text(memory.dense)}."]
    if choice.layer is not None:
        status = stack.status(choice.layer)
        how = _STATUS.get(status, display.markdown(status))
        lines.append(f"Weights of layer {choice.layer}: {how}.")
    return f":small[:gray[{' '.join(lines)}]]"


def short_role(role: HeadRole) -> str:
    """A few words for the atlas: ``previous 0.82``; none where no query had a choice."""
    if not role.n_queries:
        return ""
    return f"{role.role} {_two(role.weight)}"


def _who(choice: HeadChoice) -> str:
    match choice.layer, choice.head:
        case None, None:
            return "Mean of all heads in all layers"
        case None, head:
            return f"Head {head}, mean of all layers"
        case layer, None:
            return f"Layer {layer}, mean of its heads"
        case layer, head:
            return f"Layer {layer}, head {head}"


def _many(share: float) -> str:
    if share >= 0.95:
        return "nearly all"
    if share > 0.5:
        return "most"
    return "some" if share >= 0.2 else "few"


def _runner_up(role: HeadRole) -> str:
    best = max(role.weights, key=lambda name: role.weights[name])
    if role.weights[best] < 0.15:
        return ""
    return f"; the nearest to a pattern is “{best}” with {_two(role.weights[best])}"


def _two(weight: float) -> str:
    return f"{weight:.2f}"
