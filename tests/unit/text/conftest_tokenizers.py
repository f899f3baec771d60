"""Tokenizers of every spelling: the two real ones, and small ones trained here."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

CORPUS = [
    "the cat sat on the mat and saw the café near the water",
    "hello world this is a small text about attention heads",
    "numbers 123 4567 and punctuation !? , . ( ) '",
    "Hello Hello hello  spaces\ttabs\nnewlines",
    "日本語 한국어 שלום عربي",
    "a cat " * 20,  # often enough to be a token whichever of two equal merges training takes first
] * 4
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def wrapped(backend: Any, **special: str) -> Any:
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=backend, **special)


def byte_level(normalizer: Any = None, prefix: bool = False, trim: bool = False) -> Any:
    """A byte-level BPE like GPT-2's (plain), RoBERTa's (blanks trimmed off offsets) or Qwen's (NFC)."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    backend.decoder = decoders.ByteLevel()
    backend.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=["<s>", "</s>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    if normalizer is not None:
        backend.normalizer = normalizer
    if trim:
        backend.post_processor = processors.RobertaProcessing(
            ("</s>", 1), ("<s>", 0), trim_offsets=True, add_prefix_space=prefix
        )
    return wrapped(backend, bos_token="<s>", eos_token="</s>")


def byte_fallback(kind: str) -> Any:
    """A SentencePiece BPE like Llama 2's (``legacy``), its newer form (``metaspace``) or Gemma's."""
    from tokenizers import Tokenizer, models, normalizers, processors, trainers

    backend = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    backend.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(
            vocab_size=500, special_tokens=["<unk>", "<s>", "</s>", *BYTES], limit_alphabet=40, show_progress=False
        ),
    )
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
    )
    state = json.loads(backend.to_str())
    state["added_tokens"] = [token for token in state["added_tokens"] if token["content"] not in BYTES]
    if kind == "metaspace":
        state["normalizer"] = None
        state["pre_tokenizer"] = {
            "type": "Metaspace",
            "replacement": "▁",
            "prepend_scheme": "first",
            "split": False,
        }
    elif kind == "gemma":
        state["normalizer"] = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    return wrapped(Tokenizer.from_str(json.dumps(state)), bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def unigram() -> Any:
    """A Unigram like T5's: compatibility forms folded, runs of blanks made one."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    backend = Tokenizer(models.Unigram())
    backend.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " ")])
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.train_from_iterator(
        CORPUS,
        trainers.UnigramTrainer(
            vocab_size=150, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False
        ),
    )
    backend.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return wrapped(backend, eos_token="</s>", unk_token="<unk>", pad_token="<pad>")


def word_pieces(lowercase: bool) -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.train_from_iterator(
        CORPUS,
        trainers.WordPieceTrainer(
            vocab_size=200, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False
        ),
    )
    backend.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return wrapped(
        backend, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", mask_token="[MASK]"
    )


def _from_wheel(name: str) -> Any:
    from transformers import AutoTokenizer

    from tfmviz.models.gguf import unpacked
    from tfmviz.models.sources import locate

    path = locate(name, allow_download=False).path
    return AutoTokenizer.from_pretrained(unpacked(path) if path.suffix == ".gguf" else path)


def _nfc() -> Any:
    from tokenizers import normalizers

    return byte_level(normalizers.NFC())


def _python(name: str) -> Any:
    import transformers

    return getattr(transformers, name)()


MAKERS: dict[str, Callable[[], Any]] = {
    "minilm": lambda: _from_wheel("minilm"),
    "smollm2": lambda: _from_wheel("smollm2"),
    "gpt2-like": byte_level,
    "roberta-like": lambda: byte_level(prefix=False, trim=True),
    "prefix-like": lambda: byte_level(prefix=True, trim=True),
    "qwen-like": _nfc,
    "llama2-like": lambda: byte_fallback("legacy"),
    "llama-metaspace": lambda: byte_fallback("metaspace"),
    "gemma-like": lambda: byte_fallback("gemma"),
    "t5-like": unigram,
    "bert-uncased-like": lambda: word_pieces(lowercase=True),
    "bert-cased-like": lambda: word_pieces(lowercase=False),
    "byt5": lambda: _python("ByT5Tokenizer"),
    "canine": lambda: _python("CanineTokenizer"),
}
KEEPS_EVERY_CHARACTER = (
    "smollm2", "gpt2-like", "roberta-like", "prefix-like", "llama2-like", "llama-metaspace", "gemma-like", "byt5",
    "canine",
)  # fmt: skip
