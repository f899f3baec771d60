"""A transformer written from scratch: torch, einops and jaxtyping, nothing else.

Read it in this order: `attention` (one formula), `multihead`, `block`, `stack`, `transformer`; beside them `masks`,
`positions`, `rotary` and `biases` (how order gets in), `embedding`, `feedforward`, `norms`; then `chunked` (attention
in O(n) memory), `cache` and `generate`. `config` lists every choice, `recording` what a pass can leave behind.
"""

from tfmviz.nn.attention import AttentionStages, PositionBias, Scoring, attention_stages, fused, materialised
from tfmviz.nn.biases import AlibiBias, RelativeBias, alibi_slopes, relative_bucket
from tfmviz.nn.cache import KeyValueCache
from tfmviz.nn.chunked import chunked
from tfmviz.nn.config import TransformerConfig
from tfmviz.nn.generate import generate, sharpen, translate
from tfmviz.nn.masks import Bidirectional, Both, Causal, Document, Mask, Padding, Prefix, SlidingWindow, parse
from tfmviz.nn.positions import sinusoidal
from tfmviz.nn.recording import AttentionRecord, Recording, StackName
from tfmviz.nn.rotary import Rotation, frequencies, rotate, rotation
from tfmviz.nn.transformer import AnyTransformer, EncoderDecoder, Transformer, build, use_form

__all__ = [
    "AlibiBias",
    "AnyTransformer",
    "AttentionRecord",
    "AttentionStages",
    "Bidirectional",
    "Both",
    "Causal",
    "Document",
    "EncoderDecoder",
    "KeyValueCache",
    "Mask",
    "Padding",
    "PositionBias",
    "Prefix",
    "Recording",
    "RelativeBias",
    "Rotation",
    "Scoring",
    "SlidingWindow",
    "StackName",
    "Transformer",
    "TransformerConfig",
    "alibi_slopes",
    "attention_stages",
    "build",
    "chunked",
    "frequencies",
    "fused",
    "generate",
    "materialised",
    "parse",
    "relative_bucket",
    "rotate",
    "rotation",
    "sharpen",
    "sinusoidal",
    "translate",
    "use_form",
]
