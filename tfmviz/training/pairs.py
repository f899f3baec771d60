"""Tasks of two texts: an encoder reads the source, a decoder writes the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from tfmviz.nn import AnyTransformer, translate
from tfmviz.training.task import IGNORED, VOCABULARY, Batch, two_stacks


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """A text to read and the text to write for it."""

    source: str
    target: str


def batch_of(pairs: Sequence[Pair]) -> Batch:
    """Pairs as a model takes them: the source ends in ``<end>``, the target stands behind ``<start>``.

    Shapes: b pairs, m the longest source with its end, n the longest target with its start.
    """
    source, visible = sources([pair.source for pair in pairs])
    targets = [pair.target.encode() for pair in pairs]
    longest = max(map(len, targets)) + 1
    tokens = torch.full((len(pairs), longest), VOCABULARY.padding)
    labels = torch.full((len(pairs), longest), IGNORED)
    for row, target in enumerate(targets):
        tokens[row, : len(target) + 1] = torch.tensor([VOCABULARY.start, *target])
        labels[row, : len(target) + 1] = torch.tensor([*target, VOCABULARY.end])
    return Batch(tokens=tokens, labels=labels, source=source, visible=visible)


def sources(texts: Sequence[str]) -> tuple[Int[Tensor, "b m"], Bool[Tensor, "b m"]]:
    """Texts for the encoder, padded on the right, and where they are not padding."""
    raw = [text.encode() for text in texts]
    source = torch.full((len(texts), max(map(len, raw)) + 1), VOCABULARY.padding)
    for row, text in enumerate(raw):
        source[row, : len(text) + 1] = torch.tensor([*text, VOCABULARY.end])
    return source, source != VOCABULARY.padding


def write(model: AnyTransformer, texts: Sequence[str], *, most: int) -> list[str]:
    """What a model writes for each text, its likeliest token at every place, at most ``most`` tokens long."""
    paired = two_stacks(model)
    written = []
    device = next(model.parameters()).device
    for first in range(0, len(texts), 250):
        source, visible = sources(texts[first : first + 250])
        ids = translate(
            paired, source.to(device), VOCABULARY.start, most, visible=visible.to(device), stop=VOCABULARY.end
        )
        written += [VOCABULARY.text(row) for row in ids.tolist()]
    return written


def exact_match(model: AnyTransformer, pairs: Sequence[Pair]) -> float:
    """Share of pairs for which the model writes the whole target and nothing else."""
    most = max(len(pair.target.encode()) for pair in pairs) + 1
    written = write(model, [pair.source for pair in pairs], most=most)
    return sum(text == pair.target for text, pair in zip(written, pairs, strict=True)) / len(pairs)
