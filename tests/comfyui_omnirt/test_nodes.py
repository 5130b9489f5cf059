"""What ComfyUI asks of nodes, with a stand-in for omnirt."""

import importlib
import os
import pathlib
import sys
import types

import pytest
import torch

FOLDER = pathlib.Path(__file__).parents[2] / "python" / "comfyui_omnirt"
sys.path[:0] = [str(FOLDER.parent), str(pathlib.Path(__file__).parent)]
import stand_in  # noqa: E402

WIDGETS = {
    "prompt": "a red apple",
    "negative_prompt": "",
    "seed": 7,
    "steps": 0,
    "guidance_scale": -1.0,
    "width": 0,
    "height": 0,
}


@pytest.fixture
def nodes(monkeypatch):
    monkeypatch.setitem(sys.modules, "omnirt", stand_in.module())
    for name in [name for name in sys.modules if name.startswith("comfyui_omnirt")]:
        monkeypatch.delitem(sys.modules, name)
    stand_in.Pipeline.made.clear()
    return importlib.import_module("comfyui_omnirt.nodes")


@pytest.fixture
def comfy(monkeypatch):
    """ComfyUI's progress bar and its Cancel button."""
    seen = types.SimpleNamespace(progress=[], interrupted=False)

    class Interrupted(Exception):
        pass

    def throw_exception_if_processing_interrupted():
        if seen.interrupted:
            raise Interrupted

    class ProgressBar:
        def __init__(self, total):
            self.total = total

        def update_absolute(self, value, total=None, preview=None):
            seen.progress.append((value, total))

    seen.Interrupted = Interrupted
    parts = {
        "comfy": {},
        "comfy.utils": {"ProgressBar": ProgressBar},
        "comfy.model_management": {
            "throw_exception_if_processing_interrupted": throw_exception_if_processing_interrupted
        },
    }
    for name, values in parts.items():
        module = types.ModuleType(name)
        module.__dict__.update(values)
        monkeypatch.setitem(sys.modules, name, module)
    return seen


def call(node, **inputs):
    made = node()
    return getattr(made, node.FUNCTION)(**inputs)


def test_each_node_declares_itself(nodes):
    assert set(nodes.NODE_CLASS_MAPPINGS) == set(nodes.NODE_DISPLAY_NAME_MAPPINGS)
    for name, node in nodes.NODE_CLASS_MAPPINGS.items():
        assert callable(getattr(node, node.FUNCTION)) and node.CATEGORY == "OmniRT"
        assert len(node.RETURN_TYPES) == len(node.RETURN_NAMES)
        for group in node.INPUT_TYPES().values():
            for kind, *settings in group.values():
                assert isinstance(kind, str) and all(isinstance(each, dict) for each in settings), name


def test_load_sample_and_decode_make_what_generate_makes(nodes):
    (pipeline,) = call(nodes.OmniRTLoader, model="emoji")
    (state,) = call(nodes.OmniRTSampler, pipeline=pipeline, **WIDGETS)
    (apart,) = call(nodes.OmniRTDecoder, state=state)
    (whole,) = call(nodes.OmniRTGenerate, model="emoji", **WIDGETS)
    assert torch.equal(apart, whole)
    assert whole.shape == (1, 16, 24, 3) and whole.dtype is torch.float32
    assert 0 <= whole.min() and whole.max() <= 1 and whole.is_contiguous()


def test_a_states_file_goes_with_it(nodes):
    (pipeline,) = call(nodes.OmniRTLoader, model="emoji")
    (state,) = call(nodes.OmniRTSampler, pipeline=pipeline, **WIDGETS)
    path = state.path
    assert os.path.exists(path)
    del state
    assert not os.path.exists(path)


def test_widgets_left_alone_are_not_passed_on(nodes):
    call(nodes.OmniRTGenerate, model=" emoji ", **WIDGETS)
    (pipeline,) = stand_in.Pipeline.made
    assert pipeline.model == "emoji"
    assert pipeline.calls == [{"prompt": "a red apple", "seed": 7, "output_type": "pt"}]


def test_images_masks_and_options_are_passed_on(nodes):
    image, mask = torch.rand(1, 16, 24, 3), torch.ones(1, 16, 24)
    more = {
        "steps": 5,
        "guidance_scale": 4.5,
        "width": 32,
        "image": image,
        "mask": mask,
        "strength": 0.5,
        "options": '{"scheduler": "euler", "num_images_per_prompt": 2}',
    }
    (images,) = call(nodes.OmniRTGenerate, model="emoji", **{**WIDGETS, **more})
    (given,) = stand_in.Pipeline.made[0].calls
    assert torch.equal(given["image"], image[0].movedim(-1, 0)) and torch.equal(given["mask"], mask)
    assert (given["strength"], given["num_inference_steps"], given["width"]) == (0.5, 5, 32)
    assert given["scheduler"] == "euler" and images.shape[0] == 2


@pytest.mark.parametrize(
    "name, value, words",
    [
        ("options", "{", "options: not JSON"),
        ("options", "[1]", "a JSON object is expected"),
        ("image", torch.rand(2, 8, 8, 3), "image: one image is taken"),
        ("mask", torch.rand(2, 8, 8), "mask: one mask is taken"),
    ],
)
def test_what_is_wrong_with_a_widget_is_named(nodes, name, value, words):
    with pytest.raises(ValueError, match=words):
        call(nodes.OmniRTGenerate, model="emoji", **{**WIDGETS, name: value})


def test_a_model_is_loaded_once_and_two_are_kept(nodes):
    for model in ("a", "a", "b", "a", "c", "b"):
        call(nodes.OmniRTLoader, model=model)
    assert [pipeline.model for pipeline in stand_in.Pipeline.made] == ["a", "b", "c", "b"]


def test_steps_move_the_progress_bar(nodes, comfy):
    call(nodes.OmniRTGenerate, model="emoji", **{**WIDGETS, "steps": 3})
    assert comfy.progress == [(1, 3), (2, 3), (3, 3)]


def test_cancel_ends_a_run(nodes, comfy):
    comfy.interrupted = True
    with pytest.raises(comfy.Interrupted):
        call(nodes.OmniRTGenerate, model="emoji", **WIDGETS)
    (pipeline,) = call(nodes.OmniRTLoader, model="emoji")
    with pytest.raises(comfy.Interrupted):
        call(nodes.OmniRTSampler, pipeline=pipeline, **WIDGETS)
