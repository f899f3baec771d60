"""Sentences that read the pictures of the Positions page: plain words for numbers that were just computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tfmviz.ui.counting import counted, significant

if TYPE_CHECKING:
    from torch import Tensor

    from tfmviz.analysis.positions import Lengths, SchemeOnText, Turns
    from tfmviz.analysis.positions_own import OwnBias, OwnRotation

_EXPLAINED = {
    "sinusoidal": "It adds sines and cosines that nobody learned: open *sinusoids*.",
    "none": "It has no positions at all.",
}


def sinusoids(dots: Tensor, waves: Tensor, length: int) -> str:
    """*What you see* and *Try* for the sinusoids, as Markdown."""
    near = ""
    if float(dots[0]) == 0:
        near = " Position 0 is sin 0 alone: every dot product with it is 0."
    elif len(dots) > 1:
        near = f" One position apart, {float(dots[1]):.2f} of the dot product is left."
    turned = int((waves <= length).sum())
    return (
        f"**What you see** {counted(len(waves), 'pair')} of waves, "
        f"from {_whole(float(waves[0]))} to {_whole(float(waves[-1]))} positions "
        f"long; {turned} of them come round within {length:,} positions.{near}\n\n"
        "**Try** An odd width: the last sine has no cosine, and the dot product no longer depends on distance alone."
    )


def rotary(plain: Turns, factor: float) -> str:
    """*What you see* and *Try* for rotary positions, as Markdown."""
    n = len(plain.radians)
    slower = f"The scaled variants slow them for texts {factor:g} times as long."
    if factor == 1:
        slower = "By a factor of 1 the scaled variants are the plain one."
    beyond = (
        f"{plain.unseen} of {n} pairs do not come round once in {plain.trained_length:,} positions: past that length "
        "they stand where they never stood in training."
    )
    if not plain.unseen:
        beyond = f"Every pair comes round within {plain.trained_length:,} positions: past that length none is new."
    first = _two(plain.radians[0])
    return (
        f"**What you see** Pair 0 turns by {first} {'radian' if first == '1' else 'radians'} a position, the last by "
        f"{_two(plain.radians[-1])}. {beyond} {slower}\n\n"
        "**Try** A base of 500,000 (Llama 3): how many pairs never come round?"
    )


def biases(slopes: Tensor, bucket: Tensor, length: int) -> str:
    """*What you see* and *Try* for biases, as Markdown."""
    used = len(bucket.unique())
    others = f" and {_two(slopes[-1])} off the last head's: some heads look near, some far"
    return (
        f"**What you see** ALiBi takes {_two(slopes[0])} off head 0's score for every token of distance"
        f"{others if len(slopes) > 1 else ''}. T5 puts {2 * length - 1:,} distances into {used} buckets, one each when "
        "near, ever wider ones when far.\n\n"
        "**Try** More positions: beyond the largest distance all share the last bucket."
    )


def learned(alike: Tensor) -> str:
    """*What you see* and *Try* for a learned table, as Markdown."""
    n = len(alike)
    next_to = float(alike.diagonal(1).mean()) if n > 1 else 1.0
    far = n // 2
    apart = f", {far:,} apart {_two(alike.diagonal(far).mean())}" if far > 1 else ""
    return (
        f"**What you see** Neighbours have a mean cosine of {next_to:.2f}{apart}. Nobody told the model that position "
        "7 lies beside position 8.\n\n**Try** Position 0: it is often unlike all others."
    )


def no_table(scheme: str | None) -> str:
    """What a model does that has neither a table nor a rotation or bias that could be read, as Markdown."""
    said = _EXPLAINED.get(
        scheme or "", "How order gets into this model is not written where it could be read: its code alone knows."
    )
    return f"**What you see** {said}\n\n**Try** minilm: a table of 512 learned positions."


def in_scores(turned: Sequence[OwnRotation], added: Sequence[OwnBias]) -> str:
    """What it has in place of a table, as Markdown."""
    if turned:
        return "It **turns** queries and keys, at its own speeds below."
    if not added:
        return ""
    learned = added[0].kind == "relative"
    return f"It adds {'**learned numbers**' if learned else '**a slope a head**'} to its scores, by distance."


def own_rotations(found: Sequence[OwnRotation]) -> str:
    """*What you see* and *Try* for the loaded model's own rotation, as Markdown."""
    said = []
    for one in found:
        turns, n = one.turns, len(one.turns.radians)
        base = "" if one.base is None else f", with a base of {one.base:,.0f}"
        scaled = f", scaled for longer texts ({one.scaling})" if one.scaling else ""
        where = f"In {one.layers} layers " if one.layers else "Here "
        said.append(
            f"{where}{n} pairs of each head turn{base}{scaled}: pair 0 comes round in {_two(turns.wavelength[0])} "
            f"positions, the last one in {_whole(float(turns.wavelength[-1]))}. {turns.unseen} of them never come "
            f"round within the {turns.trained_length:,} tokens that it takes."
        )
    return f"**What you see** {' '.join(said)}\n\n**Try** *rotary*: another base, and scaling for longer texts."


