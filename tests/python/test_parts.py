"""Blocks, guiders, schedulers and networks in Python, against the native ones that they stand for."""

import math
import pathlib

import numpy
import pytest
import torch

import omnirt
from conftest import pixels, psnr


@pytest.fixture()
def own():
    with omnirt.Pipeline.from_pretrained("emoji-sd", num_inference_steps=3) as made:
        yield made


class Grey(omnirt.Block):
    """Pulls the image's colours towards grey."""

    stage = "decode"
    amount = omnirt.Config(float, 1.0, min=0, max=1, help="1: grey")
    images = omnirt.InOut("images")

    def run(self, frame):
        made = []
        for image in frame.images:
            pixels = numpy.asarray(memoryview(image)).astype(numpy.float32)
            grey = pixels.mean(axis=2, keepdims=True)
            made.append(numpy.rint(pixels + frame.amount * (grey - pixels)).astype(numpy.uint8))
        frame.images = made


class PrepareLatents(omnirt.Block):
    """The native block's words in Python."""

    name = "prepare_latents"
    stage = "prepare_latents"
    seeds = omnirt.Input("seeds")
    noise_source = omnirt.InOut("noise")
    width = omnirt.Config(int)
    height = omnirt.Config(int)
    latents = omnirt.Output("tensor")

    def __init__(self, channels, grid, sigma):
        self.channels, self.grid, self.sigma = channels, grid, sigma

    def run(self, frame):
        shape = [len(frame.seeds), self.channels, frame.height // self.grid, frame.width // self.grid]
        frame.latents = frame.noise_source(shape) * self.sigma


class PythonCfg(omnirt.Guider):
    """Classifier-free guidance."""

    guidance_scale = omnirt.Config(float, 7.5, min=0, max=100)

    def combine(self, predictions, step):
        uncond = predictions["uncond"]
        return uncond + self.settings.guidance_scale * (predictions["cond"] - uncond)


class PythonEuler(omnirt.Scheduler):
    """Euler's method for networks that predict velocity, over linear betas."""

    config_keys = ("beta_start", "beta_end", "num_train_timesteps")

    def set_timesteps(self, num_inference_steps):
        count = self.config["num_train_timesteps"]
        betas = torch.linspace(self.config["beta_start"], self.config["beta_end"], count)
        cumulated = torch.cumprod(1 - betas, 0)
        table = (((1 - cumulated) / cumulated) ** 0.5).numpy()
        timesteps = numpy.linspace(0, count - 1, num_inference_steps, dtype=numpy.float32)[::-1]
        sigmas = numpy.interp(timesteps, numpy.arange(count), table).astype(numpy.float32)
        self.sigmas = [float(each) for each in sigmas] + [0.0]
        return timesteps

    def init_noise_sigma(self):
        return max(self.sigmas)

    def scale_model_input(self, sample, index):
        return sample / math.sqrt(self.sigmas[index] ** 2 + 1)

    def step(self, model_output, index, sample, noise):
        sigma = self.sigmas[index]
        original = model_output * (-sigma / math.sqrt(sigma**2 + 1)) + sample / (sigma**2 + 1)
        derivative = (sample - original) / sigma
        return sample + derivative * (self.sigmas[index + 1] - sigma), original

    def add_noise(self, original, noise, index):
        return original + noise * self.sigmas[index]


def test_a_block_changes_the_image_by_its_config(own):
    plain = pixels(own("a red apple", seed=3).images[0])
    own.blocks.insert_after("decode_latents", Grey())
    assert "grey" in own.blocks
    grey = pixels(own("a red apple", seed=3).images[0])
    assert (grey[..., 0] == grey[..., 1]).all() and not (plain == grey).all()
    assert (pixels(own("a red apple", seed=3, amount=0.0).images[0]) == plain).all()
    with pytest.raises(omnirt.InvalidRequest, match="config.amount"):
        own("a red apple", amount=2.0)
    assert "grey" in own("a red apple", seed=3).report.workflow
    own.blocks.remove("grey")
    assert (pixels(own("a red apple", seed=3).images[0]) == plain).all()


def test_a_block_in_python_takes_its_native_twins_place(own):
    native = own("a red apple", seed=3, num_images_per_prompt=2).images
    seen = []
    own("a red apple", callback=lambda step: seen.append(step.latents.shape))
    shape = seen[0]
    width = own.validate("a red apple").config["width"].value
    euler = PythonEuler({"beta_start": 0.0001, "beta_end": 0.02, "num_train_timesteps": 1000})
    euler.set_timesteps(3)
    own.blocks.replace("prepare_latents", PrepareLatents(shape[1], width // shape[3], euler.init_noise_sigma()))
    mine = own("a red apple", seed=3, num_images_per_prompt=2).images
    for a, b in zip(native, mine):
        assert psnr(a, b) > 60


def test_a_guider_in_python_guides_as_its_native_twin(own):
    native = own("a red apple", seed=3, guider={"type": "cfg", "guidance_scale": 3.0}).images[0]
    own.add_guider(PythonCfg)
    mine = own("a red apple", seed=3, guider={"type": "python_cfg", "guidance_scale": 3.0}).images[0]
    assert (pixels(native) == pixels(mine)).all()
    with pytest.raises(omnirt.InvalidRequest, match="guider.guidance_scale"):
        own("a red apple", guider={"type": "python_cfg", "guidance_scale": -1})
    with pytest.raises(omnirt.InvalidRequest, match="guider.scale"):
        own("a red apple", guider={"type": "python_cfg", "scale": 1})


def test_a_scheduler_in_python_steps_as_its_native_twin(own):
    native = own("a red apple", seed=3).images[0]
    own.add_scheduler(PythonEuler)
    made = own("a red apple", seed=3, scheduler="PythonEuler")
    assert psnr(native, made.images[0]) > 60
    assert made.report.config_resolved["scheduler"].value == "PythonEuler"


def test_a_guider_keeps_tensors_between_the_steps_of_a_run(own):
    class Average(PythonCfg):
        type = "average"
        seen = []

        def combine(self, predictions, step):
            before = step.get("before")
            made = super().combine(predictions, step)
            step.set("before", made)
            self.seen.append(None if before is None else float((before - made).abs().max()))
            return made

    own.add_guider(Average)
    own("a red apple", seed=3, guider="average")
    assert Average.seen[0] is None and all(each is not None and each > 0 for each in Average.seen[1:])


def test_a_torch_module_predicts_in_place_of_the_network(own):
    kept = []

    class Keep(PythonCfg):
        type = "keep"

        def combine(self, predictions, step):
            kept.append({name: each.clone() for name, each in predictions.items()})
            return super().combine(predictions, step)

    class Replay(torch.nn.Module):
        """What the network predicted, in the order in which it was asked."""

        def __init__(self):
            super().__init__()
            self.calls = 0
            self.inputs = set()

        def forward(self, sample, timestep, encoder_hidden_states, **more):
            self.inputs |= {"sample", "timestep", "encoder_hidden_states", *more}
            made = kept[self.calls]
            self.calls += 1
            rows = [made["cond"], made["uncond"]]
            return torch.cat(rows)[: sample.shape[0]]

    own.add_guider(Keep)
    native = own("a red apple", seed=3, guider={"type": "keep", "guidance_scale": 3.0}).images[0]
    own.add_guider(PythonCfg)
    replay = Replay()
    own.set_component("unet", replay)
    made = own("a red apple", seed=3, guider={"type": "python_cfg", "guidance_scale": 3.0})
    assert replay.calls == 3 and replay.inputs >= {"sample", "timestep", "encoder_hidden_states"}
    assert (pixels(native) == pixels(made.images[0])).all()

    def wrong(sample, **_):
        return sample[:, :1]

    own.set_component("unet", wrong)
    with pytest.raises(ValueError, match="shape"):
        own("a red apple", seed=3)
    with pytest.raises(omnirt.InvalidRequest, match="components.nothing"):
        own.set_component("nothing", replay)
    with pytest.raises(omnirt.InvalidRequest, match="denoiser"):
        own.set_component("vae", replay)


def test_a_modules_exception_comes_out_as_it_was(own):
    def broken(**_):
        raise LookupError("no prediction")

    own.set_component("unet", broken)
    with pytest.raises(LookupError, match="no prediction"):
        own("a red apple", seed=3)


def test_declarations_are_checked_as_native_ones_are(own):
    class Late(omnirt.Block):
        name = "late"
        stage = "prepare_conditions"

    class NobodyMakes(omnirt.Block):
        stage = "decode"
        dreams = omnirt.Input("tensor", help="what nobody makes")

    class Undeclared(omnirt.Block):
        stage = "decode"

        def run(self, frame):
            frame.latents

    class WrongType(omnirt.Block):
        stage = "decode"
        latents = omnirt.Input("images")

    class NoType(omnirt.Block):
        stage = "decode"
        latents = omnirt.Input("tensors")

    names = own.blocks.names()
    with pytest.raises(omnirt.InvalidRequest, match="tensor"):
        own.blocks.insert_after("decode_latents", NoType())
    with pytest.raises(omnirt.InvalidRequest, match="decode_latents"):
        own.blocks.insert_after("decode_latent", Late())
    with pytest.raises(TypeError):
        own.blocks.insert_after("decode_latents", Grey)
    assert own.blocks.names() == names
    for block, said in ((Late, "stage"), (NobodyMakes, "dreams"), (WrongType, "another type")):
        own.blocks.insert_after("decode_latents", block())
        with pytest.raises(omnirt.InvalidRequest, match=said):
            own("a red apple", seed=3)
        own.blocks.remove(block.name or {"NobodyMakes": "nobody_makes", "WrongType": "wrong_type"}[block.__name__])
    own.blocks.insert_after("decode_latents", Undeclared())
    with pytest.raises(AttributeError, match="latents"):
        own("a red apple", seed=3)


def test_a_trigger_says_when_a_block_takes_part(own):
    class OnlyAsked(Grey):
        name = "only_asked"
        trigger = omnirt.has_config("amount")

    own.blocks.insert_after("decode_latents", OnlyAsked())
    assert "only_asked" not in own("a red apple", seed=3).report.workflow
    assert "only_asked" in own("a red apple", seed=3, amount=1.0).report.workflow


def test_a_frame_is_of_no_use_after_its_turn(own):
    kept = []

    class Keep(omnirt.Block):
        name = "keep"
        latents = omnirt.Input("tensor")

        def run(self, frame):
            kept.append(frame)
            frame.latents

    own.blocks.insert_after("decode_latents", Keep())
    own("a red apple", seed=3)
    with pytest.raises(AttributeError, match="turn is over"):
        kept[0].latents


class Step(omnirt.DenoisePart):
    """The native `step` in Python."""

    name = "step"
    schedule = omnirt.Input("schedule")
    prediction = omnirt.Input("tensor")
    latents = omnirt.InOut("tensor")
    noise_source = omnirt.InOut("noise")
    predicted_original = omnirt.Output("tensor")

    def __init__(self):
        self.seen = []

    def run(self, frame, i, t):
        self.seen.append((i, t == frame.schedule.timesteps[i]))
        frame.latents, original = frame.schedule.step(frame.prediction, i, frame.latents, frame.noise_source)
        if original is not None:
            frame.predicted_original = original


def test_a_step_in_python_steps_as_its_native_twin(own):
    def images():
        schedulers = ("euler", "euler_a", "dpmpp_2m")
        return [own("a red apple", seed=3, scheduler=each, guidance_scale=3.0).images[0] for each in schedulers]

    native = images()
    step = Step()
    own.blocks.replace("denoise.step", step)
    for a, b in zip(native, images()):
        assert (pixels(a) == pixels(b)).all()
    assert step.seen[-3:] == [(0, True), (1, True), (2, True)]


def test_blocks_of_a_loop_are_inserted_and_refused_by_name(own):
    class Momentum(omnirt.DenoisePart):
        """Averages the prediction with the one before."""

        prediction = omnirt.InOut("tensor")
        last = omnirt.OptionalInput("tensor")

        def run(self, frame, i, t):
            assert (frame.last is None) == (i == 0)
            if i > 0:
                frame.prediction = (frame.prediction + frame.last) / 2

    class Remember(omnirt.DenoisePart):
        prediction = omnirt.Input("tensor")
        last = omnirt.Output("tensor")

        def run(self, frame, i, t):
            frame.last = frame.prediction.clone()

    class OncePerChunk(omnirt.ChunkPart):
        def run(self, frame, k):
            raise AssertionError("not run")

    plain = pixels(own("a red apple", seed=3).images[0])
    own.blocks.insert_after("denoise.predict", Momentum())
    own.blocks.insert_after("denoise.step", Remember())
    assert own.blocks.names("denoise") == ["prepare_input", "predict", "momentum", "step", "remember"]
    assert "denoise.momentum" in own.blocks and "denoise.nothing" not in own.blocks
    assert not (pixels(own("a red apple", seed=3).images[0]) == plain).all()
    own.blocks.remove("denoise.momentum")
    own.blocks.remove("denoise.remember")
    assert (pixels(own("a red apple", seed=3).images[0]) == plain).all()
    with pytest.raises(omnirt.InvalidRequest, match="another loop"):
        own.blocks.insert_after("denoise.step", OncePerChunk())
    with pytest.raises(omnirt.InvalidRequest, match="did you mean 'step'"):
        own.blocks.remove("denoise.stp")
    own.blocks.insert_after("denoise", Remember())
    with pytest.raises(omnirt.InvalidRequest, match="inside a loop only"):
        own("a red apple", seed=3)


class JoinChunks(omnirt.ChunkPart):
    """The native block in Python: each video so far."""

    frames = omnirt.InOut("images")
    decoded_images = omnirt.InOut("tensor")
    earlier_frames = omnirt.Output("images")
    earlier_images = omnirt.Output("tensor")

    def run(self, frame, k):
        if k > 0:
            frame.decoded_images = torch.cat([frame.earlier_images, frame.decoded_images], 1)
            frame.frames = frame.earlier_frames + frame.frames  # of one video
        frame.earlier_images, frame.earlier_frames = frame.decoded_images.clone(), frame.frames


class ContinueFromLastFrame(omnirt.ChunkPart):
    """The native block in Python: the next chunk begins with the last frame of this one."""

    frames = omnirt.Input("images")
    first_images = omnirt.InOut("images")

    def run(self, frame, k):
        frame.first_images = [frame.frames[-1]]


SVD = pathlib.Path(__file__).resolve().parents[2] / "build" / "goldens" / "videos"
CHUNK = ["encode_first_images", "encode_first_latents", "prepare_video_conditions", "set_timesteps"]
CHUNK += ["prepare_video_latents", "denoise", "decode_frames"]


def test_a_loop_over_chunks_in_python_is_its_native_twin():
    settings = {"width": 16, "height": 16, "num_inference_steps": 2, "num_frames": 2, "seed": 5}
    with omnirt.Pipeline.from_pretrained(str(SVD / "svd_flat" / "model"), **settings) as own:
        image = str(SVD / "in.png")
        native = own(image=image, num_chunks=3)
        steps = []
        count = omnirt.Config(int, 1, name="my_chunks", min=1, max=64, help="chunks")
        trigger = omnirt.has_config("my_chunks")
        loop = omnirt.ChunkLoop("chunks_of_mine", count, CHUNK + [JoinChunks(), ContinueFromLastFrame()], trigger)
        own.blocks.insert_after("denoise_chunks", loop)
        mine = own(image=image, my_chunks=3, callback=lambda at: steps.append((at.step, at.steps)))
        assert "chunks_of_mine" in mine.report.workflow and "denoise >" not in mine.report.workflow
        assert steps == [(i, 6) for i in range(1, 7)]
        assert len(mine.frames[0]) == 6
        for a, b in zip(native.frames[0], mine.frames[0]):
            assert (pixels(a) == pixels(b)).all()
        # A block in Python in the denoise loop in the loop over chunks.
        step = Step()
        own.blocks.replace("chunks_of_mine.denoise.step", step)
        again = own(image=image, my_chunks=3)
        assert [i for i, _ in step.seen[-6:]] == [0, 1] * 3
        for a, b in zip(native.frames[0], again.frames[0]):
            assert (pixels(a) == pixels(b)).all()


def test_loops_over_chunks_nest_in_python():
    class Note(omnirt.ChunkPart):
        def __init__(self, name):
            self.name, self.seen = name, []

        def run(self, frame, k):
            self.seen.append(k)

    inner, outer = Note("inner"), Note("outer")
    parts, chunks = (omnirt.Config(int, 1, name=name, min=1, max=64) for name in ("parts", "my_chunks"))
    settings = {"width": 16, "height": 16, "num_inference_steps": 1, "num_frames": 2, "seed": 5}
    with omnirt.Pipeline.from_pretrained(str(SVD / "svd_flat" / "model"), **settings) as own:
        loop = omnirt.ChunkLoop("my_parts", parts, CHUNK + [inner])
        own.blocks.insert_after(
            "denoise_chunks", omnirt.ChunkLoop("my_chunks", chunks, [loop, outer], omnirt.has_config("my_chunks"))
        )
        made = own(image=str(SVD / "in.png"), my_chunks=2, parts=2)
        assert inner.seen[-4:] == [0, 1, 0, 1] and outer.seen[-2:] == [0, 1]
        assert len(made.frames[0]) == 2
        with pytest.raises(omnirt.InvalidRequest, match="needs a loop"):
            own.blocks.insert_after("denoise_chunks", omnirt.ChunkLoop("empty", chunks, [Note("alone")]))
