"""One pass of a from-scratch model over one text: who may look at whom, and how attention is computed."""

from __future__ import annotations

from typing import Any

from jaxtyping import Float
from torch import Tensor

from tfmviz.models.inputs import ModelInputs
from tfmviz.models.memory import PassShape, StackShape, predicted_bytes
from tfmviz.models.scratch_record import TraceRecording
from tfmviz.nn import AnyTransformer, Causal, EncoderDecoder, Mask, StackName, parse
from tfmviz.nn.config import AttentionForm

# From this many tokens on, a mask or bias that the fused kernel would want as a matrix is applied block by block.
LONG = 2048


class ScratchPass:
    """The choices of one pass, and the pass itself.

    Args:
        module: the transformer.
        inputs: one text, on the module's device.
        mask: in place of the model's own; in both stacks of an encoder-decoder.
        ablate: heads whose output is set to zero.
        recording: filled by the pass.
    """

    def __init__(
        self,
        module: AnyTransformer,
        inputs: ModelInputs,
        mask: Mask | None,
        ablate: tuple[tuple[StackName, int, int], ...],
        recording: TraceRecording,
    ) -> None:
        self.module, self.inputs, self.recording = module, inputs, recording
        self._mask, self._ablate = mask, ablate
        real = inputs.tensors["attention_mask"].bool()
        self._visible = None if bool(real.all()) else real
        self._memory: Tensor | None = None

    @property
    def has_bias(self) -> bool:
        """Whether positions act as a bias on scores."""
        return self.module.config.position in ("alibi", "relative")

    @property
    def is_mixed(self) -> bool:
        """Whether some mask of the pass is neither causal nor everything."""
        n, rule = len(self.inputs.tokens), self._mask or parse(self.module.config.mask)
        return self._visible is not None or rule.reach(n, n) == "mixed"

    @property
    def form(self) -> AttentionForm:
        """The model's own form of attention; in blocks where the fused kernel would need an n² matrix."""
        own = self.module.config.attention_form
        longest = max(len(self.inputs.tokens), len(self.inputs.target_tokens))
        needs_matrix = own == "materialised" or self.has_bias or self.is_mixed
        return "chunked" if needs_matrix and longest >= LONG else own

    def lengths(self) -> dict[StackName, tuple[int, int]]:
        """Queries and keys of each stack."""
        n, m = len(self.inputs.tokens), len(self.inputs.target_tokens)
        if isinstance(self.module, EncoderDecoder):
            return {"encoder": (n, n), "decoder": (m, m), "cross": (m, n)}
        return {"self": (n, n)}

    def needed_bytes(self, *, n_logits: int, hidden_states: bool) -> int:
        """What the pass is predicted to take, over the model itself."""
        config = self.module.config
        shape = PassShape(
            d_model=config.d_model,
            d_ff=config.d_ff,
            n_vocabulary=config.vocab_size,
            itemsize=self.module.tokens.weight.itemsize,
        )
        fused = self.form == "fused"
        stacks = {}
        for name, (n_queries, n_keys) in self.lengths().items():
            layers = config.n_layers if name in ("self", "encoder") else config.n_decoder_layers
            stack = StackShape(
                n_layers=layers,
                n_attending=layers,
                n_heads=config.n_heads,
                n_kv_heads=config.n_kv_heads,
                d_head=config.d_head,
                # the fused kernel takes a bias as an n² matrix a head
                eager=self.form == "materialised" or (self.has_bias and fused),
            )
            stacks[str(name)] = (stack, n_queries, n_keys)
        padded = self.is_mixed and fused
        return predicted_bytes(shape, stacks, n_logits=n_logits, padded=padded, hidden_states=hidden_states)

    def __call__(self) -> Float[Tensor, "1 n d_model"]:
        """The last hidden states; of the target, where there is one."""
        own = self._mask or parse(self.module.config.mask)
        options: dict[str, Any] = {"recording": self.recording, "ablate": self._ablate}
        tokens = self.inputs.tensors["input_ids"]
        if not isinstance(self.module, EncoderDecoder):
            segments = self.inputs.tensors.get("token_type_ids")
            return self.module.hidden(tokens, segments=segments, visible=self._visible, mask=own, **options)
        self._memory = self.module.encode(tokens, visible=self._visible, mask=own, **options)
        return self.module.decode(
            self.inputs.tensors["decoder_input_ids"],
            self._memory,
            visible=self._visible,
            mask=self._mask or Causal(),
            **options,
        )

    def hidden_states(self, last: Float[Tensor, "1 n d_model"]) -> dict[str, tuple[Float[Tensor, "n d_model"], ...]]:
        """What left the embedding and each layer; of the last layer, what left the last norm."""
        found = {name: tuple(x[0] for x in states) for name, states in self.recording.hidden.items()}
        ends = {"self": last, "decoder": last, "encoder": self._memory}
        return {str(name): (*states[:-1], ends[name][0]) for name, states in found.items()}
