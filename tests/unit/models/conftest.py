"""Tiny random models of every form with small real tokenizers, saved as a person would save them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

SENTENCES = (
    "The cat sat on the mat.",
    "A dog chased the cat over the garden wall.",
    "Birds sing in the morning and owls call at night.",
    "She reads a long book about the sea and the stars.",
)
WIDTHS = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
N_VOCABULARY = 300


def word_pieces() -> Any:
    """A BERT-like tokenizer: ``[CLS] ... [SEP] ... [SEP]``."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(SENTENCES, trainers.WordPieceTrainer(vocab_size=200, special_tokens=special))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.decoder = decoders.WordPiece()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


def byte_pairs(*, bart: bool = False) -> Any:
    """A GPT-2-like tokenizer without special tokens, or a RoBERTa- and BART-like one: ``<s> ... </s>``."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] if bart else ["<|endoftext|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=N_VOCABULARY, special_tokens=special, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    if not bart:
        return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|endoftext|>")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    names = {
        "bos_token": "<s>",
        "pad_token": "<pad>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "mask_token": "<mask>",
    }
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def unigrams() -> Any:
    """A T5-like tokenizer: ``... </s>``."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=120, special_tokens=special, unk_token="<unk>")
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=512, **names)


def _bert() -> tuple[Any, Any]:
    config = transformers.BertConfig(**WIDTHS, vocab_size=N_VOCABULARY, max_position_embeddings=40)
    return transformers.BertForMaskedLM(config), word_pieces()


def _bert_without_head() -> tuple[Any, Any]:
    config = transformers.BertConfig(**WIDTHS, vocab_size=N_VOCABULARY, max_position_embeddings=40)
    return transformers.BertModel(config), word_pieces()


def _roberta() -> tuple[Any, Any]:
    config = transformers.RobertaConfig(
        **WIDTHS, vocab_size=N_VOCABULARY, max_position_embeddings=42, pad_token_id=1, type_vocab_size=1
    )
    return transformers.RobertaForMaskedLM(config), byte_pairs(bart=True)


def _gpt2() -> tuple[Any, Any]:
    config = transformers.GPT2Config(
        n_embd=32, n_layer=2, n_head=4, n_positions=40, vocab_size=N_VOCABULARY, bos_token_id=0, eos_token_id=0
    )
    return transformers.GPT2LMHeadModel(config), byte_pairs()


def _llama() -> tuple[Any, Any]:
    config = transformers.LlamaConfig(
        **WIDTHS, num_key_value_heads=2, vocab_size=N_VOCABULARY, max_position_embeddings=64
    )
    return transformers.LlamaForCausalLM(config), byte_pairs()


def _t5() -> tuple[Any, Any]:
    config = transformers.T5Config(
        d_model=32, d_kv=8, d_ff=48, num_layers=2, num_decoder_layers=3, num_heads=4, vocab_size=N_VOCABULARY
    )
    config.decoder_start_token_id = 0
    return transformers.T5ForConditionalGeneration(config), unigrams()


def _bart() -> tuple[Any, Any]:
    config = transformers.BartConfig(
        d_model=32,
        encoder_layers=2,
        decoder_layers=3,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        vocab_size=N_VOCABULARY,
        max_position_embeddings=40,
        bos_token_id=0,
        pad_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=2,
    )
    return transformers.BartForConditionalGeneration(config), byte_pairs(bart=True)


def _mamba() -> tuple[Any, Any]:
    config = transformers.MambaConfig(hidden_size=32, num_hidden_layers=2, vocab_size=N_VOCABULARY)
    return transformers.MambaForCausalLM(config), byte_pairs()


BUILDERS = {
    "bert": _bert,
    "bert-without-head": _bert_without_head,
    "roberta": _roberta,
    "gpt2": _gpt2,
    "llama": _llama,
    "t5": _t5,
    "bart": _bart,
    "mamba": _mamba,
}


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Folder of a tiny random model of a form; made once. Do not write to it."""
    folders: dict[str, Path] = {}

    def save(form: str) -> Path:
        if form not in folders:
            torch.manual_seed(0)
            module, tokenizer = BUILDERS[form]()
            for weight in module.parameters():  # larger weights, so that attention is not flat
                if weight.ndim == 2:
                    torch.nn.init.normal_(weight, std=0.1 if form == "t5" else 0.3)  # T5 does not scale its scores
            folder = tmp_path_factory.mktemp("models") / form
            module.eval().save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            folders[form] = folder
        return folders[form]

    return save


@pytest.fixture
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of this test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TFMVIZ_CACHE", str(folder))
    return folder
