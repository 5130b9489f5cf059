"""A Stable Diffusion 1.5 pipeline in miniature, with random weights."""

import diffusers
import torch
import transformers


def unet():
    return diffusers.UNet2DConditionModel(
        block_out_channels=(32, 64),
        layers_per_block=1,
        sample_size=16,
        in_channels=4,
        out_channels=4,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
        cross_attention_dim=32,
        attention_head_dim=4,
    )


def vae():
    return diffusers.AutoencoderKL(
        block_out_channels=(32, 64),
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=4,
        norm_num_groups=8,
    )


def text_encoder():
    return transformers.CLIPTextModel(
        transformers.CLIPTextConfig(
            hidden_size=32,
            intermediate_size=37,
            num_attention_heads=4,
            num_hidden_layers=2,
            vocab_size=100,
            max_position_embeddings=16,
        )
    )


def pipeline():
    torch.manual_seed(11)
    pipe = diffusers.StableDiffusionPipeline(
        vae=vae().eval(),
        text_encoder=text_encoder().eval(),
        tokenizer=None,
        unet=unet().eval(),
        scheduler=diffusers.DDIMScheduler(clip_sample=False, set_alpha_to_one=False),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipe.set_progress_bar_config(disable=True)
    return pipe


def image(pipe, steps=2):
    """{1, H, W, 3} in 0..1."""
    draw = torch.Generator().manual_seed(3)
    embeds = torch.randn(1, 16, 32, generator=draw)
    return pipe(
        prompt_embeds=embeds,
        negative_prompt_embeds=torch.zeros_like(embeds),
        num_inference_steps=steps,
        generator=torch.Generator().manual_seed(5),
        output_type="np",
        height=64,
        width=64,
    ).images
