"""What two models say of one text: the pieces they expect next, and how alike they find sentences.

Two decoders with one vocabulary foretell over the same pieces, so their distributions have a relative entropy. With two
vocabularies they have none: a piece of A may be three pieces of B. What is compared then are the pieces whose spelling
both have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float

from tfmviz.analysis.difference import jensen_shannon
from tfmviz.errors import ConfigError, UnsupportedModel

if TYPE_CHECKING:
    from tfmviz.trace import Predictions, Trace

Pooling = Literal["mean", "CLS", "max"]
POOLINGS: tuple[Pooling, ...] = ("mean", "CLS", "max")
_BEAT = 1024  # entries of a vocabulary between two words on how far it is


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class NextPieces:
    """The likeliest next pieces of A and of B, and how far apart the whole distributions are.

    Attributes:
        pieces: spellings, the likeliest of either model first.
        a, b: probability of each; NaN where the model's vocabulary does not have the piece.
        entropy_a, entropy_b: of the whole distributions, in bits.
        a_from_b, b_from_a: relative entropies D(A || B) and D(B || A) in bits; None where the vocabularies differ.
        distance: Jensen-Shannon's, 0 to 1; None where the vocabularies differ.
    """

    pieces: tuple[str, ...]
    a: Float[np.ndarray, " pieces"]
    b: Float[np.ndarray, " pieces"]
    entropy_a: float
    entropy_b: float
    a_from_b: float | None
    b_from_a: float | None
    distance: float | None


def spellings(trace: Trace, heard: Callable[[float], None] = lambda done: None) -> tuple[str, ...]:
    """How each entry of a decoder's vocabulary reads, in the order of its numbers.

    Args:
        trace: of any text.
        heard: hears now and then which share is done.

    Raises:
        UnsupportedModel: if the model is no decoder.
    """
    told = _told(trace)
    names, size = [], told.logits.shape[-1]
    for number in range(size):
        if number % _BEAT == 0:
            heard(number / size)
        names.append(told.decode(number))
    return tuple(names)


def log_probabilities(trace: Trace) -> Float[np.ndarray, " vocabulary"]:
    """Of the next token, natural logarithms in float64.

    Raises:
        UnsupportedModel: if the model is no decoder.
    """
    return _told(trace).logits[-1].double().log_softmax(-1).numpy()


def next_pieces(
    a: Float[np.ndarray, " vocabulary_a"],
    b: Float[np.ndarray, " vocabulary_b"],
    names_a: Sequence[str],
    names_b: Sequence[str],
    k: int = 10,
) -> NextPieces:
    """Lay two distributions over each other.

    Args:
        a, b: logarithms of probabilities.
        names_a, names_b: what the entries spell; see :func:`spellings`.
        k: how many of each model's likeliest pieces to name.
    """
    p, q = np.exp(a), np.exp(b)
    apart: tuple[float | None, float | None, float | None] = (None, None, None)
    if same_vocabulary(names_a, names_b):
        best = {int(at) for one in (p, q) for at in _largest(one, k)}
        rows = sorted(best, key=lambda at: -max(p[at], q[at]))
        pieces, of_a, of_b = tuple(names_a[at] for at in rows), p[rows], q[rows]
        apart = (relative_entropy(a, b), relative_entropy(b, a), float(jensen_shannon(p, q)))
    else:
        shares_a, shares_b = _by_spelling(p, names_a), _by_spelling(q, names_b)
        named = {piece for shares in (shares_a, shares_b) for piece in sorted(shares, key=lambda s: -shares[s])[:k]}
        order = sorted(named, key=lambda piece: (-max(shares_a.get(piece, 0), shares_b.get(piece, 0)), piece))
        pieces = tuple(order)
        of_a, of_b = (np.array([one.get(piece, np.nan) for piece in order]) for one in (shares_a, shares_b))
    return NextPieces(
        pieces=pieces,
        a=of_a,
        b=of_b,
        entropy_a=_entropy(a),
        entropy_b=_entropy(b),
        a_from_b=apart[0],
        b_from_a=apart[1],
        distance=apart[2],
    )


def same_vocabulary(names_a: Sequence[str], names_b: Sequence[str]) -> bool:
    """Whether two vocabularies have the same pieces under the same numbers."""
    return names_a is names_b or tuple(names_a) == tuple(names_b)


def pooled(trace: Trace) -> dict[Pooling, Float[np.ndarray, " d_model"]]:
    """A text as one vector, by each pooling of the last hidden states that the model has.

    ``mean`` and ``max`` are over all tokens but padding, special ones among them, as sentence encoders are trained
    (Reimers and Gurevych 2019, *Sentence-BERT*, section 3). ``CLS`` is the first token's, where that is a special one
    in front of an encoder's text; a decoder's first token has seen nothing but itself.

    Raises:
        ConfigError: if hidden states were not kept.
    """
    if trace.hidden_states is None:
        raise ConfigError("Hidden states were not kept: trace the text with hidden_states=True.")
    states = trace.hidden_states[-1].float().cpu().numpy()
    real = states[[not token.is_padding for token in trace.tokens]]
    found: dict[Pooling, Float[np.ndarray, " d_model"]] = {"mean": real.mean(0)}
    first = next(token for token in trace.tokens if not token.is_padding)
    if trace.kind == "encoder" and first.is_special:
        found["CLS"] = real[0]
    found["max"] = real.max(0)
    return found


def similarities(
    read: Callable[[str], Trace], sentences: Sequence[str]
) -> dict[Pooling, Float[np.ndarray, "sentences sentences"]]:
    """Cosines of every sentence with every other, by each pooling that the model has.

    Args:
        read: runs the model on a sentence and keeps its hidden states.
        sentences: two or more.

    Raises:
        ConfigError: with fewer than two.
        EmptyText, TextTooLong, NotEnoughMemory: as for :meth:`tfmviz.models.Model.trace`.
    """
    if len(sentences) < 2:
        raise ConfigError(f"{len(sentences)} sentence: it takes two to be alike.")
    vectors = [pooled(read(sentence)) for sentence in sentences]
    return {pooling: cosines(np.stack([each[pooling] for each in vectors])) for pooling in vectors[0]}


def cosines(vectors: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n n"]:
    """Cosines of the angles between all rows; 0 for a row of zeros."""
    rows = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return np.clip(rows @ rows.T, -1, 1)


def _told(trace: Trace) -> Predictions:
    if trace.predictions is None or trace.kind != "decoder":
        raise UnsupportedModel(f"{trace.model} is no decoder that says which token comes next.")
    return trace.predictions


def _largest(values: Float[np.ndarray, " n"], k: int) -> np.ndarray:
    return np.argsort(-values, kind="stable")[:k]


def _by_spelling(p: Float[np.ndarray, " vocabulary"], names: Sequence[str]) -> dict[str, float]:
    """Shares of spellings: bytes that are no character by themselves all read alike, and are added up."""
    shares: dict[str, float] = {}
    for name, share in zip(names, p.tolist(), strict=True):
        shares[name] = shares.get(name, 0.0) + share
    return shares


def _entropy(log_p: Float[np.ndarray, " vocabulary"]) -> float:
    p = np.exp(log_p)
    return float(-(p[p > 0] * log_p[p > 0]).sum() / np.log(2))


def relative_entropy(log_p: Float[np.ndarray, " n"], log_q: Float[np.ndarray, " n"]) -> float:
    """D(p || q) in bits. Kullback and Leibler 1951, *On information and sufficiency*."""
    p = np.exp(log_p)
    some = p > 0
    return max(0.0, float((p[some] * (log_p[some] - log_q[some])).sum() / np.log(2)))
