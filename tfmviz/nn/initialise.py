"""Random weights to start from, decided by a seed and by nothing else."""

from __future__ import annotations

import torch
from torch import nn


def initialise(model: nn.Module, seed: int) -> None:
    """Fill all weights: matrices as Glorot and Bengio 2010, tables with variance 1/d_model, biases 0, norms 1.

    Draws from a generator of its own, so that neither what ran before nor the order of other draws changes a model.
    """
    generator = torch.Generator().manual_seed(seed)
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight, generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5, generator=generator)
