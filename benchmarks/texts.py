"""English text that is exactly n tokens long for a given tokenizer, and different for every repetition."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_STORY = (
    "The ferry left late because the captain had lost his keys, so the passengers who had been waiting on the cold "
    "stone pier walked back to the cafe and ordered soup. Nobody complained. A woman with a red suitcase asked the "
    "waiter whether the island still had its own bakery: it did, he said, and its bread was better than any in town. "
    "By noon the fog had lifted, the keys were found under a coil of rope, and the engine started on the second try."
)


def text_of(tokenizer: PreTrainedTokenizerBase, n_tokens: int, variant: int = 0) -> str:
    """Words of a small story, starting at another word for each variant.

    Args:
        tokenizer: decides what a token is; the special tokens that it adds are counted.
        n_tokens: length of the whole sequence, special tokens included.
        variant: number of the repetition, so that no cache has seen the text before.

    Raises:
        ValueError: if no such text is found, which would mean that " it" is more than one token.
    """
    story = _STORY.split()
    words: list[str] = []
    for position in count(7 * variant):
        words.append(story[position % len(story)])
        if _length(tokenizer, words) >= n_tokens:
            break
    while words and _length(tokenizer, words) > n_tokens:
        words.pop()
    while _length(tokenizer, words) < n_tokens:
        words.append("it")
    if _length(tokenizer, words) != n_tokens:
        raise ValueError(f"no text of {n_tokens} tokens; the nearest has {_length(tokenizer, words)}")
    return " ".join(words)


def words_of(n_words: int) -> str:
    """The first so many words of the story, which begins again where it ends."""
    story = _STORY.split()
    return " ".join(story[at % len(story)] for at in range(n_words))


def _length(tokenizer: PreTrainedTokenizerBase, words: list[str]) -> int:
    return len(tokenizer(" ".join(words), verbose=False)["input_ids"])
