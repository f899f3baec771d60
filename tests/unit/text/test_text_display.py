"""What is shown for a text, and that no escape lets anything through."""

from __future__ import annotations

import unicodedata
from html.parser import HTMLParser

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from tfmviz.text import Token
from tfmviz.text.display import code, columns, html, isolate, label, markdown, plotly, visible

FAMILY = "👨‍👩‍👧‍👦"
SCOTLAND = "🏴" + "".join(chr(0xE0000 + ord(c)) for c in "gbsct") + chr(0xE007F)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" cat", "␣cat"),
        ("\n\t", "↵→|"),
        ("\r\n", "␍↵"),
        ("\x00\x1b\x7f", "␀␛␡"),
        ("a\u00a0b", "a⍽b"),
        ("a\u200bb", "aU+200Bb"),
        ("\u3000", "U+3000"),
        ("abc\u202ecba", "abcU+202Ecba"),
        ("\u200d", "U+200D"),
        ("\u0301", "◌\u0301"),
        ("", "∅"),
        ("plain", "plain"),
    ],
)
def test_blanks_and_control_characters_can_be_seen(text, shown):
    assert visible(text) == shown


@pytest.mark.parametrize("text", [FAMILY, SCOTLAND, "❤️", "👩🏽‍🚀", "می‌خواهم", "cafe\u0301", "한국어", "नमस्ते"])
def test_joined_characters_stay_as_they_are(text):
    assert visible(text) == text


@given(st.text(min_size=1))
@settings(derandomize=True, deadline=None)
def test_nothing_invisible_is_left_outside_a_grapheme(text):
    for grapheme in regex.findall(r"\X", visible(text)):
        assert any(unicodedata.category(c)[0] not in "ZC" or unicodedata.category(c) == "Co" for c in grapheme) or all(
            unicodedata.category(c) == "Cn" for c in grapheme
        )


def test_part_of_a_character_is_said_to_be_one():
    token = Token(id=1, text="é", start=0, end=1, is_piece=True)
    assert visible(token) == "‹é›"
    assert visible("é") == "é"


def test_long_tokens_are_cut_between_characters_as_readers_see_them():
    assert label(FAMILY * 5, 3) == FAMILY * 2 + "…"
    assert label("abcdef", 6) == "abcdef"
    assert label("abcdefg", 6) == "abcde…"


def test_a_pile_of_marks_is_cut_down():
    assert label("z" + "\u0301" * 500) == "z" + "\u0301" * 15


def test_right_to_left_text_is_isolated_and_other_text_is_not():
    assert label("שלום") == "\u2068שלום\u2069"
    assert label("مرحبا") == "\u2068مرحبا\u2069"
    assert isolate("latin 日本") == "latin 日本"


@pytest.mark.parametrize("text", ["</script>", "<b>", "&amp;", "a\"b'c", "%{x}", "$x$", "&#36;"])
def test_html_and_plotly_escapes_read_back_as_typed(text):
    class Reader(HTMLParser):
        read = ""

        def handle_data(self, data):
            self.read += data

        def handle_starttag(self, tag, attrs):
            raise AssertionError(tag)

        handle_endtag = handle_starttag

    for escaped in (html(text), plotly(text)):
        reader = Reader(convert_charrefs=True)
        reader.feed(escaped)
        reader.close()
        assert reader.read == text


def test_plotly_sees_neither_tex_nor_a_template():
    escaped = plotly("$x$ %{z}")
    assert "$" not in escaped
    assert "%{" not in escaped


PUNCTUATION = r"[!-/:-@\[-`{-~]"


@given(st.text())
@settings(derandomize=True, deadline=None)
def test_markdown_leaves_no_mark_unescaped(text):
    assert not regex.search(PUNCTUATION, regex.sub(rf"\\({PUNCTUATION}|\n)", "", markdown(text)))


@given(st.text(alphabet=st.characters(exclude_characters="\u2060", exclude_categories=["Zs", "Zl", "Zp", "Cc", "Cs"])))
@settings(derandomize=True, deadline=None)
def test_markdown_loses_no_character_of_a_line(text):
    assert regex.sub(rf"\\({PUNCTUATION})", r"\1", markdown(text)).replace("\u2060", "") == text


@pytest.mark.parametrize("text", ["`", "``` `` `", "a`b", ":red[x]", " "])
def test_code_span_is_longer_than_any_run_of_ticks_in_it(text):
    fence = regex.match("`+", code(text))[0]
    assert code(text).endswith(fence)
    assert fence not in text


def test_code_span_of_nothing_shows_nothing():
    assert code("") == "`∅`"


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("👩🏽‍🚀", 2), ("한", 2), ("שלום", 4), ("", 0)]
)
def test_columns_of_a_monospaced_font(text, width):
    assert columns(text) == width
