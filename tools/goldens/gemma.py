#!/usr/bin/env python3
"""Gemma's tokenizer and tiny random Gemma 2 checkpoints, as transformers computes with them.

  tools/goldens/gemma.py [--only tokenizer,gemma2_windows] [--check]

tests/data/tokenizers/gemma is a small vocabulary laid out as the published ones are (special tokens first, then bytes,
characters and what merges make of them); tests/goldens/tokenizer/gemma.json holds texts and their ids, in their frame,
as the folder is and with other settings. tests/goldens/networks/gemma2_* as networks.py makes them: the states of all
layers.
"""

import json
import shutil
import tempfile
import pathlib

import common
import networks
import qwen
import torch
from golden_files import arguments, make_networks
from qwen_tokenizer import TEXTS

FOLDER = common.ROOT / "tests" / "data" / "tokenizers" / "gemma"
SPECIAL = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
# Tokens that texts are split at before anything else; some are no special ones.
PLAIN = ["<start_of_turn>", "<end_of_turn>", "\n\n", "\n\n\n", "\u2581\u2581\u2581", "<table>"]
WORDS = (
    "You are an assistant designed to generate superior images with the superior degree of image-text alignment "
    "based on textual prompts or user prompts. <Prompt Start> A small red apple and the sea at night for all people, "
    "the cat is there. Un petit café, 猫と犬."
)


def write_tokenizer(folder, vocab_size=420):
    """Its entries."""
    from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, trainers
    from transformers import GemmaTokenizer

    trained = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    trained.normalizer = normalizers.Replace(" ", "\u2581")
    trained.pre_tokenizer = pre_tokenizers.Split("\u2581", "merged_with_next")
    first = SPECIAL + PLAIN + [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=first, show_progress=False)
    # Runs of spaces and merges across words, too.
    trained.train_from_iterator([WORDS, "a  b", "    ", "of the", "in a"] * 9, trainer)
    model = json.loads(trained.to_str())["model"]
    merges = [tuple(pair) for pair in model["merges"]]
    vocab = model["vocab"]
    for left, right in [("e", "\u2581"), ("\u2581", "\u2581"), ("\u2581\u2581", "\u2581\u2581")]:
        if left in vocab and right in vocab and left + right not in vocab:
            vocab[left + right] = len(vocab)
            merges.append((left, right))
    tokenizer = GemmaTokenizer(
        vocab=vocab, merges=merges, add_bos_token=True, add_eos_token=False, model_max_length=int(1e30)
    )
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in PLAIN])
    if folder.exists():
        shutil.rmtree(folder)
    tokenizer.save_pretrained(folder)
    return len(tokenizer)


EXTRA = [
    WORDS, "", "a", "  a  b   c    d", "the the the", "<start_of_turn>user\nhi<end_of_turn>", "<bos><eos>x<pad>",
    "x<table>y", "\u2581a \u2581\u2581\u2581 b", "a\n\n\nb\n\n\n\nc", "<0x41> <0xE2>", "\U0001f600 \u0000\u007f",
]  # fmt: skip


def ids_of(tokenizer, text):
    return tokenizer(text).input_ids


def with_settings(settings):
    from transformers import AutoTokenizer

    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "gemma"
        shutil.copytree(FOLDER, copy)
        path = copy / "tokenizer_config.json"
        config = json.loads(path.read_text())
        for name, value in settings.items():
            config.pop(name, None)
            if value is not None:
                config[name] = value
        common.write_json(path, config)
        return AutoTokenizer.from_pretrained(copy)


def tokenizer_golden():
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(FOLDER)
    assert type(tokenizer).__name__ == "GemmaTokenizer"
    texts = [{"text": text, "ids": ids_of(tokenizer, text)} for text in EXTRA + TEXTS]
    frames = []
    for settings in (
        {"add_bos_token": None, "add_eos_token": None},
        {"add_bos_token": False, "add_eos_token": True},
        {"add_bos_token": True, "add_eos_token": True},
        {"add_bos_token": None, "add_eos_token": False},
    ):
        frames.append({"settings": settings, "ids": ids_of(with_settings(settings), "the cat")})
    tokenizer.padding_side = "right"
    padded = []
    for text, length in [("the small cat", 12), ("the small cat", 3), ("", 4)]:
        given = tokenizer(text, padding="max_length", max_length=length, truncation=True)
        padded.append({"text": text, "ids": given.input_ids, "used": sum(given.attention_mask)})
    return {"texts": texts, "frames": frames, "padded": padded}


GEMMA2 = dict(
    vocab_size=300,
    hidden_size=40,
    intermediate_size=72,
    num_hidden_layers=4,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=12,
    max_position_embeddings=512,
    query_pre_attn_scalar=9,
    attn_logit_softcapping=3.0,
    sliding_window=4096,
    rope_parameters={"rope_theta": 10000.0, "rope_type": "default"},
)


def case(seed, dtype=torch.float32, finish=lambda folder: None, whole=False, **config):
    from transformers import Gemma2Config, Gemma2ForCausalLM, Gemma2Model

    kind = Gemma2ForCausalLM if whole else Gemma2Model

    def make(folder):
        model = kind(Gemma2Config(**{**GEMMA2, **config}))
        networks.save_checkpoint(model, folder, seed, 1.0, dtype)
        finish(folder)

    def goldens(folder):
        model = Gemma2Model.from_pretrained(folder, dtype=torch.float32).eval()
        assert model.config._attn_implementation == "eager"
        yield "golden", qwen.golden(model, 900, 3, 24, [(0, 24), (0, 5), (0, 1)])
        yield "golden_long", qwen.golden(model, 910, 1, 150)

    return make, goldens


def written_by_version_4(folder):
    """config.json as transformers 4 wrote it."""
    qwen.written_by_version_4(folder)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config.pop("rope_scaling")
    config |= {"cache_implementation": "hybrid", "hidden_act": "gelu_pytorch_tanh"}
    common.write_json(path, dict(sorted(config.items())))


def network_cases():
    yield "gemma2_capped", case(190, torch.bfloat16, written_by_version_4)
    yield "gemma2_windows", case(
        191,
        whole=True,
        sliding_window=7,
        num_hidden_layers=3,
        layer_types=["full_attention", "sliding_attention", "sliding_attention"],
        attn_logit_softcapping=None,
        attention_bias=True,
        hidden_activation="silu",
        rms_norm_eps=1e-4,
    )


def main():
    options = arguments(__doc__)
    with torch.no_grad():
        if not options.only or "tokenizer" in options.only:
            if not options.check:
                write_tokenizer(FOLDER)
            made, path = tokenizer_golden(), common.GOLDENS / "tokenizer" / "gemma.json"
            if options.check:
                assert json.loads(path.read_text()) == made, path
            else:
                path.write_text(json.dumps(made, ensure_ascii=False, separators=(",", ":")) + "\n")
        make_networks(network_cases(), options.check, (options.only or set()) - {"tokenizer"})


if __name__ == "__main__":
    main()
