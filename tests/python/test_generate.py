"""What a call makes, against the program of the same build."""

import json

import numpy
import pytest
import torch
from PIL import Image

import omnirt
from conftest import pixels


def test_the_image_is_the_programs_bit_for_bit(pipe, program, tmp_path):
    file = tmp_path / "cli.png"
    program("generate", "--prompt", "a red apple", "--seed", 3, "--steps", 2, "-o", file)
    made = pipe("a red apple", seed=3)
    assert (pixels(made.images[0]) == pixels(Image.open(file))).all()


def test_a_file_is_written_only_where_one_is_named(pipe, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pipe("a red apple", seed=3)
    assert list(tmp_path.iterdir()) == []
    made = pipe("a red apple", seed=3, output=tmp_path / "named.png")
    assert made.report.artifacts[0].path == str(tmp_path / "named.png")
    assert (pixels(Image.open(tmp_path / "named.png")) == pixels(made.images[0])).all()


def test_forms_of_output_hold_the_same_image(pipe):
    shown = pixels(pipe("a red apple", seed=3).images[0])
    array = pipe("a red apple", seed=3, output_type="np").images
    assert array.shape == (1, *shown.shape) and array.dtype == numpy.float32
    assert (numpy.rint(array[0] * 255) == shown).all()
    tensor = pipe("a red apple", seed=3, output_type="pt").images
    assert tensor.shape == (1, 3, *shown.shape[:2])
    assert (torch.round(tensor[0] * 255).numpy() == shown.transpose(2, 0, 1)).all()


def test_several_images_have_seeds_of_their_own(pipe):
    made = pipe("a red apple", seed=3, num_images_per_prompt=2)
    assert [each.seed for each in made.report.artifacts] == [3, 4]
    assert len(made) == len(made.images) == len(made.frames) == 2
    assert (pixels(made.images[1]) == pixels(pipe("a red apple", seed=4).images[0])).all()


def test_the_report_is_typed_and_whole(pipe):
    report = pipe("a red apple", seed=3).report
    assert report.model == "emoji" and report.task == "text2image" and report.error is None
    assert report.timings.denoise_loop_ms > 0 and len(report.denoise_steps_ms) == 2
    assert report.config_resolved["seed"].value == 3 and report.config_resolved["seed"].origin == "user"
    assert report.memory.peak_rss_bytes > 0 and report.backend_timeline[0].attempts
    told = report.to_dict()
    assert json.loads(json.dumps(told)) == told
    missing = [name for name in told if not hasattr(report, name)]
    assert missing == []


def test_images_come_in_as_files_pillows_arrays_and_tensors(small, tmp_path):
    picture = Image.fromarray(numpy.random.default_rng(1).integers(0, 256, (64, 64, 3), dtype=numpy.uint8))
    file = tmp_path / "in.png"
    picture.save(file)
    forms = [file, str(file), picture, numpy.asarray(picture), torch.from_numpy(numpy.array(picture)).permute(2, 0, 1)]
    made = [small("a green apple", image=each, strength=0.7, seed=1).images[0] for each in forms]
    assert small.validate("a green apple", image=picture).task == "image2image"
    for other in made[1:]:
        assert (pixels(other) == pixels(made[0])).all()


def test_of_a_picture_in_memory_nothing_is_embedded_that_would_make_another_image(small, tmp_path, program):
    picture = Image.new("RGB", (64, 64), "red")
    file = tmp_path / "out.png"
    small("a green apple", image=picture, seed=1, output=file)
    again = program("validate", "-f", file, "--json", code=2)
    assert "in memory" in again and "inputs.image" in again


def test_validation_reads_no_weight_and_names_everything_that_is_wrong(pipe):
    told = pipe.validate("a red apple", width=33, num_inference_steps=0)
    assert not told.ok and {each.field for each in told.errors} >= {"config.num_inference_steps"}
    assert pipe.validate("a red apple", seed=1).ok
    with pytest.raises(omnirt.InvalidRequest) as raised:
        pipe("a red apple", num_inference_steps=0)
    finding = raised.value.findings[0]
    assert finding.field == "config.num_inference_steps" and finding.value == "0" and finding.message
    assert raised.value.report.error.kind == "InvalidRequest"


def test_unknown_keywords_are_errors_with_the_nearest_name(pipe):
    with pytest.raises(omnirt.InvalidRequest, match="num_inference_steps"):
        pipe("a red apple", num_inference_step=3)


def test_models_that_are_nowhere_are_refused_at_once():
    with pytest.raises(omnirt.UnknownModel, match="emoji"):
        omnirt.Pipeline.from_pretrained("emojy")
    with pytest.raises(omnirt.InvalidRequest):
        omnirt.Pipeline.from_pretrained("/nowhere/at/all")


def test_a_closed_pipeline_says_so():
    with omnirt.Pipeline.from_pretrained("emoji") as pipe:
        assert pipe.validate("a red apple").ok
    with pytest.raises(omnirt.Closed):
        pipe("a red apple")
    with pytest.raises(omnirt.Closed):
        pipe.validate("a red apple")


def test_the_registrys_contract_is_told():
    entries = omnirt.models()
    ids = {each.id for each in entries}
    assert {"emoji", "emoji-sd", "sd15", "sdxl"} <= ids
    entry = omnirt.describe("emoji-sd").task("text2image")
    assert entry.required_inputs == ["prompt"] and "negative_prompt" in entry.optional_inputs
    assert entry.default_backend and entry.maturity and entry.artifact_kind == "image"
    assert "EulerDiscreteScheduler" in entry.supported_schedulers
    assert any(each.name == "num_inference_steps" and each.help for each in entry.keys)
    assert entry.resource_hint.min_ram_gb >= 0 and entry.to_dict()["id"] == "emoji-sd"
    for each in entries:
        assert each.alias_of or each.supported_config, each
    assert any(each["name"] == "cpu" and each["available"] for each in omnirt.backends())


def test_results_show_themselves_in_notebooks(pipe):
    one = pipe("a red apple", seed=3)
    assert one._repr_png_().startswith(b"\x89PNG") and one._repr_html_() is None
    two = pipe("a red apple", seed=3, num_images_per_prompt=2)
    assert two._repr_png_() is None and two._repr_html_().count("<img") == 2
