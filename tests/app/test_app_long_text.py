"""The Explore page on texts of more than one window: whole in blocks where it can be, and said so where it cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from on_page import MAIN, component, words
from streamlit.testing.v1 import AppTest

from tfmviz.analysis import long_head
from tfmviz.analysis.head_roles import head_roles
from tfmviz.models import Model, load_model
from tfmviz.ui import reading
from tfmviz.ui.requests import HeadChoice

Open = Callable[..., AppTest]
TEXT = "The keeper knew every stone of the river. " * 16
N = len(TEXT) + 1  # a character is a token of this model, and one more begins every text
MODEL = "scratch-untrained"


@pytest.fixture(scope="module")
def model() -> Model:
    return load_model(MODEL, device="cpu")


def plain(markdown: str) -> str:
    """What a visitor reads of escaped Markdown."""
    return markdown.replace("\\", "")


def at_once(at: AppTest, key: str) -> list[str]:
    """Kinds of the elements in a container whose elements all lie on one place; see assets/page.css."""

    def below(node: Any) -> Iterator[Any]:
        for child in getattr(node, "children", {}).values():
            yield child
            yield from below(child)

    found = [node for node in below(at.main) if getattr(node.proto, "id", "").endswith(f"-{key}")]
    assert len(found) == 1
    return [node.type for node in below(found[0])]


def maxima(weights: np.ndarray, side: int) -> np.ndarray:
    rows = range(0, len(weights), side)
    return np.array([[weights[r : r + side, c : c + side].max() for c in rows] for r in rows])


@pytest.mark.parametrize(("layer", "head"), [("1", "2"), ("0", "mean"), ("mean", "mean")])
def test_the_map_has_the_whole_text_in_blocks(explore: Open, model: Model, layer: str, head: str) -> None:
    at = explore(text=TEXT, model=MODEL, layer=layer, head=head)
    assert not at.exception
    header, arrays = component(at, "head_map")
    assert (header["kind"], header["rows"], header["cols"], header["block"]) == ("blocks", N, N, 2)
    stack = model.trace(TEXT)["self"]
    layers = range(stack.n_layers) if layer == "mean" else [int(layer)]
    heads = range(stack.n_heads) if head == "mean" else [int(head)]
    weights = np.mean([stack.weights(i, j).numpy() for i in layers for j in heads], axis=0)
    np.testing.assert_allclose(arrays["maxima"], maxima(weights, 2), atol=1e-5)
    assert not [slider for slider in at.slider if slider.key in ("row", "column")]


def test_the_lines_are_the_strongest_of_the_whole_text_and_the_rest_is_counted(explore: Open, model: Model) -> None:
    at = explore(text=TEXT, model=MODEL, layer="1", head="2", threshold="0.01")
    header, arrays = component(at, "head_lines")
    weights = model.trace(TEXT)["self"].weights(1, 2).numpy()
    threshold = np.float32(0.01)
    assert header["n_above"] == int((weights >= threshold).sum())
    assert header["n_drawn"] == min(1500, header["n_above"])
    strongest = np.sort(weights[weights >= threshold])[::-1][: header["n_drawn"]]
    np.testing.assert_allclose(arrays["weight"][: header["n_drawn"]], strongest, atol=1e-6)
    assert len(header["query"]["text"]) == N


def test_the_words_read_the_head_on_rows_of_the_whole_text(explore: Open, model: Model) -> None:
    at = explore(text=TEXT, model=MODEL, layer="1", head="2")
    role = head_roles(model.trace(TEXT)["self"], 1, [2])[0]
    assert reading.head_sentence(HeadChoice(layer=1, head=2), role) in words(at)


def test_an_average_that_takes_too_long_is_a_window_and_says_why(
    explore: Open, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_head, "MOST_WEIGHTS", 8 * N**2)
    at = explore(text=TEXT, model=MODEL, layer="mean", head="mean", row="100")
    header, arrays = component(at, "head_map")
    assert (header["kind"], header["rows"]) == ("cells", 512)
    stack = model.trace(TEXT)["self"]
    expected = stack.mean(rows=slice(100, 612), cols=slice(0, 512)).numpy()
    np.testing.assert_allclose(arrays["weights"], expected, atol=1e-5)
    assert "too many to wait for" in words(at)
    in_map = at_once(at, "map")
    assert "bidi_component" in in_map
    assert "caption" not in in_map
    assert [slider.key for slider in at.slider if slider.key in ("row", "column")] == ["row", "column"]


def test_a_text_longer_than_the_model_takes_says_its_tokens_the_limit_and_the_way_out(
    explore: Open, model: Model
) -> None:
    text = TEXT * 4
    at = explore(text=TEXT, model=MODEL)
    at.text_area(key="text").set_value(text).run()
    assert len(at.error) == 1
    said = plain(at.error[0].value)
    assert f"{len(text) + 1:,} tokens" in said
    assert f"{model.max_tokens:,}" in said
    assert "Shorten it" in said
    assert at.text_area(key="text").value == text
    assert at.button(key="cut")


def test_a_text_too_long_for_an_address_keeps_its_note(explore: Open) -> None:
    at = explore(text=TEXT, model=MODEL)
    assert "too long for an address" not in words(at)
    at.text_area(key="text").set_value("猫" * 1400).run()  # nine letters each in an address
    assert "too long for an address" in words(at)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_an_uploaded_file_becomes_the_text_and_its_picture(explore: Open, encoding: str) -> None:
    at = explore(text="abc", model=MODEL)
    at.file_uploader(key="upload").upload("river.txt", TEXT.encode(encoding), "text/plain").run()
    assert not at.exception
    assert at.text_area(key="text").value == TEXT
    assert component(at, "head_map")[0]["cols"] == N
    assert "river.txt: 672 characters" in plain(words(at))
    at.text_area(key="text").set_value("abcd").run()  # typing goes on from there
    assert component(at, "atlas")[0]["tokens"] == [5, 5]


@pytest.mark.parametrize(
    ("data", "says"), [("Zwölf".encode("latin-1"), "not UTF-8"), (b"", "empty"), (b"a" * 1_000_001, "1,000,000 can")]
)
def test_a_file_that_cannot_be_read_leaves_the_text(explore: Open, data: bytes, says: str) -> None:
    at = explore(text="abc", model=MODEL)
    at.file_uploader(key="upload").upload("<b>odd</b>.txt", data, "text/plain").run()
    assert len(at.error) == 1
    assert says in plain(at.error[0].value)
    assert "\\<b\\>odd" in at.error[0].value
    assert at.text_area(key="text").value == "abc"
    assert component(at, "atlas")[0]["tokens"] == [4, 4]


@pytest.mark.parametrize(
    ("page", "query", "says"),
    [
        ("inside", {}, ""),
        ("masks", {"mask_view": "side by side"}, ""),
        ("masks", {"mask_view": "this model"}, "The pictures show its first 512 tokens"),
        ("masks", {"mask_view": "leakage"}, ""),
        ("positions", {"position_view": "order"}, f"The first 512 of your text's {N} tokens"),
        ("architectures", {}, ""),
        ("compare", {"model_b": MODEL}, ""),
    ],
)
def test_every_page_takes_a_text_of_more_than_one_window(page: str, query: dict[str, str], says: str) -> None:
    at = AppTest.from_file(str(MAIN), default_timeout=240)
    at.switch_page(str(MAIN.parents[1] / "pages" / f"{page}.py"))
    for name, value in {"text": TEXT, "model": MODEL, **query}.items():
        at.query_params[name] = value
    at.run()
    assert not at.exception
    assert [error.value for error in at.error] == []
    assert says in plain(words(at))
