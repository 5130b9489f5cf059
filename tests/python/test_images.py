"""Images in memory give what their file gives, or an error that names the fix."""

import io
import pickle

import numpy
import pytest
import torch
from PIL import Image

import omnirt
from conftest import pixels

NOISE = numpy.random.default_rng(2)


def made(small, image, **given):
    return pixels(small("a green apple", image=image, strength=0.7, seed=1, **given).images[0])


def of_mode(mode):
    colours = Image.fromarray(NOISE.integers(0, 256, (64, 64, 4), dtype=numpy.uint8), "RGBA")
    if mode.startswith("I"):
        return Image.fromarray(NOISE.integers(0, 65536, (64, 64), dtype=numpy.uint16)).convert("I" if mode == "I" else "I;16")
    return colours.convert("RGB").convert(mode) if mode in ("CMYK", "YCbCr", "HSV", "P", "1", "L") else colours.convert(mode)


@pytest.mark.parametrize("mode, ending", [
    ("1", "png"), ("L", "png"), ("P", "png"), ("LA", "png"), ("RGBA", "png"), ("I;16", "png"), ("CMYK", "jpeg"),
    ("YCbCr", "jpeg"),
])  # fmt: skip
def test_a_picture_of_any_mode_gives_what_its_file_gives(small, tmp_path, mode, ending):
    file = tmp_path / f"in.{ending}"
    of_mode(mode).save(file)
    opened = Image.open(file)
    assert (made(small, opened) == made(small, file)).all()
    if ending == "png" and opened.mode != mode:  # Pillow has others by now; the one that was asked for is taken too
        assert (made(small, of_mode(mode).convert("L").convert(mode)) >= 0).all()


def test_sixteen_bits_of_either_kind_are_the_same(small, tmp_path):
    values = NOISE.integers(0, 65536, (64, 64), dtype=numpy.uint16)
    Image.fromarray(values).save(tmp_path / "in.png")
    expected = made(small, tmp_path / "in.png")
    for mode in ("I;16", "I"):
        assert (made(small, Image.fromarray(values).convert("I").convert(mode)) == expected).all(), mode
    assert (made(small, Image.frombytes("I;16B", (64, 64), values.astype(">u2").tobytes())) == expected).all()


@pytest.mark.parametrize("given, says", [
    (lambda: Image.new("F", (64, 64), 0.5), "L, RGB or RGBA"),
    (lambda: Image.new("LAB", (64, 64)), "L, RGB or RGBA"),
    (lambda: Image.new("I", (64, 64), 70000), "0 to 65535"),
    (lambda: torch.full((3, 64, 64), -1.0), "(x + 1) / 2"),
    (lambda: torch.full((3, 64, 64), 255.0), "x / 255"),
    (lambda: torch.full((3, 64, 64), float("nan")), "0 to 1"),
    (lambda: numpy.full((64, 64, 3), 1.1), "clip(0, 1)"),
    (lambda: numpy.zeros((0, 0, 3), numpy.uint8), "of shape"),
    (lambda: numpy.full((64, 64, 3), numpy.inf, numpy.float16), "0 to 1"),
    (lambda: numpy.zeros((64, 64, 3), numpy.uint16), ">> 8"),
    (lambda: numpy.zeros((64, 64, 3), numpy.int64), "uint8"),
    (lambda: torch.zeros((3, 64, 64), dtype=torch.int32), "uint8"),
    (lambda: torch.zeros((64, 64, 3)), "permute(2, 0, 1)"),
    (lambda: numpy.zeros((3, 64, 64), numpy.uint8), "transpose(1, 2, 0)"),
    (lambda: b"bytes of a file", "PIL.Image.open"),
    (lambda: io.BytesIO(b"x"), "PIL.Image.open"),
])  # fmt: skip
def test_what_has_no_one_meaning_is_refused_with_the_fix(small, given, says):
    with pytest.raises(omnirt.InvalidRequest) as refused:
        small.validate("a green apple", image=given())
    finding = refused.value.findings[0]
    assert finding.field == "inputs.image" and says in finding.message + finding.way_out


def test_what_rounds_to_the_same_bytes_is_taken(small):
    picture = NOISE.integers(0, 256, (64, 64, 3), dtype=numpy.uint8)
    slightly = picture / 255.0 * 1.002 - 0.001
    assert (made(small, slightly.astype(numpy.float32)) == made(small, picture)).all()


def test_masks_of_truth_values_are_masks(small):
    picture = NOISE.integers(0, 256, (64, 64, 3), dtype=numpy.uint8)
    mask = numpy.zeros((64, 64), bool)
    mask[16:48, 16:48] = True
    expected = made(small, picture, mask=Image.fromarray(mask.astype(numpy.uint8) * 255))
    for each in (mask, mask[..., None], torch.from_numpy(mask), Image.fromarray(mask)):
        assert (made(small, picture, mask=each) == expected).all()


@pytest.mark.parametrize("output_type", ["pil", "np", "pt"])
def test_results_can_be_pickled(pipe, output_type):
    result = pipe("a red apple", seed=3, output_type=output_type)
    again = pickle.loads(pickle.dumps(result))
    if output_type == "pil":
        assert (pixels(again.images[0]) == pixels(result.images[0])).all()
    else:
        assert (again.images == result.images).all()
    assert again.report == result.report and again.report.to_dict() == result.report.to_dict()
    assert again._repr_png_() == result._repr_png_()


def test_what_belongs_to_its_process_says_so_when_it_is_pickled(pipe):
    with pytest.raises(TypeError, match="from_pretrained"):
        pickle.dumps(pipe)
    with pytest.raises(TypeError, match="its own process"):
        pickle.dumps(omnirt.CancelToken())
    with pytest.raises(omnirt.InvalidRequest) as refused:
        pipe("a red apple", num_inference_steps=0)
    assert pickle.loads(pickle.dumps(refused.value)).findings == refused.value.findings


def test_half_a_character_is_named(pipe):
    for given in ({"prompt": "a \ud83d"}, {"prompt": ["a", "\ude00 b"]}):
        with pytest.raises(omnirt.InvalidRequest, match="surrogate") as refused:
            pipe(**given)
        assert refused.value.findings[0].field == "inputs.prompt"
        str(refused.value).encode()
