"""GGUF files: what comes out of them, once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import safetensors.torch
import torch

import tfmviz
from tfmviz.errors import CheckpointError, NotEnoughMemory
from tfmviz.models import memory
from tfmviz.models.gguf import unpacked
from tfmviz.models.progress import Progress
from tfmviz.models.sources import locate

ROOT = Path(__file__).resolve().parents[3]
D_MODEL, D_FF, N_HEADS, N_KV, N_LAYERS = 64, 96, 4, 2, 2


def write_llama(path: Path, seed: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """A tiny Llama with Q4_1 weights, and the numbers that the format says they have."""
    letters = list("abcdefghijklmnopqrstuvwxyzĠ.0123456789")
    tokens = ["<|endoftext|>", *letters, "th", "the", "ĠĠ"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(64)
    writer.add_embedding_length(D_MODEL)
    writer.add_block_count(N_LAYERS)
    writer.add_feed_forward_length(D_FF)
    writer.add_head_count(N_HEADS)
    writer.add_head_count_kv(N_KV)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(D_MODEL // N_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([3, *[1] * (len(tokens) - 1)])
    writer.add_token_merges(["t h", "th e", "Ġ Ġ"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    writer.add_unk_token_id(0)
    random = np.random.default_rng(seed)
    shapes = {"token_embd.weight": (len(tokens), D_MODEL), "output_norm.weight": (D_MODEL,)}
    for i in range(N_LAYERS):
        kv = D_MODEL // N_HEADS * N_KV
        shapes |= {
            f"blk.{i}.attn_q.weight": (D_MODEL, D_MODEL),
            f"blk.{i}.attn_k.weight": (kv, D_MODEL),
            f"blk.{i}.attn_v.weight": (kv, D_MODEL),
            f"blk.{i}.attn_output.weight": (D_MODEL, D_MODEL),
            f"blk.{i}.ffn_gate.weight": (D_FF, D_MODEL),
            f"blk.{i}.ffn_up.weight": (D_FF, D_MODEL),
            f"blk.{i}.ffn_down.weight": (D_MODEL, D_FF),
            f"blk.{i}.attn_norm.weight": (D_MODEL,),
            f"blk.{i}.ffn_norm.weight": (D_MODEL,),
        }
    numbers = {}
    for name, shape in shapes.items():
        values = random.normal(size=shape).astype(np.float32)
        if len(shape) == 1:
            writer.add_tensor(name, values)
            numbers[name] = values
        else:
            blocks = gguf.quantize(values, gguf.GGMLQuantizationType.Q4_1)
            writer.add_tensor(name, blocks, raw_dtype=gguf.GGMLQuantizationType.Q4_1)
            numbers[name] = q4_1(blocks, shape)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return numbers


def q4_1(blocks: np.ndarray[Any, Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The format by its definition: 32 numbers in 20 bytes, half d, half m, 16 bytes of two nibbles; d * q + m."""
    raw = blocks.reshape(-1, 20)
    d = raw[:, 0:2].copy().view(np.float16).astype(np.float32)
    m = raw[:, 2:4].copy().view(np.float16).astype(np.float32)
    nibbles = np.concatenate([raw[:, 4:] & 15, raw[:, 4:] >> 4], axis=1).astype(np.float32)
    return (d * nibbles + m).reshape(shape)


