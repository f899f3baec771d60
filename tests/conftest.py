"""What tests of every area share: the two real models, loaded once a session."""

from __future__ import annotations

import os

# Before torch is imported by anything: spinning threads make every test slow on a shared machine.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
if "PYTEST_XDIST_WORKER" in os.environ:
    # Workers share the cores: each with threads for all of them would wait for the others at every product.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tfmviz.models import Model


def _real_model(name: str) -> Model:
    """A model of the catalogue from this disk. Without its weights the tests that need them fail: none is skipped."""
    import tfmviz

    try:
        return tfmviz.load_model(name, device="cpu", allow_download=False)
    except tfmviz.TfmvizError as error:
        pytest.fail(f"{error}\nThe weights come with: make models", pytrace=False)


@pytest.fixture(scope="session")
def minilm() -> Model:
    """all-MiniLM-L6-v2 on the CPU in float32."""
    return _real_model("minilm")


@pytest.fixture(scope="session")
def smollm2() -> Model:
    """SmolLM2-135M-Instruct on the CPU in float32."""
    return _real_model("smollm2")
