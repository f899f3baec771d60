"""What the pages are made of: inputs, caches, waiting, errors, and the picture of the Explore page."""

from __future__ import annotations
