"""Goldens of Mistral's tokenizer: what transformers makes of a hostile corpus and of FLUX.2's conversations.

  tools/goldens/mistral_tokenizer.py [--train]

tests/data/tokenizers/mistral is a small vocabulary laid out as the published ones are (special tokens first, then bytes
and what merges make of them, words that are taken whole); --train makes it again. tests/goldens/tokenizer/mistral.json
holds, by the name of the pattern that cuts words (tekken, three_digits):

texts        texts and their ids without bos; a text is {"text"} or {"repeat", "times"}, ids a list or {"count", "fnv"}
whole        ids of texts with bos
code_points  one hash for each block of code points put into a template

and chats: ids of the conversation in which a user says the text, as diffusers' Flux2Pipeline asks for them, and how many
of them are no padding.
"""

import argparse
import json
import pathlib
import shutil
import tempfile

import common
import tokenizer as clip
from qwen_tokenizer import BLOCK, LAST, REPEATED, TEMPLATE, TEXTS
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer

FOLDER = common.ROOT / "tests" / "data" / "tokenizers" / "mistral"
PATTERNS = {
    "tekken": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "three_digits": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
SPECIAL = [
    "<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>",
    "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]", "<SPECIAL_20>", "<SPECIAL_21>",
]
# Written out as Mistral Small 3's does, of messages in lists of texts.
CHAT = """{{- bos_token }}
{%- for message in messages %}
    {%- if message['role'] == 'system' %}
        {{- '[SYSTEM_PROMPT]' + message['content'][0]['text'] + '[/SYSTEM_PROMPT]' }}
    {%- elif message['role'] == 'user' %}
        {{- '[INST]' }}
        {%- for block in message['content'] %}
            {%- if block['type'] == 'text' %}
                {{- block['text'] }}
            {%- else %}
                {{- '[IMG]' }}
            {%- endif %}
        {%- endfor %}
        {{- '[/INST]' }}
    {%- endif %}
{%- endfor %}
"""
MIXED = [
    "HelloWorld helloWorld HELLOworld HELLO World aB Ab AB ab ABc aBC", "iPhone OpenAI JSONParser XMLHttpRequest", "ÉCOLE École éCOLE", "ǅabc aǅ ǅǅ", "日本A A日本 日本a a日本 AあB", "Aʰ ʰA aʰB",
    "\u0301AB \u0301ab !\u0301 !\u0301A \u0301\u0301 A\u0301B a\u0301B", "//comment\n/path/to/x\n\n/ y", "a//b !!\n/\n/ x", "http://x.y/z?a=b", " 'S 'd don'T I'LL", "1a2B3 12345 1234567 ½½½½ ٣٤٥٦ 1 23",
    " \tA \tb\n C", "\u3000A \u00a0b", "[INST]x[/INST] <s> </s> [IMG] <pad> [SYSTEM_PROMPT", "a[INST]", " cactus happily the cactus", "Ⅷa ⅷB", "ªº ʕ ƻ ǀ", "\U0001d400a \U0001d41aB",
]
CHATS = [
    ("a small cactus with a happy face in the Sahara desert.", 512), ("", 200), ("", 4), ("red", 192), ("x " * 40, 220), ("a photo of a cat, " * 200, 512), ("日本語のテキスト 😀 e\u0301", 300),
    ("[/INST][INST]x", 240), ("an [IMG] and [IMG][IMG] more[IM[IMG]G]", 240), (" \n ", 220), ("{{ x }} {% y %}", 240), ("red apple", 1), ("red apple", 180), ("red apple", 186),
]


def write_folder(folder, vocab, merges, padding="left", length=None):
    """As transformers' converted tekken vocabularies are laid out."""
    from transformers import LlamaTokenizerFast, TokenizersBackend  # noqa: F401

    made = Tokenizer(models.BPE(vocab=vocab, merges=merges, fuse_unk=False, ignore_merges=True))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(PATTERNS["tekken"]), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    made.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in SPECIAL])
    folder.mkdir(parents=True, exist_ok=True)
    whole = json.loads(made.to_str())
    (folder / "tokenizer.json").write_text(json.dumps(whole, ensure_ascii=False, separators=(",", ":")))
    flags = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
    config = {
        "add_bos_token": True,
        "add_eos_token": False,
        "add_prefix_space": None,
        "added_tokens_decoder": {str(i): {"content": text, **flags} for i, text in enumerate(SPECIAL)},
        "additional_special_tokens": SPECIAL,
        "bos_token": "<s>",
        "clean_up_tokenization_spaces": False,
        "eos_token": "</s>",
        "extra_special_tokens": {},
        "legacy": True,
        "model_max_length": 1000000000000000019884624838656,
        "pad_token": "<pad>",
        "padding_side": padding,
        "processor_class": "PixtralProcessor",
        "tokenizer_class": "LlamaTokenizerFast",
        "unk_token": "<unk>",
        "use_default_system_prompt": False,
    }
    common.write_json(folder / "tokenizer_config.json", config)
    (folder / "chat_template.jinja").write_text(CHAT)
    common.check_file(folder / "tokenizer.json")


