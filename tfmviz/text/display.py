"""The one way from text that people wrote to something on the screen.

``visible`` and ``label`` give plain text with blanks one can see; ``html``, ``plotly``, ``markdown`` and ``code``
escape for the place they are named after. No other module turns user text into markup.
"""

from __future__ import annotations

import html as _html
import unicodedata

import regex

from tfmviz.text.token import Token

ELLIPSIS = "…"
NOTHING = "∅"  # a token that covers nothing typed, such as the blank some tokenizers put before a text
DOTTED_CIRCLE = "◌"
FIRST_STRONG_ISOLATE, POP_ISOLATE = "\u2068", "\u2069"
WORD_JOINER = "\u2060"

_MARKS = {" ": "␣", "\n": "↵", "\t": "→|", "\u00a0": "⍽"}
# Unicode has a picture of every control character.
_ASCII = {chr(code): chr(0x2400 + code) for code in range(0x20)} | {"\x7f": "␡"} | _MARKS
_GRAPHEME = regex.compile(r"\X")
_HIDDEN = regex.compile(r"[\p{Cc}\p{Cf}\p{Z}\p{Cs}\p{Default_Ignorable_Code_Point}]")
# Inside one grapheme these join or shape its parts (emoji families, Persian, flags); alone they would be invisible.
_SHAPING = frozenset("\u200c\u200d\ufe0e\ufe0f") | {chr(c) for c in range(0xE0020, 0xE0080)}
_LONGEST_GRAPHEME = 16  # code points; the longest emoji have 10, a letter with 40 marks would cover its neighbours


def visible(token: Token | str) -> str:
    """Plain text in which every blank and control character can be seen.

    Args:
        token: a token, or any text. A token that is part of one character is written ``‹é›``.
    """
    return "".join(_visible_parts(token))


def label(token: Token | str, max_len: int = 16) -> str:
    """A token for a chip, a tick or a list: visible, cut between characters as readers see them, safe beside others.

    Args:
        token: a token, or any text.
        max_len: most characters (grapheme clusters) shown, the ellipsis counted.

    Returns:
        Plain text, not yet escaped. Right-to-left text is wrapped so that it cannot reorder what stands beside it.
    """
    parts = _visible_parts(token)
    if len(parts) > max_len:
        parts = [*parts[: max(max_len - 1, 0)], ELLIPSIS]
    parts = [part[:_LONGEST_GRAPHEME] for part in parts]
    return isolate("".join(parts))


def columns(text: str) -> int:
    """How many columns of a monospaced font a text takes: marks none, wide letters and emoji two.

    Source: Unicode Standard Annex 11, East Asian width.
    """
    if text.isascii():
        return len(text)
    wide = ("W", "F")
    return sum(
        2 if unicodedata.east_asian_width(character) in wide else 1
        for grapheme in _GRAPHEME.findall(text)
        for character in grapheme[0]
    )


def isolate(text: str) -> str:
    """Keep right-to-left letters from reordering their neighbours.

    Source: Unicode Standard Annex 9, explicit directional isolates.
    """
    if text.isascii() or not any(unicodedata.bidirectional(c) in ("R", "AL", "AN") for c in text):
        return text
    return f"{FIRST_STRONG_ISOLATE}{text}{POP_ISOLATE}"


def html(text: str) -> str:
    """Escape for HTML, in an element or a quoted attribute."""
    return _html.escape(text, quote=True)


def plotly(token: Token | str, max_len: int = 24) -> str:
    """Escape for tick labels, hover texts and titles, which Plotly reads as a small HTML with TeX and %{...} in it."""
    escaped = html(label(token, max_len))
    return escaped.replace("$", "&#36;").replace("%{", "&#37;{")


# Streamlit replaces these after parsing, where a backslash is already forgotten: only a character between the two
# halves stops it. Word joiner has no width.
_AFTER_PARSING = regex.compile(r":(?=[\w+\-/])|www(?=\.)|@(?=\w)|<(?=-)|-(?=[->])|[<>~](?==)", regex.IGNORECASE)
_PUNCTUATION = regex.compile(r"([!-/:-@\[-`{-~])")


def markdown(text: str) -> str:
    """Escape for ``st.markdown``, ``st.error`` and widget labels: it reads as typed, nothing in it acts.

    Covers emphasis, links, images, HTML, entities, math, tables, lists, colour and badge directives, emoji and icon
    names, arrows and bare addresses. Lines stay lines; blanks at their beginning go.
    """
    lines = (line.strip() for line in regex.split(r"\R", text))
    return "\\\n".join(_PUNCTUATION.sub(r"\\\1", _AFTER_PARSING.sub(rf"\g<0>{WORD_JOINER}", s)) for s in lines if s)


def code(text: str) -> str:
    """A Markdown code span that shows exactly this text, for tokens within a sentence. Not for table cells."""
    shown = text.replace("\n", " ").replace(":material/", f":{WORD_JOINER}material/")
    fence = "`" * (max((len(run) for run in regex.findall("`+", shown)), default=0) + 1)
    return f"{fence} {shown} {fence}" if shown.strip() else f"{fence}{shown or NOTHING}{fence}"


def _visible_parts(token: Token | str) -> list[str]:
    """What is shown for each grapheme of a text."""
    text = token if isinstance(token, str) else token.text
    if not text:
        return [NOTHING]
    if text.isascii():
        parts = [_ASCII.get(character, character) for character in text]
    else:
        parts = _GRAPHEME.findall(text)
        if _HIDDEN.search(text):
            parts = [_visible_grapheme(part) for part in parts]
    if unicodedata.category(text[0]).startswith("M") and parts[0].startswith(text[0]):
        parts[0] = DOTTED_CIRCLE + parts[0]
    return ["‹", *parts, "›"] if isinstance(token, Token) and token.is_piece else parts


def _visible_grapheme(grapheme: str) -> str:
    alone = all(_HIDDEN.match(character) for character in grapheme)
    return "".join(
        character if character in _SHAPING and not alone else _visible_character(character) for character in grapheme
    )


def _visible_character(character: str) -> str:
    if character in _ASCII:
        return _ASCII[character]
    return f"U+{ord(character):04X}" if _HIDDEN.match(character) else character
