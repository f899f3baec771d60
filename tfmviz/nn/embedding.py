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
            ConfigError: if the tokens are not whole numbers in rows.
            OutOfRange: if a token or segment is no number of its table (on a CPU: a GPU stops the process at it).
        """
        if tokens.ndim != 2 or tokens.is_floating_point():
            raise ConfigError(
                f"Tokens of shape {tuple(tokens.shape)} and type {tokens.dtype} were given. Use whole numbers of shape "
                "[batch, n]; tokens[None] makes a batch of one text."
            )
        x = look_up(table, tokens, "Token", "the vocabulary")
        if self.config.embedding_scale != 1.0:
            x = x * self.config.embedding_scale
        if self.config.n_segments:
            which = torch.zeros_like(tokens) if segments is None else segments
            x = x + look_up(self.segment, which, "Segment", "n_segments")
        return self.drop(self.norm(self.position(x, positions)))


def look_up(table: nn.Embedding, numbers: Int[Tensor, "b n"], what: str, whole: str) -> Float[Tensor, "b n d_model"]:
    """The rows of a table.

    Args:
        what: what a number stands for, for the error.
        whole: what all of them are together.

    Raises:
        OutOfRange: if a number is not in the table.
    """
    try:
        return table(numbers)
    except IndexError:
        n = table.num_embeddings
        wrong = int(numbers[(numbers < 0) | (numbers >= n)][0])
        raise OutOfRange(
            f"{what} {wrong} is none of the {n} of {whole}. Use 0 to {n - 1}, or build the model with more."
        ) from None


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
