"""One layer of a from-scratch pass looked at closely."""

from __future__ import annotations

from contextlib import AbstractContextManager

from torch import nn

from tfmviz.models.model import Place
from tfmviz.models.scratch_record import TraceRecording
from tfmviz.nn import AttentionRecord
from tfmviz.trace import LayerAttention, LayerInside
from tfmviz.trace.aftermath import Aftermath


class InsideRecording(TraceRecording):
    """Keeps one call with its values and follows what it gives out, as :class:`Aftermath` does for any model.

    Args:
        module: the transformer.
        place: stack and layer.
        hidden_states: whether to keep the residual stream of the whole pass too.
    """

    def __init__(self, module: nn.Module, place: Place, *, hidden_states: bool) -> None:
        super().__init__(hidden_states=hidden_states)
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
        """Listen while the pass runs; the stream is taken where the layer's output is added to it."""
        return self._aftermath.followed()

    def result(self) -> LayerInside | None:
        """The layer; None if it made no call."""
        return None if self._found is None else self._aftermath.result(self._found)
