"""How long a text a model takes, and where to cut one that is longer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import regex
from torch import nn

from tfmviz.text import Encoding

NO_LIMIT = 10**9  # transformers writes "no limit" as a number beyond any text


def max_tokens(module: Any, tokenizer: Any) -> int | None:
    """The most tokens that a model takes; None where nothing limits them (T5's relative distances, ALiBi).

    It is the length that the positions were made for, ``max_position_embeddings``. RoBERTa and its kin leave the first
    rows of their table to padding, which shows in the table's ``padding_idx``: those rows are taken off. The
    tokenizer's own limit counts where it is shorter. Without limited positions it does not: T5's tokenizer says 512
    only because it was trained so.

    sentence-transformers' ``max_seq_length`` (256 for MiniLM) is no limit here. It says up to which length sentence
    vectors were tuned and cuts longer texts without a word; MiniLM's attention is defined, and shown, up to 512.
    """
    config = module.config.get_text_config()
    length = getattr(config, "max_position_embeddings", None)
    if not isinstance(length, int) or length <= 0:
        return None
    length = min([length, *_tables(module, length)])
    return min(length, int(min(getattr(tokenizer, "model_max_length", None) or NO_LIMIT, NO_LIMIT)))


def _tables(module: Any, length: int) -> list[int]:
    """What the model's tables of learned positions hold, where they are shorter than they look."""
    return [
        part.num_embeddings - part.padding_idx - 1
        for name, part in module.named_modules()
        if isinstance(part, nn.Embedding)
        and name.rpartition(".")[2] in ("position_embeddings", "embed_positions", "wpe")
        and part.padding_idx is not None
        and part.num_embeddings == length
    ]


def last_fitting_cut(text: str, room: int, encode: Callable[[str], Encoding], segment: int = 0) -> int:
    """The last token border at which a text can be cut so that it fits.

    A cut text is tokenized anew, because a cut may change the tokens before it; and it is never cut inside what a
    reader sees as one character (a letter with its accents, a family of emoji).

    Args:
        text: the text to cut.
        room: positions there are, for everything ``encode`` makes.
        encode: tokenizes a beginning of ``text``, with all that goes with it.
        segment: which sentence of the encoding ``text`` is.

    Returns:
        Character offset; 0 if not even one token fits.
    """
    tokens = encode(text).tokens
    typed = sorted(t.end for t in tokens if t.segment == segment and not t.is_special)
    whole = {match.end() for match in regex.finditer(r"\X", text)}
    room_for_typed = room - (len(tokens) - len(typed))
    # typed is sorted: the i-th token ends at typed[i], so a cut there keeps i + 1 tokens or, inside a character, more
    borders = sorted({end for i, end in enumerate(typed) if i < room_for_typed and end in whole and end < len(text)})
    for border in reversed(borders):
        if len(encode(text[:border]).tokens) <= room:
            return border
    return 0
