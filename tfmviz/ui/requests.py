"""What a visitor asked for, as values that can be compared and used as keys of a cache."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelRequest:
    """A model on a device.

    Attributes:
        name: as `load_model` takes it.
        device: likewise.
        private: of a model that one visitor trained: the token by which nobody else can ask for it.
    """

    name: str
    device: str = "auto"
    private: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceRequest:
    """One forward pass: everything that its attention depends on, and nothing else.

    Attributes:
        model: which model, where.
        text: what the visitor typed, as typed.
        pair: second sentence of an encoder; None for a single text.
        target: what an encoder-decoder's decoder reads.
    """

    model: ModelRequest
    text: str
    pair: str | None = None
    target: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class HeadChoice:
    """Which picture of a stack: one head, or an average. None stands for "all of them".

    Attributes:
        layer: layer counted from 0; None averages over layers.
        head: head counted from 0; None averages over heads.
    """

    layer: int | None
    head: int | None

    @property
    def name(self) -> str:
        """How a head is named wherever it appears: ``L3 H5``."""
        layer = "all layers" if self.layer is None else f"L{self.layer}"
        head = "mean of heads" if self.head is None else f"H{self.head}"
        return f"{layer} {head}"
