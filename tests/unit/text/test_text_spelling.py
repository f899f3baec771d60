"""Texts of vocabulary entries that stand nowhere in a typed text, such as guesses."""

from __future__ import annotations

import pytest

from tfmviz.text import Speller, Token, spelling


def ids(tokenizer, text: str) -> list[int]:
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def spelled(tokenizer, numbers: list[int]) -> list[str]:
    return [*map(Speller(tokenizer), numbers)]


@pytest.mark.parametrize("name", ["smollm2", "gpt2-like", "llama2-like", "gemma-like"])
def test_entries_of_a_text_join_to_it(tokenizers, name):
    tokenizer = tokenizers(name)
    text = "the cat sat on the mat"
    assert "".join(spelled(tokenizer, ids(tokenizer, text))).removeprefix(" ") == text


def test_word_pieces_are_bare(tokenizers):
    tokenizer = tokenizers("minilm")
    assert "".join(spelled(tokenizer, ids(tokenizer, "embeddings"))) == "embeddings"


@pytest.mark.parametrize("name", ["smollm2", "gemma-like"])
def test_bytes_that_are_no_text_are_written_as_bytes(tokenizers, name):
    tokenizer = tokenizers(name)
    texts = spelled(tokenizer, ids(tokenizer, "🙂"))
    shown = " ".join(texts).replace("0x", "").split()
    assert bytes(int(byte, 16) for byte in shown if byte.strip()).decode().strip() == "🙂"


def test_special_tokens_give_their_name(tokenizers):
    tokenizer = tokenizers("smollm2")
    assert spelled(tokenizer, [tokenizer.convert_tokens_to_ids("<|im_end|>")]) == ["<|im_end|>"]


def test_a_number_without_an_entry_says_so(tokenizers):
    tokenizer = tokenizers("smollm2")
    assert spelled(tokenizer, [len(tokenizer) + 3]) == [f"<unused {len(tokenizer) + 3}>"]


def test_a_whole_vocabulary_asks_the_tokenizer_for_its_parts_once(tokenizers, monkeypatch):
    tokenizer, asked = tokenizers("smollm2"), []
    monkeypatch.setattr(spelling, "spelling_of", lambda backend: asked.append(backend) or "bytes")
    spelled(tokenizer, list(range(1000)))
    assert len(asked) == 1


def test_a_token_cannot_be_changed():
    token = Token(id=1, text="a", start=0, end=1)
    with pytest.raises(AttributeError):
        token.text = "b"  # type: ignore[misc]


def test_tokens_are_equal_by_value_and_can_be_keys():
    assert len({Token(id=1, text="a", start=0, end=1), Token(id=1, text="a", start=0, end=1)}) == 1
