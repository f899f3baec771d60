"""What a config is of: an encoder, a decoder or both, and with which class of transformers it is opened."""

from __future__ import annotations

from typing import Any

from tfmviz.errors import UnsupportedModel
from tfmviz.models.catalog import Kind


def kind_of(config: Any, name: str) -> Kind:
    """Encoder-only, decoder-only or encoder-decoder.

    The config says so where it can (``is_encoder_decoder``, ``is_decoder``). Some families exist in both forms: there
    the class that saved the checkpoint decides, and where that one has no language head, an encoder is meant.

    Raises:
        UnsupportedModel: if transformers has no text model for such a config.
    """
    from transformers.models.auto import modeling_auto as known

    family = config.model_type
    if getattr(config, "is_encoder_decoder", False):
        if family in known.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES:
            return "encoder-decoder"
        raise UnsupportedModel(f"{name} ({family}) is no text-to-text model, so it has no text attention to show.")
    decodes = family in known.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    encodes = family in known.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    if decodes and (not encodes or getattr(config, "is_decoder", False) or _saved_as_decoder(config, known)):
        return "decoder"
    if encodes or family in known.MODEL_MAPPING_NAMES:
        return "encoder"
    raise UnsupportedModel(f"{name} ({family}) is no kind of text model that transformers knows.")


def auto_class(kind: Kind, config: Any) -> type[Any]:
    """The class of transformers that opens it: with its language head where the checkpoint was saved with one."""
    import transformers
    from transformers.models.auto import modeling_auto as known

    if kind == "encoder-decoder":
        return transformers.AutoModelForSeq2SeqLM
    if kind == "decoder":
        return transformers.AutoModelForCausalLM
    has_head = any(saved.endswith(("ForMaskedLM", "ForPreTraining", "WithLMHeadModel")) for saved in _saved_as(config))
    if has_head and config.model_type in known.MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        return transformers.AutoModelForMaskedLM
    return transformers.AutoModel


def _saved_as(config: Any) -> tuple[str, ...]:
    return tuple(str(name) for name in getattr(config, "architectures", None) or ())


def _saved_as_decoder(config: Any, known: Any) -> bool:
    """Whether the saving class is this family's decoder and not also its encoder (XLM has one class for both)."""
    decoder = known.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[config.model_type]
    return decoder in _saved_as(config) and decoder != known.MODEL_FOR_MASKED_LM_MAPPING_NAMES.get(config.model_type)
