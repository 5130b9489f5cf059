#!/usr/bin/env python3
"""Small random adapters in every layout over the tiny sd15 folder, and what the reference makes of them.

  tools/goldens/adapters.py [--only kohya,loha] [--check]

tests/goldens/adapters/files holds the adapters, CASE/{request.json,golden.safetensors} a run. Where
diffusers reads the layout (load_lora_weights, load_textual_inversion, set_adapters) the run is its own,
and the merge by formula below must agree with it; elsewhere the run is over weights merged by formula:
LyCORIS' and PEFT's for LoHa, LoKr and DoRA, cloneofsimo/lora's order of layers for its numbered files.
"""

import argparse
import json

import common
import sdxl
import torch
from adapter_files import (
    ATTENTION,
    FILES,
    FOLDER,
    TEXT,
    Maker,
    apply,
    delta,
    diffusers_new,
    diffusers_old,
    kohya,
    layers_of,
    numbered,
    sgm_name,
    write,
)
from safetensors.torch import load_file

MODEL = common.GOLDENS / "pipelines" / "sd15" / "model"


# ---------------------------------------------------------------------------------------------- cases
def request(adapters, prompt="a red apple", seed=40, task="text2image", model="sd15", **config):
    inputs = {"prompt": prompt, "negative_prompt": "gray"}
    if task == "image2image":
        inputs["image"] = "../../pipelines/inputs/image.png"
    values = {"num_inference_steps": 3, "guidance_scale": 5.0, "seed": seed, **config}
    return {
        "task": task,
        "model": f"../../pipelines/{model}/model",
        "inputs": inputs,
        "config": values,
        "adapters": [{"path": f"../files/{path}", **more} for path, more in adapters],
    }


class Case:
    def __init__(self, name, adapters, by_formula=None, by_diffusers=None, **values):
        self.name, self.by_formula, self.by_diffusers = name, by_formula, by_diffusers
        self.request = request(adapters, **values)


def full_adapter(maker, pipe, rank, alpha=None, unet=(*ATTENTION, "ff.net.0.proj"), text=TEXT[:4]):
    return {
        "unet": {n: maker.lora(w, rank, alpha) for n, w in layers_of(pipe.unet, *unet).items()},
        "text_encoder": {
            n: maker.lora(w, rank, alpha) for n, w in layers_of(pipe.text_encoder, *text).items()
        },
    }


def attentions(pipe, maker, rank, alpha=None):
    return full_adapter(maker, pipe, rank, alpha, unet=ATTENTION)


def some(weights, every, start=0):
    return dict(list(weights.items())[start::every])


def load_lora(pipe, name, adapter):
    """diffusers 0.42.1 looks for the text encoder's layers by the names that transformers 5 has for them,
    without the text_model that every published file has; so the file is read without it."""
    tensors = load_file(FILES / name)
    for start in ("text_encoder.", "lora_te_", "lora_te1_"):
        for joint in ("text_model.", "text_model_"):
            tensors = {k.replace(start + joint, start): v for k, v in tensors.items()}
    pipe.load_lora_weights(tensors, adapter_name=adapter)


