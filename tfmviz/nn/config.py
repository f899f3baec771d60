"""What a transformer is made of: one frozen dataclass, checked when it is built."""

from __future__ import annotations

import math
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, Literal, get_args, get_type_hints

from tfmviz.errors import ConfigError
from tfmviz.nn import masks

Architecture = Literal["encoder", "decoder", "encoder-decoder"]
AttentionForm = Literal["materialised", "fused", "chunked"]
Position = Literal["none", "sinusoidal", "learned", "rotary", "alibi", "relative"]
RotaryPairing = Literal["half", "interleaved"]
RotaryScaling = Literal["none", "linear", "ntk", "llama3"]
BlockOrder = Literal["post-norm", "pre-norm", "parallel"]
Norm = Literal["layer", "rms"]
Activation = Literal["relu", "gelu", "gelu-tanh", "silu"]
FeedForwardKind = Literal["plain", "gated"]
Bias = Literal["all", "qkv", "none"]
OutputKind = Literal["tied", "linear", "none"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TransformerConfig:
    """Every choice that makes one transformer differ from another.

    A field left at 0 is derived: ``n_kv_heads`` = ``n_heads``, ``d_head`` = ``d_model / n_heads``,
    ``d_ff`` = ``4 d_model``, ``n_decoder_layers`` = ``n_layers``.

    Raises:
        ConfigError: if a choice is unknown or two fields cannot go together; it names the field, the value and the fix.
        UnknownMask: if ``mask`` is not a rule.
    """

    # Size
    architecture: Architecture
    vocab_size: int
    d_model: int
    n_heads: int
    n_layers: int
    """Blocks of the one stack, or of the encoder in an encoder-decoder."""
    n_decoder_layers: int = 0
    n_kv_heads: int = 0
    """Heads of keys and values: ``n_heads`` is multi-head, fewer is grouped-query, 1 is multi-query attention."""
    d_head: int = 0
    d_ff: int = 0
    max_positions: int = 1024
    """Rows of the table of learned positions; for every other scheme the length it is meant for, not a limit."""

    # Attention
    attention_form: AttentionForm = "fused"
    mask: str = ""
    """The model's own mask as a rule (see `masks.parse`); empty: bidirectional in an encoder, causal in a decoder."""
    attention_scale: float | None = None
    """What q·k is multiplied by; None is the paper's 1/sqrt(d_head), 1.0 is no scaling (T5)."""
    attention_softcap: float | None = None
    """c in c·tanh(score / c), which keeps scores within ±c (Gemma 2)."""
    attention_bias: Bias = "all"

    # Position
    position: Position = "learned"
    position_offset: int = 0
    """Added to each position before the table of learned positions is read (2 in BART)."""
    position_base: float = 10_000.0
    """The base of the geometric wavelengths of sinusoidal and rotary positions."""
    rotary_pairing: RotaryPairing = "half"
    rotary_fraction: float = 1.0
    rotary_scaling: RotaryScaling = "none"
    rotary_factor: float = 1.0
    rotary_low_frequency: float = 1.0
    rotary_high_frequency: float = 4.0
    rotary_trained_length: int = 8192
    """Length before scaling, for ``rotary_scaling="llama3"``."""
    relative_buckets: int = 32
    relative_max_distance: int = 128

    # Embedding
    n_segments: int = 0
    """Sentence types with a vector each (2 in BERT); 0: none."""
    embedding_scale: float = 1.0
    """What token vectors are multiplied by (sqrt(d_model) in the 2017 paper)."""
    embedding_norm: bool = False

    # Blocks
    block: BlockOrder = "pre-norm"
    norm: Norm = "layer"
    norm_eps: float = 1e-5
    feed_forward: FeedForwardKind = "plain"
    activation: Activation = "gelu"
    feed_forward_bias: bool = True
    dropout: float = 0.0
    """On the embedding sum and on every sub-layer's output before it is added (Vaswani et al. 2017, section 5.4)."""
    attention_dropout: float = 0.0

    # Output
    output: OutputKind = "tied"
    output_scale: float = 1.0
    """What the last hidden states are multiplied by before the vocabulary (d_model^-0.5 in T5)."""
    output_bias: bool = False
    output_transform: bool = False
    """A dense layer, the activation and a norm before the vocabulary (BERT's masked-word head)."""

    def __post_init__(self) -> None:
        _check_choices(self)
        _check_types(self)
        _check_sizes(self)
        derived = {
            "n_kv_heads": self.n_kv_heads or self.n_heads,
            "d_head": self.d_head or self.d_model // self.n_heads,
            "d_ff": self.d_ff or 4 * self.d_model,
            "n_decoder_layers": (self.n_decoder_layers or self.n_layers) if self.is_encoder_decoder else 0,
            "mask": self.mask or ("causal" if self.architecture == "decoder" else "bidirectional"),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)
        _check_attention(self)
        _check_positions(self)
        masks.parse(self.mask)

    @property
    def is_encoder_decoder(self) -> bool:
        return self.architecture == "encoder-decoder"

    @property
    def scale(self) -> float:
        """What q·k is multiplied by."""
        return self.d_head**-0.5 if self.attention_scale is None else self.attention_scale

    @property
    def d_rotary(self) -> int:
        """Leading dimensions of a head that are rotated; the rest carry no position."""
        return round(self.rotary_fraction * self.d_head)

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, fit for JSON; `from_dict` reads them back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TransformerConfig:
        """The configuration that `to_dict` wrote.

        Raises:
            ConfigError: if a name is not a field, or one that has no usual value is missing.
        """
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(values) - known):
            raise ConfigError(f"Unknown fields {', '.join(unknown)}. TransformerConfig has {', '.join(sorted(known))}.")
        needed = {field.name for field in fields(cls) if field.default is MISSING}
        if missing := sorted(needed - set(values)):
            raise ConfigError(f"Fields {', '.join(missing)} are missing, and they have no usual value. Add them.")
        return cls(**values)


