"""A head's map by its ticket: the numbers of the trace, and nothing for those who hold no ticket."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import streamlit as st
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tfmviz.components.payload import unpack
from tfmviz.models import Model, load_model
from tfmviz.ui import cache, head_feed, long_views, server
from tfmviz.ui.requests import HeadChoice, ModelRequest, TraceRequest

MODEL = ModelRequest(name="scratch-untrained")
TEXT = "ab ab ab"


@pytest.fixture
def client() -> Iterator[TestClient]:
    cache.clear()
    long_views.clear()
    st.session_state.pop(head_feed._MINE, None)
    with TestClient(Starlette(routes=server.routes())) as made:
        yield made
    cache.clear()


@pytest.fixture(scope="module")
def model() -> Model:
    return load_model("scratch-untrained")


def shown(text: str = TEXT, *, row_scaled: bool = False) -> head_feed.Shown:
    return head_feed.Shown(
        request=TraceRequest(model=MODEL, text=text),
        stack="self",
        part="all",
        window=(0, 0),
        row_scaled=row_scaled,
        hide_special=False,
    )


def test_the_answer_holds_the_weights_of_the_head_that_was_asked_for(client: TestClient, model: Model) -> None:
    cache.traced(shown().request)
    where = head_feed.address(shown())
    answer = client.get(f"/{where}/1/2")
    header, arrays = unpack(answer.content)
    np.testing.assert_allclose(arrays["weights"], model.trace(TEXT)["self"].weights(1, 2).numpy(), atol=1e-6)
    assert header["title"] == "L1 H2"


def test_a_ticket_lasts_as_long_as_its_picture(client: TestClient) -> None:
    first = head_feed.address(shown())
    assert head_feed.address(shown()) == first
    assert head_feed.address(shown(row_scaled=True)) != first


def test_two_visitors_of_one_text_have_two_tickets(client: TestClient) -> None:
    first = head_feed.address(shown())
    st.session_state.pop(head_feed._MINE)
    assert head_feed.address(shown()) != first


@pytest.mark.parametrize("path", ["heads/guessed/0/0", "{where}/99/0", "{where}/0/99"])
def test_what_is_not_there_is_not_found(client: TestClient, path: str) -> None:
    cache.traced(shown().request)
    where = head_feed.address(shown())
    assert client.get("/" + path.format(where=where)).status_code == 404


def test_a_trace_that_was_forgotten_is_not_run_again(client: TestClient) -> None:
    where = head_feed.address(shown())
    assert client.get(f"/{where}/0/0").status_code == 404
    assert cache.kept(shown().request) is None


def test_only_so_many_tickets_are_kept(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head_feed, "MOST", 3)
    for i in range(9):
        head_feed.address(shown(f"text {i}"))
    assert len(head_feed._tickets) == 3


LONG = "abcdefgh " * 90  # a character is a token: 810


def test_a_long_text_s_head_comes_as_block_maxima_and_says_where_its_cells_are(
    client: TestClient, model: Model
) -> None:
    cache.traced(shown(LONG).request)
    where = head_feed.address(shown(LONG))
    header, arrays = unpack(client.get(f"/{where}/1/2").content)
    assert (header["kind"], header["block"], header["cells"]) == ("blocks", 2, f"{where}/1/2")
    weights = model.trace(LONG)["self"].weights(1, 2).numpy()
    n = len(weights) // 2 * 2
    maxima = weights[:n, :n].reshape(n // 2, 2, n // 2, 2).max(axis=(1, 3))
    np.testing.assert_allclose(arrays["maxima"][: n // 2, : n // 2], maxima, atol=1e-6)


@pytest.mark.parametrize(("layer", "head"), [(1, 2), (0, None), (None, None)])
def test_cells_are_the_weights_of_their_rows_and_columns(
    client: TestClient, model: Model, layer: int | None, head: int | None
) -> None:
    cache.traced(shown(LONG).request)
    where = head_feed.cells_address(head_feed.address(shown(LONG)), HeadChoice(layer=layer, head=head))
    header, arrays = unpack(client.get(f"/{where}/600-664/500-620").content)
    stack = model.trace(LONG)["self"]
    layers = range(stack.n_layers) if layer is None else [layer]
    heads = range(stack.n_heads) if head is None else [head]
    expected = np.mean([stack.weights(i, j).numpy() for i in layers for j in heads], axis=0)
    assert (header["rows"], header["cols"]) == (64, 120)
    np.testing.assert_allclose(arrays["weights"], expected[600:664, 500:620], atol=1e-6)
    future = sum(last - first for _, first, last in arrays["spans"])
    assert future == int((np.arange(600, 664)[:, None] >= np.arange(500, 620)).sum())


def test_scaled_cells_reach_the_last_step_only_where_the_row_has_its_largest_weight(
    client: TestClient, model: Model
) -> None:
    cache.traced(shown(LONG).request)
    where = head_feed.address(shown(LONG, row_scaled=True))
    _, arrays = unpack(client.get(f"/{where}/1/2/700-720/0-300").content)
    weights = model.trace(LONG)["self"].weights(1, 2).numpy()[700:720]
    share = weights[:, :300] / weights.max(axis=1, keepdims=True)
    np.testing.assert_array_equal(arrays["steps"], 1 + np.round(share * 254))


@pytest.mark.parametrize(
    "path",
    [
        "heads/guessed/0/0/0-64/0-64",
        "{where}/0/0/0-64/0-99999",
        "{where}/0/0/64-64/0-64",
        "{where}/0/0/64-0/0-64",
        "{where}/9/0/0-64/0-64",
        "{where}/all/0/0-64/0-64",
        "{where}/0/0/-1-64/0-64",
        "{where}/0/0/0-64/..%2f..%2fetc",
    ],
)
def test_cells_that_are_not_there_are_not_found(client: TestClient, path: str) -> None:
    cache.traced(shown(LONG).request)
    where = head_feed.address(shown(LONG))
    assert client.get(f"/{where}/0/0/0-64/0-64").status_code == 200
    assert client.get("/" + path.format(where=where)).status_code == 404


def test_cells_come_though_their_trace_gave_way_to_those_of_other_visitors(client: TestClient, model: Model) -> None:
    where = head_feed.address(shown(LONG))
    assert cache.kept(shown(LONG).request) is None
    _, arrays = unpack(client.get(f"/{where}/1/2/600-664/500-620").content)
    weights = model.trace(LONG)["self"].weights(1, 2).numpy()
    np.testing.assert_allclose(arrays["weights"], weights[600:664, 500:620], atol=1e-6)


def test_no_more_cells_are_given_at_once_than_a_screen_has(client: TestClient) -> None:
    cache.traced(shown(LONG).request)
    where = head_feed.address(shown(LONG))
    assert client.get(f"/{where}/0/0/0-811/0-811").status_code == 404


@pytest.mark.parametrize("head", ["9" * 5000 + "/0", "-1/0", "0/mean", "1.5/0", "0/%00", "²/0"])
def test_what_is_no_head_is_not_found(client: TestClient, head: str) -> None:
    cache.traced(shown().request)
    assert client.get(f"/{head_feed.address(shown())}/{head}").status_code == 404
