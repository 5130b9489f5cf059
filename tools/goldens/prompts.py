#!/usr/bin/env python3
"""How prompts of other syntaxes than the plain one are read, and what is made of them.

  tools/goldens/prompts.py --lpw FOLDER [--only sd15,sdxl,parsed,compel,turns] [--check]

FOLDER holds lpw_stable_diffusion.py and lpw_stable_diffusion_xl.py of diffusers' examples/community,
the reference of a1111. That of compel is compel 2.5.1; --only compel needs no FOLDER. tests/goldens/prompts/SYNTAX.json is the structure that the reference reads;
tests/goldens/pipelines/MODEL/SYNTAX_* are runs on the tiny models there.
"""

import argparse
import contextlib
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

# What compel reads as more than words, alone and among what it does not.
COMPEL_PARSED = [
    *PARSED[:7],
    "a tall+ thin- man",
    "a tall++ (thin, old)-- man",
    'a "red house"1.3 on a (green hill)0.5',
    "(a (nested)1.5 weight)0.8",
    "((deep)1.1)1.1 and ((deep)0.9)0.9",
    "big-eyed a+b c- d+, e++.",
    "a (word)-0.5 (other)2 (third)1.",
    "a (b).attend(1.3) \"c d\".attend(++) e.attend(0.5)",
    r"\(not\) a \"quote\" \\(x",
    'a "quote with (weights)1.2 and \\"quotes\\""',
    "(a=b)1.2 (a b:1.2)",
    "(unbalanced (a)1.2",
    "a,b,,c, d",
    '("a cat", "a (big)1.3 dog").blend(1, 0.5)',
    '("a", "b", "c").blend(0.5, 0.2, -0.3, no_normalize)',
    "(a b, c).blend()",
    '("a red apple", "the sea").and(1, 0.5)',
    '("a", "b").add()',
    "(a cat, sea)1.2.blend(1)",
    "a 1.5 (1.5) b1.5",
    'mixed "a"+ b"c" (d)e',
    "一只(猫)1.3 ça (été)-",
    "(a)+b (c)1.2d",
    " (spaces ) 1.3 ( b )1.3 ",
    "a\nb\t(c)++",
]
COMPEL_LONG = " ".join(["the (sea)1.25 at night, a (red)0.5 boat. An (old)++ lighthouse; the"] * 7)
COMPEL_SD_RUNS = {
    "compel_weights": {"prompt": "a (red)1.5 apple, sea++ and (night)0.3", "negative_prompt": "(gray)0.5"},
    "compel_blend": {"prompt": '("a red apple", "the (sea)0.8 at night").blend(1, 0.4)', "negative_prompt": "gray"},
    "compel_and": {"prompt": '("a red apple", "the (old)1.2 boat").and(1, 0.5)', "negative_prompt": ""},
    "compel_long": {"prompt": ["a red- apple", COMPEL_LONG], "negative_prompt": "a tree+"},
}
COMPEL_XL_RUNS = {
    "compel_weights": {"prompt": "a (red)1.5 apple and (night)0.3", "negative_prompt": "(gray)0.5, sad"},
    "compel_and": {"prompt": '("a red apple", "the sea+").and()', "negative_prompt": ""},
    "compel_long": {"prompt": COMPEL_LONG, "negative_prompt": "a tree-"},
}

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
    for index, (name, inputs) in enumerate(XL_RUNS.items()):
        made = request(inputs, 80 + index, prompt_syntax="a1111")
        pipe = sdxl.load(options.folder, model, "text2image")

        def encode_prompt(*_, pipe=pipe, inputs=inputs, **__):
            return lpw.get_weighted_text_embeddings_sdxl(
                pipe=pipe, prompt=inputs["prompt"], neg_prompt=inputs.get("negative_prompt", "")
            )

        type(pipe).encode_prompt, plain = encode_prompt, type(pipe).encode_prompt
        try:
            with own_ids(lpw, options):
                tensors = sdxl.generate(pipe, made, options.folder / model / name)
        finally:
            type(pipe).encode_prompt = plain
        keep(options.folder / model / name, tensors, made, options.check)


