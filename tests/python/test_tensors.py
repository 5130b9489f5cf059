"""Tensors cross without a copy, and generators draw as in the reference."""

import pathlib

import numpy
import pytest
import torch

import omnirt
from conftest import pixels


class Watch(omnirt.Block):
    """Keeps where tensors of the run lie."""

    stage = "decode"
    latents = omnirt.Input("tensor")
    seen = 0

    def run(self, frame):
        self.seen = frame.latents.data_ptr()


class WatchGiven(omnirt.Block):
    name = "watch_given"
    stage = "prepare_conditions"
    latents = omnirt.OptionalInput("latents")
    seen = None

    def run(self, frame):
        self.seen = None if frame.latents is None else frame.latents.data_ptr()


SDXL = pathlib.Path(__file__).resolve().parents[2] / "build" / "goldens" / "pipelines" / "sdxl" / "model"


@pytest.fixture()
def own():
    with omnirt.Pipeline.from_pretrained("emoji-sd", num_inference_steps=2, guidance_scale=3.0) as made:
        yield made


def shape_of(pipe):
    seen = []
    pipe("a red apple", seed=1, callback=lambda step: seen.append(step.latents.shape))
    return seen[0]


def test_latents_go_in_and_come_out_where_they_are():
    before, after, last = WatchGiven(), Watch(), []
    with omnirt.Pipeline.from_pretrained(SDXL, num_inference_steps=2, width=64, height=64) as own:
        noise = torch.randn(shape_of(own))
        kept = noise.clone()
        own.blocks.insert_before("start_noise", before)
        own.blocks.insert_before("export_latents", after)
        made = own(
            "a red apple",
            latents=noise,
            strength=1.0,
            output_type="latent",
            callback=lambda step: last.append(step.latents),
        )
    assert before.seen == noise.data_ptr()
    assert made.latents.data_ptr() == after.seen == last[-1].data_ptr()
    assert (noise == kept).all()
    assert len(made) == 1 and made.report.artifacts[0].kind == "latents" and made.report.artifacts[0].path == ""
    assert made.images == []


@pytest.mark.parametrize("strict", [True, False])
def test_latents_as_the_result_are_refused_where_a_model_has_none(strict):
    with omnirt.Pipeline.from_pretrained("emoji-sd", strict=strict) as own:
        for call in (own, own.validate):
            with pytest.raises(omnirt.InvalidRequest, match="output_type") as refused:
                call("a red apple", output_type="latent")
            assert "callback" in refused.value.findings[0].message


def test_numpys_latents_are_taken_too(own):
    shape = shape_of(own)
    noise = numpy.random.default_rng(0).standard_normal(shape).astype(numpy.float32)
    a = own("a red apple", latents=noise).images[0]
    b = own("a red apple", latents=torch.from_numpy(noise)).images[0]
    assert (pixels(a) == pixels(b)).all()


def test_a_generators_noise_is_its_seeds_and_it_has_moved_on_as_torchs_does(own):
    by_seed = own("a red apple", seed=3).images[0]
    generator = torch.Generator().manual_seed(3)
    by_generator = own("a red apple", generator=generator).images[0]
    assert (pixels(by_seed) == pixels(by_generator)).all()
    shape = shape_of(own)
    alone = torch.Generator().manual_seed(3)
    first = torch.randn(shape, generator=alone)
    assert torch.equal(generator.get_state(), alone.get_state())
    # Used again it goes on, as the reference's does: the second draw is what a run then starts from.
    second = torch.randn(shape, generator=alone)
    continued = own("a red apple", generator=generator).images[0]
    assert (pixels(continued) == pixels(own("a red apple", latents=second).images[0])).all()
    assert (pixels(by_seed) == pixels(own("a red apple", latents=first).images[0])).all()


def test_one_generator_for_two_images_draws_them_together(own):
    shape = shape_of(own)
    noise = torch.randn((2, *shape[1:]), generator=torch.Generator().manual_seed(3))
    made = own("a red apple", generator=torch.Generator().manual_seed(3), num_images_per_prompt=2)
    told = own("a red apple", latents=noise, num_images_per_prompt=2)
    for a, b in zip(made.images, told.images):
        assert (pixels(a) == pixels(b)).all()
    several = own("a red apple", generator=[torch.Generator().manual_seed(each) for each in (3, 4)], num_images_per_prompt=2)
    assert (pixels(several.images[0]) == pixels(own("a red apple", seed=3).images[0])).all()
    with pytest.raises(omnirt.InvalidRequest, match="inputs.generator"):
        own("a red apple", generator=[torch.Generator()] * 3, num_images_per_prompt=2)


def test_one_generator_for_several_images_of_an_image_is_refused_by_name(own):
    """The reference encodes it once for all, so that the draws of a batch would not be its."""
    given = {"image": numpy.zeros((64, 64, 3), numpy.uint8), "strength": 0.5}
    for more in ({}, {"mask": numpy.full((64, 64, 1), 255, numpy.uint8)}):
        with pytest.raises(omnirt.InvalidRequest, match="inputs.generator") as refused:
            own("a red apple", generator=torch.Generator(), num_images_per_prompt=2, **given, **more)
        assert "one for each" in refused.value.findings[0].way_out
        several = [torch.Generator().manual_seed(each) for each in (3, 4)]
        made = own("a red apple", generator=several, num_images_per_prompt=2, **given, **more)
        seeded = own("a red apple", seed=3, num_images_per_prompt=2, **given, **more)
        assert all((pixels(a) == pixels(b)).all() for a, b in zip(made.images, seeded.images))


def test_embeds_stand_for_prompts(own):
    class Keep(omnirt.Block):
        name = "keep"
        stage = "prepare_conditions"
        guidance = "per_condition"
        prompt_embeds = omnirt.Input("tensor")
        kept = {}

        def run(self, frame):
            self.kept["negative_prompt_embeds" if frame.unconditional else "prompt_embeds"] = frame.prompt_embeds.clone()

    keep = Keep()
    own.blocks.insert_after("encode_prompt", keep)
    by_text = own("a red apple", seed=3).images[0]
    own.blocks.remove("keep")
    by_embeds = own(seed=3, **keep.kept).images[0]
    assert (pixels(by_text) == pixels(by_embeds)).all()


def test_tensors_that_do_not_fit_are_refused_by_name(own):
    with pytest.raises(omnirt.InvalidRequest, match="inputs.latents"):
        own("a red apple", latents=torch.zeros(3, 5))
    with pytest.raises(omnirt.InvalidRequest, match="finite"):
        own("a red apple", latents=torch.full((1, 4, 8, 8), float("nan")))
    with pytest.raises(TypeError, match="device"):
        own("a red apple", latents=torch.zeros(1, 4, 8, 8, device="meta"))
    with pytest.raises(TypeError, match="fp32"):
        own("a red apple", latents=torch.zeros(1, 4, 8, 8, dtype=torch.int64))
    with pytest.raises((TypeError, omnirt.InvalidRequest)):
        own("a red apple", latents=object())
