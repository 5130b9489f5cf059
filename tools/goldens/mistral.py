#!/usr/bin/env python3
"""Tiny random Mistral 3 checkpoints, and the states of all layers of their language models as transformers computes them.

  tools/goldens/mistral.py [--only mistral3_shared_heads] [--check]

tests/goldens/networks/mistral3_* as networks.py makes them. Their files hold a vision tower, too, as published ones do.
"""

import json

import common
import networks
import torch
from golden_files import arguments, make_networks
from qwen import golden, in_parts
from safetensors.torch import load_file, save_file

TEXT = dict(
    model_type="mistral",
    vocab_size=300,
    hidden_size=44,
    intermediate_size=76,
    num_hidden_layers=4,
    num_attention_heads=6,
    num_key_value_heads=3,
    head_dim=10,
    max_position_embeddings=512,
    rope_parameters={"rope_theta": 1000000000.0, "rope_type": "default"},
    rms_norm_eps=1e-5,
    sliding_window=None,
)
VISION = dict(
    model_type="pixtral",
    hidden_size=12,
    intermediate_size=16,
    num_hidden_layers=2,
    num_attention_heads=2,
    head_dim=6,
    patch_size=14,
    image_size=28,
)


def mistral3(text, **config):
    """`text`: of the language model's config; `config`: of the whole's."""
    from transformers import Mistral3Config, Mistral3ForConditionalGeneration

    parts = {"text_config": {**TEXT, **text}, "vision_config": VISION}
    return Mistral3ForConditionalGeneration(Mistral3Config(**parts, **config))


def load(folder):
    from transformers import Mistral3ForConditionalGeneration

    return Mistral3ForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()


class TextAlone:
    """What qwen.golden asks a model of text alone."""

    def __init__(self, model):
        self.model, self.config = model, model.config.text_config

    def __call__(self, **given):
        return self.model(**given)


def written_by_version_4(folder):
    """config.json with the names that transformers had before version 5; weights with those since 4.52, in parts."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    rope = config["text_config"].pop("rope_parameters")
    config["text_config"]["rope_theta"] = rope["rope_theta"]
    config["torch_dtype"] = config.pop("dtype")
    common.write_json(path, {**config, "transformers_version": "4.55.0"})
    file = folder / "model.safetensors"
    state = load_file(file)
    state = {
        f"model.{name.replace('language_model.model.', 'language_model.')}": value
        for name, value in state.items()
    }
    save_file(state, file, metadata={"format": "pt"})
    in_parts(folder, 3)


# llama.cpp's names, and the number of heads whose rows it has in pairs.
LLAMA = {
    "self_attn.q_proj": ("attn_q", "num_attention_heads"),
    "self_attn.k_proj": ("attn_k", "num_key_value_heads"),
    "self_attn.v_proj": ("attn_v", None),
    "self_attn.o_proj": ("attn_output", None),
    "mlp.gate_proj": ("ffn_gate", None),
    "mlp.up_proj": ("ffn_up", None),
    "mlp.down_proj": ("ffn_down", None),
    "input_layernorm": ("attn_norm", None),
    "post_attention_layernorm": ("ffn_norm", None),
}


def paired(weight, heads):
    """As llama.cpp's convert_hf_to_gguf.py does it (LlamaModel.permute)."""
    rows = weight.shape[0]
    return weight.reshape(heads, 2, rows // heads // 2, -1).swapaxes(1, 2).reshape(weight.shape)


def in_llama_names(folder):
    """original.safetensors: the language model in the names and order of llama.cpp's GGUF files."""
    config = json.loads((folder / "config.json").read_text())["text_config"]
    start, made = "language_model.model.", {}
    for name, weight in load_file(folder / "model.safetensors").items():
        if not name.startswith(start):
            continue
        name = name.removeprefix(start)
        if name.startswith("layers."):
            _, layer, rest = name.split(".", 2)
            theirs, heads = LLAMA[rest.removesuffix(".weight")]
            made[f"blk.{layer}.{theirs}.weight"] = paired(weight, config[heads]) if heads else weight
        else:
            made[{"embed_tokens.weight": "token_embd.weight", "norm.weight": "output_norm.weight"}[name]] = weight
    common.write_tensors(folder / "original.safetensors", made)


def case(seed, dtype=torch.float32, finish=lambda folder: None, text=(), **config):
    def make(folder):
        networks.save_checkpoint(mistral3(dict(text), **config), folder, seed, 1.0, dtype)
        finish(folder)

    def goldens(folder):
        model = TextAlone(load(folder))
        yield "golden", golden(model, 800, 3, 24, [(0, 24), (0, 5), (0, 1)])
        yield "golden_padded_in_front", golden(model, 805, 3, 12, [(0, 12), (5, 12), (11, 12)])
        # Longer than the blocks in which attention takes keys, without padding.
        yield "golden_long", golden(model, 810, 1, 150)

    return make, goldens


def network_cases():
    yield "mistral3_shared_heads", case(94, finish=in_llama_names)
    odd = dict(
        num_hidden_layers=2,
        hidden_size=36,
        num_attention_heads=4,
        num_key_value_heads=1,
        head_dim=14,
        rms_norm_eps=1e-4,
        rope_parameters={"rope_theta": 5000.0, "rope_type": "default"},
        hidden_act="gelu_pytorch_tanh",
        sliding_window=4096,
    )
    yield "mistral3_bf16", case(
        95, torch.bfloat16, written_by_version_4, odd, multimodal_projector_bias=True
    )


def main():
    options = arguments(__doc__)
    make_networks(network_cases(), options.check, options.only or ())


if __name__ == "__main__":
    main()