# --------------------------------------------------------------------- words that change by the step
# What the prompt is at each of six steps, as A1111's wiki reads it: "Prompt editing" and "Alternating Words".
TURNS = {
    "a1111_editing": (
        "a [red:blue (sea:1.5):2] apple [by night:0.5]",
        ["a red apple "] * 2 + ["a blue (sea:1.5) apple "] + ["a blue (sea:1.5) apple by night"] * 3,
    ),
    "a1111_alternating": (
        "a [red|(old:1.5)|] boat",
        ["a red boat", "a (old:1.5) boat", "a  boat"] * 2,
    ),
}


def turn_runs(options):
    sd, xl = (load_module(options.lpw / f"lpw_stable_diffusion{end}.py") for end in ("", "_xl"))
    for index, (name, (prompt, texts)) in enumerate(TURNS.items()):
        inputs = {"prompt": prompt, "negative_prompt": "gray [sea|boat]"}
        negatives = ["gray sea", "gray boat"] * 3
        made = request(inputs, 220 + index, prompt_syntax="a1111")
        made["config"].update(num_inference_steps=len(texts), scheduler="DDIMScheduler")
        # All turns at once, so that all are filled up to one length.
        pipe = common.load_pipeline(options.folder / "sd15" / "model")
        positive, negative = sd.get_weighted_text_embeddings(pipe=pipe, prompt=texts, uncond_prompt=negatives)
        turn_run("sd15", name, pipe, made, common.generate, [(positive, negative)], options)
        pipe = sdxl.load(options.folder, "sdxl", "text2image")
        with own_ids(xl, options):

            def encoded(one, other, pipe=pipe):
                return xl.get_weighted_text_embeddings_sdxl(pipe=pipe, prompt=one, neg_prompt=other)

            # It fills a prompt up to the length of the other: here all are as long as the longest.
            longest = max(texts + negatives, key=lambda text: encoded(text, text)[0].shape[1])
            each = []
            for one, other in zip(texts, negatives):
                positive, _, pooled, _ = encoded(one, longest)
                _, negative, _, negative_pooled = encoded(longest, other)
                each.append((positive, negative, pooled, negative_pooled))
        columns = [torch.cat(column) for column in zip(*each)]

        def generate(pipe, made, name=name):
            return sdxl.generate(pipe, made, options.folder / "sdxl" / name)

        turn_run("sdxl", name, pipe, made, generate, [columns[:2], columns[2:]], options)


def turn_run(model, name, pipe, made, generate, pairs, options):
    """`pairs`: of the embeddings, and of the pooled ones, with and without the prompt, a row per step."""
    calls, forward = [], pipe.unet.forward

    def encode_prompt(*_, **__):
        return tuple(rows[:1] for pair in pairs for rows in pair)

    def at_step(sample, timestep, encoder_hidden_states=None, added_cond_kwargs=None, **further):
        step = len(calls)
        calls.append(timestep)
        positive, negative = pairs[0]
        states = torch.cat([negative[step : step + 1], positive[step : step + 1]])
        if added_cond_kwargs:
            positive, negative = pairs[1]
            pooled = torch.cat([negative[step : step + 1], positive[step : step + 1]])
            added_cond_kwargs = {**added_cond_kwargs, "text_embeds": pooled}
        return forward(
            sample, timestep, encoder_hidden_states=states, added_cond_kwargs=added_cond_kwargs, **further
        )

    pipe.unet.forward = at_step
    type(pipe).encode_prompt, plain = encode_prompt, type(pipe).encode_prompt
    try:
        tensors = generate(pipe, made)
    finally:
        type(pipe).encode_prompt = plain
        pipe.unet.forward = forward
    for unused in ("noise", "initial_latents", "latents_after_step_1"):
        tensors.pop(unused, None)
    keep(options.folder / model / name, tensors, made, options.check)


@contextlib.contextmanager
def own_ids(lpw, options):
    """The reference has the ids of the stock vocabulary written in it."""
    tokens = json.loads((options.folder / "sdxl" / "model" / "tokenizer" / "vocab.json").read_text())
    group = lpw.group_tokens_and_weights

    def grouped(ids, weights, pad_last_block=False):
        made, weights = group(ids, weights, pad_last_block)
        special = {49406: tokens["<|startoftext|>"], 49407: tokens["<|endoftext|>"]}
        return [[special.get(i, i) for i in row] for row in made], weights

    lpw.group_tokens_and_weights = grouped
    try:
        yield
    finally:
        lpw.group_tokens_and_weights = group


