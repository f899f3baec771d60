"""MiniLM and SmolLM2 on texts of many scripts: each weight equals Hugging Face's eager attention, alone and padded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from tfmviz.models import Model
from tfmviz.trace import Trace

TEXTS = {
    "english": "The animal didn't cross the street because it was too tired.",
    "german": "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.",
    "vietnamese": "Trời hôm nay đẹp quá, chúng ta đi dạo nhé?",
    "turkish": "Işıklar söndü; İzmir'de gece ılıktı.",
    "greek": "Η θάλασσα ήταν ήρεμη το πρωί.",
    "russian": "Съешь же ещё этих мягких французских булок.",
    "georgian": "დილა მშვიდობისა, მეგობარო.",
    "armenian": "Բարի լույս, աշխարհ։",
    "hebrew": "הילד אכל תפוח אדום.",
    "arabic": "كتب الطالب الدرس في الدفتر.",
    "persian": "می‌خواهم کتابی تازه بخوانم.",
    "urdu": "آج موسم بہت اچھا ہے۔",
    "hindi": "बच्चे बगीचे में खेल रहे हैं।",
    "bengali": "আমি প্রতিদিন সকালে চা খাই।",
    "tamil": "அவள் பாடல் பாடினாள்.",
    "thai": "วันนี้อากาศดีมาก",
    "khmer": "ខ្ញុំចូលចិត្តអានសៀវភៅ។",
    "amharic": "ሰላም ለዓለም ይሁን።",
    "chinese": "猫坐在垫子上看着窗外的雨。",
    "japanese": "東京の朝は静かで、電車がゆっくり走る。",
    "korean": "고양이가 창가에서 잠을 잔다.",
    "emoji": "Dinner 🍜 with the family 👨‍👩‍👧‍👦 👍🏽 tonight!",
    "code": "def f(x: int) -> int:\n\treturn x**2  # squared\n",
    "mixed": "3.14 ≈ π, naïve café — «да» / 你好 / שלום",
}
PADDING = {"single": None, "right-padded": "right", "left-padded": "left"}
TOLERANCE = 1e-5


def test_there_are_twenty_texts() -> None:
    assert len(TEXTS) >= 20


@pytest.fixture(params=["minilm", "smollm2"])
def model(request: pytest.FixtureRequest) -> Model:
    return request.getfixturevalue(request.param)


@pytest.fixture
def eager(model: Model) -> Iterator[Any]:
    """The same weights under eager attention."""
    module = model._module
    module.set_attn_implementation("eager")
    yield module
    module.set_attn_implementation("sdpa")


def reported(module: Any, trace: Trace) -> list[Tensor]:
    with torch.inference_mode():
        output = module(
            input_ids=torch.tensor([[token.id for token in trace.tokens]]),
            attention_mask=torch.tensor([[int(not token.is_padding) for token in trace.tokens]]),
            output_attentions=True,
        )
    return [weights[0] for weights in output.attentions]


@pytest.mark.parametrize("padding", PADDING)
@pytest.mark.parametrize("language", TEXTS)
def test_every_weight_equals_eager_attention(
    model: Model, language: str, padding: str, request: pytest.FixtureRequest
) -> None:
    text, side = TEXTS[language], PADDING[padding]
    n_tokens = len(model.tokenize(text))
    trace = model.trace(text, pad_to=n_tokens + 6 if side else None, pad_side=side)
    stack = trace["self"]
    real = torch.tensor([not token.is_padding for token in trace.tokens])
    assert int(real.sum()) == n_tokens

    expected = reported(request.getfixturevalue("eager"), trace)
    assert stack.n_layers == len(expected)
    for layer, theirs in enumerate(expected):
        assert stack.status(layer) == "exact"
        ours = torch.stack([stack.weights(layer, head) for head in range(stack.n_heads)])
        # a padding query on the left of a decoder sees nothing: zeros here, a mean of everything in eager attention
        live = stack.visible(layer, 0).any(-1)
        assert live[real].all()
        assert (ours - theirs)[:, live].abs().max() <= TOLERANCE
        assert not ours[:, ~live].any()
        assert not ours[..., ~real].any()
        assert (ours[:, live].sum(-1) - 1).abs().max() <= TOLERANCE
