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
from tfmviz.ui import cache, head_feed, server
from tfmviz.ui.requests import ModelRequest, TraceRequest

MODEL = ModelRequest(name="scratch-untrained")
TEXT = "ab ab ab"


@pytest.fixture
def client() -> Iterator[TestClient]:
    cache.clear()
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