def lora_cases(pipe):
    def load(*names):
        return lambda p: [load_lora(p, name, name.split(".")[0]) for name in names]

    new = full_adapter(Maker(1), pipe, 3)
    write("diffusers_new.safetensors", diffusers_new(new))
    yield Case(
        "diffusers_new",
        [("diffusers_new.safetensors", {})],
        lambda p: apply(p, new),
        load("diffusers_new.safetensors"),
    )

    old = attentions(pipe, Maker(2), 2)
    write("diffusers_old.safetensors", diffusers_old(old))
    yield Case(
        "diffusers_old",
        [("diffusers_old.safetensors", {"scale": 0.6})],
        lambda p: apply(p, old, lambda *_: 0.6),
        lambda p: (load("diffusers_old.safetensors")(p), p.set_adapters(["diffusers_old"], [0.6])),
    )

    plain = full_adapter(Maker(3), pipe, 4, alpha=2)
    write("kohya.safetensors", kohya(plain))
    yield Case(
        "kohya", [("kohya.safetensors", {})], lambda p: apply(p, plain), load("kohya.safetensors")
    )
    yield Case(
        "kohya_image2image",
        [("kohya.safetensors", {"scale": 1.5})],
        lambda p: apply(p, plain, lambda *_: 1.5),
        lambda p: (load("kohya.safetensors")(p), p.set_adapters(["kohya"], [1.5])),
        task="image2image",
        strength=0.7,
        seed=41,
    )

    half = {
        c: {n: {k: v.half() for k, v in f.items()} for n, f in layers.items()}
        for c, layers in full_adapter(Maker(4), pipe, 2, alpha=1, text=TEXT).items()
    }
    write("kohya_fp16.safetensors", kohya(half, torch.float16), {"ss_network_dim": "2"})
    two = [("kohya.safetensors", {"scale": 0.7}), ("kohya_fp16.safetensors", {"scale": -0.4})]
    yield Case(
        "two",
        two,
        lambda p: (apply(p, plain, lambda *_: 0.7), apply(p, half, lambda *_: -0.4)),
        lambda p: (
            load("kohya.safetensors", "kohya_fp16.safetensors")(p),
            p.set_adapters(["kohya", "kohya_fp16"], [0.7, -0.4]),
        ),
    )

    scales = {
        "unet.down_blocks": 0.9,
        "unet.up_blocks": 0.2,
        "unet.up_blocks.1": 1.3,
        "unet.mid_block": 0.5,
        "text_encoder": 0.4,
    }

    def block_scale(component, path):
        path = f"{component}.{path}"
        fits = [s for s in scales if path.startswith(s + ".")]
        return scales[max(fits, key=len)] if fits else 1.0

    # diffusers says 1 down, 2, ... by block and attention; blocks 1, 2 and 3 have attention going up.
    theirs = {
        "unet": {
            "down": 0.9,
            "mid": 0.5,
            "up": {"block_1": [1.3, 1.3], "block_2": [0.2, 0.2], "block_3": [0.2, 0.2]},
        },
        "text_encoder": 0.4,
    }
    yield Case(
        "blocks",
        [("kohya.safetensors", {"scales": scales})],
        lambda p: apply(p, plain, block_scale),
        lambda p: (load("kohya.safetensors")(p), p.set_adapters(["kohya"], [theirs])),
    )

    wide = {
        "unet": {
            n: Maker(5).lora(w, 2, 1)
            for n, w in layers_of(
                pipe.unet,
                "conv1",
                "conv_shortcut",
                "time_emb_proj",
                "proj_in",
                "downsamplers.0.conv",
                "conv_in",
            ).items()
        }
    }
    write("kohya_conv.safetensors", kohya(wide))
    yield Case(
        "kohya_conv",
        [("kohya_conv.safetensors", {})],
        lambda p: apply(p, wide),
        load("kohya_conv.safetensors"),
    )

    settings = full_adapter(Maker(6), pipe, 4)
    for path in settings["unet"]:
        if path.endswith("attn1.to_q"):
            settings["unet"][path] = Maker(7).lora(pipe.unet.get_submodule(path).weight, 2)
        settings["unet"][path]["alpha"] = torch.tensor(1.0 if path.endswith("to_v") else 2.0)
    for f in settings["text_encoder"].values():
        f["alpha"] = torch.tensor(8.0)
    said = {
        "unet.r": 4,
        "unet.lora_alpha": 2,
        "unet.rank_pattern": {"attn1.to_q": 2},
        "unet.alpha_pattern": {"to_v": 1},
        "text_encoder.r": 4,
        "text_encoder.lora_alpha": 8,
    }
    write(
        "diffusers_metadata.safetensors",
        diffusers_new(settings),
        {"lora_adapter_metadata": json.dumps(said)},
    )
    yield Case(
        "diffusers_metadata", [("diffusers_metadata.safetensors", {})], lambda p: apply(p, settings)
    )

    text = {
        "text_encoder": {
            n: Maker(8).lora(w, 3)
            for n, w in layers_of(pipe.text_encoder, "q_proj", "v_proj").items()
        }
    }
    for path, f in text["text_encoder"].items():
        f["alpha"] = torch.tensor(6.0)
    names = {"up": "lora_B", "down": "lora_A"}
    write(
        "peft/adapter_model.safetensors",
        {
            f"base_model.model.text_model.{path}.{names[part]}.weight": t
            for path, f in text["text_encoder"].items()
            for part, t in f.items()
            if part in names
        },
    )
    common.write_json(
        FILES / "peft" / "adapter_config.json",
        {"peft_type": "LORA", "r": 3, "lora_alpha": 6, "target_modules": ["q_proj", "v_proj"]},
    )
    yield Case("peft", [("peft", {})], lambda p: apply(p, text))

    counted = full_adapter(Maker(9), pipe, 1)
    tensors = numbered(pipe, counted)
    token = Maker(10).normal(32)
    tensors["<s1>"] = token
    write(
        "cloneofsimo.safetensors",
        tensors,
        {
            "<s1>": "<embed>",
            "unet": '["CrossAttention", "Attention", "GEGLU"]',
            "text_encoder": '["CLIPAttention"]',
        },
    )
    yield Case(
        "cloneofsimo",
        [("cloneofsimo.safetensors", {"scale": 0.8})],
        lambda p: (apply(p, counted, lambda *_: 0.8), add_tokens(p, {"<s1>": token})),
        prompt="a red apple in the style of <s1>",
    )


