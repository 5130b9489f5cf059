#!/usr/bin/env python3
"""Tiny random Qwen3 checkpoints, and the states of all of their layers as transformers computes them.

  tools/goldens/qwen.py [--only qwen3_shared_heads] [--check]
  tools/goldens/qwen.py --folder FOLDER FILE

tests/goldens/networks/qwen3_* as networks.py makes them. --folder writes what a text encoder's own weights make of a
few rows of ids to a file, for comparisons of checkpoints that are not in this tree.
"""

import argparse
import json
import pathlib

import common
import networks
import torch
from safetensors.torch import load_file, save_file

QWEN3 = dict(
    vocab_size=300,
    hidden_size=44,
    intermediate_size=76,
    num_hidden_layers=4,
    num_attention_heads=6,
    num_key_value_heads=3,
    head_dim=10,
    max_position_embeddings=512,
    rope_parameters={"rope_theta": 1000000.0, "rope_type": "default"},
    tie_word_embeddings=True,
    bos_token_id=298,
    eos_token_id=299,
    pad_token_id=297,
)


def mask_of(spans, length):
    """Each row's tokens from begin to end."""
    places = torch.arange(length)[None]
    begin, end = (torch.tensor(side)[:, None] for side in zip(*spans))
    return ((places >= begin) & (places < end)).long()


def golden(model, seed, rows, length, spans=None):
    vocab = model.config.vocab_size
    ids = torch.randint(0, vocab, (rows, length), generator=torch.Generator().manual_seed(seed))
    tensors, mask = {"in.input_ids": ids}, None
    if spans:
        mask = mask_of(spans, length)
        tensors["in.mask"] = mask.float()
    out = model(input_ids=ids, attention_mask=mask, output_hidden_states=True, use_cache=False)
    for index, state in enumerate(out.hidden_states):
        tensors[f"out.hidden_states.{index}"] = state
    return tensors


def written_by_version_4(folder):
    """config.json with the names that transformers had before version 5."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    rope = config.pop("rope_parameters")
    config.pop("layer_types")
    config |= {"rope_theta": int(rope["rope_theta"]), "rope_scaling": None}
    config |= {"torch_dtype": config.pop("dtype"), "transformers_version": "4.51.0"}
    common.write_json(path, dict(sorted(config.items())))


def in_parts(folder, parts):
    """The weights over several files, with an index."""
    whole = folder / "model.safetensors"
    state = load_file(whole)
    whole.unlink()
    names, where = sorted(state), {}
    for part in range(parts):
        file = f"model-{part + 1:05}-of-{parts:05}.safetensors"
        chosen = {name: state[name] for name in names[part::parts]}
        save_file(chosen, folder / file, metadata={"format": "pt"})
        common.check_file(folder / file)
        where |= dict.fromkeys(chosen, file)
    size = sum(value.numel() * value.element_size() for value in state.values())
    index = {"metadata": {"total_size": size}, "weight_map": dict(sorted(where.items()))}
    common.write_json(folder / "model.safetensors.index.json", index)


def case(seed, dtype=torch.float32, finish=lambda folder: None, **config):
    from transformers import Qwen3Config, Qwen3ForCausalLM

    def make(folder):
        model = Qwen3ForCausalLM(Qwen3Config(**{**QWEN3, **config}))
        networks.save_checkpoint(model, folder, seed, 1.0, dtype)
        finish(folder)

    def goldens(folder):
        model = Qwen3ForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        yield "golden", golden(model, 800, 3, 24, [(0, 24), (0, 5), (0, 1)])
        yield "golden_padded_in_front", golden(model, 805, 3, 12, [(0, 12), (5, 12), (11, 12)])
        # Longer than the blocks in which attention takes keys, without padding.
        yield "golden_long", golden(model, 810, 1, 150)

    return make, goldens


def finish_of_old_shards(folder):
    written_by_version_4(folder)
    in_parts(folder, 3)


def network_cases():
    yield "qwen3_shared_heads", case(90)
    yield "qwen3_biases", case(
        91,
        torch.bfloat16,
        finish_of_old_shards,
        num_hidden_layers=2,
        hidden_size=36,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=14,
        hidden_act="gelu_pytorch_tanh",
        attention_bias=True,
        tie_word_embeddings=False,
        rms_norm_eps=1e-4,
        rope_parameters={"rope_theta": 5000.0, "rope_type": "default"},
    )


def write_folder(folder, file):
    from transformers import Qwen3ForCausalLM

    model = Qwen3ForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    common.write_tensors(file, golden(model, 820, 2, 40, [(0, 23), (0, 40)]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--check", action="store_true", help="compare with the stored goldens")
    parser.add_argument("--folder", nargs=2, type=pathlib.Path, metavar=("FOLDER", "FILE"))
    args = parser.parse_args()
    with torch.no_grad():
        if args.folder:
            return write_folder(*args.folder)
        for name, (make, goldens) in network_cases():
            if args.only and name not in args.only.split(","):
                continue
            folder = common.GOLDENS / "networks" / name
            if not args.check:
                make(folder)
            for file, tensors in goldens(folder):
                path = folder / f"{file}.safetensors"
                if not args.check:
                    common.write_tensors(path, tensors)
                    continue
                for key, (off, largest) in common.largest_difference(path, tensors).items():
                    assert off <= 1e-5 * max(largest, 1.0), f"{name}/{file} {key}: {off}"
            print(name)


if __name__ == "__main__":
    main()
