#!/usr/bin/env python3
"""How prompts of other syntaxes than the plain one are read, and what is made of them.

  tools/goldens/prompts.py --lpw FOLDER [--only sd15,sdxl,parsed] [--check]

FOLDER holds lpw_stable_diffusion.py and lpw_stable_diffusion_xl.py of diffusers' examples/community,
the reference of a1111. tests/goldens/prompts/SYNTAX.json is the structure that the reference reads;
tests/goldens/pipelines/MODEL/SYNTAX_* are runs on the tiny models there.
"""

import argparse
import importlib.util
import json
import pathlib

import common
import pipelines
import sdxl
import torch

LONG = ", ".join(["the (sea:1.25) at night", "a [red] boat", "an ((old)) lighthouse"] * 5)

PARSED = [
    "",
    "a red apple",
    "an (important) word",
    "(unbalanced",
    "unbalanced)",
    "[down",
    r"\(literal\]",
    r"a\\b \[x\] \q \\\\",
    "(unnecessary)(parens)",
    "a (((house:1.3)) [on] a (hill:0.5), sun, (((sky))).",
    "(a:1.5) (b:+0.5) (c:-1) (d:.25) (e:2.)",
    "a:1.2) b",
    "time: 10:30 (now)",
    "(a [b) c]",
    "((a:1.5):0.5)",
    "(:1.5)",
    "()[]",
    "一只(猫:1.3) ça [été]",
    "(ends here:1.2",
    "a \\",
    "x] (y:1.1) [z",
]

SD_RUNS = {
    "a1111_weights": {"prompt": "a (red:1.5) apple, ((sea)) and [night]", "negative_prompt": "(gray:0.5)"},
    "a1111_long": {"prompt": LONG, "negative_prompt": "a (tree:1.3)"},
    "a1111_long_negative": {"prompt": "a (red) apple", "negative_prompt": LONG},
    "a1111_prompts": {"prompt": ["a (red:1.5) apple", LONG], "negative_prompt": ["gray", "a [tree]"]},
    "a1111_no_negative": {"prompt": r"a \(red\) (apple:0.25)"},
}
# Weights that half precision holds: the reference rounds them to it.
XL_LONG = ", ".join(["the (sea:1.25) at night", "a (boat:0.5)", "an (old:1.5) lighthouse"] * 12)
XL_RUNS = {
    "a1111_weights": {"prompt": "a (red:1.5) apple and (night:-0.5)", "negative_prompt": "(gray:0.5), sad"},
    "a1111_long": {"prompt": XL_LONG, "negative_prompt": "a (tree:1.25)"},
    "a1111_no_negative": {"prompt": "a (red:1.5) apple"},
}


def load_module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def request(inputs, seed, **config):
    return {
        "task": "text2image",
        "model": "../model",
        "inputs": inputs,
        "config": {"num_inference_steps": 3, "guidance_scale": 7.5, "seed": seed, **config},
    }


def keep(folder, tensors, made, check):
    path = folder / "golden.safetensors"
    if not all(bool(value.isfinite().all()) for value in tensors.values()):
        raise SystemExit(f"{folder}: not finite")
    if check:
        return common.report_difference(folder.name, path, tensors)
    common.write_tensors(path, tensors)
    common.write_json(folder / "request.json", made)


# -------------------------------------------------------------------------------- Stable Diffusion
def sd_runs(lpw, model, runs, options):
    for index, (name, inputs) in enumerate(runs.items()):
        extra = {"clip_skip": 1} if name == "a1111_long_negative" else {}
        made = request(inputs, 60 + index, prompt_syntax="a1111", **extra)
        pipe = common.load_pipeline(options.folder / model / "model")
        count = len(inputs["prompt"]) if isinstance(inputs["prompt"], list) else 1
        negative = inputs.get("negative_prompt", "")
        negative = [negative] * count if isinstance(negative, str) else negative

        def encode_prompt(*_, pipe=pipe, inputs=inputs, negative=negative, extra=extra, **__):
            return lpw.get_weighted_text_embeddings(
                pipe=pipe,
                prompt=inputs["prompt"],
                uncond_prompt=negative,
                clip_skip=extra.get("clip_skip"),
            )

        type(pipe).encode_prompt, plain = encode_prompt, type(pipe).encode_prompt
        try:
            tensors = common.generate(pipe, made)
        finally:
            type(pipe).encode_prompt = plain
        tensors.pop("noise"), tensors.pop("initial_latents", None)
        tensors.pop("latents_after_step_1", None)
        keep(options.folder / model / name, tensors, made, options.check)


# ----------------------------------------------------------------------------- Stable Diffusion XL
def xl_runs(lpw, options):
    model = "sdxl"
    tokens = json.loads((options.folder / model / "model" / "tokenizer" / "vocab.json").read_text())
    for index, (name, inputs) in enumerate(XL_RUNS.items()):
        made = request(inputs, 80 + index, prompt_syntax="a1111")
        pipe = sdxl.load(options.folder, model, "text2image")

        # The reference has the ids of the stock vocabulary written in it.
        group = lpw.group_tokens_and_weights

        def grouped(ids, weights, pad_last_block=False, group=group):
            made, weights = group(ids, weights, pad_last_block)
            special = {49406: tokens["<|startoftext|>"], 49407: tokens["<|endoftext|>"]}
            return [[special.get(i, i) for i in row] for row in made], weights

        def encode_prompt(*_, pipe=pipe, inputs=inputs, **__):
            return lpw.get_weighted_text_embeddings_sdxl(
                pipe=pipe, prompt=inputs["prompt"], neg_prompt=inputs.get("negative_prompt", "")
            )

        lpw.group_tokens_and_weights = grouped
        type(pipe).encode_prompt, plain = encode_prompt, type(pipe).encode_prompt
        try:
            tensors = sdxl.generate(pipe, made, options.folder / model / name)
        finally:
            type(pipe).encode_prompt = plain
            lpw.group_tokens_and_weights = group
        keep(options.folder / model / name, tensors, made, options.check)


def parsed(lpw, options):
    path = common.GOLDENS / "prompts" / "a1111.json"
    made = [{"text": text, "parsed": lpw.parse_prompt_attention(text)} for text in PARSED]
    if not options.check:
        common.write_json(path, made)
    elif json.loads(path.read_text()) != made:
        raise SystemExit(f"{path} differs")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lpw", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, default=pipelines.FOLDER)
    parser.add_argument("--only", type=lambda text: set(text.split(",")))
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args()
    lpw = load_module(options.lpw / "lpw_stable_diffusion.py")
    wanted = options.only or {"parsed", "sd15", "sd2", "sdxl"}
    if "parsed" in wanted:
        parsed(lpw, options)
    if "sd15" in wanted:
        sd_runs(lpw, "sd15", SD_RUNS, options)
    if "sd2" in wanted:
        sd_runs(lpw, "sd2", {"a1111_weights": SD_RUNS["a1111_weights"]}, options)
    if "sdxl" in wanted:
        xl_runs(load_module(options.lpw / "lpw_stable_diffusion_xl.py"), options)


if __name__ == "__main__":
    main()