def parsed(lpw, options):
    path = common.GOLDENS / "prompts" / "a1111.json"
    made = [{"text": text, "parsed": lpw.parse_prompt_attention(text)} for text in PARSED]
    if not options.check:
        common.write_json(path, made)
    elif json.loads(path.read_text()) != made:
        raise SystemExit(f"{path} differs")


# ------------------------------------------------------------------------------------------ compel
def compel_parsed(options):
    from compel.prompt_parser import Blend, PromptParser

    def parts(flattened):
        return [[fragment.text, fragment.weight] for fragment in flattened.children]

    made = []
    for text in COMPEL_PARSED:
        read = PromptParser().parse_conjunction(text)
        blends = [
            {
                "prompts": [parts(each) for each in part.prompts],
                "weights": part.weights,
                "normalize": part.normalize_weights,
            }
            if isinstance(part, Blend)
            else {"prompts": [parts(part)], "weights": [1.0], "normalize": True}
            for part in read.prompts
        ]
        made.append({"text": text, "parts": blends, "weights": read.weights})
    path = common.GOLDENS / "prompts" / "compel.json"
    if not options.check:
        common.write_json(path, made)
    elif json.loads(path.read_text()) != made:
        raise SystemExit(f"{path} differs")


def compel_run(model, name, made, pipe, generate, options, **wrapped):
    inputs = made["inputs"]

    def encode_prompt(*_, **__):
        read = wrapped["reader"](pipe)(inputs["prompt"], negative_prompt=inputs["negative_prompt"])
        if read.pooled_embeds is None:
            return read.embeds, read.negative_embeds
        return read.embeds, read.negative_embeds, read.pooled_embeds, read.negative_pooled_embeds

    type(pipe).encode_prompt, plain = encode_prompt, type(pipe).encode_prompt
    try:
        tensors = generate(pipe, made)
    finally:
        type(pipe).encode_prompt = plain
    for unused in ("noise", "initial_latents", "latents_after_step_1"):
        tensors.pop(unused, None)
    keep(options.folder / model / name, tensors, made, options.check)


def compel_runs(options):
    import compel

    for model, runs in (("sd15", COMPEL_SD_RUNS), ("sd2", {"compel_weights": COMPEL_SD_RUNS["compel_weights"]})):
        for index, (name, inputs) in enumerate(runs.items()):
            pipe = common.load_pipeline(options.folder / model / "model")
            made = request(inputs, 160 + index, prompt_syntax="compel")
            compel_run(model, name, made, pipe, common.generate, options, reader=compel.CompelForSD)
    for index, (name, inputs) in enumerate(COMPEL_XL_RUNS.items()):
        pipe = sdxl.load(options.folder, "sdxl", "text2image")
        made = request(inputs, 180 + index, prompt_syntax="compel")

        def generate(pipe, made, name=name):
            return sdxl.generate(pipe, made, options.folder / "sdxl" / name)

        compel_run("sdxl", name, made, pipe, generate, options, reader=compel.CompelForSDXL)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lpw", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path, default=pipelines.FOLDER)
    parser.add_argument("--only", type=lambda text: set(text.split(",")))
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args()
    wanted = options.only or {"parsed", "sd15", "sd2", "sdxl", "compel", "turns"}
    if "compel" in wanted:
        compel_parsed(options)
        compel_runs(options)
    if wanted == {"compel"}:
        return
    if not options.lpw:
        parser.error("give --lpw FOLDER")
    lpw = load_module(options.lpw / "lpw_stable_diffusion.py")
    if "parsed" in wanted:
        parsed(lpw, options)
    if "sd15" in wanted:
        sd_runs(lpw, "sd15", SD_RUNS, options)
    if "sd2" in wanted:
        sd_runs(lpw, "sd2", {"a1111_weights": SD_RUNS["a1111_weights"]}, options)
    if "turns" in wanted:
        turn_runs(options)
    if "sdxl" in wanted:
        xl_runs(load_module(options.lpw / "lpw_stable_diffusion_xl.py"), options)


if __name__ == "__main__":
    main()
