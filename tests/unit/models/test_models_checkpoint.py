"""Folders that must not be loaded, and why."""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.torch
import torch

import tfmviz
from tfmviz.errors import CheckpointError, NotEnoughMemory, TfmvizError, UnsupportedModel
from tfmviz.models import memory
from tfmviz.models.checkpoint import inspect, read_header

Saved = Callable[[str], Path]


@pytest.fixture
def folder(saved: Saved, tmp_path: Path) -> Path:
    """A copy of a tiny BERT to be damaged."""
    return Path(shutil.copytree(saved("bert"), tmp_path / "damaged"))


def test_a_whole_checkpoint_is_counted_to_the_last_number(saved: Saved) -> None:
    tensors = safetensors.torch.load_file(saved("llama") / "model.safetensors")
    checkpoint = inspect(saved("llama"))
    assert checkpoint.n_values == sum(tensor.numel() for tensor in tensors.values())
    assert checkpoint.names == set(tensors)


class Trap:
    """Opened by pickle, this makes a file."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.place),)


def test_a_pickle_is_never_opened(folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"weight": Trap(tmp_path / "sprung")}, folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match=r"pytorch_model\.bin.*never loaded.*save_pretrained"):
        tfmviz.load_model(folder, device="cpu")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
def test_safetensors_cut_short_are_refused(folder: Path, share: float) -> None:
    file = folder / "model.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(CheckpointError, match="damaged"):
        tfmviz.load_model(folder, device="cpu")


@pytest.mark.parametrize(
    "content",
    [
        b"PK\x03\x04 something else entirely",
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 4) + b"null",
        struct.pack("<Q", 8) + b'{"a": 1}',
        struct.pack("<Q", 5) + b"[1,2]",
    ],
)
def test_what_is_no_safetensors_file_is_refused(folder: Path, content: bytes) -> None:
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"model\.safetensors"):
        tfmviz.load_model(folder, device="cpu")


@pytest.mark.parametrize("offsets", [["0", "4"], [0, 2, 4], "04", None])
def test_a_header_whose_tensors_are_nowhere_is_refused(folder: Path, offsets: object) -> None:
    header = json.dumps({"a": {"dtype": "F32", "shape": [1], "data_offsets": offsets}}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
    with pytest.raises(CheckpointError, match=r"model\.safetensors is damaged"):
        tfmviz.load_model(folder, device="cpu")


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_folder_in_the_place_of_a_file_is_refused(folder: Path, name: str) -> None:
    (folder / name).unlink()
    (folder / name).mkdir()
    with pytest.raises(CheckpointError, match=name):
        tfmviz.load_model(folder, device="cpu")


def test_a_part_of_the_weights_that_cannot_be_opened_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(CheckpointError, match=r"model\.safetensors cannot be read: Permission denied"):
        read_header(folder / "model.safetensors")


def test_a_folder_may_be_called_like_a_packed_file(folder: Path, saved: Saved) -> None:
    place = folder.rename(folder.with_name("tiny.gguf"))
    tokens = tfmviz.load_model(place, device="cpu").trace("The cat sat.").tokens
    assert tokens == tfmviz.load_model(saved("bert"), device="cpu").trace("The cat sat.").tokens


def test_generation_settings_that_are_none_are_refused_by_ours(saved: Saved, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(saved("llama"), tmp_path / "settings"))
    (folder / "generation_config.json").write_text("[1]")
    with pytest.raises(CheckpointError, match=r"generation_config\.json"):
        tfmviz.load_model(f"scratch:{folder}", device="cpu")


@pytest.mark.parametrize("content", ["", "{", "[1, 2]", '"text"', "{" * 100_000, "\0"])
def test_a_damaged_config_is_refused(folder: Path, content: str) -> None:
    (folder / "config.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"config\.json"):
        tfmviz.load_model(folder, device="cpu")


@pytest.mark.parametrize(
    "change",
    [
        {"hidden_size": "wide"},
        {"hidden_size": 48},
        {"num_hidden_layers": -1},
        {"num_attention_heads": 0},
        {"vocab_size": 10**6},
        {"intermediate_size": None},
    ],
)
def test_a_config_that_does_not_fit_the_weights_is_refused(folder: Path, change: dict[str, object]) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(TfmvizError):
        tfmviz.load_model(folder, device="cpu")


def test_a_folder_without_config_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no config\.json"):
        tfmviz.load_model(tmp_path, device="cpu")


def test_a_folder_without_weights_is_refused(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"has no model\.safetensors"):
        tfmviz.load_model(folder, device="cpu")


def test_a_folder_without_tokenizer_is_refused(folder: Path) -> None:
    for file in folder.glob("*token*"):
        file.unlink()
    with pytest.raises(CheckpointError, match="tokenizer"):
        tfmviz.load_model(folder, device="cpu")


def test_a_damaged_tokenizer_is_refused(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(CheckpointError, match="tokenizer"):
        tfmviz.load_model(folder, device="cpu")


def test_a_missing_part_of_the_weights_is_named(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(CheckpointError, match="model-00002-of-00002"):
        tfmviz.load_model(folder, device="cpu")


def test_weights_outside_the_folder_are_refused(folder: Path) -> None:
    index = {"weight_map": {"a": "../saved/model.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(CheckpointError, match="no safetensors file of this folder"):
        tfmviz.load_model(folder, device="cpu")


def test_weights_that_would_be_random_are_refused(folder: Path) -> None:
    file = folder / "model.safetensors"
    tensors = safetensors.torch.load_file(file)
    lost = "bert.encoder.layer.1.attention.self.query.weight"
    del tensors[lost]
    safetensors.torch.save_file(tensors, file, {"format": "pt"})
    with pytest.raises(CheckpointError, match=lost):
        tfmviz.load_model(folder, device="cpu")


def test_weights_that_are_no_numbers_are_refused_by_name(folder: Path) -> None:
    file = folder / "model.safetensors"
    tensors = safetensors.torch.load_file(file)
    damaged = "bert.encoder.layer.1.attention.self.query.weight"
    tensors[damaged][0, 0] = torch.nan
    safetensors.torch.save_file(tensors, file, {"format": "pt"})
    with pytest.raises(CheckpointError, match=f"{damaged} holds NaN"):
        tfmviz.load_model(folder, device="cpu")


def test_a_lost_head_costs_the_guesses_and_not_the_attention(saved: Saved, folder: Path) -> None:
    file = folder / "model.safetensors"
    kept = {k: v for k, v in safetensors.torch.load_file(file).items() if not k.startswith("cls.predictions.transform")}
    safetensors.torch.save_file(kept, file, {"format": "pt"})
    whole, headless = (
        tfmviz.load_model(place, device="cpu").trace("The cat sat.") for place in (saved("bert"), folder)
    )
    assert torch.equal(whole["self"].weights(1, 1), headless["self"].weights(1, 1))
    assert whole.predictions is not None
    assert headless.predictions is None


def test_code_that_comes_with_a_checkpoint_is_never_run(folder: Path, tmp_path: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "homemade", "auto_map": {"AutoConfig": "homemade.C", "AutoModel": "homemade.M"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "homemade.py").write_text(f"import os; os.mkdir({str(tmp_path / 'sprung')!r})")
    with pytest.raises(UnsupportedModel, match="never run"):
        tfmviz.load_model(folder, device="cpu")
    assert not (tmp_path / "sprung").exists()


def test_an_adapter_is_refused(folder: Path) -> None:
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "somebody/else"}')
    with pytest.raises(CheckpointError, match="adapter"):
        tfmviz.load_model(folder, device="cpu")


def test_weights_that_do_not_fit_in_memory_are_refused_before_they_are_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda _: 1000)
    with pytest.raises(NotEnoughMemory, match="Loading damaged"):
        tfmviz.load_model(folder, device="cpu")


def test_a_picture_model_is_refused(tmp_path: Path) -> None:
    import transformers

    config = transformers.ViTConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
    transformers.ViTModel(config).save_pretrained(tmp_path)
    with pytest.raises(TfmvizError):
        tfmviz.load_model(tmp_path, device="cpu")


def test_a_tokenizer_of_another_model_is_noticed(saved: Saved, tmp_path: Path) -> None:
    import transformers

    config = transformers.LlamaConfig(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, vocab_size=20
    )
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path)
    shutil.copy(saved("llama") / "tokenizer.json", tmp_path)
    shutil.copy(saved("llama") / "tokenizer_config.json", tmp_path)
    with pytest.raises(CheckpointError, match="do not belong together"):
        tfmviz.load_model(tmp_path, device="cpu")
