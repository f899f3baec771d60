"""Writing on with and without a cache of keys and values: what each token costs, and that both write the same.

Without a cache every new token is a pass over the whole text. With one, the first pass reads the prompt (prefill) and
every later one a single token (decode), whose query meets the keys and values kept from before.

Source: Shazeer 2019, section 2.4 (incremental decoding); Pope et al. 2022, section 2 (prefill and decode).
"""

from __future__ import annotations

import inspect
import time
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tfmviz.analysis.memory import kv_cache_bytes
from tfmviz.errors import ConfigError, EmptyText
from tfmviz.models import Model, ScratchModel
from tfmviz.nn.cache import KeyValueCache
from tfmviz.text import Token


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenStep:
    """One token, made twice.

    Attributes:
        length: tokens read when it was made: the prompt and what was written before it.
        token: what was likeliest with the cache.
        token_without: what was likeliest without it.
        seconds: of the pass with the cache; the first step's reads the prompt.
        seconds_without: of the pass over all ``length`` tokens.
        cache_bytes: what the cache's tensors hold after the step.
        difference: the largest difference between the two passes' logits.
    """

    length: int
    token: int
    token_without: int
    seconds: float
    seconds_without: float
    cache_bytes: int
    difference: float


@dataclass(frozen=True, kw_only=True, slots=True)
class CacheShape:
    """What the size of a model's cache follows from.

    Attributes:
        windows: one for each layer with a cache: how many keys it keeps at most; None for all.
        n_kv_heads: heads of keys and values.
        d_head: width of a key.
        dtype: torch's name of the format.
    """

    windows: tuple[int | None, ...]
    n_kv_heads: int
    d_head: int
    dtype: str

    def nbytes(self, length: int) -> int:
        """Bytes after ``length`` tokens, by the formula."""
        return sum(
            kv_cache_bytes(
                length, n_layers=1, n_kv_heads=self.n_kv_heads, d_head=self.d_head, dtype=self.dtype, window=window
            )
            for window in self.windows
        )


_shapes: weakref.WeakKeyDictionary[Model, CacheShape] = weakref.WeakKeyDictionary()


def cache_shape(model: Model) -> CacheShape:
    """The shape of a decoder's cache, from its configuration alone: nothing is run for it.

    Once known, it is told without waiting for passes of the model.
    """
    if (known := _shapes.get(model)) is None:
        known = _shapes[model] = _cache_shape(model)
    return known


def _cache_shape(model: Model) -> CacheShape:
    with model.exclusive() as module:
        if isinstance(model, ScratchModel):
            own = module.config
            return CacheShape(
                windows=(None,) * own.n_layers,
                n_kv_heads=own.n_kv_heads,
                d_head=own.d_head,
                dtype=str(module.tokens.weight.dtype),
            )
        config, dtype = module.config.get_text_config(), str(module.dtype)
    d_head = getattr(config, "head_dim", None) or model.d_model // model.n_heads
    return CacheShape(windows=_windows(config, model), n_kv_heads=model.n_kv_heads, d_head=int(d_head), dtype=dtype)


def _windows(config: Any, model: Model) -> tuple[int | None, ...]:
    """What each layer of a pretrained decoder keeps: all, or as many as a sliding window shows.

    Layers that work without attention keep no keys.
    """
    sliding = getattr(config, "sliding_window", None)
    if not isinstance(sliding, int):
        sliding = None
    kinds = getattr(config, "layer_types", None) or [f"{'sliding' if sliding else 'full'}_attention"] * model.n_layers
    kept = {"full_attention": None, "sliding_attention": sliding}
    return tuple(kept[kind] for kind in kinds if kind in kept)


def prompt(model: Model, text: str, n_new: int = 1) -> tuple[Token, ...]:
    """The tokens that a decoder goes on from.

    Raises:
        ConfigError: if the model is no decoder, or takes no ``n_new`` tokens more.
        EmptyText: if the text has no token.
    """
    if model.kind != "decoder":
        raise ConfigError(
            f"{model.name} is an {model.kind}: its encoder reads a whole text at once and keeps no cache. "
            "Choose a decoder, such as smollm2, scratch-smollm2 or scratch-induction."
        )
    tokens = model.tokenize(text)
    if not any(not token.is_special for token in tokens):
        raise EmptyText("There is nothing to go on from: the text has no token. Type some words.")
    left = room(model, len(tokens))
    if left is not None and left < 1:
        raise ConfigError(
            f"The text has {len(tokens):,} tokens and {model.name} takes {model.max_tokens:,}: shorten it."
        )
    if left is not None and left < n_new:
        raise ConfigError(
            f"The text has {len(tokens):,} tokens and {model.name} takes {model.max_tokens:,}: there is room for "
            f"{left:,} more, not for {n_new:,}. Shorten the text or write fewer tokens."
        )
    return tokens


