"""Words of a typed text, the same for every tokenizer, so that two tokenizers can be compared word by word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import regex

# Scripts written without blanks between words give one unit a character; elsewhere a word is a run of letters, marks
# and digits, with an apostrophe or a decimal point inside it. Anything else that is not blank stands alone.
# Source: Unicode Standard Annex 29, word boundaries, without its dictionaries.
_WORD = regex.compile(
    r"""
      [\p{Han}\p{Hiragana}][\p{M}\u200d\ufe00-\ufe0f]*
    | [\p{Katakana}ー]+
    | [\p{L}\p{N}_--[\p{Han}\p{Hiragana}\p{Katakana}]]
      [\p{L}\p{M}\p{N}_\u200c\u200d--[\p{Han}\p{Hiragana}\p{Katakana}]]*
      (?: ['’.,·] (?<=\p{N}[.,]|\p{L}['’·]) (?=[\p{L}\p{N}])
          [\p{L}\p{M}\p{N}_\u200c\u200d--[\p{Han}\p{Hiragana}\p{Katakana}]]+ )*
    | (?! [\s\p{Z}\p{Cc}\p{Cf}] ) \X
    """,
    regex.VERBOSE | regex.VERSION1,
)


def word_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Character spans of the words of ``text``, in order. Blanks and control characters belong to none."""
    return tuple([match.span() for match in _WORD.finditer(text)])


def words_of(spans: Sequence[tuple[int, int]], words: Sequence[tuple[int, int]]) -> list[int | None]:
    """The first word that each span touches.

    Args:
        spans: character spans, in order.
        words: what :func:`word_spans` gave for the same text.

    Returns:
        One word index a span; None where it touches no word (blanks, or nothing at all).
    """
    if not words or not spans:
        return [None] * len(spans)
    begin, end = np.asarray(spans).T
    first, last = np.asarray(words).T
    index = np.searchsorted(last, begin, side="right")
    touches = (index < len(words)) & (begin < end) & (first[np.minimum(index, len(words) - 1)] < end)
    return [word if inside else None for word, inside in zip(index.tolist(), touches.tolist(), strict=True)]
