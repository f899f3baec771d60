"""GGUF files: unpacked once by transformers, kept as safetensors in the cache, found there ever after."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfmviz.errors import CheckpointError
from tfmviz.models.cache import cache_dir
from tfmviz.models.checkpoint import SINGLE, inspect
from tfmviz.models.checksum import sha256_of
from tfmviz.models.loading import LOADING, explained, quiet_transformers
from tfmviz.models.memory import room_for
from tfmviz.models.progress import Meter, Report

if TYPE_CHECKING:
    from transformers.integrations.gguf import GgufHeader

DIGITS_ALONE = ("smollm", "starcoder", "refact", "codeshell")
LAYOUT = 1  # raise when what is written changes, so that older copies are not used
PEAK = 1.7  # bytes taken while unpacking, per byte of the float32 weights (1.55 measured with SmolLM2)


def unpacked(path: Path, report: Report | None = None) -> Path:
    """Folder of float32 safetensors with the numbers of a GGUF file, made now or long ago.

    The copy is named after the file's sha256, so a moved file keeps its copy and a changed one gets a new one. Two
    processes that ask at once make one copy; a copy appears whole or not at all.

    Raises:
        CheckpointError: if the file is damaged or of an architecture that transformers cannot unpack, or the cache
            folder cannot be written or is full.
        NotEnoughMemory: if unpacking would not fit.
    """
    target = cache_dir() / "unpacked" / f"{path.stem}-{sha256_of(path, report)[:16]}-{LAYOUT}"
    if _is_whole(target):
        return target
    from filelock import FileLock

    header = read_header(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.with_name(target.name + ".lock")):
            if not _is_whole(target):  # another process may have made it while this one waited
                _unpack(path, header, target, report)
    except OSError as error:
        raise CheckpointError(
            f"The unpacked copy of {path.name} cannot be kept in {target.parent}: {error}. "
            "Name another folder in TFMVIZ_CACHE."
        ) from error
    return target


def read_header(path: Path) -> GgufHeader:
    """A GGUF file's table of tensors.

    Raises:
        CheckpointError: if it is no GGUF file, is damaged, or is cut short.
    """
    from transformers.integrations.gguf import GgufHeader

    with explained(path.name, "its header"):
        header = GgufHeader.from_file(str(path))
        end = header.data_start + max((t.offset + t.nbytes for t in header.tensors), default=0)
    if (size := path.stat().st_size) < end:
        raise CheckpointError(f"{path.name} is cut short: {size:,} bytes of {end:,}. Download it again.")
    return header


def _is_whole(folder: Path) -> bool:
    try:
        inspect(folder)
    except CheckpointError:
        return False
    return (folder / "tokenizer.json").exists()


def _unpack(path: Path, header: GgufHeader, target: Path, report: Report | None) -> None:
    import torch

    n_bytes = 4 * sum(prod(tensor.shape) for tensor in header.tensors)
    if n_bytes > (free := shutil.disk_usage(target.parent).free):
        raise CheckpointError(
            f"Unpacking {path.name} takes {n_bytes / 1e9:.1f} GB of disk in {target.parent}, and {free / 1e9:.1f} GB "
            "are free. Make room, or name another folder in TFMVIZ_CACHE."
        )
    work = Path(tempfile.mkdtemp(dir=target.parent, prefix=target.name + "."))
    try:
        room = room_for(int(PEAK * n_bytes), torch.device("cpu"), what=f"Unpacking {path.name}")
        with room, LOADING, quiet_transformers():
            _write(path, header, work, report)
        (work / "origin.json").write_text(json.dumps({"file": path.name, "sha256": sha256_of(path)}))
        if target.exists():  # a copy that was found damaged
            shutil.rmtree(target)
        work.replace(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _write(path: Path, header: GgufHeader, folder: Path, report: Report | None) -> None:
    """Unpack into ``folder``: config, weights, tokenizer."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, GgufConfig

    place = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name, "local_files_only": True}
    # transformers goes through the file's vocabulary twice, which is half of the whole wait
    reading = Meter(report, "reading", 2)
    reading.set(0)
    with explained(path.name, "its config"):
        config = AutoConfig.from_pretrained(**place)
    reading.set(1)
    with explained(path.name, "its tokenizer"):
        _tokenizer(path, place).save_pretrained(folder)
    opener = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    with explained(path.name, "its weights"), _counted(report, len(header.tensors)):
        module = opener.from_pretrained(
            **place, config=config, dtype=torch.float32, quantization_config=GgufConfig(dequantize=True)
        )
    with explained(path.name, "its weights"), Meter(report, "saving", 1):
        module.config.architectures = [type(module).__name__]
        if hasattr(module.config, "quantization_config"):  # says that the weights are still packed
            del module.config.quantization_config
        module.save_pretrained(folder, max_shard_size="100GB")
    (folder / SINGLE).chmod(0o644)
    folder.chmod(0o755)  # a temporary folder is its owner's alone; a cache may be shared


def _tokenizer(path: Path, place: dict[str, Any]) -> Any:
    """The tokenizer that a GGUF file describes, with the rule on digits that transformers 5.24 leaves out.

    Files whose ``tokenizer.ggml.pre`` is one of ``DIGITS_ALONE`` cut a text before and after every digit, before
    anything else is cut. Without it "x  1" gives its two blanks one token each where training gave them one together.
    """
    from tokenizers import pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    from transformers.integrations.gguf import read_gguf_metadata

    tokenizer = PreTrainedTokenizerFast.from_pretrained(**place)
    metadata, _ = read_gguf_metadata(str(path))
    if metadata.get("tokenizer.ggml.pre") in DIGITS_ALONE:
        backend = tokenizer.backend_tokenizer
        digits = pre_tokenizers.Digits(individual_digits=True)
        backend.pre_tokenizer = pre_tokenizers.Sequence([digits, backend.pre_tokenizer])
    return tokenizer


@contextlib.contextmanager
def _counted(report: Report | None, n_tensors: int) -> Iterator[None]:
    """Count each tensor that transformers unpacks.

    Its loop is wrapped in a tqdm bar with no way in from outside, so the bar's class is swapped in that one module,
    under ``LOADING``. Where a later transformers has no such loop, the stage shows no numbers and works the same.
    """
    from transformers import modeling_gguf_pytorch_utils as unpacking

    bar = getattr(unpacking, "tqdm", None)

    def counting(tensors: Any, **_: Any) -> Iterator[Any]:
        with Meter(report, "converting", n_tensors) as meter:
            for tensor in tensors:
                yield tensor
                meter.add(1)

    if bar is not None:
        unpacking.tqdm = counting
    try:
        yield
    finally:
        if bar is not None:
            unpacking.tqdm = bar
