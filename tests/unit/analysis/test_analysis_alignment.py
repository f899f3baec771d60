"""Units are the whole text in order, and rows between units are the rows between tokens, added up by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some

import tfmviz
from tfmviz.analysis.alignment import Alignment, align, unit_weights
from tfmviz.errors import EmptyText, NoAttention, OutOfRange
from tfmviz.models import Model
from tfmviz.text import Token
from tfmviz.trace import AttentionStack, LayerAttention

# One text a script and kind of trouble: blanks at the ends, marks, emoji families, direction, no blanks at all.
TEXTS = (
    "The animal didn't cross the street because it was too tired.",
    "  two  blanks,  and a tail  ",
    "line one\nline two\r\n\tindented",
    "早上好，世界。今天天气很好。",
    "おはようございます、カタカナとひらがな。",
    "안녕하세요 세계",
    "صباح الخير يا عالم",
    "שלום עולם, מה נשמע?",
    "Доброе утро, мир!",
    "Καλημέρα κόσμε",
    "नमस्ते दुनिया",
    "สวัสดีชาวโลก",
    "Xin chào thế giới",
    "Zażółć gęślą jaźń",
    "👨‍👩‍👧‍👦 family, 👩🏽‍🚀 and 🇫🇷",
    "e\u0301 is one letter and é another",
    "3.14159 × 10^-7 = ?",
    "def f(x):\n    return x**2  # square",
    "<b>&amp;</b> $x$ **bold** [MASK]",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
)


GRAINS = ("tokens", "words")


def token(start: int, end: int, *, special: bool = False) -> Token:
    return Token(id=0, text="", start=start, end=end, is_special=special)


def stack(weights: np.ndarray, tokens: tuple[Token, ...]) -> AttentionStack:
    layer = LayerAttention.from_weights(torch.from_numpy(weights))
    return AttentionStack(name="self", query_tokens=tokens, key_tokens=tokens, layers=(layer,))


def attention(heads: int, n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(n, 0.3), size=(heads, n)).astype(np.float32)


def check_cover(text: str, alignment: Alignment, *sides: tuple[Token, ...]) -> None:
    """The units spell the text; every typed token lies in its unit; every unit has a token of either side."""
    assert "".join(unit.text for unit in alignment.units) == text
    assert [unit.start for unit in alignment.units[1:]] == [unit.end for unit in alignment.units[:-1]]
    for tokens, unit_of in zip(sides, alignment.unit_of, strict=True):
        for one, at in zip(tokens, unit_of, strict=True):
            if one.is_special:
                assert at == -1
            else:
                assert alignment.units[at].start <= one.start <= one.end <= alignment.units[at].end
        assert set(range(len(alignment.units))) <= set(unit_of.tolist())


@some.composite
def cut_texts(draw: some.DrawFn) -> tuple[str, tuple[Token, ...], tuple[Token, ...]]:
    """A text, cut at random by two tokenizers of which the second leaves blanks out."""
    text = draw(some.text(min_size=1, max_size=40))
    sides = []
    for drops in (False, True):
        ends = sorted({0, len(text), *draw(some.sets(some.integers(0, len(text)), max_size=12))})
        spans = list(pairwise(ends))
        kept = [span for span in spans if not (drops and text[slice(*span)].isspace())] or spans
        sides.append((token(0, 0, special=True), *(token(*span) for span in kept)))
    return text, sides[0], sides[1]


@settings(max_examples=60, deadline=None)
@given(cut_texts(), some.sampled_from(["tokens", "words"]))
def test_units_cover_any_text_in_order(cut, grain) -> None:
    text, a, b = cut
    check_cover(text, align(text, a, b, grain), a, b)


@settings(max_examples=30, deadline=None)
@given(cut_texts())
def test_rows_sum_to_one_on_any_text(cut) -> None:
    text, a, b = cut
    alignment = align(text, a, b)
    for side, tokens in enumerate((a, b)):
        rows = unit_weights(stack(attention(1, len(tokens)), tokens), alignment.unit_of[side], 0, 0)
        assert np.abs(rows.sum(1) - 1).max() < 1e-5


def test_the_finest_pieces_are_the_borders_that_both_have() -> None:
    text = "unbelievable cats"
    a = (token(0, 2), token(2, 12), token(13, 17))
    b = (token(0, 2), token(2, 7), token(7, 12), token(12, 15), token(15, 17))
    assert [unit.text for unit in align(text, a, b).units] == ["un", "believable", " cats"]
    assert [unit.text for unit in align(text, a, b, "words").units] == ["unbelievable", " cats"]


def test_weights_are_summed_over_keys_and_averaged_over_queries() -> None:
    text = "ab cd"
    tokens = (token(0, 0, special=True), token(0, 1), token(1, 2), token(2, 5))
    weights = attention(1, 4)
    alignment = align(text, tokens, (token(0, 2), token(3, 5)))
    w = weights[0]
    expected = [
        [(w[1, 1] + w[1, 2] + w[2, 1] + w[2, 2]) / 2, (w[1, 3] + w[2, 3]) / 2, (w[1, 0] + w[2, 0]) / 2, 0],
        [w[3, 1] + w[3, 2], w[3, 3], w[3, 0], 0],
    ]
    assert np.abs(unit_weights(stack(weights, tokens), alignment.unit_of[0], 0, 0) - expected).max() < 1e-6


def test_what_a_sink_takes_goes_to_no_token() -> None:
    tokens = (token(0, 1), token(1, 2))
    weights = 0.6 * attention(1, 2)
    rows = unit_weights(stack(weights, tokens), align("ab", tokens, tokens).unit_of[0], 0, 0)
    assert np.abs(rows[:, -1] - 0.4).max() < 1e-6
    assert np.abs(rows.sum(1) - 1).max() < 1e-6


def test_a_silenced_head_gives_everything_to_no_token() -> None:
    tokens = (token(0, 1), token(1, 2))
    rows = unit_weights(stack(attention(1, 2), tokens), align("ab", tokens, tokens).unit_of[0], 0, 0, silenced=True)
    assert rows.tolist() == [[0, 0, 0, 1], [0, 0, 0, 1]]


def test_a_text_that_one_model_drops_altogether_is_refused() -> None:
    with pytest.raises(EmptyText, match="Nothing is left"):
        align(" ", (token(0, 1),), (token(0, 0, special=True),))


def test_no_attention_and_no_such_head_are_said() -> None:
    tokens = (token(0, 1),)
    none = AttentionStack(
        name="self", query_tokens=tokens, key_tokens=tokens, layers=(LayerAttention.none("a state-space layer"),)
    )
    with pytest.raises(NoAttention, match="state-space"):
        unit_weights(none, np.zeros(1, int), 0, 0)
    with pytest.raises(OutOfRange):
        unit_weights(stack(attention(1, 1), tokens), np.zeros(1, int), 0, 3)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
@pytest.mark.parametrize("grain", ["tokens", "words"])
def test_two_real_tokenizers_share_units_in_every_script(text: str, grain, minilm: Model, smollm2: Model) -> None:
    a, b = minilm.tokenize(text), smollm2.tokenize(text)
    check_cover(text, align(text, a, b, grain), a, b)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_rows_of_real_heads_sum_to_one_in_every_script(text: str, minilm: Model, smollm2: Model) -> None:
    traces = [model.trace(text) for model in (minilm, smollm2)]
    alignment = align(text, traces[0].tokens, traces[1].tokens)
    for side, trace in enumerate(traces):
        for layer in (0, trace["self"].n_layers - 1):
            for head in range(trace["self"].n_heads):
                rows = unit_weights(trace["self"], alignment.unit_of[side], layer, head)
                assert np.abs(rows.sum(1) - 1).max() < 1e-5


@settings(max_examples=150, deadline=None)
@given(some.text(some.characters(exclude_categories=["Cs"]), min_size=1, max_size=40), some.sampled_from(GRAINS))
def test_two_real_tokenizers_share_units_on_any_text(minilm: Model, smollm2: Model, text: str, grain) -> None:
    a, b = minilm.tokenize(text), smollm2.tokenize(text)
    try:
        alignment = align(text, a, b, grain)
    except EmptyText:  # blanks, or characters that MiniLM drops
        assert all(one.is_special for one in a)
        return
    check_cover(text, alignment, a, b)


@pytest.fixture(scope="module")
def twin() -> Model:
    """MiniLM's weights in the transformer written here."""
    return tfmviz.load_model("scratch-minilm", device="cpu", allow_download=False)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_minilm_and_its_twin_have_the_same_units_and_weights_in_every_script(
    text: str, minilm: Model, twin: Model
) -> None:
    a, b = minilm.trace(text), twin.trace(text)
    alignment = align(text, a.tokens, b.tokens)
    assert np.array_equal(*alignment.unit_of)
    check_cover(text, alignment, a.tokens, b.tokens)
    for layer in range(a["self"].n_layers):
        for head in range(a["self"].n_heads):
            rows = [unit_weights(one["self"], alignment.unit_of[0], layer, head) for one in (a, b)]
            assert np.abs(rows[0] - rows[1]).max() <= 1e-5
            assert np.abs(rows[1].sum(1) - 1).max() < 1e-5
