#!/usr/bin/env python3
"""The defaults of every reference pipeline's call: what a request gets that does not say.

  tools/goldens/call_defaults.py [OUT]

Writes tests/goldens/call_defaults.json: {"diffusers": version, "pipelines": {class: {parameter: default}}}, from
inspect.signature of each class's __call__, or of a modular pipeline's blocks; parameters without a default are left out.
tests/catalogue/defaults_test.cpp holds the registry against it.
"""

import argparse
import inspect
import pathlib

import common
import diffusers

SD = "StableDiffusion"
PIPELINES = [
    *(f"{name}{kind}Pipeline"
      for name in (SD, f"{SD}XL", f"{SD}ControlNet", f"{SD}XLControlNet")
      for kind in ("", "Img2Img", "Inpaint")),
    f"{SD}AdapterPipeline",
    f"{SD}XLAdapterPipeline",
    f"{SD}PAGPipeline",
    f"{SD}XLPAGPipeline",
    "AuraFlowPipeline",
    *(f"Chroma{kind}Pipeline" for kind in ("", "Img2Img", "Inpaint")),
    "Flux2KleinInpaintPipeline",
    "Flux2KleinKVPipeline",
    "Flux2KleinPipeline",
    "Flux2Pipeline",
    "FluxControlImg2ImgPipeline",
    "FluxControlInpaintPipeline",
    "FluxControlPipeline",
    "FluxFillPipeline",
    "FluxImg2ImgPipeline",
    "FluxInpaintPipeline",
    "FluxKontextInpaintPipeline",
    "FluxKontextPipeline",
    "FluxPipeline",
    "Krea2Pipeline",
    "Lumina2Pipeline",
    "PixArtAlphaPipeline",
    "PixArtSigmaPipeline",
    *(f"QwenImage{kind}Pipeline" for kind in ("", "21", "Edit", "EditInpaint", "EditPlus", "Img2Img", "Inpaint", "Layered")),
    "SanaControlNetPipeline",
    "SanaPipeline",
    "SanaSprintImg2ImgPipeline",
    "SanaSprintPipeline",
    *(f"{SD}3{kind}Pipeline" for kind in ("", "ControlNetInpainting", "Img2Img", "Inpaint")),
    "StableVideoDiffusionPipeline",
    "ZImageImg2ImgPipeline",
    "ZImageInpaintPipeline",
    "ZImageOmniPipeline",
    "ZImagePipeline",
]


def defaults(pipeline):
    parameters = inspect.signature(getattr(diffusers, pipeline).__call__).parameters
    return {
        name: parameter.default
        for name, parameter in parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }


# Modular pipelines have no call of their own: the inputs of their blocks, and what their guider is made with.
MODULAR = ["Flux3AutoBlocks", "Flux3DistilledAutoBlocks", "QwenImage21TurboAutoBlocks"]


def defaults_of_blocks(name):
    blocks = getattr(diffusers, name)()
    blocks.sub_blocks.pop("prompt_upsampler", None)
    workflow = blocks.get_workflow("text2image")
    values = {each.name: each.default for each in workflow.inputs if each.name and not each.required}
    guiders = [each for each in workflow.expected_components if each.name == "guider"]
    return {**values, **{"guidance_scale": guider.config["guidance_scale"] for guider in guiders}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", nargs="?", type=pathlib.Path, default=common.GOLDENS / "call_defaults.json")
    table = {name: defaults(name) for name in PIPELINES}
    table.update({name: defaults_of_blocks(name) for name in MODULAR})
    common.write_json(parser.parse_args().out, {"diffusers": diffusers.__version__, "pipelines": table})


if __name__ == "__main__":
    main()