def lycoris_cases(pipe):
    unet = {
        **some(layers_of(pipe.unet, *ATTENTION), 3),
        **layers_of(pipe.unet, "conv1", "proj_in", "ff.net.2"),
    }
    text = layers_of(pipe.text_encoder, "q_proj", "fc1")

    def both(make):
        return {
            "unet": {n: make(w) for n, w in unet.items()},
            "text_encoder": {n: make(w) for n, w in text.items()},
        }

    def case(name, adapter, scale=1.0, **more):
        write(f"{name}.safetensors", kohya(adapter))
        return Case(
            name,
            [(f"{name}.safetensors", {"scale": scale, **more})],
            lambda p: apply(p, adapter, lambda *_: scale),
        )

    m = Maker(20)
    yield case("loha", both(lambda w: m.loha(w, 2, 1)))
    yield case("loha_tucker", both(lambda w: m.loha(w, 3, 2, tucker=True)), 0.8)
    yield case("lokr", both(lambda w: m.lokr(w, 2, 1, "right")))
    yield case("lokr_whole", both(lambda w: m.lokr(w, 2, 7, "whole")), 0.5, kind="lokr")
    yield case("lokr_tucker", both(lambda w: m.lokr(w, 2, 1, "both", tucker=True)))
    yield case("locon_tucker", both(lambda w: m.lora(w, 3, 1, tucker=True)), kind="lycoris")

    def dora(weight, by_input):
        f = m.lora(weight, 2, 1)
        total = weight + delta(weight, f)
        norm = (total.transpose(0, 1) if by_input else total).flatten(1).norm(dim=1)
        shape = [1] * weight.ndim
        shape[1 if by_input else 0] = -1
        f["dora_scale"] = (norm * (1 + 0.2 * m.normal(len(norm)))).reshape(shape)
        return f

    yield case("dora_lycoris", both(lambda w: dora(w, False)), 0.7)
    yield case("dora_lycoris_by_input", both(lambda w: dora(w, True)))

    # Of the UNet alone: transformers 5 leaves a text encoder's magnitudes unread and says nothing.
    peft = full_adapter(Maker(21), pipe, 2, unet=("to_q", "to_v", "ff.net.2"), text=("none",))
    for component, layers in peft.items():
        for path, f in layers.items():
            weight = getattr(pipe, component).get_submodule(path).weight
            norm = (weight + delta(weight, f)).norm(dim=1)
            f["magnitude"] = norm * (1 + 0.2 * m.normal(len(norm)))
    write("dora_peft.safetensors", diffusers_new(peft))
    yield Case(
        "dora_peft",
        [("dora_peft.safetensors", {"scale": 0.7})],
        lambda p: apply(p, peft, lambda *_: 0.7),
        lambda p: (load_lora(p, "dora_peft.safetensors", "d"), p.set_adapters(["d"], [0.7])),
    )

    full = {"unet": {}, "text_encoder": {}}
    for name in (
        "conv_in",
        "mid_block.resnets.0.norm1",
        "time_embedding.linear_1",
        "down_blocks.1.attentions.0.transformer_blocks.0.norm2",
        "mid_block.resnets.0.conv1",
    ):
        layer = pipe.unet.get_submodule(name)
        full["unet"][name] = {
            "diff": m.normal(*layer.weight.shape, scale=0.1),
            "diff_b": m.normal(*layer.bias.shape, scale=0.1),
        }
    full["text_encoder"]["final_layer_norm"] = {"diff_b": m.normal(32, scale=0.2)}
    tensors = kohya(full)
    norms = [k for k in tensors if "_norm1." in k]
    for key in norms:  # LyCORIS' names of what it trains of norms
        tensors[key.replace(".diff_b", ".b_norm").replace(".diff", ".w_norm")] = tensors.pop(key)
    write("diff.safetensors", tensors)
    yield Case(
        "diff", [("diff.safetensors", {"scale": 0.9})], lambda p: apply(p, full, lambda *_: 0.9)
    )