def trained(texts, entries, whole=()):
    """{token: id} with the special tokens first, and merges; the `whole` words are tokens that no merge makes."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(PATTERNS["tekken"]), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=entries, initial_alphabet=alphabet, show_progress=False)
    trained.train_from_iterator(texts, trainer)
    model = json.loads(trained.to_str())["model"]
    vocab = {text: i for i, text in enumerate(SPECIAL)}
    for token, _ in sorted(model["vocab"].items(), key=lambda item: item[1]):
        vocab[token] = len(vocab)
    for token in whole:
        vocab.setdefault(token, len(vocab))
    return vocab, [tuple(pair) for pair in model["merges"]]


def train():
    texts = [path.read_text() for path in sorted((common.ROOT / "docs").glob("*.md"))]
    vocab, merges = trained(texts + TEXTS + clip.TEXTS + MIXED, 2500, ["Ġcactus", "Ġhappily", "HELLO", "123", "12"])
    write_folder(FOLDER, vocab, merges)


def ids_of(tokenizer, text, bos=False):
    return tokenizer(text, add_special_tokens=bos, truncation=False, padding=False).input_ids


def chat(tokenizer, prompt, length):
    """As diffusers' Flux2Pipeline._get_mistral_3_small_prompt_embeds."""
    from diffusers.pipelines.flux2.pipeline_flux2 import SYSTEM_MESSAGE, format_input

    made = tokenizer.apply_chat_template(
        format_input(prompts=[prompt], system_message=SYSTEM_MESSAGE),
        add_generation_prompt=False,
        tokenize=True,
        return_dict=True,
        padding="max_length",
        truncation=True,
        max_length=length,
    )
    return {"text": prompt, "length": length, "ids": made["input_ids"][0], "used": sum(made["attention_mask"][0])}


def texts(tokenizer):
    cases = []
    for text in MIXED + clip.TEXTS + TEXTS + clip.random_texts(300):
        cases.append({"text": text, "ids": ids_of(tokenizer, text)})
    for part, times in clip.REPEATED + REPEATED + [("Aa", 5000), ("A", 20000), ("日A", 5000), ("\u0301A", 5000), ("/\n", 5000)]:
        ids = ids_of(tokenizer, part * times)
        cases.append({"repeat": part, "times": times, "ids": {"count": len(ids), "fnv": f"{clip.fnv(ids):016x}"}})
    return cases


def code_points(tokenizer):
    hashes = []
    for begin in range(0, LAST, BLOCK):
        ids = []
        for point in range(begin, begin + BLOCK):
            if not 0xD800 <= point < 0xE000:
                ids += ids_of(tokenizer, TEMPLATE.replace("{}", chr(point)) + f"A{chr(point)}B{chr(point)}c")
        hashes.append(f"{clip.fnv(ids):016x}")
    return {"block": BLOCK, "hashes": hashes}


def of_pattern(name):
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path) / "tokenizer"
        shutil.copytree(FOLDER, folder)
        whole = json.loads((folder / "tokenizer.json").read_text())
        whole["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = PATTERNS[name]
        (folder / "tokenizer.json").write_text(json.dumps(whole, ensure_ascii=False))
        tokenizer = AutoTokenizer.from_pretrained(folder)
        whole_texts = [{"text": text, "ids": ids_of(tokenizer, text, True)} for text in ["", "a red apple", "<s>x"]]
        return {"texts": texts(tokenizer), "whole": whole_texts, "code_points": code_points(tokenizer)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train", action="store_true", help="make the vocabulary again, too")
    if parser.parse_args().train:
        train()
    tokenizer = AutoTokenizer.from_pretrained(FOLDER)
    print(type(tokenizer).__name__, len(tokenizer))
    made = {name: of_pattern(name) for name in PATTERNS}
    made["chats"] = [chat(tokenizer, *case) for case in CHATS]
    target = common.GOLDENS / "tokenizer" / "mistral.json"
    target.write_text(json.dumps(made, separators=(",", ":")) + "\n")
    common.check_file(target)


if __name__ == "__main__":
    main()
