"""Every wrong picture that was seen in other tools, row by row, on our page.

What only a browser can tell (scripts that run, text that is clipped) is in tests/browser; what one function decides is
also tested beside that function.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from on_page import component, figure_of, map_weights, words
from streamlit.testing.v1 import AppTest
from tiny_t5 import save_tiny_t5

import tfmviz
from tfmviz.analysis.head_view import head_view
from tfmviz.analysis.links import strongest_links
from tfmviz.charts import head_map
from tfmviz.errors import ConfigError
from tfmviz.models import Model
from tfmviz.text import Token
from tfmviz.trace import AttentionStack, LayerAttention

Open = Callable[..., AppTest]


def ticks(at: AppTest, axis: str = "xaxis") -> list[str]:
    return figure_of(at)["layout"][axis]["ticktext"]


def one_layer(layer: LayerAttention) -> AttentionStack:
    def tokens(count: int, name: str) -> tuple[Token, ...]:
        return tuple(Token(id=i, text=f"{name}{i}", start=i, end=i + 1) for i in range(count))

    return AttentionStack(
        name="self", query_tokens=tokens(layer.n_queries, "q"), key_tokens=tokens(layer.n_keys, "k"), layers=(layer,)
    )


@pytest.mark.parametrize("typed", ["</script>", "<script>alert(1)</script>", "<b>", "&amp;", "$x$", "%{z}"])
def test_markup_in_a_text_is_text(explore: Open, typed: str) -> None:
    """Others: the page goes blank and the script runs, or the tokens turn bold."""
    at = explore(text=f"see {typed} here", model="smollm2")
    assert not at.exception
    assert not at.error
    header, _ = component(at, "head_lines")
    assert "".join(header["query"]["text"]).replace("␣", " ") == f"see {typed} here"
    assert all("<" not in text and "%{" not in text and "$" not in text for text in ticks(at))
    assert html.unescape("".join(ticks(at))).replace("␣", " ") == f"see {typed} here"


def test_word_pieces_are_written_as_they_were_typed(explore: Open) -> None:
    """Others: a blank page for ``##ing``."""
    at = explore(text="Unbelievably tokenizable embeddings")
    header, _ = component(at, "head_lines")
    shown = header["query"]["text"]
    assert len(shown) > 5  # there are pieces
    assert not [text for text in shown if "##" in text]
    assert "".join(shown[1:-1]) == "Unbelievablytokenizableembeddings"


def test_a_query_that_may_look_at_nothing_has_a_row_of_zeros_and_no_lines() -> None:
    """Others: NaN, drawn as full-strength lines or solid blue."""
    mask = torch.ones(4, 4, dtype=torch.bool)
    mask[2] = False
    torch.manual_seed(0)
    stack = one_layer(
        LayerAttention.from_queries_and_keys(query=torch.randn(1, 4, 8), key=torch.randn(1, 4, 8), mask=mask)
    )
    view = head_view(stack, 0, 0)
    assert not np.isnan(view.weights).any()
    assert (view.weights[2] == 0).all()
    links = strongest_links(view.weights, 0.0, 100)
    assert 2 not in links.query
    assert view.visible is not None
    assert not view.visible[2].any()


def test_a_model_that_looks_both_ways_has_no_masked_cell(explore: Open) -> None:
    """Others: the upper triangle is grey in every model."""
    at = explore(text="Both ways are open here.")
    assert not np.isnan(map_weights(at)).any()
    assert set(component(at, "atlas")[0]["mask_of"]) == {-1}


