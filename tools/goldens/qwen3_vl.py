#!/usr/bin/env python3
"""Tiny random Qwen3-VL checkpoints, and the states of all layers of their language models as transformers computes them.

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
        model = TextAlone(load(folder))
        yield "golden", golden(model, 800, 3, 24, [(0, 24), (0, 5), (0, 1)])
        yield "golden_padded_in_front", golden(model, 805, 3, 12, [(0, 12), (5, 12), (11, 12)])
        # Longer than the blocks in which attention takes keys, without padding.
        yield "golden_long", golden(model, 810, 1, 150)

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
