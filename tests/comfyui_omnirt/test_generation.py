"""The nodes over the package omnirt itself, on its embedded model."""

import importlib
import pathlib
import sys

import pytest
import torch

pytest.importorskip("omnirt")
ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "python"))

WIDGETS = {
    "prompt": "a red apple",
    "negative_prompt": "",
    "seed": 7,
    "steps": 2,
    "guidance_scale": -1.0,
    "width": 0,
    "height": 0,
}


@pytest.fixture
def nodes():
    for name in [name for name in sys.modules if name.startswith("comfyui_omnirt")]:
        del sys.modules[name]
    return importlib.import_module("comfyui_omnirt.nodes")


def call(node, **inputs):
    made = node()
    return getattr(made, node.FUNCTION)(**inputs)[0]


def test_three_nodes_and_one_make_the_same_image(nodes):
    pipeline = call(nodes.OmniRTLoader, model="emoji")
    state = call(nodes.OmniRTSampler, pipeline=pipeline, **WIDGETS)
    apart = call(nodes.OmniRTDecoder, state=state)
    whole = call(nodes.OmniRTGenerate, model="emoji", **WIDGETS)
    assert torch.equal(apart, whole)
    assert whole.dim() == 4 and whole.shape[3] == 3 and whole.std() > 0.05


def test_an_image_makes_it_image2image(nodes):
    model = str(ROOT / "models" / "emoji-sd")
    first = call(nodes.OmniRTGenerate, model=model, **WIDGETS)
    again = call(nodes.OmniRTGenerate, model=model, image=first, strength=0.5, **WIDGETS)
    assert again.shape == first.shape and not torch.equal(again, first)


def test_a_mask_makes_it_inpainting(nodes):
    first = call(nodes.OmniRTGenerate, model="emoji", **WIDGETS)
    mask = torch.zeros(first.shape[:3])
    mask[:, :, : mask.shape[2] // 2] = 1
    again = call(nodes.OmniRTGenerate, model="emoji", image=first, mask=mask, **{**WIDGETS, "prompt": "a lemon"})
    changed = (again - first).abs().mean(dim=(0, 1, 3))
    assert changed[: len(changed) // 4].mean() > 4 * changed[-len(changed) // 4 :].mean()


def test_an_unknown_keyword_is_named(nodes):
    with pytest.raises(Exception, match="shedule"):
        call(nodes.OmniRTGenerate, model="emoji", options='{"shedule": "euler"}', **WIDGETS)
