"""Makes the tokenizer: Qwen2's byte-level BPE, trained on the words of the captions.

Every word of a caption is one token; any other text still goes through, in pieces. The chat
template is the part of Qwen3's that one user's message uses.

    python tokenizer.py FOLDER     writes FOLDER/tokenizer
"""

import json
import pathlib
import sys

import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from tokenizers.normalizers import NFC
from transformers import Qwen2TokenizerFast

from captions import BACKGROUNDS, FRAMES, THINGS, paraphrases

SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PLAIN = ["<think>", "</think>"]  # in the vocabulary as added tokens, but not "special" ones
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{%- for message in messages %}"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}"
    "{{- '<|im_start|>assistant\\n' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}"
    "{{- '<think>\\n\\n</think>\\n\\n' }}"
    "{%- endif %}"
    "{%- endif %}"
)
WORDS = [
    "\n\n",
    "user",
    "assistant",
    "system",
    "a an the of in at and with one two red small big little cute",
]


def corpus(folder):
    for thing in THINGS:
        for background in BACKGROUNDS:
            for text in paraphrases(thing, background):
                for frame in ["{}", *FRAMES]:
                    text = frame.format(text)
                    yield from (text, text[:1].upper() + text[1:], " " + text)
    for name in np.load(folder / "icons.npz")["names"]:  # words of the other icons, for later
        yield from [str(name), " " + str(name)] * 3
    yield from WORDS * 50


def complete(folder):
    """Adds the files of Qwen's own folders that readers without tokenizer.json look for."""
    whole = json.loads((folder / "tokenizer.json").read_text())
    (folder / "vocab.json").write_text(json.dumps(whole["model"]["vocab"], ensure_ascii=False))
    pairs = [pair if isinstance(pair, str) else " ".join(pair) for pair in whole["model"]["merges"]]
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *pairs, ""]))
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text())
    config["added_tokens_decoder"] = {
        str(token.pop("id")): token for token in whole["added_tokens"]
    }
    config["chat_template"] = TEMPLATE
    path.write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1])
    trained = Tokenizer(models.BPE())
    trained.normalizer = NFC()
    trained.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(SPLIT), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    trained.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=3000, min_frequency=3, initial_alphabet=sorted(alphabet)
    )
    trained.train_from_iterator(corpus(folder), trainer)
    model = json.loads(trained.to_str())["model"]
    merges = [tuple(pair) for pair in model["merges"]]
    tokenizer = Qwen2TokenizerFast(
        vocab=model["vocab"],
        merges=merges,
        unk_token=None,
        bos_token=None,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        model_max_length=512,
        clean_up_tokenization_spaces=False,
        chat_template=TEMPLATE,
    )
    added = [AddedToken(text, special=True, normalized=False) for text in SPECIAL]
    tokenizer.add_special_tokens({"additional_special_tokens": added})
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in PLAIN])
    tokenizer.save_pretrained(folder / "tokenizer")
    complete(folder / "tokenizer")
    print(len(tokenizer), "entries")


if __name__ == "__main__":
    main()
