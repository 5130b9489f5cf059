"""FLUX.2's autoencoders, small and random: what diffusers makes of them. Used by flux2.py."""

import json

import common
import networks
import torch
from diffusers import Flux2KleinPipeline as Klein

# ------------------------------------------------------------------------------------ autoencoder
KL = dict(
    block_out_channels=(8, 12, 16),
    down_block_types=("DownEncoderBlock2D",) * 3,
    up_block_types=("UpDecoderBlock2D",) * 3,
    layers_per_block=1,
    latent_channels=3,
    norm_num_groups=4,
)


def set_statistics(model, seed):
    """Batch norm as training leaves it: no two channels alike."""
    channels = model.bn.running_mean.numel()
    model.bn.running_mean.copy_(common.normal(seed, channels))
    model.bn.running_var.copy_(0.2 + common.normal(seed + 1, channels).square())


def normalised(model, latents):
    """As Flux2KleinPipeline._encode_vae_image takes an encoder's latents over."""
    packed = Klein._patchify_latents(latents)
    spread = torch.sqrt(model.bn.running_var + model.config.batch_norm_eps)
    return (packed - model.bn.running_mean.view(1, -1, 1, 1)) / spread.view(1, -1, 1, 1)


def restored(model, packed):
    """As Flux2KleinPipeline passes latents to the decoder."""
    spread = torch.sqrt(model.bn.running_var + model.config.batch_norm_eps)
    latents = packed * spread.view(1, -1, 1, 1) + model.bn.running_mean.view(1, -1, 1, 1)
    return Klein._unpatchify_latents(latents)


def kl_encode(model, seed, rows, height, width):
    image = common.normal(seed, rows, 3, height, width).clamp(-1, 1)
    distribution = model.encode(image).latent_dist
    return {
        "in.image": image,
        "out.mean": distribution.mean,
        "out.logvar": distribution.logvar,
        "out.latents": normalised(model, distribution.mode()),
    }


def kl_decode(model, seed, rows, height, width):
    latents = common.normal(seed, rows, 4 * model.config.latent_channels, height, width)
    return {"in.latents": latents, "out.image": model.decode(restored(model, latents)).sample}


def kl_case(seed, dtype=torch.float32, **config):
    from diffusers import AutoencoderKLFlux2

    def make(folder):
        model = AutoencoderKLFlux2(**{**KL, **config})
        set_statistics(model, seed)
        networks.save_checkpoint(model, folder, seed, 1.0, dtype)

    def goldens(folder):
        model = AutoencoderKLFlux2.from_pretrained(
            folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
        ).eval()
        yield "golden_encode", kl_encode(model, 700, 2, 24, 40)
        yield "golden_encode_smallest", kl_encode(model, 710, 1, 8, 8)
        yield "golden_decode", kl_decode(model, 720, 2, 3, 5)
        yield "golden_decode_smallest", kl_decode(model, 730, 1, 1, 1)

    return make, goldens


# ------------------------------------------------------------------------------- tiny autoencoder
TAEF2 = dict(
    encoder_block_out_channels=(8,) * 3,
    decoder_block_out_channels=(8,) * 3,
    num_encoder_blocks=(1, 1, 2),
    num_decoder_blocks=(2, 1, 1),
    latent_channels=3,
)


def pooled(block, channels):
    """A block that looks at the whole image first, as TAEF2's do at the lowest resolution (github
    madebyollin/taesd); the reference's class has the others alone."""
    nn = torch.nn
    block.pool = nn.Sequential(
        nn.Conv2d(channels, 4 * channels, 1, bias=False),
        nn.GroupNorm(4, 4 * channels),
        nn.ReLU(),
        nn.Conv2d(4 * channels, channels, 1, bias=False),
    )
    block.register_forward_pre_hook(lambda module, given: (given[0] + module.pool(given[0]),))


def taef2(**config):
    from diffusers import AutoencoderTiny

    model = AutoencoderTiny(**config)
    depth, width = config["num_encoder_blocks"][-1], config["encoder_block_out_channels"][0]
    for block in model.encoder.layers[-1 - depth : -1]:
        pooled(block, width)
    depth, width = config["num_decoder_blocks"][0], config["decoder_block_out_channels"][0]
    for block in model.decoder.layers[2 : 2 + depth]:
        pooled(block, width)
    return model.eval()


def taef2_case(seed, dtype=torch.float32):
    """Latents packed as FLUX.2's denoisers have them; TAEF2 takes and returns the normalised ones."""
    from safetensors.torch import load_file

    def make(folder):
        networks.save_checkpoint(taef2(**TAEF2), folder, seed, 1.0, dtype)
        config = json.loads((folder / "config.json").read_text())
        common.write_json(folder / "config.json", {**config, "arch_variant": "flux_2"})

    def goldens(folder):
        model = taef2(**TAEF2)
        weights = load_file(folder / "diffusion_pytorch_model.safetensors")
        model.load_state_dict({name: weight.float() for name, weight in weights.items()})
        for name, rows, height, width in (("", 2, 24, 40), ("_smallest", 1, 8, 8)):
            image = common.normal(740 + height, rows, 3, height, width).clamp(-1, 1)
            latents = Klein._patchify_latents(model.encode(image).latents)
            yield f"golden_encode{name}", {"in.image": image, "out.latents": latents}
        for name, rows, height, width in (("", 2, 3, 5), ("_smallest", 1, 1, 1)):
            latents = 3 * common.normal(750 + height, rows, 12, height, width)
            image = model.decode(Klein._unpatchify_latents(latents)).sample
            yield f"golden_decode{name}", {"in.latents": latents, "out.image": image}

    return make, goldens
