"""A file's text, whatever Unicode encoding it has, and a sentence where it cannot be told."""

from __future__ import annotations

import codecs

import pytest

from tfmviz.errors import UnreadableFile
from tfmviz.text.files import MOST_BYTES, read_text

TEXT = "Zwölf Boxkämpfer, 猫と👩🏽‍🚀\nשלום"


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode("utf-8"),
        TEXT.encode("utf-8-sig"),
        codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
        TEXT.encode("utf-16-le"),
        TEXT.encode("utf-16-be"),
    ],
    ids=["utf-8", "utf-8 with mark", "utf-16 le", "utf-16 be", "utf-16 le without mark", "utf-16 be without mark"],
)
def test_every_encoding_gives_the_same_text(data: bytes) -> None:
    assert read_text(data) == TEXT


def test_line_ends_are_those_of_a_text_box() -> None:
    assert read_text(b"one\r\ntwo\rthree\n") == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("Zwölf".encode("latin-1"), "Byte 2 of the file"),
        (codecs.BOM_UTF16_LE + b"\x00\xd8x", "says that it is UTF-16"),
        (codecs.BOM_UTF8 + b"ok \xff", "byte 6 does not fit"),
        (TEXT.encode("utf-32"), "UTF-32"),
        (codecs.BOM_UTF32_BE + TEXT.encode("utf-32-be"), "UTF-32"),
        ("猫と犬".encode("utf-16-le"), "not UTF-8"),  # nothing tells what it is
        (b"a log with one zero\x00 byte in it, long enough", "it is no text"),
        (b"abc\x00def", "it is no text"),  # seven bytes are no UTF-16
        ("Zwölf".encode("utf-16-le")[:-1] + b"\x00\xd8", "not UTF-8|does not fit"),
        (b"PK\x03\x04\x00\x00", "it is no text"),
        (b"", "empty"),
        (b" \n\t", "only blanks"),
        (b"a" * (MOST_BYTES + 1), "1,000,001 bytes, and 1,000,000 can be read"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_sentence(data: bytes, says: str) -> None:
    with pytest.raises(UnreadableFile, match=says):
        read_text(data)
