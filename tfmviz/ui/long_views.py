"""Overviews of long texts' heads: made once for a click, which the browser and then Streamlit ask about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfmviz.analysis.long_head import LongHead
from tfmviz.analysis.long_view import LongView, long_view
from tfmviz.ui.requests import HeadChoice, TraceRequest
from tfmviz.ui.shelf import Job, Shelf

if TYPE_CHECKING:
    from tfmviz.analysis.head_view import Part
    from tfmviz.trace import AttentionStack

_MB = 10**6
# request, stack, part, head, scaled rows, hidden special tokens
_Key = tuple[TraceRequest, str, "Part", HeadChoice, bool, bool]

# A view has about a megabyte: the latest few heads of those who look at long texts just now.
_views: Shelf[_Key, LongView] = Shelf(budget=24 * _MB, most=64, weigh=lambda view: view.nbytes, workers=2, name="map")


def view(
    request: TraceRequest, stack: AttentionStack, part: Part, choice: HeadChoice, row_scaled: bool, hide_special: bool
) -> LongView:
    """The overview of one head of a stack of the trace of ``request``.

    Raises:
        NoAttention, OutOfRange: as :func:`tfmviz.analysis.long_view.long_view`.
    """

    def make(_: Job[LongView]) -> LongView:
        whole = LongHead.of(stack, choice.layer, choice.head, part, hide_special=hide_special)
        return long_view(whole, row_scaled=row_scaled)

    return _views.ask((request, stack.name, part, choice, row_scaled, hide_special), make).future.result()


def clear() -> None:
    """Forget every overview; for tests."""
    _views.clear()
