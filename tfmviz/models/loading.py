"""From a checked folder to a module in memory that runs no code but transformers' own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfmviz.errors import CheckpointError, TfmvizError, UnsupportedModel
from tfmviz.models.catalog import Kind
from tfmviz.models.checkpoint import Checkpoint, inspect
from tfmviz.models.kinds import auto_class, kind_of
from tfmviz.models.memory import room_for
from tfmviz.models.progress import Meter, Report

if TYPE_CHECKING:
    import torch

# While transformers builds a model it changes things for the whole process: weight tying, initialisation, torch's
# default float format. Whoever builds a module of any kind holds this.
LOADING = threading.RLock()


@dataclass(frozen=True, kw_only=True, slots=True)
class Loaded:
    """A model in memory.

    Attributes:
        module: in ``eval()``, on its device.
        tokenizer: transformers' tokenizer, which neither cuts nor pads by itself.
        kind: encoder, decoder or encoder-decoder.
        has_head: whether the language head's weights were in the checkpoint.
    """

    module: Any
    tokenizer: Any
    kind: Kind
    has_head: bool


def load_folder(
    folder: Path, *, name: str, device: torch.device, dtype: torch.dtype, report: Report | None = None
) -> Loaded:
    """Open a folder in Hugging Face's layout.

    Raises:
        CheckpointError: if files are missing or damaged, or weights are missing that the model needs or hold NaN.
        UnsupportedModel: if it is no text model, or one that needs code of its own.
        NotEnoughMemory: if the weights do not fit.
    """
    checkpoint = inspect(folder)
    n_bytes = checkpoint.n_values * dtype.itemsize
    room = room_for(n_bytes, device, what=f"Loading {name}")
    with room, LOADING, quiet_transformers(), Meter(report, "loading", n_bytes) as meter:
        config = _config(checkpoint, name)
        kind = kind_of(config, name)
        tokenizer = open_tokenizer(folder, name)
        module, has_head = _module(checkpoint, config, kind, name, dtype)
        _check_numbers(module, name)
        meter.set(n_bytes // 2)
        module = module.to(device).eval().requires_grad_(False)
    return Loaded(module=module, tokenizer=tokenizer, kind=kind, has_head=has_head)


def _config(checkpoint: Checkpoint, name: str) -> Any:
    from transformers import AutoConfig

    with explained(name, "its config"):
        return AutoConfig.from_pretrained(checkpoint.folder, local_files_only=True, trust_remote_code=False)


def open_tokenizer(folder: Path, name: str) -> Any:
    """The tokenizer of a folder in Hugging Face's layout, which neither cuts nor pads by itself. Hold ``LOADING``.

    Raises:
        CheckpointError: if its files are missing or damaged.
    """
    from transformers import AutoTokenizer

    with explained(name, "its tokenizer"):
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    files = [file for file in dict(tokenizer.vocab_files_names).values() if isinstance(file, str)]
    # Without its vocabulary a tokenizer of transformers 5 comes up empty instead of failing.
    if files and not any((folder / file).exists() for file in (*files, "tokenizer.json")):
        raise CheckpointError(
            f"{name} has no tokenizer files ({', '.join(files)}). Save the tokenizer beside the model."
        )
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        backend.no_truncation()
        backend.no_padding()
    return tokenizer


def _module(checkpoint: Checkpoint, config: Any, kind: Kind, name: str, dtype: torch.dtype) -> tuple[Any, bool]:
    import inspect as python

    opener = auto_class(kind, config)
    with explained(name, "its weights"):
        module, info = opener.from_pretrained(
            checkpoint.folder,
            config=config,
            dtype=dtype,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            ignore_mismatched_sizes=True,  # so that they are told by name below instead of in a log
            output_loading_info=True,
        )
    if info["mismatched_keys"]:
        key, found, wanted = sorted(info["mismatched_keys"])[0]
        raise CheckpointError(
            f"{name}: its weights and its config do not belong together: {key} is {tuple(found)} and should be "
            f"{tuple(wanted)}. Download or save the model again."
        )
    if "input_ids" not in python.signature(module.forward).parameters:
        raise UnsupportedModel(f"{name} ({config.model_type}) takes no text, so it has no text attention to show.")
    missing_head, missing = _sort_missing(module, set(info["missing_keys"]))
    if missing:
        raise CheckpointError(
            f"{name} lacks {len(missing)} of its weights, such as {missing[0]}: they would be random. "
            "Download or save the model again."
        )
    if missing_head and module.base_model is not module:
        module = module.base_model
    return module, not missing_head and module.get_output_embeddings() is not None


def _check_numbers(module: Any, name: str) -> None:
    """One NaN in a weight makes whole maps of them, and what a fused kernel makes of it looks like attention."""
    import torch

    for key, weight in module.named_parameters():
        # a sum reads each number once and keeps none: it is NaN if one of them is, or if infinities meet
        if bool(weight.sum(dtype=torch.float32).isnan()) and bool(weight.isnan().any()):
            raise CheckpointError(f"{name}: {key} holds NaN. Download or save the model again.")


def _sort_missing(module: Any, names: set[str]) -> tuple[bool, list[str]]:
    """Whether the language head lacks weights, and which weights the rest lacks. A pooler is not part of attention."""
    base = module.base_model
    head = module.get_output_embeddings() if hasattr(module, "get_output_embeddings") else None
    of_head = {id(p) for p in head.parameters()} if head is not None else set()
    of_base = (
        {id(p) for p in base.parameters()} if base is not module else {id(p) for p in module.parameters()} - of_head
    )
    lacking = {key: id(p) for key, p in module.named_parameters() if key in names and "pooler" not in key.split(".")}
    rest = sorted(key for key, place in lacking.items() if place in of_base)
    return len(rest) < len(lacking), rest


@contextlib.contextmanager
def explained(name: str, part: str) -> Iterator[None]:
    """Say what went wrong while transformers read ``part``. Anything can: the files are other people's."""
    try:
        yield
    except TfmvizError:
        raise
    except ImportError as error:
        raise UnsupportedModel(f"{name} needs a package that is not installed here: {_in_one_line(error)}") from error
    except Exception as error:
        text = str(error)
        if "trust_remote_code" in text or "does not recognize this architecture" in text:
            raise UnsupportedModel(
                f"{name} is no model that transformers itself knows. Code that comes with a checkpoint is never run."
            ) from error
        raise CheckpointError(f"{name}: {part} cannot be read: {_in_one_line(error)}") from error


def _in_one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


@contextlib.contextmanager
def quiet_transformers() -> Iterator[None]:
    """Keep transformers' bars and warnings off the terminal; what matters in them is raised here. Hold ``LOADING``."""
    from transformers.utils import logging

    had_bars, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if had_bars:
            logging.enable_progress_bar()
