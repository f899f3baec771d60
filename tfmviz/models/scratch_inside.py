"""One layer of a from-scratch pass looked at closely."""

from __future__ import annotations

from contextlib import AbstractContextManager

from torch import Tensor, nn

from tfmviz.models.scratch_record import TraceRecording
from tfmviz.nn import AttentionRecord, StackName
from tfmviz.trace import LayerAttention, LayerInside
from tfmviz.trace.aftermath import Aftermath


class InsideRecording(TraceRecording):
    """Keeps one call with its values and follows what it gives out, as :class:`Aftermath` does for any model.

    Args:
        module: the transformer.
        stack: of the layer.
        layer: from 0.
    """

    def __init__(self, module: nn.Module, stack: str, layer: int) -> None:
        super().__init__(hidden_states=False)
        self._wanted = (stack, layer)
        self._aftermath = Aftermath(module)
        self._found: LayerAttention | None = None

    def add_attention(self, record: AttentionRecord) -> None:
        """See :class:`Recording`."""
        if (record.stack, record.layer) == self._wanted:
            self._found = self.layer_of(record, keep_value=True)
            self._aftermath.begin(record.output.transpose(1, 2))

    def add_hidden(self, stack: StackName, x: Tensor) -> None:
        """See :class:`Recording`; the stream is taken where the layer's output is added to it."""

    def followed(self) -> AbstractContextManager[None]:
        """Listen while the pass runs."""
        return self._aftermath.followed()

    def result(self) -> LayerInside | None:
        """The layer; None if it made no call."""
        return None if self._found is None else self._aftermath.result(self._found)
