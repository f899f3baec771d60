"""The colours of every picture, as plain tuples: Plotly figures and canvas components take the same ones.

The scales were laid out in CIELAB with equal steps of lightness, so they read the same in grey and for colour-blind
people; the tests measure it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

Rgb = tuple[int, int, int]
Scale = tuple[str, ...]  # evenly spaced stops, written #RRGGBB, straight lines in sRGB between them


@dataclass(frozen=True, kw_only=True, slots=True)
class Palette:
    """One theme's colours.

    Attributes:
        background: of the page; where the scales begin.
        ink, faint: words, and lines that must not compete with the picture.
        query, key, value: marks of the three roles, on every page.
        query_ink, key_ink, value_ink: the same for words, at least 4.5 : 1 on the background.
        masked, hatch: ground and lines of cells that a query may not look at. Neutral: no weight has these.
        weights: 0 to 1.
        difference: -1 to 1, the background in the middle.
        heads: twelve lines that can be told apart, by colour-blind people too.
    """

    background: str
    ink: str
    faint: str
    query: str
    key: str
    value: str
    query_ink: str
    key_ink: str
    value_ink: str
    masked: str
    hatch: str
    weights: Scale
    difference: Scale
    heads: tuple[str, ...]


LIGHT = Palette(
    background="#FFFFFF",
    ink="#1F2330",
    faint="#6A7080",
    query="#2457C5",
    key="#C4561B",
    value="#1F7A5C",
    query_ink="#2457C5",
    key_ink="#BD531B",
    value_ink="#1F7A5C",
    masked="#F1EFEA",
    hatch="#C9C4B8",
    weights=(
        "#FFFFFF", "#ECEFFE", "#D9DFFC", "#C7CFF9", "#B6BFF4", "#A5B0EF", "#95A0E8", "#8691E0", "#7782D6",
        "#6973CB", "#5C65BE", "#4F57B1", "#4449A2", "#383C93", "#2E2E83", "#242174", "#1B1464",
    ),
    difference=(
        "#2457C5", "#3E6DCE", "#5882D6", "#7297DE", "#8DACE6", "#A8C0ED", "#C5D5F4", "#E2EAFA", "#FFFFFF",
        "#F6E6E0", "#ECCEC2", "#E2B6A5", "#D79E88", "#CB866B", "#BF6E4E", "#B2562F", "#A43C00",
    ),
    heads=(
        "#523FD7", "#E12717", "#589E48", "#F44DAB", "#275B6A", "#81190F", "#8A79D8", "#2F215B", "#BE6F7C",
        "#5C663E", "#9E0799", "#611E38",
    ),
)  # fmt: skip

DARK = Palette(
    background="#0E1117",
    ink="#E8EAF2",
    faint="#9AA1B2",
    query="#8FB3FF",
    key="#FFA36B",
    value="#6FD3AE",
    query_ink="#8FB3FF",
    key_ink="#FFA36B",
    value_ink="#6FD3AE",
    masked="#23231F",
    hatch="#4C4B45",
    weights=(
        "#0E1117", "#181B2D", "#212442", "#2A2E57", "#34386C", "#3F4381", "#494E94", "#555BA6", "#6167B6",
        "#6D75C5", "#7A82D1", "#8890DC", "#969FE6", "#A5AEEE", "#B4BDF4", "#C4CCFA", "#D5DBFF",
    ),
    difference=(
        "#8FB3FF", "#7D9CDE", "#6B86BE", "#5A719F", "#4A5C82", "#3A4865", "#2B354A", "#1C2330", "#0E1117",
        "#282222", "#43322D", "#5F4437", "#7D5642", "#9C684C", "#BC7B56", "#DD8F61", "#FFA36B",
    ),
    heads=(
        "#969BFC", "#C8A121", "#BA2D1F", "#17B456", "#FE8EB2", "#3D53E5", "#AFDFF7", "#BA32B3", "#D6FC07",
        "#7D5C7A", "#65815F", "#ECD3AB",
    ),
)  # fmt: skip


def palette(dark: bool) -> Palette:
    """The colours of the light or the dark theme."""
    return DARK if dark else LIGHT


def rgb(colour: str) -> Rgb:
    """``#RRGGBB`` as three numbers from 0 to 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


@lru_cache(maxsize=16)
def table(scale: Scale, n: int = 256) -> tuple[Rgb, ...]:
    """``n`` evenly spaced colours of a scale, for a canvas to look weights up in.

    Args:
        scale: its stops.
        n: entries; entry ``i`` is the colour of ``i / (n - 1)``.
    """
    stops = [rgb(stop) for stop in scale]
    last = len(stops) - 1
    colours: list[Rgb] = []
    for i in range(n):
        place = i / (n - 1) * last
        left = min(int(place), last - 1)
        share = place - left
        r, g, b = (round(a + (z - a) * share) for a, z in zip(stops[left], stops[left + 1], strict=True))
        colours.append((r, g, b))
    return tuple(colours)


def plotly_scale(scale: Scale) -> list[list[float | str]]:
    """A scale as Plotly's ``colorscale``."""
    return [[i / (len(scale) - 1), colour] for i, colour in enumerate(scale)]


def ink_on(colour: str) -> str:
    """Black or white, whichever reads better on ``colour``."""
    return max(("#000000", "#FFFFFF"), key=lambda ink: contrast(ink, colour))


def contrast(a: str, b: str) -> float:
    """Contrast of two colours, 1 to 21.

    Source: WCAG 2.2, relative luminance and contrast ratio.
    """
    low, high = sorted((_luminance(a), _luminance(b)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    channels = (value / 255 for value in rgb(colour))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
