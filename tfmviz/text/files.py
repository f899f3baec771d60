"""The text of a file, whichever Unicode encoding it has."""

from __future__ import annotations

import codecs

from tfmviz.errors import UnreadableFile

# Longer than any model here takes; a text box that holds more makes a browser slow.
MOST_BYTES = 1_000_000

# UTF-32's little-endian mark begins with UTF-16's, so it must be looked for first.
_UNREAD = ((codecs.BOM_UTF32_LE, "UTF-32"), (codecs.BOM_UTF32_BE, "UTF-32"))
_MARKS = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)
_SAVE_AS = "Open it in an editor and save it as UTF-8."


def read_text(data: bytes) -> str:
    """Decode a file: UTF-8 with or without its mark (BOM), or UTF-16 of either byte order.

    UTF-16 without its mark is told by its zeros. Nothing is guessed: other bytes that are no UTF-8 and name no encoding
    could be read in many ways, most of them wrong.

    Args:
        data: the file's bytes.

    Returns:
        The text, its lines ended by a line feed as in a text box.

    Raises:
        UnreadableFile: the file is larger than ``MOST_BYTES``, empty, no text, or in another encoding.
    """
    if len(data) > MOST_BYTES:
        raise UnreadableFile(f"The file has {len(data):,} bytes, and {MOST_BYTES:,} can be read. Cut it in an editor.")
    if any(data.startswith(mark) for mark, _ in _UNREAD):
        raise UnreadableFile(f"The file is in UTF-32, which is not read here. {_SAVE_AS}")
    mark, codec, name = next((one for one in _MARKS if data.startswith(one[0])), (b"", _unmarked(data), "UTF-8"))
    try:
        text = data[len(mark) :].decode(codec)
    except UnicodeDecodeError as error:
        if mark:
            raise UnreadableFile(
                f"The file says that it is {name}, but byte {error.start + len(mark):,} does not fit. {_SAVE_AS}"
            ) from error
        raise UnreadableFile(
            f"Byte {error.start:,} of the file (0x{data[error.start]:02X}) is not UTF-8, and the file does not say "
            f"what it is. {_SAVE_AS}"
        ) from error
    if "\0" in text:
        raise UnreadableFile(f"The file has a zero byte at character {text.index(chr(0)):,}: it is no text. {_SAVE_AS}")
    if not text.strip():
        raise UnreadableFile("The file is empty, or has only blanks.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _unmarked(data: bytes) -> str:
    """The codec of a file without a mark.

    No UTF-8 text has a zero byte. UTF-16 has an even number of bytes, and in it every letter up to U+00FF, blanks and
    line ends too, has a zero, always in the higher half of its two bytes; in the lower half few letters have one
    (U+3000). So the zeros tell the order of the bytes, where they are many enough to be no accident.
    """
    even, odd = data[0::2].count(0), data[1::2].count(0)
    if len(data) % 2 or 10 * max(even, odd) < len(data) // 2 or 10 * min(even, odd) > max(even, odd) or not even + odd:
        return "utf-8"
    return "utf-16-le" if odd > even else "utf-16-be"