def room(model: Model, n_tokens: int) -> int | None:
    """How many tokens may follow a text of ``n_tokens``; None where nothing limits them.

    The last token that is written need not be read again.
    """
    return None if model.max_tokens is None else model.max_tokens - n_tokens + 1


def write(model: Model, text: str, n_new: int) -> Iterator[TokenStep]:
    """Write on, token by token, always the likeliest one, and make every token once with the cache and once without.

    The two take turns, so that what else the machine does falls on both alike; each feeds on its own tokens. A first
    pass that nobody times goes ahead. An end sign does not end it: time against length is what is asked.

    Args:
        model: a decoder.
        text: what it goes on from.
        n_new: tokens to write.

    Yields:
        One step a token, as it is made. Whoever stops asking stops the work.

    Raises:
        ConfigError, EmptyText: see :func:`prompt`.
    """
    device = torch.device(model.device)
    given = torch.tensor([[token.id for token in prompt(model, text, n_new)]], device=device)
    Reader(model).read(given)
    cached, whole, new = Reader(model), given, given
    for _ in range(n_new):
        logits_without, seconds_without = Reader(model, keep=False).timed(whole)
        logits, seconds = cached.timed(new)
        token, token_without = int(logits.argmax()), int(logits_without.argmax())
        yield TokenStep(
            length=whole.shape[1],
            token=token,
            token_without=token_without,
            seconds=seconds,
            seconds_without=seconds_without,
            cache_bytes=cached.nbytes,
            difference=float((logits - logits_without).abs().max()),
        )
        new = given.new_tensor([[token]])
        whole = torch.cat([whole, given.new_tensor([[token_without]])], dim=1)


class Reader:
    """Reads tokens and says what may follow them, with the cache of the model itself.

    Args:
        model: a decoder.
        keep: whether keys and values are kept for the next tokens.
    """

    def __init__(self, model: Model, *, keep: bool = True) -> None:
        self._model = model
        self._keep = keep
        self._cache: Any = None

    def read(self, new: Int[Tensor, "1 new"]) -> Float[Tensor, " vocab"]:
        """Logits after the last of these tokens, float32 on the CPU."""
        return self.timed(new)[0]

    def timed(self, new: Int[Tensor, "1 new"]) -> tuple[Float[Tensor, " vocab"], float]:
        """The same, and the seconds of the pass alone, without the wait for other visitors' passes."""
        with self._model.exclusive() as module:
            began = time.perf_counter()
            # to the CPU within the measured time: a GPU is done only then
            logits = self._own(module, new) if isinstance(self._model, ScratchModel) else self._pretrained(module, new)
            logits = logits.float().cpu()
            return logits, time.perf_counter() - began

    @property
    def nbytes(self) -> int:
        """Bytes of the keys and values in the cache: of whole buffers, as they lie in memory, each counted once.

        A sliding window that has just read a longer prompt still holds all of its buffer.
        """
        buffers = {}
        for tensor in _tensors(self._cache):
            if not tensor.is_floating_point():  # a count that the cache keeps beside them
                continue
            buffer = tensor.untyped_storage()
            buffers[buffer.data_ptr()] = buffer.nbytes()
        return sum(buffers.values())

    def _own(self, module: Any, new: Tensor) -> Tensor:
        if self._keep and self._cache is None:
            self._cache = KeyValueCache()
        hidden: Tensor = module.hidden(new, cache=self._cache)
        logits: Tensor = module.logits(hidden[:, -1])[0]
        return logits

    def _pretrained(self, module: Any, new: Tensor) -> Tensor:
        # the scores of one place, not of all: a vocabulary is wider than the model many times over
        last = {"logits_to_keep": 1} if "logits_to_keep" in inspect.signature(module.forward).parameters else {}
        found = module(input_ids=new, past_key_values=self._cache, use_cache=self._keep, **last)
        if self._keep:
            self._cache = getattr(found, "past_key_values", None)
            if self._cache is None:
                raise ConfigError(
                    f"{self._model.name} keeps no keys and values between passes, so there is no cache to look at. "
                    "Choose another decoder, such as smollm2."
                )
        logits: Tensor = found.logits[0, -1]
        return logits


def _tensors(cache: Any) -> Iterable[Tensor]:
    """Every tensor that a cache holds: ours, one of transformers, or the tuples that older models give."""
    if isinstance(cache, Tensor):
        yield cache
    elif isinstance(cache, KeyValueCache):
        yield from _tensors(tuple(cache.entries.values()))
    elif isinstance(cache, (list, tuple)):
        for part in cache:
            yield from _tensors(part)
    elif isinstance(cache, dict):
        yield from _tensors(tuple(cache.values()))
    elif hasattr(cache, "layers"):
        yield from _tensors([vars(layer) for layer in cache.layers])
