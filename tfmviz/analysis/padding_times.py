"""Batches of lines as they are run: how long each way of padding them takes on a model."""

from __future__ import annotations

import inspect
import statistics
import time
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tfmviz.analysis.padding_waste import Batch, Batching, Line, Method
from tfmviz.models import Model, ScratchModel
from tfmviz.models.memory import PassShape, StackShape, predicted_bytes, room_for
from tfmviz.models.shapes import pass_shape
from tfmviz.nn import EncoderDecoder

_shapes: weakref.WeakKeyDictionary[Model, PassShape] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchTime:
    """One batch as it was run.

    Attributes:
        method: of its batching.
        turn: which round, from 0.
        seconds: of the pass.
        n_tokens: that were computed.
    """

    method: Method
    turn: int
    seconds: float
    n_tokens: int


def times(model: Model, lines: Sequence[Line], batchings: Sequence[Batching], n_rounds: int) -> Iterator[BatchTime]:
    """Run every batching ``n_rounds`` times, in turns, up to the last hidden states: a head would only blur it.

    A first pass that nobody times goes ahead.

    Yields:
        One a batch, as it is done. Whoever stops asking stops the work.

    Raises:
        NotEnoughMemory: before a batch that is predicted not to fit.
    """
    shape = shape_of(model)
    smallest = min((batch for one in batchings for batch in one.batches), key=lambda batch: batch.n_tokens)
    _run(model, lines, smallest, shape)
    for turn in range(n_rounds):
        for one in batchings[:: -1 if turn % 2 else 1]:
            for batch in one.batches:
                seconds = _run(model, lines, batch, shape)
                yield BatchTime(method=one.method, turn=turn, seconds=seconds, n_tokens=batch.n_tokens)


def seconds_of(done: Iterable[BatchTime], batchings: Sequence[Batching]) -> dict[Method, float]:
    """Seconds of all batches of each method: the median of its complete rounds; methods without one are left out."""
    rounds: dict[tuple[Method, int], list[float]] = {}
    for one in done:
        rounds.setdefault((one.method, one.turn), []).append(one.seconds)
    whole: dict[Method, list[float]] = {}
    for batching in batchings:
        for (method, _), seconds in rounds.items():
            if method == batching.method and len(seconds) == len(batching.batches):
                whole.setdefault(method, []).append(sum(seconds))
    return {method: statistics.median(seconds) for method, seconds in whole.items()}


def shape_of(model: Model) -> PassShape:
    """Widths that activations follow from; once known, they are told without waiting for passes of the model."""
    if (known := _shapes.get(model)) is None:
        known = _shapes[model] = _shape_of(model)
    return known


def _shape_of(model: Model) -> PassShape:
    with model.exclusive() as module:
        if not isinstance(model, ScratchModel):
            return pass_shape(module, has_head=False)
        own = module.config
        return PassShape(
            d_model=own.d_model, d_ff=own.d_ff, n_vocabulary=0, itemsize=module.tokens.weight.dtype.itemsize
        )


def _run(model: Model, lines: Sequence[Line], batch: Batch, shape: PassShape) -> float:
    """Seconds of one pass over a batch, without the wait for other visitors' passes."""
    device = torch.device(model.device)
    ids = torch.zeros(len(batch.lines), batch.length, dtype=torch.long)
    real = torch.zeros_like(ids)
    for row, line in enumerate(batch.lines):
        # which number padding has does not matter: it is hidden
        ids[row, : len(lines[line].ids)] = torch.tensor(lines[line].ids)
        real[row, : len(lines[line].ids)] = 1
    what = f"A batch of {len(batch.lines):,} lines padded to {batch.length:,} tokens in {model.name}"
    with room_for(needed_bytes(model, batch, shape), device, what=what), model.exclusive() as module:
        ids, real = ids.to(device), real.to(device)
        began = time.perf_counter()
        hidden = _hidden(model, module, ids, real)
        hidden[0, 0].cpu()  # a GPU is done only when something has come back
        return time.perf_counter() - began


def _hidden(model: Model, module: Any, ids: Tensor, real: Tensor) -> Tensor:
    """The last hidden states [line, token, d_model]; of an encoder-decoder, the encoder's."""
    hidden: Tensor
    if isinstance(model, ScratchModel):
        read = module.encode if isinstance(module, EncoderDecoder) else module.hidden
        hidden = read(ids, visible=real.bool())
        return hidden
    body = module.get_encoder() if model.kind == "encoder-decoder" else module.base_model
    accepts = inspect.signature(body.forward).parameters
    options = {name: value for name, value in (("attention_mask", real), ("use_cache", False)) if name in accepts}
    hidden = body(input_ids=ids, **options)[0]
    return hidden


def needed_bytes(model: Model, batch: Batch, shape: PassShape) -> int:
    """What a pass over a batch is predicted to take at its highest point, over the model itself."""
    with model.exclusive() as module:
        if isinstance(model, ScratchModel):
            config = module.config
            eager = config.attention_form == "materialised" or config.position in ("alibi", "relative")
        else:
            eager = getattr(module.config.get_text_config(), "_attn_implementation", "eager") == "eager"
    stack = StackShape(
        n_layers=model.n_layers,
        n_attending=0,  # nothing is kept of the pass
        n_heads=model.n_heads,
        n_kv_heads=model.n_kv_heads,
        d_head=model.d_model // model.n_heads,
        eager=eager,
    )
    return predicted_bytes(shape, {"self": (stack, batch.n_tokens, batch.length)}, n_logits=0, padded=True)
