"""The Hugging Face Hub and its cache on this disk. Only config, tokenizer and safetensors files are ever fetched.

No access token is sent, so a visitor of a shared app cannot reach what the person who runs it may see on the Hub.
A gated model works once its owner has fetched it (``hf download owner/name``): it is then found in the cache.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tfmviz.errors import CheckpointError
from tfmviz.models.checkpoint import AS_SAFETENSORS, INDEX, PICKLES, SINGLE
from tfmviz.models.checksum import check_sha256
from tfmviz.models.progress import Meter, Report

TIMEOUT = 10.0  # seconds for one answer of the Hub
_SHA256 = re.compile(r"[0-9a-f]{64}")
_WANTED = (".json", ".txt", ".model", ".spm", ".tiktoken")


class HubError(Exception):
    """The Hub could not give a model; ``str(error)`` says why in a few words."""


def cached(repo: str) -> Path | None:
    """Folder of a repository that was downloaded before, by this package or any other, with weights in it."""
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(repo, "config.json")
    if not isinstance(config, str):
        return None
    folder = Path(config).parent
    has_weights = has_safetensors(folder) or any(path.suffix in PICKLES for path in folder.iterdir())
    return folder if has_weights else None


def has_safetensors(folder: Path) -> bool:
    """Whether a folder holds weights in the one format that is loaded."""
    return (folder / SINGLE).exists() or (folder / INDEX).exists()


def check_cached(folder: Path, report: Report | None = None) -> None:
    """Compare each weight file of the Hub's cache with the sha256 after which the cache names it.

    Raises:
        CheckpointError: if one differs.
    """
    for path in sorted(folder.glob("*.safetensors")):
        blob = path.resolve()
        if _SHA256.fullmatch(blob.name):  # a cache without links (Windows) does not name files so
            check_sha256(blob, blob.name, report)


def download(repo: str, report: Report | None = None) -> Path:
    """Fetch what a model needs from the Hub into the Hub's own cache.

    Returns:
        The folder with its files.

    Raises:
        HubError: no network, no such model, a model that needs a login, or too little disk.
        CheckpointError: if it has no safetensors, or what came is not what the Hub says it is.
    """
    from huggingface_hub import HfApi, constants, errors

    try:
        info = HfApi(token=False, endpoint=constants.ENDPOINT).model_info(repo, files_metadata=True, timeout=TIMEOUT)
        files = _wanted(repo, info.siblings or ())
        _check_disk(sum(size for _, size in files))
        return _fetch(repo, info.sha, files, report)
    except errors.GatedRepoError as error:
        raise HubError(f"{repo} asks for a login; fetch it with 'hf download {repo}' first") from error
    except errors.RepositoryNotFoundError as error:
        raise HubError(f"there is no {repo}, or it is private") from error
    except errors.OfflineModeIsEnabled as error:
        raise HubError("downloads are switched off") from error
    except errors.HfHubHTTPError as error:
        status = error.response.status_code if error.response is not None else "?"
        raise HubError(f"it answered with status {status}") from error
    except (errors.HTTPError, OSError) as error:  # the HTTP library's own base class, whichever library it is
        raise HubError(f"no answer from {constants.ENDPOINT} ({type(error).__name__}); is there a network?") from error


def _wanted(repo: str, siblings: Iterable[Any]) -> list[tuple[str, int]]:
    """Names and sizes of the files to fetch, the weights last."""
    sizes = {file.rfilename: int(file.size or 0) for file in siblings if "/" not in file.rfilename}
    weights = sorted(name for name in sizes if name.endswith(".safetensors"))
    if SINGLE in weights:
        weights = [SINGLE]
    elif INDEX not in sizes:
        raise CheckpointError(
            f"{repo} has no safetensors on the Hub, and a format that can run code when it is opened is never loaded. "
            f"{AS_SAFETENSORS}"
        )
    small = sorted(name for name in sizes if name.endswith(_WANTED) and not (name == INDEX and SINGLE in weights))
    return [(name, sizes[name]) for name in (*small, *weights)]


def _check_disk(needed: int) -> None:
    from huggingface_hub import constants

    place = Path(constants.HF_HUB_CACHE)
    place.mkdir(parents=True, exist_ok=True)
    if (free := shutil.disk_usage(place).free) < needed:
        raise HubError(f"it needs {needed / 1e9:.1f} GB of disk in {place} and {free / 1e9:.1f} GB are free")


def _fetch(repo: str, revision: str | None, files: list[tuple[str, int]], report: Report | None) -> Path:
    from huggingface_hub import hf_hub_download

    folder = None
    with Meter(report, "downloading", sum(size for _, size in files)) as meter:
        before = 0
        for name, size in files:
            bar = _bar(meter, before)
            path = hf_hub_download(repo, name, revision=revision, token=False, etag_timeout=TIMEOUT, tqdm_class=bar)
            folder = Path(path).parent
            before += size
            meter.set(before)
    if folder is None:
        raise HubError(f"{repo} is empty")
    _point_main_at(folder)
    check_cached(folder, report)
    return folder


def _bar(meter: Meter, before: int) -> type:
    """A class in the shape of tqdm whose counts go to ``meter``. One file may open two bars: the further one counts."""
    from tqdm import tqdm

    class Bar(tqdm):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)
            super().__init__(*args, **(kwargs | {"disable": True}))
            self.seen = kwargs.get("initial") or 0

        def update(self, n: float | None = 1) -> None:
            self.seen += int(n or 0)
            meter.set(max(meter.done, before + self.seen))

    return Bar


def _point_main_at(folder: Path) -> None:
    """Let the cache's "main" name the revision that was fetched, so that it is found without the network.

    A revision that is named there already stays unless it has no safetensors: others may rely on it.
    """
    main = folder.parents[1] / "refs" / "main"
    named = folder.parent / main.read_text().strip() if main.exists() else None
    if named is None or not any(named.glob("*.safetensors")):
        main.parent.mkdir(parents=True, exist_ok=True)
        main.write_text(folder.name)
