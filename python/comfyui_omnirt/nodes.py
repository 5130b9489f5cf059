"""The nodes: load, sample, decode, and all three in one."""

import os
import threading
import uuid

import omnirt

from .calls import images_of, keywords_of
from .comfy_side import Progress, temporary_folder

CATEGORY = "OmniRT"
MOST_PIXELS = 16384

PROMPTS = {
    "prompt": ("STRING", {"multiline": True, "dynamicPrompts": True, "default": ""}),
    "negative_prompt": ("STRING", {"multiline": True, "dynamicPrompts": True, "default": ""}),
}
NUMBERS = {
    "seed": ("INT", {"default": 0, "min": 0, "max": 2**53 - 1, "control_after_generate": True}),
    "steps": ("INT", {"default": 0, "min": 0, "max": 1000, "tooltip": "0: as the model has it"}),
    "guidance_scale": (
        "FLOAT",
        {"default": -1.0, "min": -1.0, "max": 100.0, "step": 0.1, "tooltip": "-1: as the model has it"},
    ),
    "width": ("INT", {"default": 0, "min": 0, "max": MOST_PIXELS, "step": 8, "tooltip": "0: as the model has it"}),
    "height": ("INT", {"default": 0, "min": 0, "max": MOST_PIXELS, "step": 8, "tooltip": "0: as the model has it"}),
}
OPTIONAL = {
    "image": ("IMAGE", {"tooltip": "what image2image begins with, or an edit changes"}),
    "mask": ("MASK", {"tooltip": "what inpainting repaints"}),
    "strength": (
        "FLOAT",
        {"default": -1.0, "min": -1.0, "max": 1.0, "step": 0.01, "tooltip": "-1: as the model has it"},
    ),
    "options": (
        "STRING",
        {"multiline": True, "default": "", "tooltip": 'more keywords, as JSON: {"scheduler": "euler"}'},
    ),
}
MODEL = (
    "STRING",
    {"default": "", "tooltip": "an id of omnirt's registry or of the Hugging Face cache, a folder, or a file"},
)


class Pipelines:
    """One pipeline per model, kept from one prompt to the next; the one used longest ago goes first."""

    most = 2

    def __init__(self):
        self._made, self._lock = {}, threading.Lock()

    def get(self, model):
        with self._lock:
            pipeline = self._made.pop(model, None) or omnirt.Pipeline.from_pretrained(model)
            self._made[model] = pipeline
            while len(self._made) > self.most:
                del self._made[next(iter(self._made))]  # ended with the last node that has it
            return pipeline


PIPELINES = Pipelines()


def keywords(prompt, negative_prompt, seed, steps, guidance_scale, width, height, **optional):
    return keywords_of(
        prompt,
        negative_prompt,
        guidance_scale,
        seed,
        optional.get("options", ""),
        optional.get("image"),
        optional.get("mask"),
        width=width,
        height=height,
        num_inference_steps=steps,
        strength=optional.get("strength", -1.0),
    )


class OmniRTLoader:
    """Finds a model. Its weights are read when they are first used."""

    CATEGORY, FUNCTION = CATEGORY, "load"
    RETURN_TYPES, RETURN_NAMES = ("OMNIRT_PIPELINE",), ("pipeline",)

    @classmethod
    def INPUT_TYPES(cls):
        return {"required": {"model": MODEL}}

    def load(self, model):
        return (PIPELINES.get(model.strip()),)


class State:
    """A run that stopped before its images were decoded; its file goes with it."""

    def __init__(self, pipeline, path):
        self.pipeline, self.path = pipeline, path

    def __del__(self):
        if os.path.exists(self.path):
            os.unlink(self.path)


class OmniRTSampler:
    """Runs up to the last step, and hands on the state of the run."""

    CATEGORY, FUNCTION = CATEGORY, "sample"
    RETURN_TYPES, RETURN_NAMES = ("OMNIRT_STATE",), ("state",)

    @classmethod
    def INPUT_TYPES(cls):
        required = {"pipeline": ("OMNIRT_PIPELINE",), **PROMPTS, **NUMBERS}
        return {"required": required, "optional": dict(OPTIONAL)}

    def sample(self, pipeline, **widgets):
        path = os.path.join(temporary_folder(), f"omnirt-{uuid.uuid4().hex}.safetensors")
        state = State(pipeline, path)
        pipeline(**keywords(**widgets), stop_after="denoise_loop", state=path, callback=Progress())
        return (state,)


class OmniRTDecoder:
    """The images of a run that OmniRTSampler has stopped."""

    CATEGORY, FUNCTION = CATEGORY, "decode"
    RETURN_TYPES, RETURN_NAMES = ("IMAGE",), ("images",)

    @classmethod
    def INPUT_TYPES(cls):
        return {"required": {"state": ("OMNIRT_STATE",)}}

    def decode(self, state):
        return (images_of(state.pipeline(resume=state.path, output_type="pt")),)


class OmniRTGenerate:
    """A model and a prompt to images, in one node."""

    CATEGORY, FUNCTION = CATEGORY, "generate"
    RETURN_TYPES, RETURN_NAMES = ("IMAGE",), ("images",)

    @classmethod
    def INPUT_TYPES(cls):
        return {"required": {"model": MODEL, **PROMPTS, **NUMBERS}, "optional": dict(OPTIONAL)}

    def generate(self, model, **widgets):
        pipeline = PIPELINES.get(model.strip())
        result = pipeline(**keywords(**widgets), output_type="pt", callback=Progress())
        return (images_of(result),)


NODES = (
    (OmniRTLoader, "OmniRT Loader"),
    (OmniRTSampler, "OmniRT Sampler"),
    (OmniRTDecoder, "OmniRT Decoder"),
    (OmniRTGenerate, "OmniRT Generate"),
)
NODE_CLASS_MAPPINGS = {node.__name__: node for node, _ in NODES}
NODE_DISPLAY_NAME_MAPPINGS = {node.__name__: name for node, name in NODES}
