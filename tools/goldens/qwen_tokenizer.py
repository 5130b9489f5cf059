"""Goldens of Qwen's tokenizer: what transformers' Qwen2Tokenizer makes of a hostile corpus and of conversations.

  tools/goldens/qwen_tokenizer.py --source FOLDER

FOLDER holds the tokenizer.json and tokenizer_config.json of Qwen/Qwen3-4B. tests/data/tokenizers/qwen3 becomes a cut of
it: the first entries of its vocabulary, their merges, and all of its added tokens. tests/goldens/tokenizer/qwen3.json
holds

texts        texts and their ids; a text is {"text"} or {"repeat", "times"}, ids a list or {"count", "fnv"}
chats        ids of a conversation in which a user says the text, padded and cut to a length as FLUX.2 asks for it, and
             how many of them are no padding
folders      folders of other kinds: which files, and ids that come of them
code_points  one hash for each block of code points put into a template
"""

import argparse
import json
import pathlib
import shutil
import tempfile

import common
import tokenizer as clip
from transformers import AutoTokenizer, Qwen2Tokenizer

FOLDER = common.ROOT / "tests" / "data" / "tokenizers" / "qwen3"
ENTRIES = 6000
TEMPLATE, BLOCK, LAST = "a{}b {} \n{}", 1024, 0x20000

TEXTS = [
    "a\n\nb", " \n a", "a \n\n  b", "a  b", "a   b", "a   ", "   ", "\n", " \n", "\n ", "\r\n\r\n x", "a\t\tb", "a \t b", "\t\na", "a\u3000\u3000b", "a \u3000b", " \u00a0x",
    "don't DON'T Don'T it'S we'LL they'RE I'VE I'M he'D 'ſ x'ſx 'Tis '' 'x' 's", "(hello) [world] {x} \"quoted\" 'single'", "a.b.c, d; e: f! g? h\n!\n?\n\n#",
    " !", "  !", " !!!\n\n\nx", "!\r\n\r\n a", "...\n...", "a_b-c/d\\e", "1234567890", " 12 345", "3.14 1,000 ½ ٣٤ 二〇", "x1y2", " 1", "  1", "#1", "$1 €2",
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "a<|im_end|>b", "<think>x</think>", " <think> ", "<|im_start|>user\nhi<|im_end|>\n", "<|vision_start|><|image_pad|><|vision_end|>", "<tool_call>", "<|IM_START|>", "<|im_start", "<<|im_end|>>",
    "e\u0301<|im_end|>\u0301", "\u0301a a\u0301 \u0301", " \u0301a", "!\u0301", "👩\u200d🚀 👍🏽 🇩🇪", "\u200b \u200d", "a\u00adb", "\u2028x\u2029", "x\u0085y",
    "def f(x):\n    return x  # comment\n\n\nclass A:\n\tpass\n", "{\"a\": [1, 2, {\"b\": null}]}", "https://example.com/a?b=c&d=%20#e",
]
REPEATED = [("\n", 5000), (" \n", 5000), ("a ", 20000), ("'s", 5000), ("\u0301", 5000), ("猫", 20000), ("<|im_end|>", 2000), ("<think", 5000), ("\t", 20000), ("x1", 20000)]
CHATS = [
    ("a small cactus with a happy face in the Sahara desert.", 64), ("", 16), ("", 4), ("red", 512), ("x " * 40, 24), ("a photo of a cat, " * 200, 512),
    ("日本語のテキスト 😀 e\u0301", 40), ("<|im_end|>\n<|im_start|>system\nx", 32), ("<tool_response>\nx\n</tool_response>", 32), ("</think>", 24), (" \n ", 24), ("{{ x }} {% y %}", 40), ("red apple", 1),
    ("red apple", 11), ("red apple", 8),
]


def cut(source):
    whole = json.loads((source / "tokenizer.json").read_text())
    model = whole["model"]
    kept = {token: i for token, i in model["vocab"].items() if i < ENTRIES}
    assert sorted(kept.values()) == list(range(ENTRIES))
    model["vocab"] = kept
    model["merges"] = [merge for merge in model["merges"] if "".join(merge) in kept and all(part in kept for part in merge)]
    for i, token in enumerate(whole["added_tokens"]):
        token["id"] = ENTRIES + i
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "tokenizer.json").write_text(json.dumps(whole, ensure_ascii=False, separators=(",", ":")))
    config = json.loads((source / "tokenizer_config.json").read_text())
    config.pop("added_tokens_decoder", None)
    common.write_json(FOLDER / "tokenizer_config.json", config)
    common.check_file(FOLDER / "tokenizer.json")


def ids_of(tokenizer, text):
    return tokenizer(text, add_special_tokens=True, truncation=False, padding=False).input_ids


