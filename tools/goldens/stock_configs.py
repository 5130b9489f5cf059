#!/usr/bin/env python3
"""The parameters (name: shape) of every stock config in tests/data/configs, as the reference makes them.

  tools/goldens/stock_configs.py

Reads tests/data/configs/MODEL/{unet,vae,text_encoder,text_encoder_2}/config.json and writes parameters/*.json, each
list once, and index.json, which says which config has which. Models are made without storage.
"""

import json

import common
import torch

FOLDER = common.ROOT / "tests" / "data" / "configs"


def parameters(config):
    """{name: shape} of the network that a config describes."""
    import diffusers
    import transformers

    with torch.device("meta"):
        if config.get("model_type") == "clip_text_model":
            kind = getattr(transformers, config["architectures"][0])
            network = kind(transformers.CLIPTextConfig(**config))
        elif config.get("model_type") == "t5":
            network = transformers.T5EncoderModel(transformers.T5Config(**config))
        elif config.get("model_type") == "umt5":
            network = transformers.UMT5EncoderModel(transformers.UMT5Config(**config))
        elif config.get("model_type") == "qwen3":
            network = transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**config))
        elif config.get("model_type") == "gemma2":
            network = transformers.Gemma2Model(transformers.Gemma2Config(**config))
        elif config.get("model_type") == "mistral3":
            described = transformers.Mistral3Config(**config)
            network = transformers.Mistral3ForConditionalGeneration(described)
        elif config.get("model_type") == "qwen3_vl":
            network = getattr(transformers, config["architectures"][0])(transformers.Qwen3VLConfig(**config))
        elif config.get("model_type") == "qwen2_5_vl":
            described = transformers.Qwen2_5_VLConfig(**config)
            network = transformers.Qwen2_5_VLForConditionalGeneration(described)
        else:
            network = getattr(diffusers, config["_class_name"]).from_config(config)
    # Files hold tied embeddings once; a count of training's batches is no part of a network, nor the
    # head of a language model of a text encoder.
    left_out = ("encoder.embed_tokens.weight", "bn.num_batches_tracked", "lm_head.weight")
    state = {k: v for k, v in network.state_dict().items() if k not in left_out}
    return {name: list(value.shape) for name, value in sorted(state.items())}


def main():
    index, lists = {}, {}
    paths = FOLDER.glob("*/*/config.json")
    # A list that several models share is named after the best known of them.
    for path in sorted(paths, key=lambda path: (path.parts[-3] not in ("sd-v1-5", "sd2-1", "pixart-sigma", "sdxl-base", "qwen-image"), path)):
        model, component = path.parts[-3:-1]
        made = parameters(json.loads(path.read_text()))
        key = json.dumps(made)
        name = lists.setdefault(key, f"{component}_{model}.json")
        index[f"{model}/{component}"] = f"parameters/{name}"
    for key, name in lists.items():
        made = json.loads(key)
        lines = ",\n".join(
            f"{json.dumps(parameter)}: {json.dumps(shape)}" for parameter, shape in made.items()
        )
        path = FOLDER / "parameters" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("{\n" + lines + "\n}\n")
        count = sum(torch.Size(shape).numel() for shape in made.values())
        print(f"{name}: {len(made)} tensors, {count / 1e6:.1f} M parameters")
    common.write_json(FOLDER / "index.json", dict(sorted(index.items())))


if __name__ == "__main__":
    main()
