"""What one call of attention takes at its highest point, worked out from the code of its three forms.

The formulas count the tensors that are alive together, in `tfmviz.nn.attention` and `tfmviz.nn.chunked`. `measure`
measures the same calls in a process of their own. No torch is needed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfmviz.analysis.memory import itemsize
from tfmviz.errors import ConfigError

if TYPE_CHECKING:
    from tfmviz.nn.config import AttentionForm

FORMS: tuple[AttentionForm, ...] = ("materialised", "chunked", "fused")
_FLOAT32 = 4  # what kernels add up in, whatever the format of the rest
_POSITION = 8  # bytes of a token's position
# With gradients, PyTorch's record of the steps of one pair of blocks takes so many bytes beside its tensors. Measured
# with torch 2.13: it follows from no shape.
_RECORD = 37_000
# PyTorch's CPU kernel works through tiles of so many keys, and of so many queries in texts from a length on.
_TILE_COLUMNS = 512
_TILE_ROWS = ((768, 256), (192, 64), (0, 32))


@dataclass(frozen=True, kw_only=True, slots=True)
class AttentionCall:
    """Attention of one layer, as far as memory goes; the text's length comes apart.

    Attributes:
        n_heads: query heads.
        n_kv_heads: heads of keys and values; divides ``n_heads``.
        d_head: width of a head.
        batch: texts.
        dtype: "float32", "bfloat16" or "float16".
        causal: whether a query sees itself and what came before, or everything.
        backward: whether gradients are computed too.

    Raises:
        ConfigError: if a size is below 1, the heads do not divide, or the format is unknown.
    """

    n_heads: int
    n_kv_heads: int
    d_head: int
    batch: int = 1
    dtype: str = "float32"
    causal: bool = False
    backward: bool = False

    def __post_init__(self) -> None:
        for name in ("n_heads", "n_kv_heads", "d_head", "batch"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)} is too small. Use 1 or more.")
        if self.n_heads % self.n_kv_heads:
            raise ConfigError(
                f"n_kv_heads={self.n_kv_heads} does not divide n_heads={self.n_heads}. Each key-value head serves the "
                "same number of query heads: use a divisor."
            )
        if itemsize(self.dtype) == itemsize("int8"):
            raise ConfigError("Attention is computed in a float format: use float32, bfloat16 or float16.")

    @property
    def block(self) -> int:
        """Rows and columns of a block of the chunked form where it is measured.

        Small enough for a block to be little beside the inputs; larger with gradients, where each pair of blocks
        leaves a record.
        """
        return 256 if self.backward else 128

    @property
    def is_shared(self) -> bool:
        """Whether query heads share keys and values."""
        return self.n_kv_heads != self.n_heads

    @property
    def is_copied(self) -> bool:
        """Whether `share_heads` copies keys and values: a single one can be repeated without."""
        return 1 < self.n_kv_heads < self.n_heads


def peak_bytes(
    form: AttentionForm,
    n: int,
    call: AttentionCall,
    *,
    device: str = "cpu",
    n_threads: int = 1,
    block: int | None = None,
) -> int:
    """Bytes at the highest point of one call: its tensors, and the record of its steps where it is long.

    Args:
        form, n, call, device, n_threads, block: as `tensor_bytes` has them.
    """
    tensors = tensor_bytes(form, n, call, device=device, n_threads=n_threads, block=block)
    if form != "chunked" or not call.backward:
        return tensors
    rows = -(-n // (block or call.block))
    pairs = rows * (rows + 1) // 2 if call.causal else rows * rows
    return tensors + (_RECORD * pairs if device == "cpu" else 0)  # a card does not hold the record


def tensor_bytes(
    form: AttentionForm,
    n: int,
    call: AttentionCall,
    *,
    device: str = "cpu",
    n_threads: int = 1,
    block: int | None = None,
) -> int:
    """Bytes of the tensors that are alive together at the highest point: inputs, everything between, the output.

    With Q, K and M the bytes of the queries, of the keys and of one n x n matrix a head, and B = n² bytes of a mask:

        materialised   Q + 2K + 5M + B       scores, scaled, masked, softmax and weights are alive together
                       + B                   under a causal mask, which is a matrix itself
                       + 2Q                  copies of keys and values where heads share several of them
        chunked        Q + 2K + 2Q           its pieces, and the output they are joined to;
                       or Q + 2K + Q + 5 blocks, if that is more
        fused          Q + 2K + Q + n        output, one number a row, and work space of a size of its own

    and with gradients

        materialised   Q + B more
        chunked        Q + 2K + 3Q + 3K + what one row of blocks keeps: n / block blocks and Q
        fused          3Q + 2K more

    Args:
        form: how attention is computed.
        n: tokens, queries and keys alike.
        call: heads, widths, mask.
        device: type of the device: "cpu", "cuda" or "mps".
        n_threads: of the CPU, each of which has work space of its own in the fused kernel.
        block: rows and columns of a block of the chunked form; None for the call's own.

    Raises:
        ConfigError: if the form is unknown.
    """
    sizes = Sizes.of(n, call, block or call.block)
    match form:
        case "materialised":
            return _materialised(sizes, call)
        case "chunked":
            return _chunked(sizes, call)
        case "fused":
            return _fused(sizes, call, device, n_threads)
    raise ConfigError(f"form={form!r} is unknown. Use one of {', '.join(FORMS)}.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """Bytes of the tensors that a call of attention makes.

    Attributes:
        query: queries, and everything of their shape: the output, gradients, copies of shared keys.
        key: keys; values take the same.
        matrix: one [batch, head, n, n].
        mask: one [n, n] of booleans.
        rows: one number a row, [batch, head, n], in float32.
        positions: of queries and of keys.
        block, strip: of the chunked form [batch, head, block, block] and [batch, head, block, d_head].
        n_blocks: along one side.
        tile, tile_rows: of the fused kernel on the CPU, numbers and queries in a tile; not bytes.
    """

    query: int
    key: int
    matrix: int
    mask: int
    rows: int
    positions: int
    block: int
    strip: int
    n_blocks: int
    tile: int
    tile_rows: int

    @classmethod
    def of(cls, n: int, call: AttentionCall, block: int) -> Sizes:
        """Those of a call on ``n`` tokens."""
        number, heads, side = itemsize(call.dtype), call.batch * call.n_heads, min(block, n)
        tile_rows = min(next(rows for shortest, rows in _TILE_ROWS if n >= shortest), n)
        return cls(
            query=number * heads * n * call.d_head,
            key=number * call.batch * call.n_kv_heads * n * call.d_head,
            matrix=number * heads * n * n,
            mask=n * n,
            rows=_FLOAT32 * heads * n,
            positions=2 * _POSITION * n,
            block=number * heads * side * side,
            strip=number * heads * side * call.d_head,
            n_blocks=-(-n // side),
            tile=tile_rows * min(_TILE_COLUMNS, n),
            tile_rows=tile_rows,
        )

    @property
    def inputs(self) -> int:
        """Queries, keys and values."""
        return self.query + 2 * self.key


def _materialised(sizes: Sizes, call: AttentionCall) -> int:
    """Five matrices are alive: scores, scaled, masked, softmax, and the weights that the second fill makes of it.

    Beside them stand the mask (a matrix itself where it is causal) and what it hides (always one, and one more that the
    first fill keeps for the way back). Without gradients the softmax is gone when the output is made; with them it is
    not. The way back has three matrices at most and takes less.
    """
    copies = 2 * sizes.query if call.is_copied else 0
    masks = (1 + call.causal + call.backward) * sizes.mask
    weighing = 5 * sizes.matrix + masks + (sizes.query if call.backward else 0)
    summing = 4 * sizes.matrix + sizes.query + call.causal * sizes.mask
    return sizes.inputs + copies + sizes.positions + max(weighing, summing)


def _chunked(sizes: Sizes, call: AttentionCall) -> int:
    """Pieces of the output collect, each worked out a block at a time, and are joined at the end.

    In the loop five blocks are alive: biased, masked and the weights of this block of keys, what their exponential is
    taken of, and the weights of the block before. On the way back one piece is worked out anew and keeps its weights
    and its sums for every block of keys, beside the output, its gradient, that of all queries, and those of keys and
    values, of which one more is made to be added.
    """
    copied = 2 * sizes.strip if call.is_copied else 0
    working = sizes.query + 5 * sizes.block + copied * 3 // 2
    joining = 2 * sizes.query
    there = sizes.inputs + sizes.positions + max(working, joining)
    if not call.backward:
        return there
    kept = sizes.n_blocks * (sizes.block + sizes.strip + copied)
    # the first step back lets go of its block before it is highest; gradients of shared keys, to be summed, fill in
    kept -= 0 if call.is_shared else sizes.block + sizes.strip
    back = sizes.inputs + sizes.positions + 3 * sizes.query + 3 * sizes.key + kept
    return max(there, back)


def _fused(sizes: Sizes, call: AttentionCall, device: str, n_threads: int) -> int:
    """The kernel makes the output and one number a row, its logsumexp, in work space that the text does not change.

    On the way back there are the output's gradient, as it comes and as the kernel wants it, and those of queries, keys
    and values, in two tiles of work space instead of one.
    """
    threads = _FLOAT32 * n_threads if device == "cpu" else 0
    copies = 2 * sizes.query if call.is_shared and device != "cpu" else 0  # `fused` itself makes them
    held = sizes.inputs + copies + sizes.query + sizes.rows
    if not call.backward:
        # scores of a tile, and for each of its queries a largest score, a sum and an output; in half formats the
        # weights of a tile beside its scores
        weights = sizes.tile // 2 if call.dtype != "float32" else 0
        return held + threads * (sizes.tile + weights + sizes.tile_rows * (2 + call.d_head))
    shared = 2 * sizes.query if copies else 2 * sizes.key
    return held + 3 * sizes.query + shared + threads * 2 * sizes.tile
