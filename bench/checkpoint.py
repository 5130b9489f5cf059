#!/usr/bin/env python3
"""Makes the checkpoint that the bench measures on: Stable Diffusion 1.5's networks, random weights.

  bench/checkpoint.py build/bench

Writes FOLDER/sd15 (fp32) and FOLDER/sd15-fp16, and nothing when both are there.
"""

import argparse
import pathlib
import shutil

VERSION = "1"  # raised when what is written changes, so that older folders are made again


def is_made(folder):
    stamp = folder / "made_by_bench"
    return stamp.is_file() and stamp.read_text().strip() == VERSION


def save(pipe, folder):
    shutil.rmtree(folder, ignore_errors=True)
    pipe.save_pretrained(folder)
    (folder / "made_by_bench").write_text(VERSION + "\n")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    fp32, fp16 = folder / "sd15", folder / "sd15-fp16"
    if is_made(fp32) and is_made(fp16):
        return
    # Imported here: what makes networks takes seconds to load.
    import random_networks

    pipe = random_networks.pipeline()
    save(pipe, fp32)
    save(random_networks.halved(pipe), fp16)


if __name__ == "__main__":
    main()
