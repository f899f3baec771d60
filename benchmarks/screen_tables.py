"""What `screen.py` measured, as markdown, and whether it is what was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from browser import Visit
from cold_start import ColdStart
from report import table
from tools import FLOOR, PRODUCT, TOOLS

Visits = dict[tuple[str, int], list[Visit]]  # (tool, tokens) -> repetitions

MAX_FLOOR_RATIO = 1.5
FASTER_FROM = 64
MAX_ATLAS_BYTES = 1_200_000
MAX_MAP_BYTES = 1_500_000
MAX_CLICK_MS = 200.0
FRAME_MS = 1000 / 60
MAX_ANSWER_S = 3.0
_MB = 1e6


def seconds(visits: Visits, tool: str, n: int) -> float | None:
    """Median seconds of the repetitions; None where any of them failed or none was made."""
    seen = visits.get((tool, n), [])
    if not seen or any(one.failed for one in seen):
        return None
    return median(one.seconds for one in seen)


def line(seen: list[Visit]) -> str:
    """One line for the terminal."""
    failed = next((one.failed for one in seen if one.failed), None)
    if failed:
        return failed
    parts = {name: round(median(one.parts[name] for one in seen), 3) for name in seen[0].parts}
    hovers, clicks = _all(seen, "hovers"), _all(seen, "clicks")
    return (
        f"{median(one.seconds for one in seen):.2f} s {parts}, {seen[0].bytes_sent / _MB:.2f} MB {seen[0].largest}, "
        f"tab {median(one.tab_bytes for one in seen) / _MB:.0f} MB"
        + (f", hover {median(hovers):.1f} (max {max(hovers):.1f}) ms" if hovers else "")
        + (f", click {median(clicks):.0f} (max {max(clicks):.0f}) ms of {len(clicks)}" if clicks else "")
    )


def model_section(model: str, visits: Visits, tools: Sequence[str], ns: Sequence[int]) -> str:
    """Every tool at every length, this project more closely, and the goals that it missed."""
    everyone = table(
        ["tokens", *(TOOLS[name].title for name in tools)],
        [[str(n), *(_cell(visits, name, n) for name in tools)] for n in ns],
    )
    body = (
        "Seconds from the key press to the painted picture (times the floor; MB over the WebSocket; most MB that the "
        f"tab held). Medians; each text is new to the server, whose model is warm.\n\n{everyone}"
    )
    if PRODUCT not in tools:
        return body
    missed = [fault for n in ns for fault in _faults(model, visits, n)]
    return f"{body}\n\n{_closely(visits, ns)}\n\n{_verdict(missed)}"


def _cell(visits: Visits, tool: str, n: int) -> str:
    seen = visits.get((tool, n), [])
    failed = next((one.failed for one in seen if one.failed), None)
    if failed or not seen:
        return failed or "-"
    took, floor = seconds(visits, tool, n), seconds(visits, FLOOR, n)
    ratio = f"x{took / floor:.1f}; " if took and floor else ""
    sent, held = (median(getattr(one, name) for one in seen) / _MB for name in ("bytes_sent", "tab_bytes"))
    return f"{took:.2f} ({ratio}{sent:.2f}; {held:,.0f})"


def _closely(visits: Visits, ns: Sequence[int]) -> str:
    header = [
        "tokens",
        "atlas, s",
        "map, s",
        "atlas message, MB",
        "map message, MB",
        "click on another head, ms (most)",
        "hover: main-thread work, ms (most)",
    ]
    rows = []
    for n in ns:
        seen = [one for one in visits.get((PRODUCT, n), []) if not one.failed]
        if seen:
            parts = [f"{median(one.parts[name] for one in seen):.2f}" for name in ("atlas", "map")]
            sizes = [f"{max(one.largest.get(name, 0) for one in seen) / _MB:.2f}" for name in ("atlas", "head_map")]
            rows.append([str(n), *parts, *sizes, _spread(_all(seen, "clicks")), _spread(_all(seen, "hovers"))])
    return f"tfmviz more closely:\n\n{table(header, rows)}"


def _spread(values: list[float]) -> str:
    return f"{median(values):.0f} ({max(values):.0f})" if values else "-"


def _all(seen: list[Visit], name: str) -> list[float]:
    return [value for one in seen for value in getattr(one, name)]


def cold_start_section(starts: list[ColdStart]) -> str:
    """Medians over the starts, in one sentence, and whether the goal was met."""
    names = ("answered", "page", "picture", "bare")
    answered, page, picture, bare = (median(getattr(one, name) for one in starts) for name in names)
    missed = [f"it answered after {answered:.1f} s, not {MAX_ANSWER_S:.0f}"] if answered > MAX_ANSWER_S else []
    return (
        f"`streamlit run app.py`, medians of {len(starts)}: it answers after {answered:.1f} s, the page with its text "
        f"box is on screen after {page:.1f} s, its first picture after {picture:.1f} s. A page with a text box and "
        f"nothing else is on screen after {bare:.1f} s.\n\n{_verdict(missed)}"
    )


def _verdict(missed: list[str]) -> str:
    return "Goals missed:\n\n" + "\n".join(f"- {fault}" for fault in missed) if missed else "All goals met."


def _faults(model: str, visits: Visits, n: int) -> list[str]:
    seen = visits.get((PRODUCT, n), [])
    if not seen:
        return []
    where, ours = f"{model}, {n} tokens", seconds(visits, PRODUCT, n)
    if ours is None:
        return [f"{where}: no picture ({next(one.failed for one in seen if one.failed)})"]
    faults = []
    floor = seconds(visits, FLOOR, n)
    if floor and ours > MAX_FLOOR_RATIO * floor:
        faults.append(f"{where}: {ours:.2f} s is {ours / floor:.2f} times the floor, not {MAX_FLOOR_RATIO}")
    for tool in TOOLS:
        theirs = seconds(visits, tool, n)
        if tool not in (PRODUCT, FLOOR) and n >= FASTER_FROM and theirs and theirs <= ours:
            faults.append(f"{where}: {TOOLS[tool].title} took {theirs:.2f} s, we {ours:.2f} s")
    for key, most in (("atlas", MAX_ATLAS_BYTES), ("head_map", MAX_MAP_BYTES)):
        sent = max(one.largest.get(key, 0) for one in seen)
        if not 0 < sent <= most:
            faults.append(f"{where}: the message of {key} had {sent:,} bytes, not 1 to {most:,}")
    for name, longest in (("clicks", MAX_CLICK_MS), ("hovers", FRAME_MS)):
        values = _all(seen, name)
        if not values or median(values) > longest:
            faults.append(f"{where}: {name} took {_spread(values)} ms, not {longest:.0f}")
    return faults
