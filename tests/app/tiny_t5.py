"""A T5 of random weights with a tokenizer of a few words, saved as a folder: an encoder-decoder without a download."""

from __future__ import annotations

from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = ["<pad>", "</s>", "<unk>", *"abcdefgh"]


def save_tiny_t5(folder: Path) -> Path:
    """Save the model and return its folder. Weights are large enough for attention to be far from even."""
    torch.manual_seed(7)
    config = transformers.T5Config(
        vocab_size=len(WORDS), d_model=32, d_kv=8, d_ff=48, num_layers=2, num_decoder_layers=2, num_heads=4
    )
    config.decoder_start_token_id = 0
    model = transformers.T5ForConditionalGeneration(config)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(3)
    model.save_pretrained(folder)
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    return folder
