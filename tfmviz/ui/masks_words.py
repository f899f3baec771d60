"""Sentences that read the pictures of the Masks page: plain words for numbers that were just computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from tfmviz.analysis.head_view import HeadView
from tfmviz.text import display
from tfmviz.ui.counting import counted, percent, significant
from tfmviz.ui.requests import HeadChoice

if TYPE_CHECKING:
    from tfmviz.analysis.masks import AppliedMask, Leakage, PaddingEffect
    from tfmviz.charts.mask_panels import Show
    from tfmviz.models import Model
    from tfmviz.trace import AttentionStack

OWN = "own"


def line(model: Model, choice: HeadChoice, whole: bool) -> str:
    """What the side-by-side view shows, in one line."""
    name = display.markdown(model.name)
    how = (
        "the whole model run again under each of them"
        if whole
        else "the same queries and keys, masked anew in this layer alone"
    )
    return f"**{name}**, {choice.name}: one text under its own mask and six others, {how}."


def who(model: Model) -> str:
    """Who reads the text in an experiment: of two stacks the encoder, as Markdown."""
    name = f"**{display.markdown(model.name)}**"
    return f"The encoder of {name}" if model.kind == "encoder-decoder" else name


def panel(pattern: str, view: HeadView, own: HeadView) -> str:
    """A panel's name, how many cells it allows and how much attention moved, as Markdown."""
    name = "model's own" if pattern == OWN else pattern
    moved = "" if pattern == OWN else f", {percent(moved_share(view, own))} moved"
    # two lines in every panel, so that the pictures stand level
    return f"**{name}**  \n:small[:gray[{percent(allowed_share(view))} allowed{moved}]]"


def allowed_share(view: HeadView) -> float:
    """Allowed cells over all cells."""
    return 1.0 if view.visible is None else float(view.visible.mean())


def moved_share(view: HeadView, own: HeadView) -> float:
    """Mean over real queries of the attention that is elsewhere than under the model's own mask, 0 to 1."""
    from tfmviz.analysis.masks import difference

    real = [not token.is_padding for token in view.query_tokens]
    return difference(view.weights[real], own.weights[real])


def seen(views: Mapping[str, HeadView], choice: HeadChoice, show: Show, padding: str) -> str:
    """*What you see* and *Try* for the side-by-side view, as Markdown; ``padding`` is what :func:`padded` says."""
    own = views[OWN]
    moved = {pattern: moved_share(view, own) for pattern, view in views.items() if pattern != OWN}
    most = max(moved, key=lambda pattern: moved[pattern])
    same = [pattern for pattern, share in moved.items() if share < 5e-5]
    what = f"the {most} mask moves most, {percent(moved[most])} of the attention. "
    if len(same) == len(moved):
        what = "none of these masks moves any attention. "
    elif same:
        what += f"{listed(same)} {'move' if len(same) > 1 else 'moves'} less than 0.01 %. "
    said = f"**What you see** {choice.name}: {what}{padding}Rows look, columns are looked at; hatched cells may not be."
    tries = {
        "allowed": "Show *weights*: what was taken from hidden cells goes to those that remain.",
        "weights": "Show *difference*: orange gained, blue lost.",
        "difference": "Open *Sizes* and widen the window until nothing is blue.",
    }
    return f"{said}\n\n**Try** {tries[show]}"


def closely(pattern: str, view: HeadView, own: HeadView, window: int, prefix: int) -> str:
    """One mask's rule, and the token whose attention it moves most, as Markdown."""
    said = f"**{_rule(pattern, window, prefix)}**"
    if pattern == OWN:
        return said
    moves = 0.5 * np.abs(view.weights - own.weights).sum(-1)
    moves *= [not token.is_padding for token in view.query_tokens]
    most = int(moves.argmax())
    if moves[most] < 5e-5:
        return f"{said}\n\nIn this head it moves no token's attention by as much as 0.01 %."
    who = display.markdown(display.label(view.query_tokens[most]))
    loses = int((own.weights[most] - view.weights[most]).argmax())
    whose = display.markdown(display.label(view.key_tokens[loses]))
    return (
        f"{said}\n\nIn this head “{who}” feels it most: {percent(float(moves[most]))} of its attention is elsewhere "
        f"than under the model's own mask. Most of that was on “{whose}”."
    )


def _rule(pattern: str, window: int, prefix: int) -> str:
    """What a mask allows, in a sentence."""
    match pattern:
        case "own":
            return "What the model itself applies."
        case "causal":
            return "A token sees itself and what came before it."
        case "bidirectional":
            return "Every token sees every token, padding too."
        case "padding":
            return "The model's own direction; nobody sees padding."
        case "sliding" if window == 1:
            return "A token sees itself alone."
        case "sliding":
            return f"A token sees itself and {counted(window - 1, 'token')} before it."
        case "prefix" if prefix == 0:
            return "A prefix of no tokens: a token sees itself and what came before it."
        case "prefix":
            first = "first token is" if prefix == 1 else f"first {prefix:,} tokens are"
            return f"The {first} seen by all; beyond, a token sees itself and what came before it."
        case _:
            return "The model's own direction within a sentence; no sentence sees another."


