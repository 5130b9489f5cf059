"""Goldens of T5's tokenizer: what transformers' T5Tokenizer makes of a hostile corpus.

  tools/goldens/t5_tokenizer.py --source FOLDER

FOLDER holds the tokenizer.json of google/t5-v1_1-xxl. tests/data/tokenizers/t5 becomes a cut of it: all of its
replacements, and the first pieces of its vocabulary. tests/goldens/tokenizer/t5.json holds

texts        texts and their ids without the end; a text is {"text"} or {"repeat", "times"}, ids a list or {"count", "fnv"}
windows      ids padded and cut to a length, and how many come before the padding
code_points  one hash for each block of code points put into a template
"""

import argparse
import json
import pathlib
import random

import common
import tokenizer as clip
from transformers import T5Tokenizer

FOLDER = common.ROOT / "tests" / "data" / "tokenizers" / "t5"
PIECES, EXTRA = 2500, 100
TEMPLATE, BLOCK, LAST = "a{}b {}", 1024, 0x20000

TEXTS = [
    "hello<extra_id_0>world </s> x", "<extra_id_99><extra_id_100>", "<pad><unk></s>", "＜pad＞", "▁ ▁a a▁b ▁▁ a▁▁b",
    "ﬁ ﬁ\u0301 e\u0301 E\u0301\u0323 Å ½ ㎏ ｶﾞ", "👩\u200d🚀\u200d a\u200db \u200b \u00ad", "\u1100\u1161\u11a8 \uac01 क्ष น้ำ",
    "a small cactus with a happy face in the Sahara desert.", "日本語 and English 日本", "\r\n a\r\n\u0301b",
]
WINDOWS = [("a small cactus with a happy face", 20), ("a small cactus with a happy face", 4), ("", 3), ("x " * 40, 16), ("red", 1), ("red apple", 3)]


def cut(source):
    whole = json.loads((source / "tokenizer.json").read_text())
    normalizer = whole["normalizer"]["normalizers"][0]
    assert normalizer["type"] == "Precompiled"
    vocabulary = whole["model"]["vocab"]
    pieces = [(piece, score) for piece, score in vocabulary[:PIECES] + vocabulary[-EXTRA:]]
    FOLDER.mkdir(parents=True, exist_ok=True)
    added = [
        {"id": pieces.index(piece), "content": piece[0], "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        for piece in pieces[:3] + pieces[PIECES:]
    ]
    model = {"type": "Unigram", "unk_id": 2, "vocab": pieces, "byte_fallback": False}
    made = {"version": "1.0", "added_tokens": added, "normalizer": normalizer, "model": model}
    made["pre_tokenizer"] = whole["pre_tokenizer"]
    (FOLDER / "tokenizer.json").write_text(json.dumps(made, ensure_ascii=False, separators=(",", ":")))
    common.write_json(
        FOLDER / "tokenizer_config.json",
        {"tokenizer_class": "T5Tokenizer", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>", "extra_ids": EXTRA, "model_max_length": 512},
    )
    common.check_file(FOLDER / "tokenizer.json")


def random_texts(vocabulary):
    rng = random.Random(8)
    likely = ["a", "e", " ", "\u0301", "\u0308", "ﬁ", "\u200d", "😀", "\u1100", "\u1161", "क", "्", "\n", "<extra_id_3>", "</s>", "▁", "É", "日", "\r", "🇩", "\ufe0f", "½", "  ", "\u3000"]
    words = [piece.replace("▁", " ") for piece in vocabulary if "<" not in piece]
    ranges = [(1, 0x7F), (0x80, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x1FFFF)]
    for _ in range(150):
        yield "".join(rng.choice(likely) for _ in range(rng.randint(1, 24)))
        yield "".join(chr(rng.randint(*rng.choice(ranges))) for _ in range(rng.randint(1, 12)))
        yield "".join(rng.choice(words) for _ in range(rng.randint(1, 20)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, help="makes the cut anew from this folder")
    options = parser.parse_args()
    if options.source:
        cut(options.source)
    t5 = T5Tokenizer.from_pretrained(FOLDER)

    def entry(item, text):
        ids = t5(text, add_special_tokens=False).input_ids
        return {**item, "ids": ids if len(ids) <= 60 else {"count": len(ids), "fnv": f"{clip.fnv(ids):016x}"}}

    texts = [*clip.TEXTS, *TEXTS, *sorted(random_texts(sorted(t5.get_vocab())))]
    made = [entry({"text": text}, text) for text in texts]
    made += [entry({"repeat": text, "times": times}, text * times) for text, times in clip.REPEATED]
    windows = []
    for text, length in WINDOWS:
        out = t5(text, padding="max_length", max_length=length, truncation=True)
        windows.append({"text": text, "length": length, "ids": out.input_ids, "used": sum(out.attention_mask)})
    hashes = []
    for begin in range(0, LAST, BLOCK):
        chars = [chr(c) for c in range(begin, begin + BLOCK) if not 0xD800 <= c < 0xE000]
        batch = t5([TEMPLATE.replace("{}", c) for c in chars], add_special_tokens=False).input_ids if chars else []
        hashes.append(f"{clip.fnv([i for ids in batch for i in ids]):016x}")
    points = {"template": TEMPLATE, "block": BLOCK, "hashes": hashes}
    path = common.GOLDENS / "tokenizer" / "t5.json"
    path.write_text(json.dumps({"texts": made, "windows": windows, "code_points": points}, separators=(",", ":")) + "\n")
    print(path, path.stat().st_size, (FOLDER / "tokenizer.json").stat().st_size)


if __name__ == "__main__":
    main()