def own_biases(found: Sequence[OwnBias]) -> str:
    """*What you see* and *Try* for the loaded model's own biases, as Markdown."""
    first = found[0]
    if first.kind == "alibi":
        steepest, flattest = _two(first.slopes.max()), _two(first.slopes.min())
        said = (
            f"{len(first.slopes)} heads with slopes from {steepest} to {flattest} a token: the steepest looks "
            "near, the flattest far. Nothing of it is learned."
        )
        return f"**What you see** {said}\n\n**Try** *biases*: other numbers of heads."
    said = " ".join(
        f"{stack_name(one.stack).capitalize()}: {one.n_buckets} learned numbers a head; at distance −1 from "
        f"{_two(_at(one, -1).min())} to {_two(_at(one, -1).max())}, far away from "
        f"{_two(one.bias[:, 0].min())} to {_two(one.bias[:, 0].max())}."
        for one in found
    )
    return f"**What you see** {said} Steps are buckets.\n\n**Try** *biases*: how distances fall into buckets."


def _at(one: OwnBias, distance: int) -> Tensor:
    """The bias of every head at a distance."""
    return one.bias[:, one.distance.tolist().index(distance)]


def stack_name(stack: str) -> str:
    """A stack in a sentence."""
    return "every layer" if stack == "self" else stack


def _two(number: Tensor | float) -> str:
    return significant(float(number))


def _whole(number: float) -> str:
    return f"{float(f'{number:.2g}'):,.0f}" if number >= 10 else f"{number:.2g}"


def panel(one: SchemeOnText) -> str:
    """A scheme's name and its numbers, as Markdown."""
    return f"**{one.scheme}**  \n:small[:gray[shuffling moves outputs by {_two(one.error)}]]"


def order(found: Sequence[SchemeOnText]) -> str:
    """*What you see* and *Try* for the schemes on a text, as Markdown."""
    none = next(one for one in found if one.scheme == "none")
    least = min((one for one in found if one.scheme != "none"), key=lambda one: one.error)
    same = ""
    if none.same_token is not None:
        apart = "exactly" if none.same_token == 0 else f"to {_two(none.same_token)}"
        same = f" Equal tokens come out equal there, {apart}."
    if not any(one.error for one in found if one.scheme != "none"):
        return (
            "**What you see** Shuffled, this text is the same text: there is no order to lose, with positions or "
            "without.\n\n**Try** Two different words: who tells them apart by their places?"
        )
    return (
        f"**What you see** Without positions, shuffling the text shuffles the outputs and does nothing else: they "
        f"agree to {_two(none.error)} of the largest. With positions they move by at least {_two(least.error)} "
        f"({least.scheme}).{same}\n\n**Try** A text of one word many times: without positions its map is flat."
    )


def longer(done: Mapping[str, Lengths]) -> str:
    """*What you see* and *Try* for longer texts, as Markdown."""
    from tfmviz.analysis.positions import TRAINED_LENGTH

    parts = []
    for scheme, one in done.items():
        last = max(one.accuracy)
        at_end = f"{100 * one.accuracy[last]:.0f} % at {last}"
        if last <= TRAINED_LENGTH:
            at_end += ", where its table ends"
        parts.append(f"{scheme} {at_end}")
    one = next(iter(done.values()))
    return (
        f"**What you see** {'; '.join(parts)}. Guessing evenly gets 6 %. One model a scheme of about "
        f"{one.n_parameters:,} weights, one seed, one task: a measurement, not a law.\n\n"
        "**Try** Another seed: which curves stay?"
    )
