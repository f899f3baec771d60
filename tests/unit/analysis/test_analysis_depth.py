"""Sizes by depth: each number worked out again from the definition, and what theory says of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tfmviz.analysis.depth import DEPTHS, batch, config, last_gradient_law, profile
from tfmviz.errors import ConfigError
from tfmviz.nn import Transformer


@pytest.mark.parametrize("order", ["pre-norm", "post-norm"])
def test_gradients_are_those_of_the_loss(order: str) -> None:
    """A step of length h along the first block's gradient changes the loss by h times the gradient's length."""
    found = profile(order, 2, seed=5)
    model = Transformer(config(order, 2), seed=5).double()
    tokens = batch(5)

    def loss() -> torch.Tensor:
        return F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())

    before = loss()
    assert found.loss == pytest.approx(before.item(), rel=1e-5)
    for layer, block in enumerate(model.stack.blocks):
        weights = list(block.parameters())
        gradients = torch.autograd.grad(loss(), weights)
        length = sum((gradient**2).sum() for gradient in gradients) ** 0.5
        h = 1e-5
        with torch.no_grad():
            for weight, gradient in zip(weights, gradients, strict=True):
                weight += h * gradient / length
            change = (loss() - before) / h
            for weight, gradient in zip(weights, gradients, strict=True):
                weight -= h * gradient / length
        assert found.gradient[layer] == pytest.approx(change.item(), rel=1e-3)


def test_activations_are_read_from_the_stream_itself() -> None:
    found = profile("pre-norm", 4, seed=1)
    model = Transformer(config("pre-norm", 4), seed=1)
    tokens = batch(1)[:, :-1]
    sizes = []
    for block in model.stack.blocks:
        block.register_forward_hook(lambda _, __, out: sizes.append(float(out.detach().pow(2).mean() ** 0.5)))
    model(tokens)
    assert found.activation.shape == (5,)
    assert np.allclose(found.activation[1:], sizes, rtol=1e-5)


def test_post_norm_keeps_every_token_at_size_one() -> None:
    assert np.allclose(profile("post-norm", 12, seed=0).activation[1:], 1.0, atol=1e-3)


def test_pre_norm_s_stream_grows_with_every_layer() -> None:
    assert (np.diff(profile("pre-norm", 24, seed=0).activation) > 0).all()


def test_the_last_gradient_falls_with_depth_in_pre_norm_only() -> None:
    """Xiong et al. 2020, theorem 1: like L to the power of -1/2 in pre-norm, of 0 in post-norm."""
    power = {}
    for order in ("pre-norm", "post-norm"):
        ratio = np.mean(
            [profile(order, 48, seed).gradient[-1] / profile(order, 3, seed).gradient[-1] for seed in (0, 1)]
        )
        power[order] = np.log(ratio) / np.log(16)
    assert power["pre-norm"] == pytest.approx(-0.5, abs=0.15)
    assert power["post-norm"] == pytest.approx(0.0, abs=0.1)


def test_the_law_of_pre_norm_halves_when_depth_is_four_times() -> None:
    assert last_gradient_law({2: 3.0, 8: 9.9}, "pre-norm") == pytest.approx({2: 3.0, 8: 1.5})


def test_the_same_seed_gives_the_same_numbers() -> None:
    first, second, other = (profile("post-norm", 4, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(first.gradient, second.gradient)
    assert not np.array_equal(first.gradient, other.gradient)


def test_the_two_orders_start_from_the_same_weights() -> None:
    pre, post = (Transformer(config(order, 4), seed=2).state_dict() for order in ("pre-norm", "post-norm"))
    assert all(torch.equal(pre[name], post[name]) for name in post)


def test_the_deepest_model_of_the_page_has_finite_numbers() -> None:
    found = profile("post-norm", DEPTHS[-1], seed=0)
    assert np.isfinite(found.gradient).all()
    assert len(found.gradient) == 96


@pytest.mark.parametrize("n_layers", [1, 97])
def test_other_depths_are_refused(n_layers: int) -> None:
    with pytest.raises(ConfigError, match=f"n_layers={n_layers}"):
        profile("pre-norm", n_layers, seed=0)
