"""From what was typed to what a Hugging Face model is given."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from tfmviz.errors import CheckpointError, ConfigError, EmptyText, TextTooLong
from tfmviz.models.catalog import Kind
from tfmviz.models.limits import last_fitting_cut
from tfmviz.text import Encoding, Token, encode, pad


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelInputs:
    """One text, ready for a pass.

    Attributes:
        tensors: keyword arguments of the model's ``forward``, batch size 1.
        tokens: one for each position of the text (the encoder's side of an encoder-decoder).
        target_tokens: one for each position of the decoder, in an encoder-decoder.
    """

    tensors: dict[str, Tensor]
    tokens: tuple[Token, ...]
    target_tokens: tuple[Token, ...] = ()


def _check_one_text(text: str, pair: str | None, target: str | None) -> None:
    """Tokenizers take lists of texts; a trace is of one."""
    for name, typed in (("text", text), ("pair", pair or ""), ("target", target or "")):
        if not isinstance(typed, str):
            raise ConfigError(f"{name} is of type {type(typed).__name__}. Give one text, a str; trace several in turn.")


class InputMaker:
    """Tokenizes, checks, pads and packs texts for one model. Safe to use from several threads.

    Args:
        tokenizer: the model's.
        kind: the model's.
        name: the model's, for messages.
        max_tokens: the most tokens it takes; None for no limit.
        start_id: token that a decoder of an encoder-decoder starts with.
        accepts: the arguments of the model's ``forward``.
        n_embeddings: rows of its table of tokens.
    """

    def __init__(
        self,
        *,
        tokenizer: Any,
        kind: Kind,
        name: str,
        max_tokens: int | None,
        start_id: int | None,
        accepts: frozenset[str],
        n_embeddings: int,
    ) -> None:
        self._tokenizer = tokenizer
        self._kind = kind
        self._name = name
        self._max_tokens = max_tokens
        self._start_id = start_id
        self._accepts = accepts
        self._n_embeddings = n_embeddings
        self._target_mode = threading.Lock()
        self.end_id: int | None = tokenizer.eos_token_id

    def text_of(self, ids: Sequence[int]) -> str:
        """The text that vocabulary numbers stand for; special tokens by their names."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        """Tokens of a text and perhaps its second sentence, however long.

        Raises:
            ConfigError: if there is a second sentence and the model is a decoder.
        """
        if pair and self._kind == "decoder":
            raise ConfigError(f"{self._name} is a decoder: it reads one text, so a second sentence cannot be given.")
        return encode(self._tokenizer, text, pair=pair or None)

    def encode_target(self, target: str | None) -> Encoding:
        """What the decoder of an encoder-decoder is given: its start token, then the text without its end.

        The model is trained to say each token from those before it, so its input is the wanted text moved one place to
        the right (Vaswani et al. 2017, section 3.1).

        Raises:
            ConfigError: if the model is no encoder-decoder.
        """
        if self._kind != "encoder-decoder":
            raise ConfigError(f"{self._name} is no encoder-decoder, so there is no target to give it.")
        if self._start_id is None:
            raise CheckpointError(f"{self._name} does not say which token its decoder starts with.")
        name = self._tokenizer.convert_ids_to_tokens(self._start_id)
        start = Token(id=self._start_id, text=str(name), start=0, end=0, is_special=True)
        wanted = self._encode_as_target(target) if target else None
        tokens = wanted.tokens if wanted else ()
        if tokens and tokens[-1].is_special:
            tokens = tokens[:-1]
        if tokens and tokens[0].is_special and tokens[0].id == self._start_id:
            tokens = tokens[1:]
        tokens = (start, *tokens)
        return Encoding(input_ids=tuple(token.id for token in tokens), token_type_ids=None, tokens=tokens)

    def make(
        self,
        text: str,
        pair: str | None,
        target: str | None,
        pad_to: int | None,
        pad_side: Literal["left", "right"] | None,
        device: torch.device,
        *,
        hide_padding: bool = True,
    ) -> ModelInputs:
        """Everything the model is given for these texts.

        Padding is hidden by the attention mask and by nothing else, as in ``model(**tokenizer(..., padding=...))``:
        with learned positions, padding on the left moves the text to later positions. Without ``hide_padding`` the
        model is not told what is padding.

        Raises:
            EmptyText, TextTooLong, ConfigError, CheckpointError: see :meth:`tfmviz.models.Model.trace`.
        """
        _check_one_text(text, pair, target)
        encoding = self.encode(text, pair)
        self._check_typed(encoding, pair)
        self._check_length(encoding, text, pair)
        if pad_to is not None:
            encoding = self._padded(encoding, pad_to, pad_side)
        tensors = self._pack(encoding, hide_padding=hide_padding)
        decoder = self.encode_target(target) if self._kind == "encoder-decoder" or target is not None else None
        if decoder:
            self._check_target_length(decoder, target or "")
            tensors["decoder_input_ids"] = torch.tensor([decoder.input_ids])
        self._check_vocabulary(tensors)
        return ModelInputs(
            tensors={name: tensor.to(device) for name, tensor in tensors.items()},
            tokens=encoding.tokens,
            target_tokens=decoder.tokens if decoder else (),
        )

    def _encode_as_target(self, target: str) -> Encoding:
        """Some translators write their target in another vocabulary or with a language code in front."""
        switch, back = (getattr(self._tokenizer, f"_switch_to_{mode}_mode", None) for mode in ("target", "input"))
        if switch is None or back is None:
            return encode(self._tokenizer, target)
        with self._target_mode:
            switch()
            try:
                return encode(self._tokenizer, target)
            finally:
                back()

    def _check_typed(self, encoding: Encoding, pair: str | None) -> None:
        typed = {token.segment for token in encoding.tokens if not token.is_special}
        if 0 not in typed:
            raise EmptyText(f"There is nothing to look at: {self._name} finds no token in the text. Type some words.")
        if pair and 1 not in typed:
            raise EmptyText(f"{self._name} finds no token in the second sentence. Type some words, or leave it empty.")

    def _check_length(self, encoding: Encoding, text: str, pair: str | None) -> None:
        n_tokens, room = len(encoding.tokens), self._max_tokens
        if room is None or n_tokens <= room:
            return
        if not pair:
            cut_at = last_fitting_cut(text, room, self.encode)
            raise TextTooLong(n_tokens, room, cut_at, model=self._name)
        n_second = sum(1 for token in encoding.tokens if token.segment == 1 and not token.is_special)
        n_first = sum(1 for token in encoding.tokens if token.segment == 0 and not token.is_special)
        n_fixed = n_tokens - n_first - n_second
        # The longer one is cut, though not below half: where the other is too long as well, its turn comes next.
        other = min(n_first, n_second)
        room_now = n_fixed + other + max(room - n_fixed - other, (room - n_fixed) // 2)
        if n_second > n_first:
            cut_at = last_fitting_cut(pair, room_now, lambda part: self.encode(text, part), segment=1)
            raise TextTooLong(n_tokens, room, cut_at, model=self._name, part="pair", together=True)
        cut_at = last_fitting_cut(text, room_now, lambda part: self.encode(part, pair))
        raise TextTooLong(n_tokens, room, cut_at, model=self._name, together=True)

    def _check_target_length(self, decoder: Encoding, target: str) -> None:
        n_tokens, room = len(decoder.tokens), self._max_tokens
        if room is not None and n_tokens > room:
            cut_at = last_fitting_cut(target, room, self.encode_target)
            raise TextTooLong(n_tokens, room, cut_at, model=self._name, part="target")

    def _padded(self, encoding: Encoding, pad_to: int, side: Literal["left", "right"] | None) -> Encoding:
        if self._max_tokens is not None and pad_to > self._max_tokens:
            raise ConfigError(
                f"pad_to={pad_to:,} is more than the {self._max_tokens:,} tokens that {self._name} takes."
            )
        if side not in (None, "left", "right"):
            raise ConfigError(f"pad_side={side!r} is not a side. Use 'left' or 'right', or leave it out.")
        tokenizer = self._tokenizer
        # GPT-2 and others have no padding token: any will do, because padding is hidden
        pad_id = next((i for i in (tokenizer.pad_token_id, tokenizer.eos_token_id, 0) if i is not None), 0)
        name = str(tokenizer.convert_ids_to_tokens(pad_id))
        return pad(encoding, pad_to, side=side or tokenizer.padding_side, pad_id=pad_id, pad_text=name)

    def _pack(self, encoding: Encoding, *, hide_padding: bool) -> dict[str, Tensor]:
        tensors = {"input_ids": torch.tensor([encoding.input_ids])}
        if "attention_mask" in self._accepts:
            seen = [int(not (token.is_padding and hide_padding)) for token in encoding.tokens]
            tensors["attention_mask"] = torch.tensor([seen])
        if encoding.token_type_ids is not None and "token_type_ids" in self._accepts:
            tensors["token_type_ids"] = torch.tensor([encoding.token_type_ids])
        return tensors

    def _check_vocabulary(self, tensors: dict[str, Tensor]) -> None:
        """An id beyond the table would end a CUDA process, not the request."""
        for name in ("input_ids", "decoder_input_ids"):
            if name in tensors and (largest := int(tensors[name].max())) >= self._n_embeddings:
                raise CheckpointError(
                    f"{self._name}: its tokenizer gives token {largest:,} and its weights have {self._n_embeddings:,}. "
                    "They do not belong together: download or save the model again."
                )
