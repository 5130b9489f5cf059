#!/usr/bin/env python3
"""Tiny random Qwen3-VL checkpoints, and the states of all layers of their language models as transformers computes them,
of text and of prompts that look at images.

  tools/goldens/qwen3_vl.py [--only qwen3vl_shared_heads] [--check]

tests/goldens/networks/qwen3vl_* as networks.py makes them. Their files hold the vision tower, as published ones do.
"""

import json

import common
import networks
import torch
from golden_files import arguments, make_networks
from mistral import TextAlone
from qwen import golden, in_parts
from qwen_image import patches_of

TEXT = dict(
    vocab_size=300,
    hidden_size=44,
    intermediate_size=76,
    num_hidden_layers=4,
    num_attention_heads=6,
    num_key_value_heads=3,
    head_dim=12,
    max_position_embeddings=512,
    rope_parameters={
        "rope_theta": 5000000.0,
        "rope_type": "default",
        "mrope_section": [2, 2, 2],
        "mrope_interleaved": True,
    },
)
VISION = dict(
    depth=3,
    hidden_size=24,
    intermediate_size=40,
    num_heads=2,
    patch_size=4,
    spatial_merge_size=2,
    temporal_patch_size=2,
    out_hidden_size=44,
    num_position_embeddings=36,
    deepstack_visual_indexes=[0, 1],
)
TOKENS = dict(image_token_id=290, video_token_id=291, vision_start_token_id=292, vision_end_token_id=293)


def qwen3_vl(text, vision=(), kind="Qwen3VLForConditionalGeneration"):
    """`text`, `vision`: of the two configs, over the above."""
    import transformers

    config = transformers.Qwen3VLConfig(
        text_config={**TEXT, **dict(text)}, vision_config={**VISION, **dict(vision)}, **TOKENS
    )
    return getattr(transformers, kind)(config)


def load(folder):
    import transformers

    kind = json.loads((folder / "config.json").read_text())["architectures"][0]
    return getattr(transformers, kind).from_pretrained(folder, dtype=torch.float32).eval()


def seen(model, seed, sizes):
    """A prompt that looks at images of these heights and widths."""
    vision, image_id = model.config.vision_config, model.config.image_token_id
    base = getattr(model, "model", model)
    merge, ids, tensors, grids, patches = vision.spatial_merge_size, [3, 4], {}, [], []
    for index, (height, width) in enumerate(sizes):
        pixels = tensors[f"in.pixels.{index}"] = common.normal(seed + index, 1, 3, height, width)
        grids.append([1, height // vision.patch_size, width // vision.patch_size])
        patches.append(patches_of(pixels, vision.patch_size, merge, vision.temporal_patch_size))
        ids += [image_id] * (grids[-1][1] * grids[-1][2] // merge**2) + [7, 8 + index]
        out = base.visual(patches[-1], grid_thw=torch.tensor(grids[-1:]))
        for tap, tokens in enumerate([out.pooler_output, *out.deepstack_features]):
            tensors[f"out.image_tokens.{index}.{tap}"] = tokens[None]
    ids = tensors["in.input_ids"] = torch.tensor([ids])
    # The last layer's state before the norm, as diffusers QwenImage21Pipeline has it.
    hook = base.language_model.norm.register_forward_hook(lambda module, args, output: args[0])
    out = model(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        pixel_values=torch.cat(patches),
        image_grid_thw=torch.tensor(grids),
        mm_token_type_ids=(ids == image_id).int(),
        output_hidden_states=True,
        use_cache=False,
    )
    hook.remove()
    return {**tensors, "out.unnormed": out.hidden_states[-1]}


def written_by_version_4(folder):
    """config.json with the names that transformers had before version 5; weights in parts."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    text = config["text_config"]
    rope = text.pop("rope_parameters")
    text["rope_theta"] = int(rope.pop("rope_theta"))
    text["rope_scaling"] = rope
    config["torch_dtype"] = config.pop("dtype")
    common.write_json(path, {**config, "transformers_version": "4.57.0"})
    in_parts(folder, 3)


def case(seed, dtype=torch.float32, finish=lambda folder: None, text=(), vision=(), **how):
    def make(folder):
        networks.save_checkpoint(qwen3_vl(text, vision, **how), folder, seed, 1.0, dtype)
        finish(folder)

    def goldens(folder):
        whole = load(folder)
        model = TextAlone(whole)
        yield "golden", golden(model, 800, 3, 24, [(0, 24), (0, 5), (0, 1)])
        yield "golden_padded_in_front", golden(model, 805, 3, 12, [(0, 12), (5, 12), (11, 12)])
        # Longer than the blocks in which attention takes keys, without padding.
        yield "golden_long", golden(model, 810, 1, 150)
        # Wider than the grid of position embeddings and narrower, one token, and two in one prompt.
        yield "seen", seen(whole, 820, [(40, 72)])
        yield "seen_smallest", seen(whole, 825, [(8, 8)])
        yield "seen_two", seen(whole, 830, [(16, 24), (32, 8)])

    return make, goldens


def network_cases():
    # As Qwen3VLModel writes it, which pipelines have: no head, no "model." before each name.
    yield "qwen3vl_shared_heads", case(96, kind="Qwen3VLModel")
    odd = dict(
        num_hidden_layers=2,
        hidden_size=36,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=16,
        hidden_act="gelu_pytorch_tanh",
        attention_bias=True,
        rms_norm_eps=1e-4,
        rope_parameters={**TEXT["rope_parameters"], "rope_theta": 5000.0, "mrope_section": [4, 2, 2]},
    )
    yield "qwen3vl_bf16", case(
        97, torch.bfloat16, written_by_version_4, odd, dict(out_hidden_size=36)
    )


def main():
    options = arguments(__doc__)
    make_networks(network_cases(), options.check, options.only or ())


if __name__ == "__main__":
    main()
