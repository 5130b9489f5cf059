"""Trains the text encoder: a Qwen3 of 27 narrow layers that says what a caption asks for.

The pipeline passes hidden states 9, 18 and 27 to the transformer, so there are 27 layers. From each
of these states, at every token after the caption, linear heads read the thing and the background;
the heads are thrown away. What is left is a code of the whole request in all tokens after it,
padding included, whose parts for thing and background add up: easy for the transformer to use.

    python text_encoder.py FOLDER [STEPS]     writes FOLDER/text_encoder and FOLDER/features.pt
"""

import pathlib
import random
import sys

import torch
import torch.nn.functional as F
from transformers import Qwen2TokenizerFast, Qwen3Config, Qwen3ForCausalLM

import runs
from captions import BACKGROUNDS, THINGS, framed, paraphrases
from muon import Muon

LAYERS = (9, 18, 27)  # Flux2KleinPipeline's
LENGTH = 32
BATCH = 64
RATE = 2e-3


def tokens(tokenizer, texts, length=LENGTH):
    """As the pipeline does: (ids, attention mask)."""
    prompts = [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": text}],
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=False,
        )
        for text in texts
    ]
    found = tokenizer(
        prompts, return_tensors="pt", padding="max_length", truncation=True, max_length=length
    )
    return found["input_ids"], found["attention_mask"]


def states(encoder, ids, mask):
    """The pipeline's layers: (batch, layers, tokens, width)."""
    found = encoder.model(
        input_ids=ids, attention_mask=mask, output_hidden_states=True, use_cache=False
    )
    return torch.stack([found.hidden_states[layer] for layer in LAYERS], 1)


def network(tokenizer):
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=96,
        intermediate_size=192,
        num_hidden_layers=max(LAYERS),
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=512,
        max_window_layers=max(LAYERS),
        rope_parameters={"rope_type": "default", "rope_theta": 1000000.0},
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    encoder = Qwen3ForCausalLM(config)
    encoder.set_attn_implementation("eager")  # the fused kernel is slow at its gradient
    for layer in encoder.model.layers:  # each layer begins as the identity
        torch.nn.init.zeros_(layer.self_attn.o_proj.weight)
        torch.nn.init.zeros_(layer.mlp.down_proj.weight)
    return encoder


def example(rng):
    """(caption, thing, background); now and then nothing is asked for."""
    if rng.random() < 0.02:
        return "", len(THINGS), 0
    thing, background = rng.randrange(len(THINGS)), rng.randrange(len(BACKGROUNDS))
    forms = list(paraphrases(THINGS[thing], list(BACKGROUNDS)[background]))
    return framed(rng.choice(forms), rng), thing, background


def train(encoder, tokenizer, steps):
    rng = random.Random(0)
    width = encoder.config.hidden_size
    sizes = (len(THINGS) + 1, len(BACKGROUNDS))
    heads = torch.nn.ModuleList(
        torch.nn.ModuleList(torch.nn.Linear(width, size) for size in sizes) for _ in LAYERS
    )
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    matrices = [(p, 0) for layer in encoder.model.layers for p in layer.parameters() if p.ndim == 2]
    norms = [p for p in encoder.model.parameters() if p.ndim == 1]
    others = [encoder.model.embed_tokens.weight, *norms, *heads.parameters()]
    optimizer = Muon(matrices, others, RATE)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = RATE * runs.rate(step, steps, warmup=30, decay=steps)
        texts, *wanted = zip(*(example(rng) for _ in range(BATCH)))
        ids, mask = tokens(tokenizer, texts)
        after = (ids == end).cumsum(1) > 0
        loss, right = 0, []
        with torch.autocast("cpu", torch.bfloat16):
            found = states(encoder, ids, mask)
            for index, layer_heads in enumerate(heads):
                state = found[:, index].float()
                state = state * state.square().mean(-1, keepdim=True).add(1e-6).rsqrt()
                for head, classes in zip(layer_heads, wanted):
                    scores = head(state[after]).float()
                    classes = torch.tensor(classes)[:, None].expand(after.shape)[after]
                    loss = loss + F.cross_entropy(scores, classes, label_smoothing=0.05)
                    right.append((scores.argmax(-1) == classes).float().mean().item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 19:
            shares = " ".join(f"{share:.3f}" for share in right)
            print(f"step {step + 1} loss {loss.item():.3f} right {shares}", flush=True)


@torch.no_grad()
def features(encoder, tokenizer):
    """Of every caption of the transformer's training: what the pipeline would pass on."""
    asked = [("", -1, 0)]
    for thing, name in enumerate(THINGS):
        for background, colour in enumerate(BACKGROUNDS):
            asked += [(text, thing, background) for text in paraphrases(name, colour)]
    found = []
    for start in range(0, len(asked), 256):
        ids, mask = tokens(tokenizer, [text for text, _, _ in asked[start : start + 256]])
        found.append(states(encoder, ids, mask).permute(0, 2, 1, 3).flatten(2).bfloat16())
    texts, things, backgrounds = zip(*asked)
    labels = torch.tensor([things, backgrounds]).T
    return dict(texts=texts, labels=labels, features=torch.cat(found))


def main():
    folder = pathlib.Path(sys.argv[1])
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 400
    torch.manual_seed(0)
    tokenizer = Qwen2TokenizerFast.from_pretrained(folder / "tokenizer")
    encoder = network(tokenizer)
    print(f"{sum(p.numel() for p in encoder.parameters()) / 1e6:.2f} M parameters", flush=True)
    train(encoder, tokenizer, steps)
    encoder.half().save_pretrained(folder / "text_encoder")
    torch.save(features(encoder.float(), tokenizer), folder / "features.pt")


if __name__ == "__main__":
    main()
