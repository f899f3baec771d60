"""The page's fonts, as figures name them: Plotly does not take them from the page."""

from __future__ import annotations

SANS = "IBM Plex Sans, Source Sans, system-ui, sans-serif"
MONO = "IBM Plex Mono, ui-monospace, Menlo, Consolas, monospace"
