"""Many texts: every number of a comparison as a mean with its spread, so that a claim rests on more than one sentence.

One text is held at a time. What stays of it are a dozen numbers and one vector.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from tfmviz.analysis.alignment import Alignment, Grain, align, unit_weights
from tfmviz.analysis.difference import jensen_shannon
from tfmviz.analysis.matching import Head, head_distances, one_to_one
from tfmviz.analysis.outputs import cosines, log_probabilities, pooled, relative_entropy
from tfmviz.errors import TfmvizError
from tfmviz.text.words import word_spans

if TYPE_CHECKING:
    from tfmviz.trace import AttentionStack, Trace

# Name of each number of a text, with its unit; distances go from 0 to 1, those of rows, of matched heads and of texts
# are means. Numbers of one model come in pairs, "A ..." and "B ...".
HEADS_APART = "distance of the two heads"
ROWS_APART = "distance of their rows"
MATCHED_APART = "distance of all heads, one-to-one"
NEXT_APART = "distance of the next pieces"
DISTANCES = (HEADS_APART, ROWS_APART, MATCHED_APART, NEXT_APART)
_OF_EACH = ("tokens", "tokens a word", "entropy of rows, bits", "cosine with other texts")
TOKENS, A_WORD, ENTROPY, COSINE = _OF_EACH
ENTROPIES = ("D(A‖B) of the next piece, bits", "D(B‖A) of the next piece, bits")
STATISTICS = (*DISTANCES, *(f"{letter} {name}" for name in _OF_EACH for letter in "AB"), *ENTROPIES)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reader:
    """One of the two models.

    Attributes:
        read: runs it on a text and keeps the hidden states.
        head: (layer, head) that is looked at.
        silenced: heads whose output was set to zero.
    """

    read: Callable[[str], Trace]
    head: Head
    silenced: Collection[Head] = ()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Measured:
    """One text.

    Attributes:
        text: as given.
        values: numbers by name, those of ``STATISTICS`` that there are.
        vectors: the text as one vector by A and by B, the mean of its last hidden states; None where it was refused.
        fault: why there are none, as a sentence; empty where all went well.
    """

    text: str
    values: Mapping[str, float] = field(default_factory=dict)
    vectors: tuple[Float[np.ndarray, " d_model_a"], Float[np.ndarray, " d_model_b"]] | None = None
    fault: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """One number over all texts that have it.

    Attributes:
        name: which; one of ``STATISTICS``.
        mean: over the texts.
        spread: standard deviation over the texts, with n - 1; NaN for a single text.
        n: how many texts.
    """

    name: str
    mean: float
    spread: float
    n: int


def measure(
    texts: Sequence[str], a: Reader, b: Reader, *, grain: Grain = "tokens", one_vocabulary: bool = False
) -> Iterator[Measured]:
    """Compare two models on many texts, one after the other.

    Args:
        texts: what one of the models refuses is said of that text, and the others go on.
        a, b: the models.
        grain: how fine the units are.
        one_vocabulary: both are decoders over the same pieces, so that what they expect next can be compared.

    Yields:
        One a text, in order, as it is read. Whoever stops asking stops the work.
    """
    for text in texts:
        try:
            first, second = a.read(text), b.read(text)
            values = _of_text(first, second, a, b, grain)
            if one_vocabulary:
                values |= _of_next(first, second)
            measured = Measured(text=text, values=values, vectors=(pooled(first)["mean"], pooled(second)["mean"]))
        except TfmvizError as error:
            measured = Measured(text=text, fault=str(error))
        yield measured


def with_cosines(measured: Sequence[Measured]) -> tuple[Measured, ...]:
    """The texts with how alike each is to the others, in either model: what is left to say once all are read."""
    read = [one.vectors for one in measured if one.vectors is not None]
    if len(read) < 2:
        return tuple(measured)
    means = []
    for vectors in zip(*read, strict=True):
        table = cosines(np.stack(vectors))
        means.append((table.sum(1) - table.diagonal()) / (len(table) - 1))
    names = [f"{letter} {COSINE}" for letter in "AB"]
    found = (dict(zip(names, of_text, strict=True)) for of_text in np.stack(means, axis=1).tolist())
    return tuple(one if one.vectors is None else replace(one, values={**one.values, **next(found)}) for one in measured)


def summaries(measured: Sequence[Measured]) -> tuple[Summary, ...]:
    """Mean and spread of every number that some text has."""
    out = []
    for name in STATISTICS:
        values = np.array([one.values[name] for one in measured if name in one.values])
        if len(values):
            spread = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
            out.append(Summary(name=name, mean=float(values.mean()), spread=spread, n=len(values)))
    return tuple(out)


def as_csv(measured: Sequence[Measured]) -> str:
    """A line for each text: the text, its numbers, what went wrong."""
    names = [summary.name for summary in summaries(measured)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["text", *names, "problem"])
    for one in measured:
        writer.writerow([one.text, *(one.values.get(name, "") for name in names), one.fault])
    return out.getvalue()


def _of_text(first: Trace, second: Trace, a: Reader, b: Reader, grain: Grain) -> dict[str, float]:
    stacks = (_stack(first), _stack(second))
    units = align(first.text, stacks[0].query_tokens, stacks[1].query_tokens, grain)
    rows = [_rows(stack, units, at, reader) for at, (stack, reader) in enumerate(zip(stacks, (a, b), strict=True))]
    distances = head_distances(*stacks, units, silenced_a=a.silenced, silenced_b=b.silenced)
    place = (distances.heads_a.index(a.head), distances.heads_b.index(b.head))
    values = {
        HEADS_APART: float(distances.values[place]),
        ROWS_APART: float(jensen_shannon(*rows).mean()),
        MATCHED_APART: float(np.mean([match.distance for match in one_to_one(distances)])),
    }
    words = max(len(word_spans(first.text)), 1)
    for letter, trace, weights in zip("AB", (first, second), rows, strict=True):
        typed = sum(not (token.is_special or token.is_padding) for token in trace.tokens)
        values |= {
            f"{letter} {TOKENS}": float(len(trace.tokens)),
            f"{letter} {A_WORD}": typed / words,
            f"{letter} {ENTROPY}": _entropy(weights),
        }
    return values


def _of_next(first: Trace, second: Trace) -> dict[str, float]:
    p, q = log_probabilities(first), log_probabilities(second)
    return {
        NEXT_APART: float(jensen_shannon(np.exp(p), np.exp(q))),
        ENTROPIES[0]: relative_entropy(p, q),
        ENTROPIES[1]: relative_entropy(q, p),
    }


def _stack(trace: Trace) -> AttentionStack:
    return trace.stacks["self"] if "self" in trace.stacks else trace.stacks["encoder"]


def _rows(stack: AttentionStack, units: Alignment, at: int, reader: Reader) -> Float[np.ndarray, "units columns"]:
    return unit_weights(stack, units.unit_of[at], *reader.head, silenced=reader.head in reader.silenced)


def _entropy(rows: Float[np.ndarray, "units columns"]) -> float:
    """Mean over rows, in bits."""
    p = np.asarray(rows, np.float64)
    logs = np.log2(p, out=np.zeros_like(p), where=p > 0)
    return float(-(p * logs).sum(1).mean())
