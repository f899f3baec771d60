"""From token numbers to vectors, and from vectors back to the vocabulary."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from tfmviz.errors import ConfigError, OutOfRange
from tfmviz.nn.config import TransformerConfig
from tfmviz.nn.feedforward import activate
from tfmviz.nn.norms import make_norm
from tfmviz.nn.positions import AddedPosition


class Embedding(nn.Module):
    """The sum of what a token is, where it stands and, in BERT, which sentence it belongs to.

    The table of tokens is passed in: encoder, decoder and output may share it.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.position = AddedPosition(config)
        if config.n_segments:
            self.segment = nn.Embedding(config.n_segments, config.d_model)
        self.norm = make_norm(config) if config.embedding_norm else nn.Identity()
        self.drop = nn.Dropout(config.dropout)

    def forward(
        self,
        tokens: Int[Tensor, "b n"],
        table: nn.Embedding,
        positions: Int[Tensor, "*b n"],
        segments: Int[Tensor, "b n"] | None = None,
    ) -> Float[Tensor, "b n d_model"]:
        """The vectors the first block reads. Without ``segments`` every token belongs to segment 0.

        Raises:
            OutOfRange: if a token is no number of the vocabulary (on a CPU: a GPU stops the process at it).
        """
        try:
            x = table(tokens)
        except IndexError:
            wrong = int(tokens[(tokens < 0) | (tokens >= table.num_embeddings)][0])
            raise OutOfRange(
                f"Token {wrong} is none of the {table.num_embeddings} of the vocabulary. Use 0 to "
                f"{table.num_embeddings - 1}, or build the model with another vocab_size."
            ) from None
        if self.config.embedding_scale != 1.0:
            x = x * self.config.embedding_scale
        if self.config.n_segments:
            x = x + self.segment(torch.zeros_like(tokens) if segments is None else segments)
        return self.drop(self.norm(self.position(x, positions)))


class OutputHead(nn.Module):
    """Hidden states to a score for every word of the vocabulary.

    A tied head multiplies by the table of tokens itself: the score of a word is how well the state matches its vector.
    Press and Wolf 2017.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        if config.output_transform:
            self.dense = nn.Linear(config.d_model, config.d_model)
            self.norm = make_norm(config)
        if config.output == "linear":
            self.linear = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.output_bias:
            self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def forward(self, x: Float[Tensor, "b n d_model"], table: nn.Embedding) -> Float[Tensor, "b n vocab"]:
        """Logits.

        Raises:
            ConfigError: if the model was built without an output.
        """
        if self.config.output == "none":
            raise ConfigError("output='none': this model ends in hidden states. Build it with output='tied'.")
        if self.config.output_transform:
            x = self.norm(activate(self.dense(x), self.config.activation))
        if self.config.output_scale != 1.0:
            x = x * self.config.output_scale
        weight = table.weight if self.config.output == "tied" else self.linear.weight
        return F.linear(x, weight, self.bias if self.config.output_bias else None)
