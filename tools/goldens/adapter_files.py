"""Random factors of adapters, what they make of weights by formula, and the layouts of their files."""

import common
import torch
from safetensors.torch import load_file, save_file

FOLDER = common.GOLDENS / "adapters"
FILES = FOLDER / "files"
ATTENTION = ("to_q", "to_k", "to_v", "to_out.0")
TEXT = ("q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2")


# ------------------------------------------------------------------------------------ layers, factors
def layers_of(module, *endings):
    """{path: weight} of linear layers and convolutions whose names end so."""
    kinds = (torch.nn.Linear, torch.nn.Conv2d)
    return {
        name: layer.weight
        for name, layer in module.named_modules()
        if isinstance(layer, kinds) and name.endswith(endings)
    }


class Maker:
    """Factors from one seed, scaled so that a change is about a third of its weight."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape, scale=1.0):
        return torch.randn(shape, generator=self.generator) * scale

    def lora(self, weight, rank, alpha=None, tucker=False):
        out, inner, *kernel = weight.shape
        if tucker and kernel and kernel != [1, 1]:
            factors = {
                "up": self.normal(out, rank, 1, 1),
                "down": self.normal(rank, inner, 1, 1, scale=0.5 / inner**0.5),
                "mid": self.normal(rank, rank, *kernel, scale=0.3 / rank),
            }
        else:
            fan = weight[0].numel()
            factors = {
                "up": self.normal(out, rank, *[1] * len(kernel)),
                "down": self.normal(rank, inner, *kernel, scale=0.3 / fan**0.5),
            }
        if alpha is not None:
            factors["alpha"] = torch.tensor(float(alpha))
        return factors

    def loha(self, weight, rank, alpha, tucker=False):
        out, inner, *kernel = weight.shape
        factors = {"alpha": torch.tensor(float(alpha))}
        for which in "12":
            if tucker and kernel and kernel != [1, 1]:
                factors[f"hada_t{which}"] = self.normal(rank, rank, *kernel, scale=0.5 / rank)
                factors[f"hada_w{which}_a"] = self.normal(rank, out, scale=0.6)
                factors[f"hada_w{which}_b"] = self.normal(rank, inner, scale=0.8 / inner**0.25)
            else:
                fan = weight[0].numel()
                factors[f"hada_w{which}_a"] = self.normal(out, rank, scale=0.7)
                factors[f"hada_w{which}_b"] = self.normal(rank, fan, scale=0.7 / fan**0.25)
        return factors

    def lokr(self, weight, rank, alpha, form, tucker=False):
        out, inner, *kernel = weight.shape
        a, b = 2, 4  # out = a * c, in = b * d
        c, d = out // a, inner // b
        factors = {"alpha": torch.tensor(float(alpha))}
        if form == "both":
            factors["lokr_w1_a"], factors["lokr_w1_b"] = self.normal(a, rank), self.normal(rank, b)
        else:
            factors["lokr_w1"] = self.normal(a, b)
        scale = 0.3 / weight[0].numel() ** 0.5
        if form == "whole":
            factors["lokr_w2"] = self.normal(c, d, *kernel, scale=scale)
        elif tucker and kernel and kernel != [1, 1]:
            factors["lokr_t2"] = self.normal(rank, rank, *kernel, scale=0.3)
            factors["lokr_w2_a"] = self.normal(rank, c)
            factors["lokr_w2_b"] = self.normal(rank, d, scale=scale)
        else:
            columns = d * weight[0, 0].numel()
            factors["lokr_w2_a"] = self.normal(c, rank)
            factors["lokr_w2_b"] = self.normal(rank, columns, scale=scale)
        return factors


def tucker(core, left, right):
    return torch.einsum("ij...,ip,jr->pr...", core, left, right)


def delta(weight, f):
    """The change that the factors make (lycoris/functional, peft/tuners), alpha in it."""
    alpha = float(f["alpha"]) if "alpha" in f else None
    if "diff" in f:
        return f["diff"].float()
    if "up" in f:
        up, down = f["up"].float(), f["down"].float()
        rank = len(down)
        if "mid" in f:
            change = tucker(f["mid"].float(), up.flatten(1).T, down.flatten(1))
        else:
            change = up.flatten(1) @ down.flatten(1)
    elif "hada_w1_a" in f:
        halves = []
        for which in "12":
            a, b = f[f"hada_w{which}_a"], f[f"hada_w{which}_b"]
            core = f.get(f"hada_t{which}")
            halves.append((a @ b if core is None else tucker(core, a, b)).reshape(weight.shape))
        change, rank = halves[0] * halves[1], len(f["hada_w1_b"])
    else:
        rank = None
        one = f["lokr_w1"] if "lokr_w1" in f else f["lokr_w1_a"] @ f["lokr_w1_b"]
        if "lokr_w1_b" in f:
            rank = len(f["lokr_w1_b"])
        if "lokr_w2" in f:
            two = f["lokr_w2"]
        else:
            rank = len(f["lokr_w2_b"])
            a, b = f["lokr_w2_a"], f["lokr_w2_b"]
            two = tucker(f["lokr_t2"], a, b) if "lokr_t2" in f else a @ b
        if two.ndim == 4:
            one = one[:, :, None, None]
        change = torch.kron(one.contiguous(), two.contiguous())
    scale = 1.0 if alpha is None or rank is None else alpha / rank
    return change.reshape(weight.shape) * scale


def merged(weight, f, scale):
    change = delta(weight, f)
    if "magnitude" in f:  # peft/tuners/lora/dora.py
        total = weight + scale * change
        norm = total.flatten(1).norm(dim=1)
        shape = (-1, *[1] * (weight.ndim - 1))
        return (f["magnitude"].reshape(-1) / norm).reshape(shape) * total
    if "dora_scale" in f:  # lycoris weight_decompose, from the stored weight to that by the scale
        total, stored = weight + change, f["dora_scale"]
        by_input = stored.shape[0] == 1
        norm = (total.transpose(0, 1) if by_input else total).flatten(1).norm(dim=1)
        shape = [1] * weight.ndim
        shape[1 if by_input else 0] = -1
        full = total * stored.reshape(shape) / norm.reshape(shape)
        return weight + scale * (full - weight)
    return weight + scale * change


def apply(pipe, adapter, scale_of=lambda component, path: 1.0):
    """Adds what an adapter, {component: {path: factors}}, makes of the stored weights."""
    for component, layers in adapter.items():
        module = getattr(pipe, component)
        for path, f in layers.items():
            layer, scale = module.get_submodule(path), scale_of(component, path)
            if any(name not in ("diff_b", "up_bias") for name in f):
                stored = layer.stored if hasattr(layer, "stored") else layer.weight.data.clone()
                layer.stored = stored
                layer.weight.data += merged(stored, f, scale) - stored
            if "diff_b" in f:
                layer.bias.data += scale * f["diff_b"]
            if "up_bias" in f:
                alpha = float(f["alpha"]) / len(f["down"]) if "alpha" in f else 1.0
                layer.bias.data += scale * alpha * f["up_bias"]


# -------------------------------------------------------------------------------------------- layouts
def write(name, tensors, metadata=None):
    path = FILES / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and same(load_file(path), tensors):
        return path  # metadata has no fixed order
    save_file({k: v.contiguous() for k, v in tensors.items()}, path, metadata=metadata)
    common.check_file(path)
    return path


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def kohya(adapter, dtype=torch.float32):
    starts = {"unet": "lora_unet_", "text_encoder": "lora_te_text_model_"}
    names = {"up": "lora_up.weight", "down": "lora_down.weight", "mid": "lora_mid.weight"}
    return {
        f"{starts[component]}{path.replace('.', '_')}.{names.get(part, part)}": tensor.to(dtype)
        for component, layers in adapter.items()
        for path, factors in layers.items()
        for part, tensor in factors.items()
    }


def diffusers_new(adapter):
    starts = {
        "unet": "unet.",
        "text_encoder": "text_encoder.text_model.",
        "text_encoder_2": "text_encoder_2.",
    }
    names = {
        "up": "lora_B.weight",
        "down": "lora_A.weight",
        "up_bias": "lora_B.bias",
        "magnitude": "lora_magnitude_vector",
    }
    return {
        f"{starts[component]}{path}.{names[part]}": tensor
        for component, layers in adapter.items()
        for path, factors in layers.items()
        for part, tensor in factors.items()
        if part != "alpha"
    }


def diffusers_old(adapter):
    tensors = {}
    for path, f in adapter["unet"].items():
        start, layer = path.removesuffix(".0").rsplit(".", 1)
        for part in ("up", "down"):
            tensors[f"unet.{start}.processor.{layer}_lora.{part}.weight"] = f[part]
    for path, f in adapter["text_encoder"].items():
        for part in ("up", "down"):
            tensors[f"text_encoder.text_model.{path}.lora_linear_layer.{part}.weight"] = f[part]
    return tensors


def numbered(pipe, adapter):
    """cloneofsimo/lora's extract_lora_ups_down: linear layers below some classes, in torch's order of
    early 2023 (attn1, ff, attn2; down, up, mid)."""

    def order(path):
        parts = path.split(".")
        level = {"down_blocks": 0, "up_blocks": 1, "mid_block": 2}[parts[0]]
        part = next(p for p in parts if p in ("attn1", "ff", "attn2"))
        numbers = [int(p) for p in parts[1 : parts.index(part)] if p.isdigit()]
        return level, numbers, ("attn1", "ff", "attn2").index(part)

    tensors = {}
    unet = [n for n, m in pipe.unet.named_modules() if isinstance(m, torch.nn.Linear)]
    unet = [n for n in unet if ".attn" in n or n.endswith("ff.net.0.proj")]
    unet.sort(key=order)  # stable: to_q, to_k, to_v, to_out.0 stay as they are
    text = [n for n, m in pipe.text_encoder.named_modules() if isinstance(m, torch.nn.Linear)]
    for component, names in (("unet", unet), ("text_encoder", [n for n in text if "attn" in n])):
        for i, name in enumerate(names):
            for part in ("up", "down"):
                tensors[f"{component}:{i}:{part}"] = adapter[component][name][part]
    return tensors


def sgm_name(path):
    """The original's name of a layer of a UNet with one layer a block, as kohya's trainer has it."""
    parts = path.split(".")
    if parts[0] == "mid_block":
        at = 1 if parts[1] == "attentions" else 2 * int(parts[2])
        start, rest = ["middle_block", str(at)], parts[3:]
    else:
        down, block, layer = parts[0] == "down_blocks", int(parts[1]), int(parts[3])
        at = 1 + 2 * block + layer if down else 2 * block + layer
        kind = {"resnets": "0", "attentions": "1"}[parts[2]]
        start, rest = ["input_blocks" if down else "output_blocks", str(at), kind], parts[4:]
    inner = {"conv1": ["in_layers", "2"], "time_emb_proj": ["emb_layers", "1"]}
    return "_".join([*start, *(inner.get(rest[0], rest))])
