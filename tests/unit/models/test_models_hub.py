"""Downloads: from a Hub that this test runs on its own machine."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

import tfmviz
from tfmviz.errors import CheckpointError, ModelNotFound
from tfmviz.models import hub
from tfmviz.models.progress import Progress

Saved = Callable[[str], Path]
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """What the little Hub has, and what it was asked for."""

    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    lie_about: str | None = None
    status: int = 200

    def etag(self, name: str) -> str:
        content = self.files[name] + (b"!" if name == self.lie_about else b"")
        if name.endswith((".safetensors", ".bin")):
            return hashlib.sha256(content).hexdigest()
        return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def handler_of(hub_state: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, *, body: bool) -> None:
            path = self.path.split("?")[0]
            hub_state.asked.append(path)
            hub_state.tokens.append(self.headers.get("authorization", ""))
            if hub_state.status != 200:
                self._send(b"{}", hub_state.status, {}, body=body)
            elif path.startswith("/api/models/owner/tiny"):
                siblings = [{"rfilename": name, "size": len(data)} for name, data in hub_state.files.items()]
                answer = {"id": "owner/tiny", "modelId": "owner/tiny", "sha": COMMIT, "siblings": siblings}
                self._send(json.dumps(answer).encode(), 200, {}, body=body)
            elif path.startswith("/owner/tiny/resolve/") and (name := path.split("/", 5)[-1]) in hub_state.files:
                headers = {"ETag": f'"{hub_state.etag(name)}"', "X-Repo-Commit": COMMIT}
                self._send(hub_state.files[name], 200, headers, body=body)
            else:
                self._send(b"{}", 404, {"X-Error-Code": "RepoNotFound"}, body=body)

        def _send(self, data: bytes, status: int, headers: dict[str, str], *, body: bool) -> None:
            self.send_response(status)
            for name, value in {
                "Content-Type": "application/json",
                "Content-Length": str(len(data)),
                **headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            if body:
                self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@pytest.fixture
def little_hub(saved: Saved, tmp_path: Path, private_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A Hub with one model, ``owner/tiny``, an empty cache, and leave to download."""
    state = Hub(files={file.name: file.read_bytes() for file in saved("bert").iterdir()})
    state.files |= {"pytorch_model.bin": b"a pickle", "onnx/model.onnx": b"x", "tf_model.h5": b"x"}
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(state))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    for name in ("TFMVIZ_OFFLINE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    yield state
    server.shutdown()
    server.server_close()


def test_a_model_of_the_hub_is_downloaded_and_traced(little_hub: Hub) -> None:
    trace = tfmviz.load_model("owner/tiny", device="cpu").trace("The cat sat.")
    assert [token.text for token in trace.tokens][1:3] == ["The", "cat"]


def test_only_config_tokenizer_and_safetensors_are_fetched(little_hub: Hub) -> None:
    tfmviz.load_model("owner/tiny", device="cpu")
    fetched = {path.rsplit("/", 1)[-1] for path in little_hub.asked if "/resolve/" in path}
    assert "model.safetensors" in fetched
    assert not any(name.endswith((".bin", ".h5", ".onnx")) for name in fetched)


def test_no_token_is_sent(little_hub: Hub) -> None:
    tfmviz.load_model("owner/tiny", device="cpu")
    assert set(little_hub.tokens) == {""}


def test_what_was_downloaded_is_found_without_the_hub(little_hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    first = tfmviz.load_model("owner/tiny", device="cpu").trace("The cat sat.")
    little_hub.asked.clear()
    monkeypatch.setenv("TFMVIZ_OFFLINE", "1")
    again = tfmviz.load_model("owner/tiny", device="cpu").trace("The cat sat.")
    assert little_hub.asked == []
    assert (first["self"].weights(0, 0) == again["self"].weights(0, 0)).all()


def test_the_download_is_counted_to_its_end(little_hub: Hub) -> None:
    reports: list[Progress] = []
    tfmviz.load_model("owner/tiny", device="cpu", progress=reports.append)
    counted = [report for report in reports if report.stage == "downloading"]
    sizes = [len(data) for name, data in little_hub.files.items() if name.endswith((".json", ".safetensors"))]
    assert counted[-1].total == sum(sizes)
    assert counted[-1].done == counted[-1].total
    assert [report.done for report in counted] == sorted(report.done for report in counted)


def test_weights_that_are_not_what_the_hub_says_are_refused(little_hub: Hub) -> None:
    little_hub.lie_about = "model.safetensors"
    with pytest.raises(CheckpointError, match="sha256"):
        tfmviz.load_model("owner/tiny", device="cpu")


def test_a_copy_that_was_damaged_on_this_disk_is_refused(little_hub: Hub, tmp_path: Path) -> None:
    tfmviz.load_model("owner/tiny", device="cpu")
    weights = next((tmp_path / "hub").rglob("model.safetensors")).resolve()
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    with pytest.raises(CheckpointError, match="sha256"):
        tfmviz.load_model("owner/tiny", device="cpu")


def test_a_model_with_pickles_only_is_refused_before_anything_is_fetched(little_hub: Hub) -> None:
    del little_hub.files["model.safetensors"]
    with pytest.raises(CheckpointError, match="no safetensors on the Hub"):
        tfmviz.load_model("owner/tiny", device="cpu")
    assert not any("/resolve/" in path for path in little_hub.asked)


def test_a_model_that_is_not_there_is_told(little_hub: Hub) -> None:
    with pytest.raises(ModelNotFound, match="there is no owner/other"):
        tfmviz.load_model("owner/other", device="cpu")


def test_a_hub_in_trouble_is_told_with_its_answer(little_hub: Hub) -> None:
    little_hub.status = 400
    with pytest.raises(ModelNotFound, match="status 400"):
        tfmviz.load_model("owner/tiny", device="cpu")


def test_downloads_can_be_refused_by_the_caller(little_hub: Hub) -> None:
    with pytest.raises(ModelNotFound, match="switched off"):
        tfmviz.load_model("owner/tiny", device="cpu", allow_download=False)
    assert little_hub.asked == []


@pytest.mark.parametrize("variable", ["TFMVIZ_OFFLINE", "HF_HUB_OFFLINE"])
def test_the_environment_overrules_the_caller(little_hub: Hub, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "1")
    with pytest.raises(ModelNotFound, match="switched off"):
        tfmviz.load_model("owner/tiny", device="cpu", allow_download=True)
    assert little_hub.asked == []


def test_without_network_the_message_asks_for_one(little_hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")  # the discard port: nothing listens
    with pytest.raises(ModelNotFound, match="is there a network"):
        tfmviz.load_model("owner/tiny", device="cpu")


def test_a_disk_that_is_too_full_is_told_before_the_download(little_hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        free = 10

    monkeypatch.setattr(hub.shutil, "disk_usage", lambda _: Full())
    with pytest.raises(ModelNotFound, match="GB of disk"):
        tfmviz.load_model("owner/tiny", device="cpu")
