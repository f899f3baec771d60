"""Names of devices and float formats."""

from __future__ import annotations

import pytest
import torch

from tfmviz.errors import ConfigError, UnknownDevice
from tfmviz.models.device import devices, resolve_device, resolve_dtype


@pytest.fixture
def two_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


@pytest.fixture
def no_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)


def test_auto_is_the_first_card(two_cards: None) -> None:
    assert resolve_device("auto") == torch.device("cuda:0")


def test_auto_is_mps_where_there_is_no_card(no_card: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert resolve_device("auto") == torch.device("mps")


def test_auto_is_the_cpu_where_there_is_nothing_else(no_card: None) -> None:
    assert resolve_device("auto") == torch.device("cpu")
    assert devices() == ("cpu",)


def test_a_card_is_named_by_its_number(two_cards: None) -> None:
    assert resolve_device("cuda:1") == torch.device("cuda", 1)


@pytest.mark.parametrize("name", ["cuda:2", "mps"])
def test_a_device_that_is_not_there_is_told_with_those_that_are(two_cards: None, name: str) -> None:
    with pytest.raises(UnknownDevice, match=r"cuda:0, cuda:1.*cpu"):
        resolve_device(name)


@pytest.mark.parametrize(
    "name", ["gpu", "", "CPU", "cuda:", "cuda:-1", "cuda:1e9", "tpu", "cpu; rm", "meta", "x" * 9999]
)
def test_nonsense_names_no_device(no_card: None, name: str) -> None:
    with pytest.raises(UnknownDevice, match="cpu") as caught:
        resolve_device(name)
    assert len(str(caught.value)) < 200


def test_float32_unless_asked() -> None:
    assert resolve_dtype(None) is torch.float32


@pytest.mark.parametrize("asked", ["bfloat16", torch.bfloat16, "torch.bfloat16"])
def test_a_format_may_be_named_or_given(asked: object) -> None:
    assert resolve_dtype(asked) is torch.bfloat16  # type: ignore[arg-type]


@pytest.mark.parametrize("asked", ["int8", "float64x", torch.int32, "__class__"])
def test_other_formats_are_refused(asked: object) -> None:
    with pytest.raises(ConfigError, match="float32, bfloat16, float16"):
        resolve_dtype(asked)  # type: ignore[arg-type]


def test_a_device_may_be_torchs_own(no_card: None) -> None:
    assert resolve_device(torch.device("cpu")) == torch.device("cpu")
