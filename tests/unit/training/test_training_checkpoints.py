"""Checkpoints: what is written is read back, damage is found, and the command makes the same file again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tfmviz.errors import CheckpointError
from tfmviz.models.scratch_checkpoint import Card, read_checkpoint, write_checkpoint
from tfmviz.training import Loop, Settings, card_of
from tfmviz.training import __main__ as command


@pytest.fixture
def card(tiny: Settings, tmp_path: Path) -> Card:
    model = Loop(tiny).model
    card = card_of("scratch-tiny", model, tiny, steps=0, seconds=0.0, measures={"accuracy": 0.0}, n_measured=1)
    return write_checkpoint(model, card, tmp_path)


def test_a_checkpoint_reads_back_equal(tiny: Settings, card: Card, tmp_path: Path) -> None:
    model, read = read_checkpoint(tmp_path, "scratch-tiny")
    assert read == card
    expected = Loop(tiny).model.state_dict()
    assert all(torch.equal(value, expected[name]) for name, value in model.state_dict().items())
    assert not model.training


def test_weights_that_are_not_those_of_the_card_are_refused(card: Card, tmp_path: Path) -> None:
    path = tmp_path / "scratch-tiny.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=card.sha256):
        read_checkpoint(tmp_path, "scratch-tiny")


def test_a_config_that_does_not_fit_the_weights_is_refused(card: Card, tmp_path: Path) -> None:
    path = tmp_path / "scratch-tiny.json"
    values = json.loads(path.read_text())
    values["config"]["d_ff"] += 1
    path.write_text(json.dumps(values))
    with pytest.raises(CheckpointError, match="does not fit"):
        read_checkpoint(tmp_path, "scratch-tiny")


@pytest.mark.parametrize("damage", ["missing", "no json", "field gone"])
def test_a_card_that_is_no_card_is_refused(card: Card, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "scratch-tiny.json"
    if damage == "missing":
        path.unlink()
    elif damage == "no json":
        path.write_text("{")
    else:
        path.write_text(json.dumps({k: v for k, v in json.loads(path.read_text()).items() if k != "seed"}))
    with pytest.raises(CheckpointError, match=r"scratch-tiny\.json"):
        read_checkpoint(tmp_path, "scratch-tiny")


def _run(folder: Path, *more: str) -> bytes:
    arguments = ["copy", "--steps", "6", "--threads", "1", "--measured", "4", "--out", str(folder), *more]
    assert command.main(arguments) == 0
    return (folder / "scratch-copy.safetensors").read_bytes()


def test_the_command_makes_the_same_weights_again_also_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    straight = _run(tmp_path / "a")
    assert _run(tmp_path / "b") == straight

    monkeypatch.setattr(command, "KEEP_EVERY", 2)
    advance = Loop.advance

    def interrupted(loop: Loop) -> object:
        if loop.step == 5:
            raise KeyboardInterrupt
        return advance(loop)

    state = ("--state", str(tmp_path / "unfinished"))
    with monkeypatch.context() as patch:
        patch.setattr(Loop, "advance", interrupted)
        with pytest.raises(KeyboardInterrupt):
            _run(tmp_path / "c", *state)
    begun: list[int] = []

    def counted(loop: Loop) -> object:
        begun.append(loop.step)
        return advance(loop)

    monkeypatch.setattr(Loop, "advance", counted)
    assert _run(tmp_path / "c", *state) == straight
    assert begun == [4, 5]


def test_the_command_says_what_is_wrong_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["copy", "--steps", "0", "--out", str(tmp_path)]) == 1
    assert "n_steps=0" in capsys.readouterr().out
