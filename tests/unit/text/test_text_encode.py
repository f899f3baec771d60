"""encode(): the numbers are the tokenizer's, the places are the reader's."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from conftest_tokenizers import KEEPS_EVERY_CHARACTER, MAKERS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tfmviz.errors import ConfigError, UnreadableText
from tfmviz.text import encode, pad

TRICKY = [
    "the", " cat", "  ", "\n", "\t", "é", "e\u0301", "ﬁ", "½", "ﷺ", "日本", "한국어", "שלום", "عربي", "नमस्ते",
    "👩🏽\u200d🚀", "❤\ufe0f", "🏴\U000e0067\U000e007f", "\U0006e76b", "\u200d", "\u200b", "\x00", "\u00a0", "İ", "ß",
    "▁", "Ġ", "<0xE2>", "##ing", "\ufffd", "<s>", "</s>", "[CLS]", "[MASK]", " 12", "'s", "!",
]  # fmt: skip
TEXTS = st.lists(st.one_of(st.sampled_from(TRICKY), st.text(max_size=4)), max_size=8).map("".join)
EVERY = pytest.mark.parametrize("name", MAKERS)
PROPERTY = settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def spans(encoding):
    return [(t.text, t.start, t.end) for t in encoding.tokens]


def typed(encoding):
    return [token for token in encoding.tokens if not token.is_special]


def covered(encoding) -> set[int]:
    return {i for token in typed(encoding) for i in range(token.start, token.end)}


def alone(tokenizer, character: str) -> list[int]:
    return tokenizer(character, add_special_tokens=False)["input_ids"]


@EVERY
@given(text=TEXTS)
@PROPERTY
def test_ids_are_those_of_the_tokenizer(tokenizers, name, text):
    tokenizer = tokenizers(name)
    assert list(encode(tokenizer, text).input_ids) == list(tokenizer(text)["input_ids"])


@EVERY
@given(text=TEXTS)
@PROPERTY
def test_every_token_is_the_slice_of_the_text_that_it_says(tokenizers, name, text):
    for token in typed(encode(tokenizers(name), text)):
        assert 0 <= token.start <= token.end <= len(text)
        assert token.text == text[token.start : token.end]


@EVERY
@given(text=TEXTS)
@PROPERTY
def test_places_never_go_back(tokenizers, name, text):
    tokens = encode(tokenizers(name), text).tokens
    for before, after in pairwise(tokens):
        assert before.start <= after.start
        assert before.end <= after.end


@EVERY
@given(text=TEXTS)
@PROPERTY
def test_no_character_that_the_tokenizer_keeps_is_left_out(tokenizers, name, text):
    tokenizer = tokenizers(name)
    missing = set(range(len(text))) - covered(encode(tokenizer, text))
    if name in KEEPS_EVERY_CHARACTER:  # but for bytes that SmolLM2 has no letter for
        assert [text[i] for i in missing if not text[i].isspace() and alone(tokenizer, text[i])] == []
    else:
        normalize = tokenizer.backend_tokenizer.normalizer.normalize_str
        assert [text[i] for i in missing if not text[i].isspace() and normalize(text[i]).strip()] == []


@pytest.mark.parametrize("name", [name for name in KEEPS_EVERY_CHARACTER if name not in ("byt5", "canine")])
@given(text=TEXTS)
@PROPERTY
def test_blanks_belong_to_tokens_where_the_tokenizer_keeps_them(tokenizers, name, text):
    tokenizer = tokenizers(name)
    missing = set(range(len(text))) - covered(encode(tokenizer, text))
    assert [text[i] for i in missing if alone(tokenizer, text[i])] == []


@pytest.mark.parametrize("name", ["smollm2", "gpt2-like", "roberta-like"])
@given(text=TEXTS.filter(lambda text: "\ufffd" not in text))
@PROPERTY
def test_a_token_is_a_piece_exactly_if_its_bytes_alone_are_no_text(tokenizers, name, text):
    tokenizer = tokenizers(name)
    for token in typed(encode(tokenizer, text)):
        alone = tokenizer.decode([token.id], clean_up_tokenization_spaces=False)
        assert token.is_piece == ("\ufffd" in alone)
        if not token.is_piece:
            assert token.text == alone


@EVERY
@given(text=TEXTS)
@PROPERTY
def test_the_vocabularys_spelling_never_shows(tokenizers, name, text):
    for token in encode(tokenizers(name), text).tokens:
        for letter in "Ġ▁\ufffd":
            assert letter not in token.text or letter in text


def test_bert_lowers_and_strips_but_shows_what_was_typed(tokenizers):
    assert spans(encode(tokenizers("minilm"), "The Café  İS\tcafe\u0301s, e\u0301!")) == [
        ("[CLS]", 0, 0), ("The", 0, 3), ("Café", 4, 8), ("İS", 10, 12), ("cafe\u0301s", 13, 19), (",", 19, 20),
        ("e\u0301", 21, 23), ("!", 23, 24), ("[SEP]", 24, 24),
    ]  # fmt: skip


def test_bert_word_pieces_have_no_hash_signs(tokenizers):
    encoding = encode(tokenizers("minilm"), "unaffable embeddings")
    words = ["".join(t.text for t in typed(encoding) if t.word == word) for word in (0, 1)]
    assert words == ["unaffable", "embeddings"]
    assert len(typed(encoding)) > 4


def test_bert_unknown_token_is_the_typed_emoji_whole(tokenizers):
    tokens = encode(tokenizers("minilm"), "a 👩🏽‍🚀 b ❤️").tokens
    assert [t.text for t in tokens] == ["[CLS]", "a", "👩🏽‍🚀", "b", "❤️", "[SEP]"]


def test_bert_drops_control_characters_and_the_places_skip_them(tokenizers):
    assert spans(encode(tokenizers("minilm"), "a\x00 \x1b\ufffd b"))[1:-1] == [("a", 0, 1), ("b", 6, 7)]


def test_bert_chinese_goes_character_by_character(tokenizers):
    tokens = typed(encode(tokenizers("minilm"), "日本 日"))
    assert [(t.text, t.start, t.word) for t in tokens] == [("日", 0, 0), ("本", 1, 1), ("日", 3, 2)]


def test_bert_hangul_syllable_cut_into_letters_is_marked_as_pieces(tokenizers):
    tokens = typed(encode(tokenizers("minilm"), "강"))
    assert {(t.text, t.is_piece) for t in tokens} == {("강", len(tokens) > 1)}


def test_byte_bpe_keeps_the_blank_with_its_word(tokenizers):
    assert [t.text for t in encode(tokenizers("smollm2"), "The cat  sat\n\ton").tokens] == [
        "The", " cat", " ", " sat", "\n", "\t", "on",
    ]  # fmt: skip


def test_byte_bpe_pieces_carry_the_whole_character(tokenizers):
    tokens = encode(tokenizers("smollm2"), "👍🏽").tokens
    assert len(tokens) > 2
    assert {(t.text, t.is_piece) for t in tokens} <= {("👍", True), ("🏽", True)}


def test_bytes_that_the_vocabulary_lost_do_not_shift_the_rest(tokenizers):
    tokenizer = tokenizers("smollm2")
    text = "x\U0008e0cb's"
    assert [t.text for t in encode(tokenizer, text).tokens][-2:] == ["'", "s"]
    assert tokenizer(text, return_offsets_mapping=True)["offset_mapping"][-2] == (1, 2)  # the apostrophe is at 2


@pytest.mark.parametrize("name", ["llama2-like", "prefix-like", "t5-like"])
def test_a_blank_that_nobody_typed_covers_nothing(tokenizers, name):
    tokens = typed(encode(tokenizers(name), "日本"))
    assert all(not t.text.isspace() for t in tokens)
    assert tokens[0].start == 0


def test_byte_fallback_pieces_are_the_character(tokenizers):
    tokens = typed(encode(tokenizers("gemma-like"), "a 🙂"))
    assert [(t.text, t.is_piece) for t in tokens[-4:]] == [("🙂", True)] * 4
    assert "".join(t.text for t in tokens[:-4]) == "a "


def test_trimmed_offsets_get_their_blank_back(tokenizers):
    tokenizer = tokenizers("roberta-like")
    assert tokenizer(" cat", return_offsets_mapping=True)["offset_mapping"][1] == (1, 4)
    assert typed(encode(tokenizer, " cat"))[0].text == " cat"


def test_a_changed_text_is_still_placed(tokenizers):
    # NFC makes one letter of e and its accent, so the bytes are not those of the text.
    tokens = typed(encode(tokenizers("qwen-like"), "the cafe\u0301 on"))
    assert "".join(t.text for t in tokens if not t.is_piece) in ("the cafe\u0301 on", "the caf on", "the cafe\u0301")
    assert covered(encode(tokenizers("qwen-like"), "the cafe\u0301 on")) == set(range(12))


def test_folded_compatibility_character_is_one_character_in_pieces(tokenizers):
    tokens = [t for t in typed(encode(tokenizers("t5-like"), "x ½")) if t.text.strip() == "½"]
    assert len(tokens) == 3  # 1, fraction slash, 2
    assert all(t.is_piece for t in tokens)


@pytest.mark.parametrize("name", ["byt5", "canine"])
def test_tokenizers_without_offsets_are_exact_too(tokenizers, name):
    text = "né 日🙂"
    tokens = typed(encode(tokenizers(name), text))
    size = (lambda c: len(c.encode())) if name == "byt5" else (lambda c: 1)
    assert [t.text for t in tokens] == [c for c in text for _ in range(size(c))]
    assert [t.is_piece for t in tokens] == [size(c) > 1 for c in text for _ in range(size(c))]


def test_special_tokens_stand_where_the_text_begins_and_ends(tokenizers):
    tokens = encode(tokenizers("minilm"), "one two").tokens
    assert [(t.text, t.start, t.end) for t in tokens if t.is_special] == [("[CLS]", 0, 0), ("[SEP]", 7, 7)]
    assert all(t.word is None for t in tokens if t.is_special)


@pytest.mark.parametrize(("name", "sign"), [("minilm", "[MASK]"), ("minilm", "[CLS]"), ("smollm2", "<|im_start|>")])
def test_a_typed_special_token_is_that_token_but_counts_as_typed(tokenizers, name, sign):
    tokenizer = tokenizers(name)
    text = f"say {sign} now"
    (token,) = [t for t in typed(encode(tokenizer, text)) if t.id == tokenizer.convert_tokens_to_ids(sign)]
    assert (token.text.strip(), token.is_special) == (sign, False)
    assert token.start >= 3


def test_a_tokenizer_told_to_split_special_tokens_reads_letters():
    from transformers import AutoTokenizer

    from tfmviz.models.sources import locate

    tokenizer = AutoTokenizer.from_pretrained(locate("minilm", allow_download=False).path, split_special_tokens=True)
    assert [t.text for t in typed(encode(tokenizer, "a [SEP]"))] == ["a", "[", "SEP", "]"]


def test_pair_counts_each_sentence_from_zero(tokenizers):
    tokenizer = tokenizers("minilm")
    encoding = encode(tokenizer, "Who?", pair="The cat.")
    assert [(t.text, t.segment, t.start, t.word) for t in encoding.tokens] == [
        ("[CLS]", 0, 0, None), ("Who", 0, 0, 0), ("?", 0, 3, 1), ("[SEP]", 0, 4, None),
        ("The", 1, 0, 2), ("cat", 1, 4, 3), (".", 1, 7, 4), ("[SEP]", 1, 8, None),
    ]  # fmt: skip
    assert list(encoding.input_ids) == tokenizer("Who?", "The cat.")["input_ids"]
    assert list(encoding.token_type_ids) == tokenizer("Who?", "The cat.")["token_type_ids"]


def test_nothing_is_cut_even_where_the_tokenizer_is_set_to_cut(tokenizers):
    tokenizer = tokenizers("minilm")
    assert len(encode(tokenizer, "word " * 600).tokens) == 602


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_is_marked_and_moves_nothing(tokenizers, side):
    tokenizer = tokenizers("minilm")
    plain = encode(tokenizer, "one two")
    padded = pad(plain, 7, side=side, pad_id=tokenizer.pad_token_id, pad_text=tokenizer.pad_token)
    tokenizer.padding_side = side
    expected = tokenizer("one two", padding="max_length", max_length=7)
    assert list(padded.input_ids) == expected["input_ids"]
    assert list(padded.token_type_ids) == expected["token_type_ids"]
    assert [not t.is_padding for t in padded.tokens] == [bool(m) for m in expected["attention_mask"]]
    assert [t for t in padded.tokens if not t.is_padding] == list(plain.tokens)
    assert all(t.is_special and t.word is None and t.text == "[PAD]" for t in padded.tokens if t.is_padding)


def test_padding_never_cuts(tokenizers):
    with pytest.raises(ConfigError, match=r"pad_to=3 is less than the 4 tokens .* Use 4 or more"):
        pad(encode(tokenizers("minilm"), "one two"), 3, side="right", pad_id=0, pad_text="[PAD]")


def test_half_a_character_is_refused_with_its_place(tokenizers):
    with pytest.raises(UnreadableText, match=r"Character 2 .* U\+D83D") as error:
        encode(tokenizers("smollm2"), "ab\ud83d")
    assert error.value.at == 2


@pytest.mark.parametrize("name", ["minilm", "smollm2", "t5-like"])
@pytest.mark.parametrize("text", ["", " ", "\n\n", "\u200b"])
def test_texts_of_nothing_are_no_special_case(tokenizers, name, text):
    tokenizer = tokenizers(name)
    assert list(encode(tokenizer, text).input_ids) == tokenizer(text)["input_ids"]


@pytest.mark.parametrize("text", ["שלום עולם", "مرحبا بالعالم", "नमस्ते दुनिया", "สวัสดี", "한국어 문장", "中文和日本語"])
def test_every_script_reads_as_typed(tokenizers, text):
    tokens = encode(tokenizers("smollm2"), text).tokens
    read = "".join(
        unicodedata.normalize("NFC", text[start:end])
        for start, end in dict.fromkeys((t.start, t.end) for t in tokens if not t.is_piece)
    )
    assert set(read) <= set(text)
    assert covered(encode(tokenizers("smollm2"), text)) == set(range(len(text)))
