"""``load_model``: from a name to a model in memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tfmviz.models.catalog import CatalogEntry, find
from tfmviz.models.device import resolve_device, resolve_dtype
from tfmviz.models.progress import Report
from tfmviz.models.sources import locate

if TYPE_CHECKING:
    import torch

    from tfmviz.models.model import Model

# Before another model's name: the transformer written here, with that model's weights.
SCRATCH = "scratch:"


def load_model(
    name: str | Path,
    *,
    device: str | torch.device = "auto",
    dtype: torch.dtype | str | None = None,
    progress: Report | None = None,
    allow_download: bool | None = None,
    allow_local: bool = True,
) -> Model:
    """Load a model.

    Args:
        name: a name of the catalogue ("minilm"), a local folder, a ``.gguf`` file, or a Hub id ("owner/name"). With
            "scratch:" before it ("scratch:gpt2"), the transformer written here takes that model's weights.
        device: "auto" (CUDA, else MPS, else the CPU), "cpu", "cuda", "cuda:1" or "mps"; or torch's own.
        dtype: float format; None for float32, on every device.
        progress: called with a :class:`Progress` now and then during long steps.
        allow_download: False keeps to this disk. The environment (``TFMVIZ_OFFLINE``, ``HF_HUB_OFFLINE``) can forbid
            downloads whatever is asked here.
        allow_local: False refuses paths: for names that visitors of a shared app type.

    Returns:
        The model, in ``eval()`` on its device.

    Raises:
        ModelNotFound: naming every place that was tried.
        CheckpointError: for files that are damaged, are not what they should be, or could run code.
        UnsupportedModel: for models without text attention, or with code of their own.
        UnknownDevice: naming the devices there are.
        NotEnoughMemory: if the weights do not fit.
    """
    where, form = resolve_device(device), resolve_dtype(dtype)
    entry = find(str(name))
    if entry and entry.made:
        from tfmviz.models.scratch_load import made_here

        return made_here(entry, device=where, dtype=form)
    source, is_ours = _weights_of(str(name), entry)
    found = locate(source, allow_local=allow_local, allow_download=allow_download, report=progress)
    # torch and transformers are heavy: a name that leads nowhere should not cost their import
    from tfmviz.models.gguf import unpacked
    from tfmviz.models.huggingface import HuggingFaceModel
    from tfmviz.models.loading import load_folder

    is_packed = found.path.is_file()  # a folder may be called something.gguf too
    folder = unpacked(found.path, progress) if is_packed else found.path
    if is_ours:
        from tfmviz.models.scratch_load import adapted

        called = entry.name if entry else f"{SCRATCH}{found.name}"
        return adapted(folder, name=called, device=where, dtype=form, report=progress)
    loaded = load_folder(folder, name=found.name, device=where, dtype=form, report=progress)
    return HuggingFaceModel(loaded, name=found.name)


def _weights_of(name: str, entry: CatalogEntry | None) -> tuple[str, bool]:
    """Whose weights are asked for, and whether the transformer written here shall take them."""
    if entry and entry.adapts:
        return entry.adapts, True
    return name.removeprefix(SCRATCH), name.startswith(SCRATCH)
