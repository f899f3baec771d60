"""How a tiny random model of an architecture is built, peaked so that its attention is far from uniform."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from transformers import AutoConfig, PreTrainedModel

transformers.logging.set_verbosity_error()

ENCODER, DECODER, SEQ2SEQ = "AutoModel", "AutoModelForCausalLM", "AutoModelForSeq2SeqLM"
EXACT, DENSE, NONE = "exact", "dense", "none: no attention in this layer"
NO_MAP = "none: what this layer reports is no map from token to token"

COMMON: dict[str, Any] = {
    "vocab_size": 101,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GROUPED: dict[str, Any] = {**COMMON, "num_key_value_heads": 2}
BART: dict[str, Any] = {
    "vocab_size": 101,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
}


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """One architecture, its configuration, and what its layers should be known from.

    Attributes:
        name: the model type.
        auto: the class that builds it.
        config: options of its configuration.
        status: of every layer; or of each layer, in order; by stack where stacks differ.
        reports: what ``output_attentions`` gives under eager attention: weights, raw scores, or weights without a sink.
        tolerance: largest difference to eager attention.
        variant: distinguishes two of one model type.
        std: of the random weights.
    """

    name: str
    auto: str
    config: Mapping[str, Any]
    status: str | tuple[str, ...] | Mapping[str, str] = EXACT
    reports: str = "weights"
    tolerance: float = 1e-5
    variant: str = ""
    std: float = 0.25

    def __str__(self) -> str:
        return f"{self.name}{'-' if self.variant else ''}{self.variant}"

    @property
    def is_encoder_decoder(self) -> bool:
        return self.auto == SEQ2SEQ

    def expected_status(self, stack: str, n_layers: int) -> tuple[str, ...]:
        status = self.status[stack] if isinstance(self.status, Mapping) else self.status
        return (status,) * n_layers if isinstance(status, str) else status

    def build(self, **options: Any) -> PreTrainedModel:
        """A model with random weights, the same each time, and large enough that attention is peaked."""
        torch.manual_seed(0)
        config = AutoConfig.for_model(self.name, **self.config)
        model = getattr(transformers, self.auto).from_config(config, **options).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.ndim > 1:
                    parameter.normal_(0, self.std)
        return model


def encoder(name: str, base: Mapping[str, Any] = COMMON, **options: Any) -> Architecture:
    return _architecture(name, ENCODER, base, options)


def decoder(name: str, base: Mapping[str, Any] = GROUPED, **options: Any) -> Architecture:
    return _architecture(name, DECODER, base, options)


def seq2seq(name: str, base: Mapping[str, Any] = BART, **options: Any) -> Architecture:
    return _architecture(name, SEQ2SEQ, base, options)


def _architecture(name: str, auto: str, base: Mapping[str, Any], options: dict[str, Any]) -> Architecture:
    own = {k: options.pop(k) for k in tuple(options) if k in Architecture.__dataclass_fields__}
    return Architecture(name=name, auto=auto, config={**base, **options}, **own)
