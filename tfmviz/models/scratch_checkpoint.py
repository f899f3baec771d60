"""A model trained here, on disk: weights in safetensors, and beside them a JSON card that says how it came about."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save

from tfmviz.errors import CheckpointError, ConfigError
from tfmviz.nn import AnyTransformer, TransformerConfig, build


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """What one should know of a trained model.

    Attributes:
        name: the name of both files.
        task: what it was trained for.
        task_options: in which form.
        config: the model, as `TransformerConfig.to_dict` has it.
        settings: the whole training: optimizer, steps, batch.
        seed: decided the first weights and every batch.
        steps: done.
        measures: on texts that training never drew; "accuracy" and what else the task measures.
        n_measured: how many such texts.
        seconds: that the steps took.
        versions: of Python and the libraries that did it.
        n_parameters: numbers in the weights.
        sha256: of the weights' file; empty until it is written.
    """

    name: str
    task: str
    task_options: Mapping[str, Any]
    config: Mapping[str, Any]
    settings: Mapping[str, Any]
    seed: int
    steps: int
    measures: Mapping[str, float]
    n_measured: int
    seconds: float
    versions: Mapping[str, str]
    n_parameters: int
    sha256: str = ""


def write_checkpoint(model: AnyTransformer, card: Card, folder: Path) -> Card:
    """Write ``<name>.safetensors`` and ``<name>.json`` into a folder.

    Returns:
        The card as written, with the weights' sha256.
    """
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()}
    data = save(weights)
    card = replace(card, sha256=hashlib.sha256(data).hexdigest())
    (folder / f"{card.name}.safetensors").write_bytes(data)
    text = json.dumps(asdict(card), indent=2, ensure_ascii=False) + "\n"
    (folder / f"{card.name}.json").write_text(text, encoding="utf-8")
    return card


def read_card(folder: Path, name: str) -> Card:
    """The card of a checkpoint.

    Raises:
        CheckpointError: if it is missing or is no card.
    """
    path = folder / f"{name}.json"
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise CheckpointError(f"{path.name} is missing. Make it with: python -m tfmviz.training") from None
    except ValueError as error:
        raise CheckpointError(f"{path.name} is no JSON: {error}. Restore it from the repository.") from None
    known = {field.name for field in fields(Card)}
    if not isinstance(values, dict) or set(values) != known:
        wrong = sorted(set(values) ^ known) if isinstance(values, dict) else [type(values).__name__]
        raise CheckpointError(f"{path.name} is not a card: {', '.join(wrong)} is missing or unknown.")
    return Card(**values)


def read_checkpoint(folder: Path, name: str) -> tuple[AnyTransformer, Card]:
    """A trained model in eval mode, and its card.

    Raises:
        CheckpointError: if a file is missing, the weights are not those of the card (sha256), or do not fit its config.
    """
    card = read_card(folder, name)
    path = folder / f"{name}.safetensors"
    try:
        data = path.read_bytes()
    except OSError:
        raise CheckpointError(f"{path.name} is missing. Make it with: python -m tfmviz.training {card.task}") from None
    found = hashlib.sha256(data).hexdigest()
    if found != card.sha256:
        raise CheckpointError(
            f"{path.name} is not the file its card describes: sha256 {found}, the card says {card.sha256}. "
            f"Restore both, or make them again with: python -m tfmviz.training {card.task}"
        )
    try:
        model = build(TransformerConfig.from_dict(dict(card.config)), seed=None)
        model.load_state_dict(load(data))
    except (SafetensorError, RuntimeError, ConfigError) as error:
        raise CheckpointError(f"{path.name} does not fit the config in its card: {error}") from None
    return model.eval().requires_grad_(False), card