def padded(stack: AttentionStack, asked: int) -> str:
    """How much padding a stack's text got of what was asked for; nothing where none was."""
    pads = sum(token.is_padding for token in stack.key_tokens)
    if pads < asked and stack.name == "decoder":
        return "Padding is added to the encoder's text alone. "
    if not pads and asked:
        return "There is no room for padding: the text is as long as the model takes. "
    if pads < asked:
        return f"There is room for {pads} padding {'tokens' if pads > 1 else 'token'} and no more. "
    return f"{pads} padding {'tokens were' if pads > 1 else 'token was'} added. " if pads else ""


def layers(numbers: Sequence[int]) -> str:
    """``layer 3`` or ``layers 0–3, 6``."""
    runs = []
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        found = [number for _, number in run]
        runs.append(str(found[0]) if len(found) == 1 else f"{found[0]}–{found[-1]}")
    return f"{'layer' if len(numbers) == 1 else 'layers'} {', '.join(runs)}"


def applied(one: AppliedMask) -> str:
    """One applied mask, as Markdown."""
    return f"**{layers(one.layers).capitalize()}** {one.name}, {percent(one.share)} of the cells"


def this_model(found: Sequence[AppliedMask], stack: AttentionStack) -> str:
    """*What you see* and *Try* for the model's own masks, as Markdown."""
    n = len(stack.query_tokens)
    if len(found) > 1:
        what = f"{len(found)} different masks take turns in {stack.n_layers} layers."
        todo = "Lengthen the text: the windowed layers keep their width, the others do not."
    else:
        n_layers = len(found[0].layers)
        what = "Its one layer with attention applied this mask."
        if n_layers > 1:
            what = f"All {n_layers} layers with attention applied one and the same mask."
        todo = f"A window wider than {counted(n, 'token')} would look just like this: lengthen the text to find out."
    without = stack.n_layers - sum(len(one.layers) for one in found)
    missing = f" {without} {'layer has' if without == 1 else 'layers have'} no attention." if without else ""
    return f"**What you see** {what}{missing} Rows look, columns are looked at.\n\n**Try** {todo}"


def padding(effect: PaddingEffect) -> str:
    """*What you see* and *Try* for padding, as Markdown."""
    cosine, low = float(effect.cosine.mean()), float(effect.cosine.min())
    cosine_open, low_open = float(effect.cosine_open.mean()), float(effect.cosine_open.min())
    draw = "it draws" if effect.n_padding == 1 else "they draw"
    return (
        f"**What you see** {counted(effect.n_padding, 'padding token')} on the {effect.side}. Hidden, {draw} "
        f"{percent(float(effect.leak.nanmean()))} of the attention and the outputs keep a mean cosine of {cosine:.4f} "
        f"(lowest {low:.4f}) to the unpadded text. Not hidden, {draw} {percent(float(effect.leak_open.nanmean()))} and "
        f"the mean cosine is {cosine_open:.4f} (lowest {low_open:.4f}).\n\n"
        "**Try** Pad on the other side: learned positions move with the text, rotary ones only by their difference."
    )


def moved(one: Leakage) -> str:
    """How many tokens before the changed one noticed, in few words."""
    if one.at == 0:
        return "no token stands before the change"
    if one.at == 1:
        return f"the token before the change {'moved' if one.moved_before else 'did not move'}"
    return f"{one.moved_before:,} of {one.at:,} tokens before the change moved"


def leakage(found: Mapping[str, Leakage]) -> str:
    """*What you see* and *Try* for the leakage test, as Markdown."""
    parts = []
    for mask, one in found.items():
        if not one.at:
            parts.append(f"Under the {mask} mask there is no token before the changed one.")
        elif one.before == 0:
            who = "the token" if one.at == 1 else f"none of the {one.at:,} tokens"
            did = "did not change" if one.at == 1 else "changed"
            parts.append(f"Under the {mask} mask {who} before it {did}, in any layer.")
        else:
            who = "the token" if one.at == 1 else f"{one.moved_before:,} of the {one.at:,} tokens"
            whose = "its" if one.at == 1 else "their"
            by = f"by up to {significant(one.before)} of {whose} length"
            parts.append(f"Under the {mask} mask {who} before it changed, {by}.")
    return f"**What you see** {' '.join(parts)}\n\n**Try** Change an earlier token: how much of the text notices?"


def listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``, first letter large."""
    joined = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return joined[0].upper() + joined[1:]