def add_tokens(pipe, tokens):
    """What load_textual_inversion does, for tokens of one vector."""
    for token, vector in tokens.items():
        assert pipe.tokenizer.add_tokens([token]) == 1
        pipe.text_encoder.resize_token_embeddings(len(pipe.tokenizer))
        row = pipe.tokenizer.convert_tokens_to_ids(token)
        pipe.text_encoder.get_input_embeddings().weight.data[row] = vector


def embedding_cases(pipe):
    m = Maker(30)
    write("token.safetensors", {"<my-Cat>": m.normal(32)})
    write("tokens.safetensors", {"<hat>": m.normal(3, 32)})
    write("a1111.safetensors", {"emb_params": m.normal(2, 32)})
    load = lambda name, **named: lambda p: p.load_textual_inversion(FILES / name, **named)
    yield Case(
        "token",
        [("token.safetensors", {})],
        None,
        load("token.safetensors"),
        prompt="a <my-Cat>, a <my-cat>, on a<my-Cat>mat",
    )
    yield Case(
        "token_of_vectors",
        [("tokens.safetensors", {"kind": "textual_inversion"})],
        None,
        load("tokens.safetensors"),
        prompt="an apple with a <hat> and a hat",
    )
    yield Case(
        "token_a1111",
        [("a1111.safetensors", {})],
        None,
        load("a1111.safetensors", token="a1111"),
        prompt="a1111 is a red apple",
    )
    yield Case(
        "token_and_lora",
        [("tokens.safetensors", {"token": "sombrero-x"}), ("kohya.safetensors", {})],
        None,
        lambda p: (
            load_lora(p, "kohya.safetensors", "kohya"),
            p.load_textual_inversion(FILES / "tokens.safetensors", token="sombrero-x"),
        ),
        prompt="a sombrero-x on an apple",
    )


def sdxl_cases(pipe):
    m = Maker(50)
    parts = ("unet", "text_encoder", "text_encoder_2")

    def adapter(unet, rank, alpha=None):
        found = {"unet": layers_of(pipe.unet, *unet)}
        for name in parts[1:]:
            found[name] = layers_of(getattr(pipe, name), "q_proj", "out_proj", "fc1")
        return {c: {n: m.lora(w, rank, alpha) for n, w in found[c].items()} for c in parts}

    wanted = ("to_q", "to_k", "to_v", "to_out.0", "ff.net.0.proj", "ff.net.2", "proj_in")
    trained = adapter(wanted, 2, 1)
    starts = {"text_encoder": "lora_te1_text_model_", "text_encoder_2": "lora_te2_"}
    names = {"up": "lora_up.weight", "down": "lora_down.weight", "alpha": "alpha"}
    tensors = {}
    for c, layers in trained.items():
        for path, factors in layers.items():
            name = (
                f"lora_unet_{sgm_name(path)}".replace(".", "_")
                if c == "unet"
                else starts[c] + path.replace(".", "_")
            )
            tensors.update({f"{name}.{names[part]}": t for part, t in factors.items()})
    write("sdxl_kohya.safetensors", tensors, {"ss_base_model_version": "sdxl_base_v1-0"})
    yield Case(
        "sdxl_kohya",
        [("sdxl_kohya.safetensors", {"scale": 0.9})],
        lambda p: apply(p, trained, lambda *_: 0.9),
        lambda p: (load_lora(p, "sdxl_kohya.safetensors", "k"), p.set_adapters(["k"], [0.9])),
        model="sdxl",
    )

    new = adapter(("to_k", "to_v", "proj_out"), 3)
    write("sdxl_diffusers.safetensors", diffusers_new(new))
    yield Case(
        "sdxl_diffusers",
        [("sdxl_diffusers.safetensors", {"scales": {"text_encoder_2": 0.3}})],
        lambda p: apply(p, new, lambda c, _: 0.3 if c == "text_encoder_2" else 1.0),
        lambda p: (
            load_lora(p, "sdxl_diffusers.safetensors", "d"),
            p.set_adapters(["d"], [{"unet": 1.0, "text_encoder": 1.0, "text_encoder_2": 0.3}]),
        ),
        model="sdxl",
    )

    embedding = {"clip_l": m.normal(2, 32), "clip_g": m.normal(2, 24)}
    write("sdxl_token.safetensors", embedding)

    def tokens(p):
        for part, encoder, tokenizer in (
            ("clip_l", p.text_encoder, p.tokenizer),
            ("clip_g", p.text_encoder_2, p.tokenizer_2),
        ):
            p.load_textual_inversion(
                embedding[part], token="<two>", text_encoder=encoder, tokenizer=tokenizer
            )

    yield Case(
        "sdxl_token",
        [("sdxl_token.safetensors", {"token": "<two>"})],
        None,
        tokens,
        prompt="a <two> on a red apple",
        model="sdxl",
    )


