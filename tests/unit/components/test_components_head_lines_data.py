"""What the token lines send, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tfmviz.analysis.links import strongest_links
from tfmviz.components import head_lines
from tfmviz.components.payload import unpack
from tfmviz.text import Token

TOKENS = (
    Token(id=0, text="[CLS]", start=0, end=0, is_special=True),
    Token(id=1, text="extra", start=0, end=5, word=0),
    Token(id=2, text="ordinary", start=5, end=13, word=0),
    Token(id=3, text=" \n", start=13, end=15),
    Token(id=4, text="[PAD]", start=15, end=15, is_special=True, is_padding=True),
)
WEIGHTS = np.array([[0.4, 0.3, 0.2, 0.1, 0.0]] * 5, dtype=np.float32)


def page(arguments, options):
    from tfmviz.components import head_lines

    head_lines(*arguments, **options)


def sent(links, **options) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    options = {"heads": ["L0 H0"], "query_tokens": TOKENS, "key_tokens": TOKENS, "threshold": 0.15, **options}
    app = AppTest.from_function(page, args=((links,), options), default_timeout=60).run()
    assert not app.exception
    return unpack(app.get("bidi_component")[0].proto.bytes)


def test_tokens_go_with_visible_blanks_flags_and_words():
    header, _ = sent(strongest_links(WEIGHTS, 0.15, 100))
    assert header["query"]["text"] == ["[CLS]", "extra", "ordinary", "␣↵", "[PAD]"]
    assert header["query"]["flags"] == [1, 0, 0, 0, 3]
    assert header["query"]["word"] == [-1, 0, 0, -1, -1]
    assert header["keys"] is None


def test_padding_queries_have_no_links():
    header, arrays = sent(strongest_links(WEIGHTS, 0.15, 100))
    assert 4 not in arrays["query"]
    assert header["n_drawn"] == header["n_above"] == 4 * 3


def test_links_left_out_by_the_budget_are_counted_without_padding_that_was_drawn():
    links = strongest_links(WEIGHTS, 0.15, 100, keep_queries=np.array([True, True, True, True, False]))
    few = strongest_links(WEIGHTS, 0.15, 5, keep_queries=np.array([True, True, True, True, False]))
    assert sent(links)[0]["n_above"] - sent(links)[0]["n_drawn"] == 0
    assert sent(few)[0]["n_above"] - sent(few)[0]["n_drawn"] == 12 - 5


def test_weights_are_sent_in_full_precision():
    _, arrays = sent(strongest_links(WEIGHTS, 0.15, 100))
    assert arrays["weight"].dtype == np.float32
    assert np.array_equal(arrays["weight"], WEIGHTS[arrays["query"], arrays["key"]])


def test_cross_attention_sends_both_sides():
    header, _ = sent(strongest_links(WEIGHTS[:, :2], 0.15, 100), key_tokens=TOKENS[:2])
    assert header["keys"]["text"] == ["[CLS]", "extra"]


def test_what_does_not_fit_is_refused():
    links = strongest_links(WEIGHTS, 0.15, 100)
    fits = {"query_tokens": TOKENS, "key_tokens": TOKENS, "threshold": 0.15}
    with pytest.raises(ValueError, match="13 heads"):
        head_lines(links, heads=["x"] * 13, **fits)
    with pytest.raises(ValueError, match="2 names for the links of 1 heads"):
        head_lines(links, heads=["x", "y"], **fits)
    with pytest.raises(ValueError, match="outside of 5 queries x 3 keys"):
        head_lines(links, heads=["x"], **{**fits, "key_tokens": TOKENS[:3]})
    with pytest.raises(ValueError, match=r"\(5, 4\)"):
        head_lines(links, heads=["x"], **fits, visible=np.ones((5, 4), dtype=bool))
