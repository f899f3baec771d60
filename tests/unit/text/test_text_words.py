"""Words of a text: the same for every tokenizer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfmviz.text import encode, word_spans
from tfmviz.text.words import words_of


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in word_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat sat.", ["The", "cat", "sat", "."]),
        ("don't l’été", ["don't", "l’été"]),
        ("'quoted'", ["'", "quoted", "'"]),
        ("3.14 and 1,000, no.", ["3.14", "and", "1,000", ",", "no", "."]),
        ("well-known", ["well", "-", "known"]),
        ("snake_case x2", ["snake_case", "x2"]),
        ("日本語です", ["日", "本", "語", "で", "す"]),
        ("コーヒーを", ["コーヒー", "を"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("cafe\u0301s", ["cafe\u0301s"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("می‌خواهم بروم", ["می‌خواهم", "بروم"]),
        ("hi👩🏽‍🚀👍", ["hi", "👩🏽‍🚀", "👍"]),
        ("...", [".", ".", "."]),
        (" \n\t\x00\u200b", []),
    ],
)
def test_words_of_many_scripts(text, expected):
    assert words(text) == expected


@given(st.text())
@settings(derandomize=True, deadline=None)
def test_words_are_in_order_and_leave_out_blanks_only(text):
    spans = word_spans(text)
    inside = {i for start, end in spans for i in range(start, end)}
    assert sorted(spans) == list(spans)
    assert sum(end - start for start, end in spans) == len(inside)
    assert not any(text[i].isalnum() for i in set(range(len(text))) - inside)


def test_two_tokenizers_agree_on_the_words(tokenizers):
    text = "Unbelievable things, aren't they?  日本!"
    found = []
    for name in ("minilm", "smollm2"):
        by_word: dict[int, str] = {}
        for token in encode(tokenizers(name), text).tokens:
            if token.word is not None and not token.is_piece:
                by_word[token.word] = by_word.get(token.word, "") + token.text.strip()
        found.append(by_word)
    common = found[0].keys() & found[1].keys()
    assert len(common) >= 6
    assert {w: found[0][w] for w in common} == {w: found[1][w] for w in common}


def test_a_token_over_several_words_counts_for_the_first():
    assert words_of([(0, 7), (7, 8), (8, 8), (8, 11)], word_spans("one two three")) == [0, None, None, 2]


def test_words_of_no_text():
    assert words_of([], ()) == []
    assert words_of([(0, 1)], ()) == [None]
