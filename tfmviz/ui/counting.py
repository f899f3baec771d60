"""Numbers of things in words."""

from __future__ import annotations


def counted(n: int, what: str) -> str:
    """``1 token``, ``1,024 tokens``, for what takes an s in the plural."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"
