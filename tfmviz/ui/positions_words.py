"""Sentences that read the pictures of the Positions page: plain words for numbers that were just computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from tfmviz.analysis.positions import Lengths, SchemeOnText, Turns

_EXPLAINED = {
    "rotary": "It turns queries and keys instead: open *rotary*.",
    "alibi": "It adds a bias that falls with distance instead: open *biases*.",
    "relative": "It adds a learned bias for each bucket of distance instead: open *biases*.",
    "sinusoidal": "It adds sines and cosines that nobody learned: open *sinusoids*.",
    "none": "It has no positions at all.",
}


def sinusoids(dots: Tensor, waves: Tensor, length: int) -> str:
    """*What you see* and *Try* for the sinusoids, as Markdown."""
    near = f" One position apart, {float(dots[1]):.2f} of the dot product is left." if len(dots) > 1 else ""
    turned = int((waves <= length).sum())
    return (
        f"**What you see** {len(waves)} pairs of waves, from {float(waves[0]):.2g} to {float(waves[-1]):.2g} positions "
        f"long; {turned} of them come round within {length:,} positions.{near}\n\n"
        "**Try** An odd width: the last sine has no cosine, and the dot product no longer depends on distance alone."
    )


def rotary(plain: Turns, factor: float) -> str:
    """*What you see* and *Try* for rotary positions, as Markdown."""
    n = len(plain.radians)
    return (
        f"**What you see** Pair 0 turns by {float(plain.radians[0]):.2g} radians a position, the last one by "
        f"{float(plain.radians[-1]):.2g}. {plain.unseen} of {n} pairs do not come round once in "
        f"{plain.trained_length:,} positions: past that length they stand where they never stood in training. The "
        f"scaled variants slow them for texts {factor:g} times as long.\n\n"
        "**Try** A base of 500 000 (Llama 3): how many pairs never come round?"
    )


def biases(slopes: Tensor, bucket: Tensor, length: int) -> str:
    """*What you see* and *Try* for biases, as Markdown."""
    used = len(bucket.unique())
    return (
        f"**What you see** ALiBi takes {float(slopes[0]):.2g} off head 0's score for every token of distance and "
        f"{float(slopes[-1]):.2g} off the last head's: some heads look near, some far. T5 puts {2 * length - 1:,} "
        f"distances into {used} buckets, one each when near, ever wider ones when far.\n\n"
        "**Try** More positions: beyond the largest distance all share the last bucket."
    )


def learned(alike: Tensor) -> str:
    """*What you see* and *Try* for a learned table, as Markdown."""
    n = len(alike)
    next_to = float(alike.diagonal(1).mean()) if n > 1 else 1.0
    far = n // 2
    apart = f", {far:,} apart {tiny(float(alike.diagonal(far).mean()))}" if far > 1 else ""
    return (
        f"**What you see** Neighbours have a mean cosine of {next_to:.2f}{apart}. Nobody told the model that position "
        "7 lies beside position 8.\n\n**Try** Position 0: it is often unlike all others."
    )


def no_table(scheme: str | None, rotary_settings: tuple[int, float] | None) -> str:
    """What a model without a table does, as Markdown."""
    said = _EXPLAINED.get(scheme or "", "Order gets in where scores are made: by rotation or by a bias.")
    if rotary_settings is not None:
        turned, base = rotary_settings
        said += f" Here {turned // 2} pairs of each head turn, with a base of {base:,.0f}."
    return f"**What you see** {said}\n\n**Try** minilm: a table of 512 learned positions."


def panel(one: SchemeOnText) -> str:
    """A scheme's name and its numbers, as Markdown."""
    return f"**{one.scheme}**  \n:small[:gray[shuffling moves outputs by {tiny(one.error)}]]"


def order(found: Sequence[SchemeOnText]) -> str:
    """*What you see* and *Try* for the schemes on a text, as Markdown."""
    none = next(one for one in found if one.scheme == "none")
    least = min((one for one in found if one.scheme != "none"), key=lambda one: one.error)
    same = ""
    if none.same_token is not None:
        apart = "exactly" if none.same_token == 0 else f"to {tiny(none.same_token)}"
        same = f" Equal tokens come out equal there, {apart}."
    return (
        f"**What you see** Without positions, shuffling the text shuffles the outputs and does nothing else: they "
        f"agree to {tiny(none.error)} of the largest. With positions they move by at least {least.error:.2g} "
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


def tiny(value: float) -> str:
    """A number with two significant digits; as a power of ten where it is below a thousandth."""
    if value == 0 or abs(value) >= 1e-3:
        return f"{value:.2g}".replace("-", "−")
    digits, power = f"{value:.1e}".split("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{digits} × 10{raised}".replace("-", "−")
