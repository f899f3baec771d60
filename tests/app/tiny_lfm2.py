"""A decoder of random weights whose first layer is a convolution and has no attention, saved as a folder."""

from __future__ import annotations

from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

WORDS = ["<pad>", "<unk>", *"abcdefgh"]


def save_tiny_lfm2(folder: Path) -> Path:
    """Save the model and return its folder."""
    torch.manual_seed(7)
    config = transformers.Lfm2Config(
        vocab_size=len(WORDS),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        layer_types=["conv", "full_attention"],
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=1,
    )
    transformers.Lfm2ForCausalLM(config).save_pretrained(folder)
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    names = {"pad_token": "<pad>", "unk_token": "<unk>"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    return folder
