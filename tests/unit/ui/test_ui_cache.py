"""The app's store of models and traces: what it keeps alive, and what it does not load twice."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from tfmviz.errors import ConfigError
from tfmviz.ui import cache
from tfmviz.ui.requests import ModelRequest, TraceRequest

MODEL = ModelRequest(name="scratch-untrained")


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def test_a_kept_trace_does_not_keep_its_model() -> None:
    request = TraceRequest(model=MODEL, text="abc")
    model = weakref.ref(cache.model(MODEL))
    assert cache.traced(request).trace.model == "scratch-untrained"
    cache._models.clear()
    gc.collect()
    assert model() is None
    assert cache.kept(request) is not None


def test_a_model_that_auto_put_on_the_cpu_is_the_cpu_s_model() -> None:
    first = cache.model(MODEL)
    if str(first.device) != "cpu":
        pytest.fail("this test is about a machine whose best device is the CPU")
    assert cache.model(ModelRequest(name="scratch-untrained", device="cpu")) is first


def test_what_is_kept_is_looked_up_and_never_made() -> None:
    assert cache.kept(TraceRequest(model=MODEL, text="never traced")) is None
    assert not cache.loaded_models()


@pytest.mark.parametrize(("said", "allowed"), [("", 6e9), ("2", 2e9), ("0.5", 5e8)])
def test_memory_is_allowed_in_gigabytes(monkeypatch: pytest.MonkeyPatch, said: str, allowed: float) -> None:
    monkeypatch.setenv("TFMVIZ_MODEL_GB", said)
    assert cache.gigabytes("TFMVIZ_MODEL_GB", 6) == allowed


@pytest.mark.parametrize("said", ["much", "-1", "0", "nan", "inf", "6 GB"])
def test_what_is_no_amount_of_memory_is_a_sentence(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("TFMVIZ_MODEL_GB", said)
    with pytest.raises(ConfigError, match=f"TFMVIZ_MODEL_GB='{said}'.*such as 6"):
        cache.gigabytes("TFMVIZ_MODEL_GB", 6)
