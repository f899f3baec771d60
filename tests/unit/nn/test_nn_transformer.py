"""Whole models: what the mask, the cache, ablation and recording promise, for every kind of model."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from nn_cases import config
from torch import Tensor

from tfmviz.errors import ConfigError
from tfmviz.nn import (
    Causal,
    Document,
    EncoderDecoder,
    KeyValueCache,
    Recording,
    Transformer,
    attention_stages,
    build,
    parse,
    use_form,
)
from tfmviz.nn.feedforward import FeedForward

DECODERS: dict[str, dict[str, Any]] = {
    "gpt-2": {},
    "llama": {
        "position": "rotary", "n_kv_heads": 2, "norm": "rms", "feed_forward": "gated", "activation": "silu",
        "attention_bias": "none", "feed_forward_bias": False,
    },
    "multi-query, interleaved": {"position": "rotary", "rotary_pairing": "interleaved", "n_kv_heads": 1},
    "paper": {"position": "sinusoidal", "block": "post-norm", "activation": "relu", "embedding_scale": 24**0.5},
    "neox": {"position": "rotary", "rotary_fraction": 0.67, "block": "parallel", "output": "linear"},
    "alibi": {"position": "alibi", "n_heads": 3},
    "t5 decoder": {"position": "relative", "attention_scale": 1.0},
    "window": {"mask": "sliding:3", "position": "none"},
    "soft cap": {"attention_softcap": 5.0, "attention_form": "chunked"},
}  # fmt: skip


def close(found: Tensor, expected: Tensor, atol: float = 1e-5) -> None:
    torch.testing.assert_close(found, expected, atol=atol, rtol=1e-4)


def pair(**changes: Any) -> EncoderDecoder:
    model = build(config(architecture="encoder-decoder", **changes)).eval()
    assert isinstance(model, EncoderDecoder)
    return model


@pytest.mark.parametrize("kind", DECODERS)
def test_no_token_of_a_decoder_knows_what_comes_later(kind: str, tokens: Tensor) -> None:
    model = build(config(**DECODERS[kind])).eval()
    changed = tokens.clone()
    changed[:, 6] = (changed[:, 6] + 1) % 31
    before, after = model(tokens), model(changed)
    assert torch.equal(before[:, :6], after[:, :6])
    assert (before[:, 6] - after[:, 6]).abs().max() > 1e-3


@pytest.mark.parametrize("kind", DECODERS)
def test_a_cache_changes_no_number(kind: str, tokens: Tensor) -> None:
    model = build(config(**DECODERS[kind])).eval()
    cache = KeyValueCache()
    parts = [model(part, cache=cache) for part in tokens.split([4, 1, 3, 1], dim=1)]
    close(torch.cat(parts, dim=1), model(tokens))


@pytest.mark.parametrize("kind", DECODERS)
def test_forms_of_attention_give_one_model(kind: str, tokens: Tensor) -> None:
    model = build(config(**DECODERS[kind])).eval()
    expected = model(tokens)
    for form in ("materialised", "chunked"):
        use_form(model, form)
        close(model(tokens), expected)


@pytest.mark.parametrize("kind", DECODERS)
def test_recorded_queries_keys_and_scoring_give_the_heads_output(kind: str, tokens: Tensor) -> None:
    model = build(config(**DECODERS[kind])).eval()
    recording = Recording()
    last = model.hidden(tokens, recording=recording)
    assert [record.layer for record in recording.stack("self")] == [0, 1]
    for record in recording.attention:
        close(attention_stages(record.query, record.key, record.value, record.scoring).output, record.output)
    close(model.stack.final_norm(recording.hidden["self"][-1]), last)
    assert len(recording.hidden["self"]) == 3


@pytest.mark.parametrize("block", ["pre-norm", "post-norm", "parallel"])
def test_blocks_follow_their_formula(block: str) -> None:
    model = build(config(block=block, position="none")).eval()
    first = model.stack.blocks[0]
    recording = Recording()
    model.hidden(torch.arange(8)[None], recording=recording)
    x, found = recording.hidden["self"][:2]
    # a post-norm sub-layer sees the stream itself, the others its norm
    read = x if block == "post-norm" else first.attention_norm(x)
    head_outputs = recording.attention[0].output.transpose(1, 2).flatten(2)
    attended = first.attention.output(head_outputs)
    torch.testing.assert_close(recording.attention[0].query.transpose(1, 2).flatten(2), first.attention.query(read))
    if block == "pre-norm":
        expected = x + attended + first.feed_forward(first.feed_forward_norm(x + attended))
    elif block == "parallel":
        expected = x + attended + first.feed_forward(first.feed_forward_norm(x))
    else:
        middle = first.attention_norm(x + attended)
        expected = first.feed_forward_norm(middle + first.feed_forward(middle))
    close(found, expected)


def test_output_of_attention_is_the_sum_over_heads() -> None:
    model = build(config(attention_bias="none", n_kv_heads=2)).eval()
    recording = Recording()
    model.hidden(torch.arange(8)[None], recording=recording)
    projection = model.stack.blocks[0].attention.output
    heads = recording.attention[0].output[0]
    parts = [heads[h] @ projection.weight[:, 6 * h : 6 * (h + 1)].T for h in range(4)]
    close(sum(parts), projection(heads.transpose(0, 1).flatten(1)))


def test_ablated_head_gives_zeros_and_no_other_changes(tokens: Tensor) -> None:
    model = build(config()).eval()
    plain, ablated = Recording(), Recording()
    model.hidden(tokens, recording=plain)
    model.hidden(tokens, recording=ablated, ablate=[("self", 0, 2)])
    output = ablated.attention[0].output
    assert (output[:, 2] == 0).all()
    others = [0, 1, 3]
    assert torch.equal(output[:, others], plain.attention[0].output[:, others])
    # the same as cutting the head's slice out of the output projection
    with torch.no_grad():
        model.stack.blocks[0].attention.output.weight[:, 12:18] = 0
    cut = Recording()
    model.hidden(tokens, recording=cut)
    close(cut.hidden["self"][-1], ablated.hidden["self"][-1])


@pytest.mark.parametrize("architecture", ["encoder", "decoder"])
@pytest.mark.parametrize("position", ["none", "rotary", "alibi", "relative", "learned"])
def test_padding_on_the_right_changes_no_real_token(architecture: str, position: str, tokens: Tensor) -> None:
    model = build(config(architecture=architecture, position=position)).eval()
    visible = torch.ones(2, 9, dtype=torch.bool)
    visible[0, 6:] = False
    found = model.hidden(tokens, visible=visible)
    close(found[0, :6], model.hidden(tokens[:1, :6])[0])
    close(found[1], model.hidden(tokens[1:])[0])


def test_padding_on_the_left_of_relative_positions_changes_no_real_token(tokens: Tensor) -> None:
    model = build(config(position="rotary")).eval()
    visible = torch.arange(9).expand(2, 9) >= 3
    close(model.hidden(tokens, visible=visible)[:, 3:], model.hidden(tokens[:, 3:]))


def test_packed_documents_are_as_if_alone(tokens: Tensor) -> None:
    model = build(config(position="rotary")).eval()
    ids = torch.tensor([0] * 4 + [1] * 5)
    packed = model.hidden(tokens, mask=Causal() & Document(ids))
    close(packed[:, :4], model.hidden(tokens[:, :4]))
    close(packed[:, 4:], model.hidden(tokens[:, 4:]))


def test_an_encoder_under_the_causal_mask_is_a_decoder(tokens: Tensor) -> None:
    encoder, decoder = build(config(architecture="encoder")).eval(), build(config()).eval()
    close(encoder(tokens, mask=Causal()), decoder(tokens))
    close(decoder(tokens, mask=parse("bidirectional")), encoder(tokens))


def test_parallel_texts_do_not_mix(tokens: Tensor) -> None:
    model = build(config(architecture="encoder")).eval()
    close(model(tokens)[1:], model(tokens[1:]))


def test_segments_are_added() -> None:
    model = build(config(architecture="encoder", n_segments=2)).eval()
    tokens, segments = torch.arange(6)[None], torch.tensor([[0, 0, 0, 1, 1, 1]])
    recording = Recording()
    model.hidden(tokens, segments=segments, recording=recording)
    expected = model.tokens(tokens) + model.embedding.segment(segments) + model.embedding.position.table.weight[:6]
    close(recording.hidden["self"][0], expected)


@pytest.mark.parametrize("position", ["learned", "sinusoidal", "relative", "rotary", "alibi"])
def test_decoder_of_an_encoder_decoder_sees_the_whole_source_and_no_later_target(position: str, tokens: Tensor) -> None:
    model = pair(position=position)
    target = tokens.flip(1)
    changed = target.clone()
    changed[:, 4] = (changed[:, 4] + 1) % 31
    assert torch.equal(model(tokens, target)[:, :4], model(tokens, changed)[:, :4])
    source = tokens.clone()
    source[:, -1] = (source[:, -1] + 1) % 31
    assert (model(tokens, target)[:, 0] - model(source, target)[:, 0]).abs().max() > 1e-4


def test_padded_source_tokens_are_seen_by_neither_stack(tokens: Tensor) -> None:
    model = pair()
    visible = torch.ones(2, 9, dtype=torch.bool)
    visible[:, 5:] = False
    close(model(tokens, tokens, visible=visible), model(tokens[:, :5], tokens))


def test_encoder_decoder_cache_changes_no_number(tokens: Tensor) -> None:
    model = pair(position="relative", n_kv_heads=2)
    memory = model.encode(tokens)
    cache = KeyValueCache()
    parts = [model.decode(part, memory, cache=cache) for part in tokens.split([3, 1, 5], dim=1)]
    close(torch.cat(parts, dim=1), model.decode(tokens, memory))


def test_cross_attention_is_recorded_with_queries_of_the_target_and_keys_of_the_source(tokens: Tensor) -> None:
    model, recording = pair(n_decoder_layers=3), Recording()
    model(tokens, tokens[:, :4], recording=recording, ablate=[("cross", 1, 0)])
    assert [len(recording.stack(name)) for name in ("encoder", "decoder", "cross")] == [2, 3, 3]
    record = recording.stack("cross")[1]
    assert (record.query.shape, record.key.shape) == ((2, 4, 4, 6), (2, 4, 9, 6))
    assert record.scoring.bias is None
    assert (record.output[:, 0] == 0).all()
    assert record.output[:, 1:].abs().min() > 0


@pytest.mark.parametrize("kind", DECODERS)
def test_every_weight_learns(kind: str, tokens: Tensor) -> None:
    model = build(config(**DECODERS[kind], dropout=0.1, attention_dropout=0.1)).train()
    model(tokens).logsumexp(-1).sum().backward()
    without = [name for name, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()]
    # a key's bias adds the same to every score of a row, which the softmax takes away again
    assert [name for name in without if not name.endswith("key.bias")] == []


def test_gradients_are_those_of_finite_differences() -> None:
    model = build(config(block="pre-norm", feed_forward="gated", activation="silu", norm="rms")).double().eval()
    tokens, weight = torch.arange(5)[None], model.stack.blocks[0].attention.query.weight

    def loss() -> Tensor:
        return model(tokens).logsumexp(-1).square().sum()

    loss().backward()
    with torch.no_grad():
        for place in ((0, 0), (5, 3), (23, 23)):
            kept = weight[place].item()
            weight[place] = kept + 1e-5
            above = loss().item()
            weight[place] = kept - 1e-5
            below = loss().item()
            weight[place] = kept
            assert weight.grad[place].item() == pytest.approx((above - below) / 2e-5, rel=1e-5, abs=1e-7)


def test_tied_output_has_no_matrix_of_its_own() -> None:
    tied, own = build(config()), build(config(output="linear"))
    size = 31 * 24
    assert sum(p.numel() for p in own.parameters()) - sum(p.numel() for p in tied.parameters()) == size


def test_a_model_without_an_output_says_so(tokens: Tensor) -> None:
    with pytest.raises(ConfigError, match="output='none'"):
        build(config(output="none"))(tokens)


def test_a_seed_decides_every_weight_and_nothing_else_does() -> None:
    torch.manual_seed(1)
    first = build(config(output="linear"), seed=5)
    torch.manual_seed(2)
    torch.rand(100)
    again, other = build(config(output="linear"), seed=5), build(config(output="linear"), seed=6)
    for (name, a), b, c in zip(first.named_parameters(), again.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b), name
        assert a.std() == 0 or not torch.equal(a, c), name


def test_dropout_stands_where_the_paper_has_it() -> None:
    model = build(config(architecture="encoder", dropout=0.5, n_layers=1))
    assert isinstance(model, Transformer)
    recording = Recording()
    model.train().hidden(torch.arange(20)[None], recording=recording)
    embedding, out = recording.hidden["self"]
    assert 0.3 < (embedding == 0).float().mean() < 0.7  # on the sum of token and position
    # each sub-layer's output is dropped before it is added: where both are, the stream passes through unchanged
    assert 0.15 < (out == embedding).float().mean() < 0.35
    assert torch.equal(model.eval()(torch.arange(20)[None]), model(torch.arange(20)[None]))


@pytest.mark.parametrize("kind", ["plain", "gated"])
def test_weights_stored_by_input_are_the_same_numbers(kind: str) -> None:
    feed_forward = FeedForward(config(feed_forward=kind)).double()
    before, x = {name: weight.clone() for name, weight in feed_forward.state_dict().items()}, torch.randn(2, 9, 24)
    expected = feed_forward(x.double())
    feed_forward.store_by_input()
    assert all(torch.equal(weight, before[name]) for name, weight in feed_forward.state_dict().items())
    assert not feed_forward.up.weight.is_contiguous()
    assert feed_forward.up.weight.mT.is_contiguous()
    torch.testing.assert_close(feed_forward(x.double()), expected, rtol=1e-12, atol=1e-12)
