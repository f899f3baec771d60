"""Tokens as the reader wrote them: their place in the text, their words, and the only way they become markup."""

from __future__ import annotations

from tfmviz.text import display
from tfmviz.text.spelling import Speller
from tfmviz.text.token import Token
from tfmviz.text.tokenize import Encoding, encode, pad
from tfmviz.text.words import word_spans

__all__ = ["Encoding", "Speller", "Token", "display", "encode", "pad", "word_spans"]