@pytest.fixture
def file(tmp_path: Path, private_cache: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    write_llama(path)
    return path


def test_the_numbers_are_those_of_the_format(tmp_path: Path, private_cache: Path) -> None:
    numbers = write_llama(tmp_path / "tiny.gguf")
    tensors = safetensors.torch.load_file(unpacked(tmp_path / "tiny.gguf") / "model.safetensors")
    down = tensors["model.layers.1.mlp.down_proj.weight"]
    assert down.dtype == torch.float32
    assert np.array_equal(down.numpy(), numbers["blk.1.ffn_down.weight"])
    assert np.array_equal(tensors["model.embed_tokens.weight"].numpy(), numbers["token_embd.weight"])


def test_queries_are_put_back_in_hugging_faces_order(tmp_path: Path, private_cache: Path) -> None:
    """GGUF interleaves the two halves that rotary embedding turns together."""
    numbers = write_llama(tmp_path / "tiny.gguf")
    tensors = safetensors.torch.load_file(unpacked(tmp_path / "tiny.gguf") / "model.safetensors")
    packed = numbers["blk.0.attn_q.weight"].reshape(N_HEADS, D_MODEL // N_HEADS // 2, 2, D_MODEL)
    expected = packed.transpose(0, 2, 1, 3).reshape(D_MODEL, D_MODEL)
    assert np.array_equal(tensors["model.layers.0.self_attn.q_proj.weight"].numpy(), expected)


def test_a_gguf_file_loads_and_traces(file: Path) -> None:
    model = tfmviz.load_model(file, device="cpu")
    assert (model.name, model.kind, model.n_layers, model.n_heads, model.n_kv_heads) == ("tiny", "decoder", 2, 4, 2)
    assert [token.text for token in model.trace("the cat").tokens] == ["the", " ", "c", "a", "t"]


def test_the_copy_is_made_once(file: Path) -> None:
    stages: list[str] = []

    def note(progress: Progress) -> None:
        stages.append(progress.stage)

    first = unpacked(file, note)
    assert [stage for i, stage in enumerate(stages) if stage not in stages[:i]] == [
        "checking",
        "reading",
        "converting",
        "saving",
    ]
    stages.clear()
    assert unpacked(file, note) == first
    assert stages == []


def test_a_moved_file_keeps_its_copy_and_a_changed_one_does_not(file: Path, tmp_path: Path) -> None:
    first = unpacked(file)
    (tmp_path / "elsewhere").mkdir()
    assert unpacked(file.rename(tmp_path / "elsewhere" / file.name)) == first
    write_llama(file, seed=1)
    assert unpacked(file) != first


def test_a_damaged_copy_is_made_anew(file: Path) -> None:
    weights = unpacked(file) / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-100])
    assert (unpacked(file) / "model.safetensors").read_bytes() == whole


def test_two_processes_at_once_make_one_copy(file: Path, private_cache: Path) -> None:
    code = f"from pathlib import Path; from tfmviz.models.gguf import unpacked; print(unpacked(Path({str(file)!r})))"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    answers = [process.communicate(timeout=300) for process in running]
    assert [process.returncode for process in running] == [0, 0], answers
    assert answers[0][0] == answers[1][0]
    assert [path.name for path in (private_cache / "unpacked").iterdir() if path.is_dir()] == [
        Path(answers[0][0].strip()).name
    ]


@pytest.mark.parametrize("n_bytes", [0, 3, 20, 500, -1, -1000])
def test_a_file_cut_short_is_refused(file: Path, n_bytes: int, private_cache: Path) -> None:
    file.write_bytes(file.read_bytes()[:n_bytes])
    with pytest.raises(CheckpointError, match=r"tiny\.gguf"):
        tfmviz.load_model(file, device="cpu")
    assert not list((private_cache / "unpacked").glob("tiny*/*"))


def test_a_file_of_another_format_is_refused(tmp_path: Path, private_cache: Path) -> None:
    (tmp_path / "wrong.gguf").write_bytes(b"PK\x03\x04" + bytes(2000))
    with pytest.raises(CheckpointError, match=r"wrong\.gguf"):
        tfmviz.load_model(tmp_path / "wrong.gguf", device="cpu")


def test_unpacking_that_does_not_fit_is_refused_before_it_starts(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda _: 1000)
    with pytest.raises(NotEnoughMemory, match=r"Unpacking tiny\.gguf"):
        unpacked(file)


def test_a_cache_that_cannot_be_written_is_told(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "blocked").write_text("a file where a folder should be")
    monkeypatch.setenv("TFMVIZ_CACHE", str(tmp_path / "blocked"))
    with pytest.raises(CheckpointError, match="TFMVIZ_CACHE"):
        unpacked(file)


def test_digits_are_cut_before_blanks_are_joined(file: Path) -> None:
    """As in training: the two blanks before a digit are one token."""
    model = tfmviz.load_model(file, device="cpu")
    assert [token.text for token in model.tokenize("a  12")] == ["a", "  ", "1", "2"]


def test_smollm2_is_unpacked_to_the_numbers_of_its_file(smollm2: Any) -> None:
    path = locate("smollm2").path
    packed = next(t for t in gguf.GGUFReader(path).tensors if t.name == "blk.7.ffn_up.weight")
    assert packed.tensor_type == gguf.GGMLQuantizationType.Q4_1
    weight = smollm2._module.model.layers[7].mlp.up_proj.weight
    assert np.array_equal(weight.numpy(), q4_1(packed.data, tuple(weight.shape)))