def test_cross_attention_keeps_every_column(explore: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Others: of 3 x 5 weights two columns vanish."""
    monkeypatch.setenv("TFMVIZ_LOCAL_MODELS", "1")
    folder = save_tiny_t5(tmp_path / "tiny-t5")
    model = tfmviz.load_model(folder, device="cpu")
    at = explore(model=str(folder), text="a b c d e f", target="c a", layer="0", head="1")
    assert not at.error
    trace = model.trace("a b c d e f", target="c a")
    expected = trace["cross"].weights(0, 1).numpy()
    assert expected.shape == (len(trace.target_tokens), len(trace.tokens))
    assert expected.shape[0] != expected.shape[1]
    assert np.abs(map_weights(at) - expected).max() < 1e-6
    assert component(at, "atlas")[0]["tokens"] == list(expected.shape)
    for name in ("encoder", "decoder"):
        at = explore(model=str(folder), text="a b c d e f", target="c a", layer="0", head="1", stack=name)
        drawn = map_weights(at)
        expected = trace[name].weights(0, 1).numpy()
        assert drawn.shape == expected.shape
        assert np.nanmax(np.abs(drawn - expected)) < 1e-6


def test_a_wrong_number_of_tokens_is_refused() -> None:
    """Others: a cropped matrix."""
    tokens = [Token(id=0, text="a", start=0, end=1)] * 3
    with pytest.raises(ConfigError, match="shape"):
        head_map.figure(np.ones((4, 3), np.float32), None, tokens, tokens)


def test_padding_is_a_property_of_keys_and_gets_no_lines(minilm: Model) -> None:
    """Others: padded rows drawn as content."""
    stack = minilm.trace("Short text.", pad_to=12)["self"]
    padded = np.array([token.is_padding for token in stack.key_tokens])
    assert padded.sum() > 0
    view = head_view(stack, 2, 3)
    assert (view.weights[:, padded] == 0).all()
    assert view.visible is not None
    assert not view.visible[:, padded].any()


def test_blanks_and_newlines_can_be_seen(explore: Open) -> None:
    """Others: empty labels."""
    at = explore(text="one\n\ttwo   three", model="smollm2")
    shown = "".join(ticks(at))
    assert {"↵", "→", "␣"} <= set(shown)
    assert all(text.strip() for text in ticks(at))


def test_a_model_is_used_as_transformers_loads_it(minilm: Model, smollm2: Model) -> None:
    """Others: fail on a default transformers 5 model, whose fused attention gives no weights."""
    for model in (minilm, smollm2):
        assert model._module.config._attn_implementation == "sdpa"  # type: ignore[attr-defined]
        assert model.trace("It works.")["self"].status(0) == "exact"


def test_half_precision_is_shown_in_full_numbers() -> None:
    """Others: TypeError on bfloat16."""
    trace = tfmviz.load_model("minilm", device="cpu", dtype="bfloat16", allow_download=False).trace(
        "Half as many bits."
    )
    view = head_view(trace["self"], 3, 3)
    assert view.weights.dtype == np.float32
    assert view.weights.sum(1) == pytest.approx(1, abs=1e-3)
    head_map.figure(view.weights, view.visible, view.query_tokens, view.key_tokens)


def test_one_row_is_a_picture_too() -> None:
    """Others: fail on a step of ``generate()``, one query and many keys."""
    torch.manual_seed(0)
    stack = one_layer(LayerAttention.from_queries_and_keys(query=torch.randn(2, 1, 8), key=torch.randn(2, 7, 8)))
    view = head_view(stack, 0, 1)
    assert view.weights.shape == (1, 7)
    assert stack.overview().shape == (1, 2, 1, 7)
    drawn = head_map.figure(view.weights, view.visible, view.query_tokens, view.key_tokens)
    assert len(drawn.layout.xaxis.ticktext) == 7
    assert strongest_links(view.weights, 0.1, 10).n_heads == 1


def test_shared_keys_are_mentioned(explore: Open) -> None:
    """Others: grouped queries drawn without a word."""
    at = explore(model="smollm2", text="Nine heads, three keys.")
    header, _ = component(at, "atlas")
    assert (header["heads"], header["kv_heads"]) == (9, 3)
    assert "9 heads that share 3 keys" in words(at)


def test_twelve_heads_have_twelve_colours(explore: Open) -> None:
    """Others: colours repeat after ten heads."""
    heads = [f"L0 H{i}" for i in range(1, 12)]
    header, _ = component(explore(text="Many heads.", layer="0", head="0", heads=heads), "head_lines")
    assert len(header["heads"]) == 12
    for theme in ("light", "dark"):
        assert len(set(header["colours"][theme]["heads"])) == 12


def test_equal_tokens_keep_their_own_rows_and_columns(explore: Open, minilm: Model) -> None:
    """Others, and Plotly by itself: equal labels become one column."""
    at = explore(text="the the the the")
    n = len(minilm.tokenize("the the the the"))
    assert map_weights(at).shape == (n, n)
    assert figure_of(at)["layout"]["xaxis"]["tickvals"] == list(range(n))
