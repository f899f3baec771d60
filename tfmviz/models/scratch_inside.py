"""One layer of a from-scratch pass looked at closely."""

from __future__ import annotations

from contextlib import AbstractContextManager

from torch import nn

from tfmviz.models.scratch_record import TraceRecording
from tfmviz.nn import AttentionRecord
from tfmviz.trace import LayerAttention, LayerInside
from tfmviz.trace.aftermath import Aftermath


class InsideRecording(TraceRecording):
    """Keeps one call with its values and follows what it gives out, as :class:`Aftermath` does for any model.

    Args:
        module: the transformer.
        place: stack and layer.
    """

    def __init__(self, module: nn.Module, place: tuple[str, int]) -> None:
        super().__init__(hidden_states=False)
        self._wanted = place
        self._aftermath = Aftermath(module)
        self._found: LayerAttention | None = None

    def add_attention(self, record: AttentionRecord) -> None:
        """See :class:`Recording`."""
        super().add_attention(record)
        if (record.stack, record.layer) == self._wanted:
            self._found = self.layer_of(record, keep_value=True)
            self._aftermath.begin(record.output.transpose(1, 2))

    def followed(self) -> AbstractContextManager[None]:
        """Listen while the pass runs, and end it where the layer's output has been added to the residual stream."""
        return self._aftermath.followed()

    def result(self) -> LayerInside | None:
        """The layer; None if it made no call."""
        return None if self._found is None else self._aftermath.result(self._found)
