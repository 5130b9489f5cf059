"""Where a bundle's files are on this machine: unpacked archives, torch's libraries, and Python packages that are missing."""

import concurrent.futures
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

# What `import` calls the packages whose names differ.
IMPORTS = {"pillow": "PIL", "pyyaml": "yaml", "pygments": "pygments", "markdown_it_py": "markdown_it"}


def torch_folder():
    return pathlib.Path(importlib.util.find_spec("torch").origin).parent


def torch_libraries(folder):
    """Folders that hold libtorch and what it links to: NVIDIA's wheels lie next to torch's."""
    places = [folder / "lib", *sorted(folder.parent.glob("nvidia/*/lib")), pathlib.Path("/usr/local/cuda/lib64")]
    return [str(place) for place in places if place.is_dir()]


def torch_about(folder):
    text = (folder / "version.py").read_text()
    version = re.search(r"__version__ = '([^']*)'", text)
    cuda = re.search(r"cuda[^=\n]*= *'([^']*)'", text)
    return {"version": version[1] if version else "", "cuda": cuda[1] if cuda else None, "folder": str(folder),
            "python": sys.version.split()[0]}


def unpack(archive, folder):
    """Once: the folder appears when it is whole."""
    if folder.is_dir():
        return folder
    partial = pathlib.Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    with tarfile.open(archive, "r:xz") as packed:
        packed.extractall(partial, filter="data") if hasattr(tarfile, "data_filter") else packed.extractall(partial)
    partial.rename(folder)
    return folder


def missing(name, folder):
    """Whether this Python lacks a package, and can use the bundle's."""
    tag = next(folder.glob("*.dist-info/WHEEL")).read_text()
    here = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    fits = "py3-none-any" in tag or "abi3" in tag or f"Tag: {here}-" in tag
    return fits and importlib.util.find_spec(IMPORTS.get(name.lower(), name)) is None


class Bundle:
    def __init__(self, options):
        self.root = options.bundle.resolve()
        self.python = sys.executable
        self.work = (options.work or pathlib.Path(tempfile.gettempdir()) / "omnirt-device").resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        about = self.root / "about.json"
        self.about = json.loads(about.read_text()) if about.is_file() else {}
        self.torch = torch_about(torch_folder())
        self.root = self.unpacked()
        self.omnirt, self.device_tests = self.root / "bin" / "omnirt", self.root / "bin" / "device_tests"
        self.environment = self.with_torch()

    def unpacked(self):
        """The tree that the programs run in: the bundle itself, with the files of all its archives."""
        archives = sorted((self.root / "archives").glob("*.tar.xz"))
        tree = self.work / f"tree-{self.about.get('id', 'none')}"
        if tree.is_dir():
            return tree
        partial = tree.with_name(f"{tree.name}.part")
        shutil.rmtree(partial, ignore_errors=True)
        parts = partial.with_name(f"{partial.name}s")
        shutil.rmtree(parts, ignore_errors=True)
        parts.mkdir()
        with concurrent.futures.ThreadPoolExecutor() as threads:
            folders = list(threads.map(lambda archive: unpack(archive, parts / archive.name.split(".")[0]), archives))
        partial.mkdir()
        for folder in folders:
            shutil.copytree(folder, partial, dirs_exist_ok=True, copy_function=os.replace)
        shutil.copytree(self.root / "bench", partial / "bench", dirs_exist_ok=True)
        shutil.rmtree(parts)
        if (partial / "tests" / "goldens").is_dir():
            line = ["bin/expand_goldens", "tests/goldens", "build/goldens"]
            subprocess.run(line, cwd=partial, check=True, stdout=subprocess.DEVNULL)
        partial.rename(tree)
        return tree

    def with_torch(self):
        libraries = torch_libraries(pathlib.Path(self.torch["folder"]))
        if os.environ.get("LD_LIBRARY_PATH"):
            libraries.append(os.environ["LD_LIBRARY_PATH"])
        return {
            **os.environ,
            "LD_LIBRARY_PATH": ":".join(libraries),
            "PYTHONPATH": os.pathsep.join(filter(None, [str(self.packages()), os.environ.get("PYTHONPATH")])),
            "PYTHONUNBUFFERED": "1",
            "HF_HUB_OFFLINE": "1",
            "OMNIRT_MODELS": str(self.root / "models"),
            "BENCH_OMNIRT": str(self.omnirt),
        }

    def packages(self):
        """A folder with the packages that this Python lacks."""
        site = self.work / f"site-{self.about.get('id', 'none')}"
        wheels = self.root / "wheels"
        if site.is_dir() or not wheels.is_dir():
            return site
        site.mkdir()
        for folder in sorted(wheels.iterdir()):
            if missing(folder.name, folder):
                shutil.copytree(folder, site, dirs_exist_ok=True)
        return site

    def use_all_packages(self):
        """Where this Python's own do not go together with the bundle's: all of the bundle's, before its own. False the
        second time, and where there are none."""
        site = self.work / f"site-{self.about.get('id', 'none')}"
        if not (self.root / "wheels").is_dir() or (site / "all").exists():
            return False
        for folder in sorted((self.root / "wheels").iterdir()):
            shutil.copytree(folder, site, dirs_exist_ok=True)
        (site / "all").touch()
        return True

    def weights_folder(self, size):
        """Memory where it is enough, for it is fast; else the work folder."""
        shared = pathlib.Path("/dev/shm")
        if shared.is_dir() and shutil.disk_usage(shared).free > size + (2 << 30):
            return shared / "omnirt-device"
        return self.work / "weights"
