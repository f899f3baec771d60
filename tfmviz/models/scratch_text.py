"""How a from-scratch model reads texts: with a pretrained model's tokenizer, or byte by byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from tfmviz.errors import ConfigError
from tfmviz.models.inputs import InputMaker
from tfmviz.nn import TransformerConfig
from tfmviz.text import Encoding, Speller
from tfmviz.text.byte_vocabulary import ByteVocabulary

BYTES = ByteVocabulary()


def room(config: TransformerConfig, tokenizer_limit: int | None = None) -> int | None:
    """The most tokens that a model takes: the rows of its table, or the length its rotation was trained for.

    None for positions that have no such length (sinusoids, ALiBi, relative buckets, none).
    """
    if config.position not in ("learned", "rotary"):
        return None
    return config.max_positions if tokenizer_limit is None else min(config.max_positions, tokenizer_limit)


class PretrainedText(InputMaker):
    """Texts through the tokenizer that the weights were trained with.

    Args:
        tokenizer: of transformers.
        config: of the model that reads.
        name: the model's, for messages.
        start_id: token that a decoder of an encoder-decoder starts with.
    """

    def __init__(self, tokenizer: Any, config: TransformerConfig, *, name: str, start_id: int | None) -> None:
        super().__init__(
            tokenizer=tokenizer,
            kind=config.architecture,
            name=name,
            max_tokens=room(config, tokenizer.model_max_length),
            start_id=start_id,
            accepts=_accepts(config),
            n_embeddings=config.vocab_size,
        )
        self.max_tokens = room(config, tokenizer.model_max_length)
        self.mask_id: int | None = tokenizer.mask_token_id
        self.spell = Speller(tokenizer)


class ByteText(InputMaker):
    """Texts as the bytes of their UTF-8, for models trained here: a decoder's begin with ``<start>``, an encoder's end
    with ``<end>``.
    """

    mask_id: int | None = None

    def __init__(self, config: TransformerConfig, *, name: str) -> None:
        super().__init__(
            tokenizer=_ByteNames(),
            kind=config.architecture,
            name=name,
            max_tokens=room(config),
            start_id=BYTES.start,
            accepts=_accepts(config),
            n_embeddings=config.vocab_size,
        )
        self.max_tokens = room(config)
        self._ends = config.architecture != "decoder"

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        """See :meth:`InputMaker.encode`."""
        if pair:
            raise ConfigError(f"{self._name} reads one text, so a second sentence cannot be given.")
        return _encoding(text, start=not self._ends, end=self._ends)

    def text_of(self, ids: Sequence[int]) -> str:
        """See :meth:`InputMaker.text_of`; up to ``<end>``."""
        return BYTES.text(ids)

    def _encode_as_target(self, target: str) -> Encoding:
        return _encoding(target, start=False, end=False)

    def spell(self, number: int) -> str:
        """What a vocabulary number stands for: ``a``, ``0xE2``, ``<end>``."""
        return BYTES.labels([number])[0]


class _ByteNames:
    """What :class:`InputMaker` asks of a tokenizer, besides the tokens themselves."""

    pad_token_id = BYTES.padding
    eos_token_id = BYTES.end
    padding_side: Literal["left", "right"] = "right"

    def convert_ids_to_tokens(self, number: int) -> str:
        return BYTES.labels([number])[0]


def _encoding(text: str, *, start: bool, end: bool) -> Encoding:
    tokens = BYTES.tokens(text, start=start, end=end)
    return Encoding(input_ids=tuple(token.id for token in tokens), token_type_ids=None, tokens=tokens)


def _accepts(config: TransformerConfig) -> frozenset[str]:
    names = {"input_ids", "attention_mask"}
    return frozenset(names | {"token_type_ids"} if config.n_segments else names)