def _check_choices(config: TransformerConfig) -> None:
    for name, kind in get_type_hints(TransformerConfig).items():
        choices = get_args(kind)
        value = getattr(config, name)
        if choices and all(isinstance(choice, str) for choice in choices) and value not in choices:
            raise ConfigError(f"{name}={value!r} is unknown. Choose one of {', '.join(map(repr, choices))}.")


def _check_types(config: TransformerConfig) -> None:
    """Each field holds what it should, and no number is NaN or infinite: a file read from outside may hold anything."""
    for name, kind in get_type_hints(TransformerConfig).items():
        value = getattr(config, name)
        if kind in (str, bool) and not isinstance(value, kind):
            raise ConfigError(
                f"{name}={value!r} is no {'text' if kind is str else 'choice of True or False'}. Use one."
            )
        if kind is int and (not isinstance(value, int) or isinstance(value, bool)):
            raise ConfigError(f"{name}={value!r} is not a whole number. Use one.")
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if (kind is float or (kind == float | None and value is not None)) and not is_number:
            raise ConfigError(f"{name}={value!r} is not a finite number. Use one.")


def _check_sizes(config: TransformerConfig) -> None:
    for name in ("vocab_size", "d_model", "n_heads", "n_layers", "max_positions"):
        value = getattr(config, name)
        if value < 1:
            raise ConfigError(f"{name}={value} is too small. Set it to 1 or more.")
    for name in ("n_kv_heads", "d_head", "d_ff", "n_decoder_layers", "n_segments", "position_offset"):
        value = getattr(config, name)
        if value < 0:
            raise ConfigError(f"{name}={value} is negative. Set it to 0 or more.")
    if not config.d_head and config.d_model % config.n_heads:
        raise ConfigError(
            f"d_model={config.d_model} is not a multiple of n_heads={config.n_heads}. Use a multiple, such as "
            f"d_model={(config.d_model // config.n_heads + 1) * config.n_heads}, or set d_head."
        )
    for name in ("dropout", "attention_dropout"):
        value = getattr(config, name)
        if not 0 <= value < 1:
            raise ConfigError(f"{name}={value} is not a probability below 1. Set it between 0 and 1.")
    if config.norm_eps <= 0:
        raise ConfigError(f"norm_eps={config.norm_eps} lets a norm divide by zero. Set it above 0, such as 1e-5.")


def _check_attention(config: TransformerConfig) -> None:
    if config.n_heads % config.n_kv_heads:
        raise ConfigError(
            f"n_kv_heads={config.n_kv_heads} does not divide n_heads={config.n_heads}. "
            "Each key-value head serves the same number of query heads: use a divisor."
        )
    if config.attention_softcap is not None and config.attention_softcap <= 0:
        raise ConfigError(f"attention_softcap={config.attention_softcap} must be above 0. Use None for no cap.")
    if config.attention_softcap is not None and config.attention_form == "fused":
        raise ConfigError(
            "attention_form='fused' cannot apply attention_softcap: PyTorch's kernel has none. "
            "Use attention_form='chunked'."
        )
    if config.block == "parallel" and config.is_encoder_decoder:
        raise ConfigError("block='parallel' leaves no place for cross-attention. Use 'pre-norm' or 'post-norm'.")


def _check_positions(config: TransformerConfig) -> None:
    if config.position_base <= 1:
        raise ConfigError(f"position_base={config.position_base} must be above 1. The usual one is 10000.")
    if config.position == "rotary":
        if config.d_rotary < 2 or config.d_rotary % 2 or config.d_rotary > config.d_head:
            raise ConfigError(
                f"rotary_fraction={config.rotary_fraction} of d_head={config.d_head} rotates {config.d_rotary} "
                "dimensions. Rotation works on pairs: choose them so that an even number of dimensions rotates."
            )
        if config.rotary_factor < 1:
            raise ConfigError(f"rotary_factor={config.rotary_factor} would shorten the context. Use 1 or more.")
        if config.rotary_high_frequency <= config.rotary_low_frequency:
            raise ConfigError(
                f"rotary_high_frequency={config.rotary_high_frequency} must be above "
                f"rotary_low_frequency={config.rotary_low_frequency}."
            )
    if config.position == "relative" and (
        config.relative_buckets < 4 or config.relative_max_distance <= config.relative_buckets // 2
    ):
        raise ConfigError(
            f"relative_buckets={config.relative_buckets} with relative_max_distance={config.relative_max_distance} "
            "leaves no logarithmic buckets. Use at least 4 buckets and a distance above half of them."
        )
