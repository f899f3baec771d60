"""sha256 of weight files."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from tfmviz.errors import CheckpointError
from tfmviz.models import checksum
from tfmviz.models.checksum import check_sha256, sha256_of
from tfmviz.models.progress import Progress


@pytest.fixture
def file(tmp_path: Path, private_cache: Path) -> Path:
    path = tmp_path / "weights"
    path.write_bytes(os.urandom(100_000))
    return path


def test_it_is_the_sha256(file: Path) -> None:
    assert sha256_of(file) == hashlib.sha256(file.read_bytes()).hexdigest()


def test_an_unchanged_file_is_read_once(file: Path) -> None:
    stages: list[Progress] = []
    first = sha256_of(file, stages.append)
    n_reports = len(stages)
    assert n_reports > 0
    assert sha256_of(file, stages.append) == first
    assert len(stages) == n_reports


def test_a_changed_file_is_read_again(file: Path) -> None:
    before = sha256_of(file)
    file.write_bytes(os.urandom(100_000))  # as long as before: only its time tells
    assert sha256_of(file) == hashlib.sha256(file.read_bytes()).hexdigest() != before


def test_a_wrong_sum_is_told_with_both(file: Path) -> None:
    with pytest.raises(CheckpointError, match=f"sha256 {sha256_of(file)}, expected {'0' * 64}"):
        check_sha256(file, "0" * 64)


def test_a_damaged_memory_of_sums_is_forgotten(file: Path, private_cache: Path) -> None:
    expected = sha256_of(file)
    (private_cache / "checksums.json").write_text("{not json")
    assert sha256_of(file) == expected


def test_a_cache_that_cannot_be_written_costs_only_time(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(checksum, "write_atomically", refuse)
    assert sha256_of(file) == hashlib.sha256(file.read_bytes()).hexdigest()
