"""Goldens of CLIP's tokenizer: what transformers' CLIPTokenizer makes of a hostile corpus.

Run: build/goldens-venv/bin/python tools/goldens/tokenizer.py [--out tests/goldens/tokenizer]

corpus.json       texts and their ids (no special tokens) by two vocabularies: the embedded model's (emoji) and
                  CLIP ViT-L/14's (clip-l). A text is {"text"} or {"repeat", "times"}; ids are a list or
                  {"count", "fnv"} (FNV-1a of 64 bits over the ids).
windows.json      ids padded and cut to the window, as diffusers asks for them, and what is cut, decoded.
folders.json      folders of other kinds: which files, and the ids that come of them.
code_points.json  one hash for each 1,024 code points put into a template, by the emoji vocabulary.
"""

import argparse
import json
import os
import random
import shutil
import tempfile
from pathlib import Path

import transformers
from transformers import CLIPTokenizer

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {"emoji": ROOT / "models/emoji-sd/tokenizer", "clip-l": ROOT / "tests/data/tokenizers/clip-l"}
assert transformers.__version__ == "5.23.0", transformers.__version__


def plain(tokenizer, text):
    return tokenizer(text, add_special_tokens=False, truncation=False, padding=False).input_ids


def fnv(ids):
    value = 0xCBF29CE484222325
    for item in ids:
        value = ((value ^ item) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


TEXTS = [
    "", " ", "   \t\n", "a", "a red apple", "A Red APPLE", "a photo of an astronaut riding a horse on mars",
    "it's, they're I'VE i'm we'll he'd don't 'tis rock'n'roll", "''s 's's '' ' 'sample 'T 'REally", "‘s ’s it’s",
    "1 12 123 4567 3.14 1,000 2nd 0x1F", "½ Ⅷ ٣٤ 五 ①② 𝟘𝟙 १२", "x1y2z3", "a1!2?b", "!!! ... --- *** ((())) :) ;-)",
    "e-mail@example.com #tag @user $5 50% a&b x^2 c++ C# under_score", "&amp; &lt;b&gt; &#39; &quot;x&quot; &nbsp; &eacute;",
    "<b>bold</b> <!-- c --> </w> a</w> b</w>c", "\\n \\t \\u0041 %20 \"quoted\" `code`",
    # emoji: plain, skin tones, ZWJ sequences, flags, keycaps, presentation selectors, tags
    "😀", "😀😃😄", "👍🏽 👍🏿", "👩‍🚀 👨‍👩‍👧‍👦 🏳️‍🌈 🏴‍☠️", "🇩🇪🇯🇵🇺🇸 🇩 🇩🇪🇯", "1️⃣ #️⃣ *️⃣", "❤️ ❤ ☎︎ ☎️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "a😀b c 😀 d", "🫠🫨🪿🫩",
    # scripts
    "一只红苹果", "猫が好きです。東京タワー", "カタカナ ｶﾀｶﾅ がぎぐ か\u3099き\u3099", "한국어 텍스트", "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165",
    "\uac00\u11a7 \u1100\u1161\u11a7\u11a8", "Привет, МИР! Ёлка Е\u0308лка", "Ελληνικά ΟΔΥΣΣΕΥΣ Σίσυφος ΑΣ Σ", "العربية مَرْحَبًا", "עִבְרִית שָׁלוֹם",
    "हिन्दी क्षत्रिय ज़", "ไทยแลนด์ น้ำ", "தமிழ் தமிழ்நாடு", "မြန်မာ ភាសាខ្មែរ", "ქართული ᲥᲐᲠᲗᲣᲚᲘ Հայերեն և", "ትግርኛ ᚱᚢᚾᛖ 𐌰𐌱 𐐀𐐨 𞤀𞤢",
    "a猫b кот cat猫кот", "नमस्ते 世界 hello мир 🌍",
    # case
    "İstanbul IŞIK ısı", "Straße STRASSE ẞ ß", "Ǆ ǅ ǆ Ǉ ǈ ǉ", "K Å Ω (Kelvin, Angstrom, Ohm)", "ﬁ ﬂ ﬃ ĳ Ĳ", "ſ ẛ ẛ̣ 'ſ", "ΐ ΰ Ϊ́ Ӑ", "ᏣᎳᎩ ꮳꮃꭹ",
    "𝐁𝐨𝐥𝐝 𝕳𝖊𝖑𝖑𝖔 Ｆｕｌｌｗｉｄｔｈ ａｂｃ", "Ꟍ Ꟑ Ꟊ Ɤ \ua7cb\ua7dc\U00010d50\U00016ea0",
    # composed and decomposed
    "café cafe\u0301 CAFE\u0301", "\u1e9b\u0323 \u0344 \u0958 \u2adc \u0f43 \ufb2c \U0001d15e", "a\u0323\u0301 a\u0301\u0323 a\u0345\u0300\u0334",
    "\u0301 \u0301\u0301\u0301 a" + "\u0301" * 30, "q\u0307\u0323 d\u0323\u0307 Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘!͖̬̰̙̗̿̋ͥͥ̂ͣ̐́́͜͞",
    "\U00011935\U00011930 \U00011938 \U000105d2\u0307 \U00016d67\U00016d67", "a\u07fd\u0301 a\u08ca\u0301 a\u1df6\u0316\u0301",
    # space and invisible characters
    "a\u00a0b\u3000c\u2003d\u1680e", "a\u2028b\u2029c\u0085d\x0be\x0cf\r\ng", "a\u200bb\u200cc\u200dd\u2060e\ufefff", "a\u180eb\u00adc\u034fd\u061ce",
    "a\u202eb\u202cc\u2066d\u2069e", "  lead and trail  ", "a  b   c\t\td\n\n\ne", "a\x00b\x01c\x1bd\x7fe\x9ff", "\x1c\x1d\x1e\x1f a\x1cb",
    "\ufffd \ufffe\uffff \U0001fffe \U0010ffff \ue000 \U000f0000 \u0378",
    # special tokens written out
    "<|startoftext|>", "<|endoftext|>", "a <|endoftext|> b", "x<|startoftext|>y<|endoftext|>z", "<|ENDOFTEXT|> <|StartOfText|>!!",
    "<|endoftext|", "<<|endoftext|>>", "<|<|endoftext|>|>", "<|endoftext|><|endoftext|>", "!<|ENDOFTEXT|>!", "<|endo\u00adftext|> <| endoftext |>",
    "<|endoftext|>\u0301 e<|endoftext|>\u0301",
    # the usual prompts
    "masterpiece, best quality, ultra-detailed, (1girl:1.3), solo, [[bokeh]], 8k, by artgerm & greg rutkowski, trending on artstation --ar 16:9",
    "supercalifragilisticexpialidocious pneumonoultramicroscopicsilicovolcanoconiosis", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "ththththinininanan",
]
REPEATED = [
    ("a photo of a cat, ", 556), ("猫", 3400), ("e\u0301", 5000), ("😀 ", 5000), ("a", 10000), ("a", 100000), ("th", 50000), ("inan", 25000),
    ("!?", 50000), (" ", 100000), ("1", 10000), ("\u0301\u0323\u0334", 33333), ("<|endoftext|>", 1000), ("<|endoftext|", 1000), ("İ", 10000),
]


def random_texts(count):
    """Mixtures of what is likely to meet a boundary in the tables or in the pattern."""
    rng = random.Random(5)
    spans = [(0x20, 0x7F), (0, 0x100), (0x100, 0x600), (0x900, 0xE00), (0x1100, 0x1200), (0x1E00, 0x2100), (0x3040, 0x3100),
             (0x4E00, 0x4E80), (0xAC00, 0xD7A4), (0x10000, 0x20000), (0x1F300, 0x1FA00)]
    marks = [c for a, b in [(0x300, 0x370), (0x591, 0x5C8), (0x64B, 0x660), (0x8CA, 0x900), (0x1DC0, 0x1E00), (0x3099, 0x309B)]
             for c in range(a, b)]
    parts = ["<|startoftext|>", "<|EndOfText|>", "'s", "'RE", "&amp;", "!", "İ", "Σ", "K", " ", "  ", "\u3000", "\u200d", "7"]
    texts = []
    for _ in range(count):
        mix = rng.sample(spans, 2)
        text = ""
        for _ in range(rng.randint(1, 16)):
            kind = rng.random()
            if kind < 0.15:
                text += rng.choice(parts)
            elif kind < 0.35:
                text += chr(rng.choice(marks))
            else:
                text += chr(rng.randrange(*rng.choice(mix)))
        texts.append(text)
    return texts


def corpus(tokenizers):
    cases = []
    for text in TEXTS + random_texts(300):
        cases.append({"text": text} | {name: plain(tokenizer, text) for name, tokenizer in tokenizers.items()})
    for part, times in REPEATED:
        case = {"repeat": part, "times": times}
        for name, tokenizer in tokenizers.items():
            ids = plain(tokenizer, part * times)
            case[name] = {"count": len(ids), "fnv": f"{fnv(ids):016x}"}
        cases.append(case)
    return cases


def windows(tokenizers):
    """As diffusers' encode_prompt: cut and padded to the window, and the text of the ids that it says were removed."""
    cases = []
    words = "a red apple and a green pear on a blue table with seven yellow lemons"
    texts = ["", "a red apple", " ".join([words] * 8), "一只红苹果" * 30, "I " * 30, "I " * 31, "I " * 75, "I " * 76,
             "<|endoftext|> " * 100, "word" * 200]
    for name, tokenizer in tokenizers.items():
        size = tokenizer.model_max_length
        for text in texts:
            ids = tokenizer(text, padding="max_length", max_length=size, truncation=True).input_ids
            whole = tokenizer(text, padding="longest", truncation=False).input_ids
            removed = tokenizer.decode(whole[size - 1:-1], clean_up_tokenization_spaces=False)
            cases.append({"tokenizer": name, "text": text, "ids": ids, "removed": removed,
                          "decoded": tokenizer.decode(whole, clean_up_tokenization_spaces=False)})
    return cases


def added(content, normalized, kind=True, **more):
    token = {"content": content, "lstrip": False, "normalized": normalized, "rstrip": False, "single_word": False} | more
    return {"__type": "AddedToken"} | token if kind else token


def folders():
    """Each: which of the emoji model's files it has, and its own JSON files."""
    start, end = "<|startoftext|>", "<|endoftext|>"
    sd1 = {"add_prefix_space": False, "bos_token": added(start, True), "eos_token": added(end, True), "unk_token": added(end, True),
           "errors": "replace", "do_lower_case": True, "model_max_length": 77, "pad_token": end, "tokenizer_class": "CLIPTokenizer"}
    sd1_map = {"bos_token": added(start, True, False), "eos_token": added(end, True, False), "pad_token": end,
               "unk_token": added(end, True, False)}
    decoder = {"0": added("!", False, False, special=True), "8512": added(start, True, False, special=True),
               "8513": added(end, True, False, special=True)}
    pair, whole = ["vocab.json", "merges.txt"], ["tokenizer.json"]
    return [
        ("vocab_and_merges", pair + ["tokenizer_config.json"], {}),
        ("tokenizer_json_only", whole + ["tokenizer_config.json"], {}),
        ("sd1", pair, {"tokenizer_config.json": sd1, "special_tokens_map.json": sd1_map}),
        ("sd1_without_map", pair, {"tokenizer_config.json": sd1}),
        ("sd2_pad_in_map", pair, {"tokenizer_config.json": sd1, "special_tokens_map.json": sd1_map | {"pad_token": "!"}}),
        ("pad_in_config", pair, {"tokenizer_config.json": sd1 | {"pad_token": "!"}}),
        ("pad_and_tokenizer_json", whole, {"tokenizer_config.json": sd1 | {"pad_token": "!"}}),
        ("decoder_wins_over_map", pair, {"tokenizer_config.json": sd1 | {"pad_token": "!", "added_tokens_decoder": decoder},
                                         "special_tokens_map.json": sd1_map}),
        ("added_tokens_json", pair, {"tokenizer_config.json": sd1, "special_tokens_map.json": sd1_map,
                                     "added_tokens.json": {"<Cat-Toy>": 8514, "<cat-toy-2>": 8515}}),
        ("added_in_decoder", pair, {"tokenizer_config.json": sd1 | {"added_tokens_decoder": decoder | {
            "8514": added("<Cat-Toy>", False, False, special=False), "8515": added("Über", True, False, special=False)}}}),
        ("extra_special_tokens", pair, {"tokenizer_config.json": sd1 | {"additional_special_tokens": ["apple</w>", "red"]}}),
        ("only_a_window", pair, {"tokenizer_config.json": {"model_max_length": 20}}),
        ("legacy_window_key", pair, {"tokenizer_config.json": {"max_len": 9}}),
    ]


FOLDER_TEXTS = ["hello!", "wow!! a red apple!", "a <|endoftext|> b", "A <|ENDOFTEXT|>!! b", "x<|StartOfText|>y!", "a <cat-toy> <Cat-Toy>x <CAT-TOY-2>",
                "ÜBER U\u0308ber über", "red apple</w> scared"]


def folder_cases():
    cases = []
    for name, copied, files in folders():
        with tempfile.TemporaryDirectory() as temporary:
            for file in copied:
                shutil.copy(FOLDERS["emoji"] / file, temporary)
            for file, content in files.items():
                Path(temporary, file).write_text(json.dumps(content))
            tokenizer = CLIPTokenizer.from_pretrained(temporary)
        size = tokenizer.model_max_length
        texts = [{"text": text, "ids": tokenizer(text, padding="max_length", max_length=size, truncation=True).input_ids}
                 for text in FOLDER_TEXTS]
        cases.append({"name": name, "copied": copied, "files": files, "rows": max(tokenizer.get_vocab().values()) + 1,
                      "bos": tokenizer.bos_token_id, "eos": tokenizer.eos_token_id, "pad": tokenizer.pad_token_id, "texts": texts})
    return cases


def code_points(tokenizer):
    """Each code point alone, after and before marks, in Hangul. Planes 4 to 13, 15 and 16 hold no character with properties."""
    template = "a{}b {}\u0323\u0301 e\u0301{}\u0316\u0345 a\u0345{}\u0334\u0300 {}{}1 \uac00{}\u11a8 \u1100{} {}\u1161"
    block, ranges, hashes = 1024, [[0, 0x34000], [0xE0000, 0xE1000], [0x10FC00, 0x110000]], []
    for first, last in ranges:
        for begin in range(first, last, block):
            texts = [template.replace("{}", chr(c)) for c in range(begin, begin + block) if not 0xD800 <= c < 0xE000]
            rows = tokenizer(texts, add_special_tokens=False, truncation=False, padding=False).input_ids if texts else []
            hashes.append(f"{fnv(item for row in rows for item in row):016x}")
    return {"template": template, "block": block, "ranges": ranges, "hashes": hashes}


def write(path, value, one_a_line=True):
    if one_a_line:
        text = "[\n" + ",\n".join(json.dumps(item, separators=(",", ":")) for item in value) + "\n]\n"
    else:
        text = json.dumps(value, separators=(",", ":")) + "\n"
    path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "tests/goldens/tokenizer")
    out = parser.parse_args().out
    os.makedirs(out, exist_ok=True)
    tokenizers = {name: CLIPTokenizer.from_pretrained(folder) for name, folder in FOLDERS.items()}
    write(out / "corpus.json", corpus(tokenizers))
    write(out / "windows.json", windows(tokenizers))
    write(out / "folders.json", folder_cases())
    write(out / "code_points.json", code_points(tokenizers["emoji"]), one_a_line=False)


if __name__ == "__main__":
    main()