def chat_text(tokenizer, prompt):
    messages = [{"role": "user", "content": prompt}]
    return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, enable_thinking=False)


def chat(tokenizer, prompt, length):
    """As diffusers' Flux2KleinPipeline._get_qwen3_prompt_embeds."""
    made = tokenizer(chat_text(tokenizer, prompt), padding="max_length", truncation=True, max_length=length)
    return {"text": prompt, "length": length, "ids": made["input_ids"], "used": sum(made["attention_mask"])}


def texts(tokenizer):
    cases = []
    for text in clip.TEXTS + TEXTS + clip.random_texts(300):
        cases.append({"text": text, "ids": ids_of(tokenizer, text)})
    for part, times in clip.REPEATED + REPEATED:
        ids = ids_of(tokenizer, part * times)
        cases.append({"repeat": part, "times": times, "ids": {"count": len(ids), "fnv": f"{clip.fnv(ids):016x}"}})
    return cases


def code_points(tokenizer):
    hashes = []
    for begin in range(0, LAST, BLOCK):
        ids = []
        for point in range(begin, begin + BLOCK):
            if not 0xD800 <= point < 0xE000:
                ids += ids_of(tokenizer, TEMPLATE.replace("{}", chr(point)))
        hashes.append(f"{clip.fnv(ids):016x}")
    return {"block": BLOCK, "hashes": hashes}


def folders():
    """Each: files that are taken over, files of its own."""
    config = json.loads((FOLDER / "tokenizer_config.json").read_text())
    whole = json.loads((FOLDER / "tokenizer.json").read_text())
    vocabulary = {"vocab.json": whole["model"]["vocab"], "merges.txt": "#version: 0.2\n" + "".join(" ".join(m) + "\n" for m in whole["model"]["merges"])}
    flags = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False, "special": True}
    decoder = {str(token["id"]): flags | {"content": token["content"], "special": token["special"]} for token in whole["added_tokens"]}
    plain = "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
    return [
        ("vocab_and_merges", [], vocabulary | {"tokenizer_config.json": config | {"added_tokens_decoder": decoder}}),
        ("padding_in_front", ["tokenizer.json"], {"tokenizer_config.json": config | {"padding_side": "left"}}),
        ("template_in_a_file", ["tokenizer.json", "tokenizer_config.json"], {"chat_template.jinja": plain}),
        ("decoder_in_the_config", ["tokenizer.json"], {"tokenizer_config.json": config | {"added_tokens_decoder": decoder}}),
        ("extra_special_tokens", ["tokenizer.json"], {"tokenizer_config.json": {key: value for key, value in config.items() if key != "additional_special_tokens"} | {"extra_special_tokens": {"image_token": "<|image_pad|>"}}}),
    ]


def folder_cases():
    cases = []
    for name, taken, own in folders():
        with tempfile.TemporaryDirectory() as path:
            for file in taken:
                shutil.copy(FOLDER / file, path)
            for file, content in own.items():
                (pathlib.Path(path) / file).write_text(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False))
            tokenizer = AutoTokenizer.from_pretrained(path)
            assert type(tokenizer) is Qwen2Tokenizer, type(tokenizer)
            texts = ["a red apple", "a <|im_end|>b <think> <|image_pad|>", "it's\n\n  e\u0301"]
            chats = [chat(tokenizer, "a red apple", 32)]
            # The vocabulary is that of the tokenizer.json; a test makes it from there.
            own = {file: content for file, content in own.items() if file not in ("vocab.json", "merges.txt")}
            cases.append({"name": name, "taken": taken, "own": own, "texts": [{"text": text, "ids": ids_of(tokenizer, text)} for text in texts], "chats": chats})
    return cases


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, help="a Qwen3 tokenizer's folder; without one the cut that is there is kept")
    parser.add_argument("--whole", type=pathlib.Path, help="only write the goldens of this folder as it is, to this file's place", nargs=2, metavar=("FOLDER", "FILE"))
    args = parser.parse_args()
    if args.whole:
        tokenizer = AutoTokenizer.from_pretrained(args.whole[0])
        common.write_json(args.whole[1], {"texts": texts(tokenizer), "chats": [chat(tokenizer, *case) for case in CHATS], "code_points": code_points(tokenizer)})
        return
    if args.source:
        cut(args.source)
    tokenizer = AutoTokenizer.from_pretrained(FOLDER)
    made = {"texts": texts(tokenizer), "chats": [chat(tokenizer, *case) for case in CHATS], "folders": folder_cases(), "code_points": code_points(tokenizer)}
    target = common.GOLDENS / "tokenizer" / "qwen3.json"
    common.write_json(target, made)
    common.check_file(target)


if __name__ == "__main__":
    main()
