#!/usr/bin/env python3
"""What diffusers makes of models/emoji, at the defaults that its entry has.

  tools/goldens/emoji.py            writes tests/goldens/emoji/RUN/{request.json,golden.safetensors}
  tools/goldens/emoji.py --check    compares with what is there instead of writing

To be run again whenever the model's weights change. Tensors are those of flux2.py's runs.
"""

import argparse

import common
import flux2
import golden_files

FOLDER = common.GOLDENS / "emoji"
DEFAULTS = dict(num_inference_steps=8, max_sequence_length=32)
PROMPTS = {"prompt": ["a red apple", "Smiling face with sunglasses on a teal background"]}
INPAINT = {
    "prompt": "a lemon on a blue background",
    "image": "../../pipelines/inputs/image.png",
    "mask": "../../pipelines/inputs/mask.png",
}


def runs():
    """Name, inputs, what the request sets, and what the entry's defaults are in addition to DEFAULTS."""
    yield "text2image", PROMPTS, {"seed": 40}, {"width": 128, "height": 128}
    yield "inpaint", INPAINT, {"seed": 41, "strength": 0.7}, {}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args()
    pipe = common.load_any(common.ROOT / "models" / "emoji")
    for name, inputs, config, defaults in runs():
        request = {"task": name, "model": "emoji", "inputs": inputs, "config": config}
        (FOLDER / name).mkdir(parents=True, exist_ok=True)
        settled = {**request, "config": {**DEFAULTS, **defaults, **config}}
        tensors = flux2.generate(pipe, settled, FOLDER / name)
        if not options.check:
            common.write_json(FOLDER / name / "request.json", request)
        golden_files.check_or_write(FOLDER / name / "golden.safetensors", tensors, options.check)


if __name__ == "__main__":
    main()
