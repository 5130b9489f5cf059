"""scripts/gpu_bundle: what a bundle takes along, and what it leaves out."""

import importlib.machinery
import importlib.util
import json
import pathlib
import random
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def script(name):
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "scripts" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


bundle = script("gpu_bundle")


class Libraries(unittest.TestCase):
    def test_of_the_target_are_left_there(self):
        for name in ("libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libgomp.so.1", "libtorch_cpu.so", "libc10_cuda.so",
                     "libcudart.so.13", "linux-vdso.so.1"):
            self.assertTrue(bundle.PRESENT.match(name), name)

    def test_of_debian_come_along(self):
        for name in ("libcrypto.so.3", "libcurl.so.4", "libmd.so.0", "libyaml-cpp.so.0.7", "libspdlog.so.1.10", "libz.so.1", "libsqlite3.so.0"):
            self.assertFalse(bundle.PRESENT.match(name), name)


class Files(unittest.TestCase):
    def test_of_goldens_hold_one_run_of_each_model_with_all_that_it_names(self):
        first, others = bundle.goldens()
        plain = {name.removesuffix(bundle.PACKED) for name in first}
        for kind in ("pipelines", "videos"):
            for model in (bundle.goldens_folder() / kind).iterdir():
                if (model / "model").is_dir() and bundle.runs_of(model):
                    run = bundle.runs_of(model)[0]
                    self.assertIn(f"tests/goldens/{kind}/{model.name}/{run.name}/golden.safetensors", plain)
        self.assertGreater(sum(name.endswith("model_index.json") for name in plain), 40)
        self.assertIn("tests/goldens/pipelines/sdxl/text2image/request.json", first)
        self.assertIn("tests/goldens/pipelines/sdxl/model/model_index.json", first)
        self.assertFalse(first.keys() & others.keys())

    def test_of_full_size_models_are_configs_and_no_weights(self):
        names = bundle.data()
        self.assertIn("tests/data/configs/parameters/transformer_flux1-dev.json", names)
        self.assertIn("tests/data/tokenizers/t5/tokenizer.json", names)
        self.assertLess(sum(path.stat().st_size for path in names.values()), 8_000_000)

    def test_of_packages_are_pinned(self):
        groups = bundle.package_groups()
        self.assertEqual(list(groups), ["diffusers", "transformers", "numpy"])
        for requirement in sum(groups.values(), []):
            self.assertRegex(requirement, r"^[\w.-]+==[\w.]+$")


class Written(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.before = {name: getattr(bundle, name) for name in ("items", "CACHE", "MOST_BYTES", "torch_folder")}
        (self.folder / "torch").mkdir()
        (self.folder / "torch" / "version.py").write_text("__version__ = '2.11.0+cu130'\n")
        bundle.CACHE = self.folder / "cache"
        bundle.torch_folder = lambda: self.folder / "torch"
        bundle.items = lambda: [self.item("programs", 1000, True), self.item("large", 400_000), self.item("small", 2000)]
        bundle.MOST_BYTES = 300_000

    def tearDown(self):
        for name, value in self.before.items():
            setattr(bundle, name, value)

    def item(self, name, size, first=False):
        path = self.folder / name
        path.write_bytes(random.Random(size).randbytes(size))
        return bundle.Item(name, {f"bin/{name}": path}, {"contract"}, first)

    def test_bundle_leaves_out_what_does_not_fit_and_takes_what_comes_after(self):
        sizes, left_out = bundle.write(self.folder / "out", {"contract"})
        self.assertEqual(list(sizes), ["programs", "small"])
        self.assertEqual(list(left_out), ["large"])
        about = json.loads((self.folder / "out" / "about.json").read_text())
        self.assertEqual((about["libtorch"], list(about["left_out"])), ("2.11.0+cu130", ["large"]))
        self.assertTrue((self.folder / "out" / "run.sh").is_file())
        with tarfile.open(self.folder / "out" / "archives" / "small.tar.xz") as archive:
            self.assertEqual(archive.getnames(), ["bin/small"])

    def test_bundle_for_other_parts_needs_none_of_these(self):
        self.assertEqual(bundle.write(self.folder / "out", {"bench"}), ({}, {}))


if __name__ == "__main__":
    unittest.main()
