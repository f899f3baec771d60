"""Tiny random models of every family that has an adapter: the same numbers as transformers, whole and traced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import Tensor

import tfmviz
from tfmviz.models.adapters import from_checkpoint
from tfmviz.nn import Recording, attention_stages, generate, translate

N_WORDS = 90
_WIDTHS = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
_GROUPED = {**_WIDTHS, "vocab_size": N_WORDS, "num_key_value_heads": 2}
_ROPE = {"rope_theta": 10_000.0}
_LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}
_BART = {
    "vocab_size": N_WORDS, "d_model": 32, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_position_embeddings": 64,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1, "decoder_start_token_id": 1, "forced_eos_token_id": None,
}  # fmt: skip


def gpt2(**changes: Any) -> Any:
    options = {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64, "bos_token_id": 1, "eos_token_id": 1}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=N_WORDS, **(options | changes)))


def t5(**changes: Any) -> Any:
    options = {"d_model": 32, "d_kv": 12, "d_ff": 48, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4}
    options |= {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 12, "decoder_start_token_id": 0}
    return transformers.T5ForConditionalGeneration(transformers.T5Config(vocab_size=N_WORDS, **(options | changes)))


def llama(**changes: Any) -> Any:
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**(_GROUPED | changes)))


def bert(kind: Any, **changes: Any) -> Any:
    return kind(transformers.BertConfig(**_WIDTHS, vocab_size=N_WORDS, **changes))


MODELS: dict[str, Callable[[], Any]] = {
    "gpt2": gpt2,
    "gpt2 without scaling": lambda: gpt2(scale_attn_weights=False, activation_function="relu", n_inner=40),
    "gpt2 with its own head": lambda: gpt2(tie_word_embeddings=False),
    "bert": lambda: bert(transformers.BertModel),
    "bert that guesses words": lambda: bert(transformers.BertForMaskedLM, hidden_act="gelu_new"),
    "bert for pretraining": lambda: bert(transformers.BertForPreTraining, type_vocab_size=3),
    "llama": llama,
    "llama, tied": lambda: llama(tie_word_embeddings=True, num_key_value_heads=1),
    "llama with biases and wide heads": lambda: llama(attention_bias=True, head_dim=10),
    "llama 3.1": lambda: llama(rope_parameters={"rope_type": "llama3", **_ROPE, **_LLAMA3}),
    "llama, linear": lambda: llama(rope_parameters={"rope_type": "linear", **_ROPE, "factor": 4.0}),
    "mistral": lambda: transformers.MistralForCausalLM(transformers.MistralConfig(**_GROUPED, sliding_window=5)),
    "qwen2": lambda: transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**_GROUPED)),
    "t5": t5,
    "t5 1.1": lambda: t5(feed_forward_proj="gated-gelu", tie_word_embeddings=False),
    "bart": lambda: transformers.BartForConditionalGeneration(transformers.BartConfig(**_BART)),
    "bart, scaled": lambda: transformers.BartForConditionalGeneration(
        transformers.BartConfig(**_BART, scale_embedding=True, activation_function="relu")
    ),
}
SEQ2SEQ = [name for name in MODELS if name.startswith(("t5", "bart"))]


def peaked(name: str) -> Any:
    """A model whose attention is far from even, with no bias and no norm left at its first value."""
    torch.manual_seed(0)
    model = MODELS[name]().eval().requires_grad_(False)
    for weight in model.parameters():
        weight.normal_(0, 0.25) if weight.ndim > 1 else weight.add_(0.2 * torch.randn_like(weight))
    if hasattr(model, "final_logits_bias"):
        model.final_logits_bias.normal_()
    model.tie_weights()
    return model


def adapted(model: Any) -> Any:
    return from_checkpoint(model.config.to_dict(), model.state_dict())


def inputs(*lengths: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randint(2, N_WORDS, (2, n), generator=generator) for n in lengths]


def close(found: Tensor, expected: Tensor, atol: float = 1e-4) -> None:
    assert expected.abs().max() > 0.1
    torch.testing.assert_close(found, expected, atol=atol, rtol=0)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in SEQ2SEQ])
def test_one_stack_gives_the_same_numbers(name: str) -> None:
    theirs = peaked(name)
    ours = adapted(theirs)
    (tokens,) = inputs(24)
    found = theirs(tokens, output_hidden_states=True)
    recording = Recording()
    last = ours.hidden(tokens, recording=recording)
    states = [*recording.hidden["self"][:-1], last]
    for mine, its in zip(states, found.hidden_states, strict=True):
        close(mine, its)
    logits = getattr(found, "logits", getattr(found, "prediction_logits", None))
    if logits is None:
        assert ours.config.output == "none"
    else:
        close(ours.logits(last), logits)


@pytest.mark.parametrize("name", SEQ2SEQ)
def test_two_stacks_give_the_same_numbers(name: str) -> None:
    theirs = peaked(name)
    ours = adapted(theirs)
    source, target = inputs(24, 9)
    found = theirs(input_ids=source, decoder_input_ids=target)
    close(ours.encode(source), found.encoder_last_hidden_state)
    close(ours(source, target), found.logits)


@pytest.mark.parametrize("name", MODELS)
def test_padding_on_the_right_is_handled_alike(name: str) -> None:
    theirs = peaked(name)
    ours = adapted(theirs)
    tokens, target = inputs(12, 7)
    visible = torch.ones(2, 12, dtype=torch.bool)
    visible[0, 8:] = False
    if name in SEQ2SEQ:
        found = theirs(input_ids=tokens, attention_mask=visible.long(), decoder_input_ids=target).logits
        close(ours(tokens, target, visible=visible), found)
        return
    found = theirs(tokens, attention_mask=visible.long(), output_hidden_states=True).hidden_states[-1]
    close(ours.hidden(tokens, visible=visible)[visible], found[visible])


@pytest.mark.parametrize("name", MODELS)
def test_recorded_attention_is_eager_attention(name: str) -> None:
    theirs = peaked(name)
    ours = adapted(theirs)
    theirs.set_attn_implementation("eager")
    source, target = inputs(14, 9)
    recording = Recording()
    if name in SEQ2SEQ:
        found = theirs(input_ids=source, decoder_input_ids=target, output_attentions=True)
        ours(source, target, recording=recording)
        expected = {
            "encoder": found.encoder_attentions,
            "decoder": found.decoder_attentions,
            "cross": found.cross_attentions,
        }
    else:
        ours.hidden(source, recording=recording)
        expected = {"self": theirs(source, output_attentions=True).attentions}
    for stack, layers in expected.items():
        for record, its in zip(recording.stack(stack), layers, strict=True):
            stages = attention_stages(record.query, record.key, record.value, record.scoring)
            close(stages.weights, its, atol=1e-5)
            torch.testing.assert_close(stages.output, record.output, atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", ["gpt2", "llama", "mistral", "qwen2"])
def test_greedy_text_is_the_same(name: str) -> None:
    theirs = peaked(name)
    (prompt,) = inputs(5)
    expected = theirs.generate(prompt, max_new_tokens=12, do_sample=False, eos_token_id=-1, pad_token_id=0)
    assert generate(adapted(theirs), prompt, 12, temperature=0).tolist() == expected.tolist()


@pytest.mark.parametrize("name", SEQ2SEQ)
def test_greedy_target_is_the_same(name: str) -> None:
    theirs = peaked(name)
    (source,) = inputs(8)
    # transformers sizes T5's cache by the encoder's layers, and here the decoder has more
    expected = theirs.generate(source, max_new_tokens=10, do_sample=False, use_cache=False, eos_token_id=-1)
    found = translate(adapted(theirs), source, theirs.config.decoder_start_token_id, 10)
    assert found.tolist() == expected.tolist()


@pytest.fixture
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A model of ``MODELS`` with a tokenizer, saved as a person would save it."""
    peaked(request.param).save_pretrained(tmp_path)
    words = {"<pad>": 0, "</s>": 1, "<unk>": 2, **{f"w{i}": i for i in range(3, N_WORDS)}}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if request.param in SEQ2SEQ:
        tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(tmp_path)
    return tmp_path


