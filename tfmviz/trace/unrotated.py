"""Queries and keys before the rotary embedding, found among what a layer projected.

A rotated head is known; the head before it is the one among the layer's projections that, turned by the angles the
layer was given, equals it. So whatever a model does in between (norms, fused projections) is settled by the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from tfmviz.nn.config import RotaryPairing
from tfmviz.nn.rotary import Rotation, rotate

PAIRINGS: tuple[RotaryPairing, ...] = ("half", "interleaved")
_CLOSE = 1e-4  # relative to the largest number; a wrong head is off by about 1


class Angles(NamedTuple):
    """Cosine and sine of every token's angles as the layer was given them; [.., n, pairs] or each pair's twice."""

    cos: Tensor
    sin: Tensor


def angles_of(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Angles | None:
    """The angles among the arguments of an attention module; None where there are none."""
    given = kwargs.get("position_embeddings")
    if given is None:
        given = next((found for one in args if (found := getattr(one, "rotation", None)) is not None), None)
    if isinstance(given, tuple | list) and len(given) == 2 and all(isinstance(one, Tensor) for one in given):
        return Angles(*given)
    return None


def unrotated(
    query: Float[Tensor, "h q d"], key: Float[Tensor, "kv k d"], projected: Sequence[Tensor], angles: Angles
) -> tuple[Float[Tensor, "h q d"], Float[Tensor, "kv k d"]] | None:
    """Queries and keys before they were turned, float32 on the CPU; None where they are not among ``projected``.

    Args:
        query: as the attention function got it.
        key: likewise.
        projected: outputs of the modules that ran before.
        angles: of the same tokens.
    """
    if query.shape[1] != key.shape[1]:
        return None  # a cache, or another sequence
    turn = _turn(angles)
    if turn.cos.shape[-2] != query.shape[1] or 2 * turn.cos.shape[-1] > query.shape[-1]:
        return None
    heads = _heads(projected, *query.shape[1:])
    if heads is None:
        return None
    backwards = Rotation(turn.cos, -turn.sin)  # a convention: positions turn the other way
    for angle, pairing in product((turn, backwards), PAIRINGS):
        turned = rotate(heads[None], angle, pairing)[0]
        found = [_matching(rotated.float().cpu(), turned, heads) for rotated in (query, key)]
        if found[0] is not None and found[1] is not None:
            return found[0], found[1]
    return None


def _turn(angles: Angles) -> Rotation:
    """One angle a pair, whichever way a model writes it twice. Scaled variants have their factor in it."""
    cos, sin = (angle.detach().float().cpu().reshape(-1, angle.shape[-1]) for angle in angles)
    half = cos.shape[-1] // 2
    for one, other in ((slice(half), slice(half, None)), (slice(0, None, 2), slice(1, None, 2))):
        twice = cos.shape[-1] % 2 == 0 and torch.equal(cos[:, one], cos[:, other])
        if twice and torch.equal(sin[:, one], sin[:, other]):
            return Rotation(cos[:, one], sin[:, one])
    return Rotation(cos, sin)


def _heads(projected: Sequence[Tensor], n: int, d: int) -> Float[Tensor, "m n d"] | None:
    """Everything in these tensors that has the shape of a head."""
    found = []
    for tensor in projected:
        x = tensor.detach().float().cpu()
        if x.ndim == 3 and x.shape[0] == 1 and x.shape[1] == n and x.shape[2] % d == 0:
            found.append(x[0].reshape(n, -1, d).transpose(0, 1))
        elif x.ndim == 4 and x.shape[0] == 1 and x.shape[-1] == d:
            if x.shape[1] == n:
                found.append(x[0].transpose(0, 1))
            if x.shape[2] == n:
                found.append(x[0])
    return torch.cat(found) if found else None


def _matching(
    rotated: Float[Tensor, "h n d"], turned: Float[Tensor, "m n d"], heads: Float[Tensor, "m n d"]
) -> Float[Tensor, "h n d"] | None:
    """For each rotated head the one it was made from; None where one of them has none."""
    allowed = _CLOSE * max(float(rotated.abs().max()), 1e-9)
    best = []
    for head in rotated:
        differences = (turned - head).abs().amax((1, 2))
        nearest = int(differences.argmin())
        if float(differences[nearest]) > allowed:
            return None
        best.append(nearest)
    return heads[best]