# ----------------------------------------------------------------------------------------------- runs
def run_sdxl(case, prepare):
    sdxl.component.cache_clear()  # its weights are changed
    pipe = sdxl.load(common.GOLDENS / "pipelines", "sdxl", "text2image")
    prepare(pipe)
    made = sdxl.generate(pipe, case.request, FOLDER / case.name)
    last = max(k for k in made if k.startswith("latents_after_step_"))
    return {last: made[last], "image": made["image"].half()}


def run(case, prepare):
    if case.request["model"].endswith("sdxl/model"):
        return run_sdxl(case, prepare)
    pipe = common.load_pipeline(MODEL, case.request["task"])
    prepare(pipe)
    made = common.generate(pipe, case.request, FOLDER / case.name)
    last = max(k for k in made if k.startswith("latents_after_step_"))
    return {
        "prompt_embeds": made["prompt_embeds"],
        "negative_prompt_embeds": made["negative_prompt_embeds"],
        last: made[last],
        "image": made["image"].half(),
    }


def worst(a, b):
    return max(
        (a[k].double() - b[k].double()).abs().max().item() / b[k].double().abs().max().item()
        for k in b
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=lambda text: set(text.split(",")), help="cases, with commas")
    parser.add_argument(
        "--check", action="store_true", help="compare with what is there instead of writing"
    )
    options = parser.parse_args()
    pipe = common.load_pipeline(MODEL)
    plain = {}
    large = sdxl.load(common.GOLDENS / "pipelines", "sdxl", "text2image")
    cases = [*lora_cases(pipe), *lycoris_cases(pipe), *embedding_cases(pipe), *sdxl_cases(large)]
    for case in cases:
        if options.only and case.name not in options.only:
            continue
        folder = FOLDER / case.name
        folder.mkdir(parents=True, exist_ok=True)
        tensors = run(case, case.by_diffusers or case.by_formula)
        note = "diffusers" if case.by_diffusers else "formula"
        if case.by_diffusers and case.by_formula:
            note += f", formula differs by {worst(run(case, case.by_formula), tensors):.1e}"
        model = case.request["model"].split("/")[-2]
        if model not in plain:
            plain[model] = run(Case("plain", [], model=model), lambda p: None)
        changed = (tensors["image"].float() - plain[model]["image"].float()).square().mean().sqrt()
        path = folder / "golden.safetensors"
        if options.check:
            note += f"; differs by {common.worst_difference(path, tensors):.1e}"
        else:
            common.write_json(folder / "request.json", case.request)
            common.write_tensors(path, tensors)
        print(
            f"{case.name}: {note}; from the plain picture {changed:.2f}, image {tensors['image'].float().std():.2f}"
        )


if __name__ == "__main__":
    main()
