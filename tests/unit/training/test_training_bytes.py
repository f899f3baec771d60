"""Bytes as tokens: any text runs, every token knows its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmviz.errors import UnreadableText
from tfmviz.text import word_spans
from tfmviz.text.byte_vocabulary import END, START, ByteVocabulary

VOCABULARY = ByteVocabulary()


@given(st.text())
def test_tokens_are_the_utf8_bytes_and_cover_the_text(text: str) -> None:
    tokens = VOCABULARY.tokens(text, start=True, end=True)
    assert [t.id for t in tokens] == [START, *text.encode(), END]
    assert [t.is_special for t in tokens] == [True] + [False] * len(text.encode()) + [True]
    inner = tokens[1:-1]
    assert all(t.text == text[t.start : t.end] and t.end == t.start + 1 for t in inner)
    assert "".join(text[t.start] for i, t in enumerate(inner) if not i or t.start != inner[i - 1].start) == text
    assert VOCABULARY.text(t.id for t in tokens) == text


def test_bytes_of_one_character_are_pieces_with_the_whole_character_as_text() -> None:
    tokens = VOCABULARY.tokens("aé🦜")
    assert [(t.text, t.is_piece, t.start) for t in tokens] == [("a", False, 0)] + [("é", True, 1)] * 2 + [
        ("🦜", True, 2)
    ] * 4


def test_words_are_those_of_every_other_tokenizer() -> None:
    text = "The cat's 3.5 kg, 東京"
    spans = word_spans(text)
    for token in VOCABULARY.tokens(text):
        inside = [i for i, (begin, end) in enumerate(spans) if begin <= token.start < end]
        assert token.word == (inside[0] if inside else None)


def test_half_a_surrogate_pair_is_refused_with_its_place() -> None:
    with pytest.raises(UnreadableText) as caught:
        VOCABULARY.tokens("ab\ud83e")
    assert caught.value.at == 2


def test_the_text_stops_at_the_end_sign_and_marks_broken_characters() -> None:
    assert VOCABULARY.text([START, *b"2021", END, *b"x"]) == "2021"
    assert VOCABULARY.text([0xE2, 0x82]) == "\ufffd"
    assert VOCABULARY.labels([97, 0xE2, END]) == ("a", "0xE2", "<end>")