@pytest.mark.parametrize("folder", ["gpt2", "t5", "t5 1.1", "bart", "llama", "bert that guesses words"], indirect=True)
def test_a_local_checkpoint_traces_alike_in_both(folder: Path) -> None:
    theirs = tfmviz.load_model(folder, device="cpu")
    ours = tfmviz.load_model(f"scratch:{folder}", device="cpu")
    assert ours.name == f"scratch:{folder.name}"
    options: dict[str, Any] = {"pad_to": 12, "hidden_states": True}
    if theirs.kind == "encoder-decoder":
        options["target"] = "w10 w20 w30 w40"
    found, expected = (model.trace("w5 w60 w7 w5 w60 w7 w80", **options) for model in (ours, theirs))
    assert found.tokens == expected.tokens
    assert found.target_tokens == expected.target_tokens
    assert list(found.stacks) == list(expected.stacks)
    for name, stack in expected.stacks.items():
        real = [i for i, token in enumerate(stack.query_tokens) if not token.is_padding]
        assert (found[name].n_layers, found[name].n_heads) == (stack.n_layers, stack.n_heads)
        for layer in range(stack.n_layers):
            for head in range(stack.n_heads):
                mine, its = (trace[name].weights(layer, head, rows=real) for trace in (found, expected))
                torch.testing.assert_close(mine, its, atol=1e-5, rtol=0)
    last = [i for i, token in enumerate(found.tokens) if not token.is_padding]
    torch.testing.assert_close(found.hidden_states[-1][last], expected.hidden_states[-1][last], atol=1e-4, rtol=0)
    assert [text for text, _ in found.next_token(5)] == [text for text, _ in expected.next_token(5)]
