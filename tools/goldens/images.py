#!/usr/bin/env python3
"""Small image files of every kind that OmniRT reads, and the pixels that Pillow finds in them.

  tools/goldens/images.py            writes tests/data/images: the files, expected.bin, index.json

expected.bin holds the pixels of all samples, one after the other; index.json says where and of which
shape. Resizes are kept as checksums: their source is noise that both sides can make (see `noise`).
"""

import argparse
import io
import json
import pathlib
import struct
import warnings
import zlib

import numpy
from PIL import Image, ImageOps

ROOT = pathlib.Path(__file__).resolve().parents[2]
WIDTH, HEIGHT = 37, 29

warnings.filterwarnings("ignore")


# ----------------------------------------------------------------------------------------- images
def picture(depth=8, channels=4):
    """An image with slopes, edges and noise: [HEIGHT, WIDTH, channels] of `depth` bits."""
    y, x = numpy.mgrid[0:HEIGHT, 0:WIDTH].astype(numpy.float64)
    planes = [
        x / (WIDTH - 1),
        y / (HEIGHT - 1),
        ((x // 5 + y // 4) % 2),
        numpy.clip(1.4 - numpy.hypot(x - 18, y - 14) / 14, 0, 1),
    ]
    stack = numpy.stack(planes[:channels] if channels != 2 else [planes[0] * planes[1], planes[3]], axis=-1)
    stack = numpy.clip(stack + numpy.random.default_rng(5).normal(0, 0.03, stack.shape), 0, 1)
    return numpy.round(stack * (2**depth - 1)).astype(numpy.uint16)


def noise(width, height, channels):
    """The upper bytes of a linear congruential generator (Numerical Recipes' constants), seed 1."""
    state, values = 1, []
    for _ in range(width * height * channels):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        values.append(state >> 24)
    return numpy.array(values, dtype=numpy.uint8).reshape(height, width, channels)


def as_pillow(array):
    return Image.fromarray(array[:, :, 0] if array.shape[2] == 1 else array)


# ---------------------------------------------------------------------------------------------- PNG
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def packed_rows(samples, depth):
    rows = b""
    for row in samples:
        flat = row.reshape(-1)
        if depth == 16:
            body = flat.astype(">u2").tobytes()
        elif depth == 8:
            body = flat.astype(numpy.uint8).tobytes()
        else:
            bits = "".join(format(int(value), f"0{depth}b") for value in flat)
            bits += "0" * (-len(bits) % 8)
            body = bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8))
        rows += b"\0" + body
    return rows


ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def png(samples, depth, colour_type, before=b"", after=b"", interlaced=False):
    """Pillow writes neither interlaced nor deep files, so this does."""
    height, width, _ = samples.shape
    header = struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, int(interlaced))
    if interlaced:
        passes = [samples[y::dy, x::dx] for x, y, dx, dy in ADAM7]
        rows = b"".join(packed_rows(part, depth) for part in passes if part.size)
    else:
        rows = packed_rows(samples, depth)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + before
        + chunk(b"IDAT", zlib.compress(rows, 9)) + after + chunk(b"IEND", b"")
    )  # fmt: skip


def palette(count):
    colours = numpy.random.default_rng(count).integers(0, 256, 3 * count, dtype=numpy.uint8)
    return chunk(b"PLTE", colours.tobytes())


def tiff_orientation(value, order="<"):
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 8)
    entry = struct.pack(order + "HHIHH", 0x0112, 3, 1, value, 0)
    return head + struct.pack(order + "H", 1) + entry + struct.pack(order + "I", 0)


def png_samples():
    files = {}
    for depth in (1, 2, 4, 8, 16):
        files[f"grey{depth}.png"] = png(picture(depth, 1), depth, 0)
    for depth in (1, 2, 4, 8):
        count = min(2**depth, 200)
        indices = picture(depth, 1) % count
        files[f"palette{depth}.png"] = png(indices, depth, 3, palette(count))
    for depth in (8, 16):
        files[f"rgb{depth}.png"] = png(picture(depth, 3), depth, 2)
        files[f"grey_alpha{depth}.png"] = png(picture(depth, 2), depth, 4)
        files[f"rgba{depth}.png"] = png(picture(depth, 4), depth, 6)
    files["grey1_interlaced.png"] = png(picture(1, 1), 1, 0, interlaced=True)
    files["palette4_interlaced.png"] = png(picture(4, 1), 4, 3, palette(16), interlaced=True)
    files["rgb8_interlaced.png"] = png(picture(8, 3), 8, 2, interlaced=True)
    files["rgba16_interlaced.png"] = png(picture(16, 4), 16, 6, interlaced=True)
    files["palette4_transparent.png"] = png(
        picture(4, 1), 4, 3, palette(16) + chunk(b"tRNS", bytes(range(0, 250, 25))))
    files["grey8_transparent.png"] = png(
        picture(8, 1) // 16 * 16, 8, 0, chunk(b"tRNS", struct.pack(">H", 128)))
    files["rgb8_transparent.png"] = png(
        picture(8, 3) // 128 * 255, 8, 2, chunk(b"tRNS", struct.pack(">HHH", 255, 0, 0)))
    files["rgb8_gamma.png"] = png(picture(8, 3), 8, 2, chunk(b"gAMA", struct.pack(">I", 30000)))
    files["rgb8_exif6_at_end.png"] = png(picture(8, 3), 8, 2, after=chunk(b"eXIf", tiff_orientation(6, ">")))
    raw = b"Exif\0\0" + tiff_orientation(8)
    profile = f"\nexif\n{len(raw):8}\n{raw.hex()}\n".encode()
    files["rgb8_raw_exif8.png"] = png(
        picture(8, 3), 8, 2, chunk(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(profile)))
    xmp = b'<x:xmpmeta><rdf:Description tiff:Orientation="3"/></x:xmpmeta>'
    files["rgb8_xmp3.png"] = png(picture(8, 3), 8, 2, chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + xmp))
    files["animated.png"] = saved(picture_image(3), "PNG", save_all=True, append_images=[picture_image(3).rotate(180)])
    return files


# --------------------------------------------------------------------------------- JPEG and WebP
def picture_image(channels):
    return as_pillow(picture(8, channels).astype(numpy.uint8))


def saved(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def with_orientation(value):
    exif = Image.Exif()
    exif[0x0112] = value
    return exif.tobytes()


def jpeg_samples():
    rgb = picture_image(3)
    files = {"grey.jpg": saved(picture_image(1), "JPEG", quality=90)}
    for subsampling in ("4:4:4", "4:2:2", "4:2:0"):
        files[f"rgb{subsampling.replace(':', '')}.jpg"] = saved(rgb, "JPEG", quality=90, subsampling=subsampling)
    files["progressive.jpg"] = saved(rgb, "JPEG", quality=80, progressive=True)
    files["restarts.jpg"] = saved(rgb, "JPEG", quality=80, restart_marker_rows=1)
    files["kept_rgb.jpg"] = saved(rgb, "JPEG", quality=90, keep_rgb=True)
    files["cmyk.jpg"] = saved(picture_image(4).convert("RGB").convert("CMYK"), "JPEG", quality=90)
    inks = Image.fromarray(picture(8, 4).astype(numpy.uint8), "CMYK")
    files["cmyk_four_inks.jpg"] = saved(inks, "JPEG", quality=90)
    for value in range(1, 9):
        files[f"exif{value}.jpg"] = saved(rgb, "JPEG", quality=85, exif=with_orientation(value))
    return files


def webp_samples():
    rgb, rgba = picture_image(3), picture_image(4)
    files = {
        "lossy.webp": saved(rgb, "WEBP", quality=80),
        "lossless.webp": saved(rgb, "WEBP", lossless=True),
        "lossy_alpha.webp": saved(rgba, "WEBP", quality=80),
        "lossless_alpha.webp": saved(rgba, "WEBP", lossless=True, exact=True),
        "exif5.webp": saved(rgb, "WEBP", lossless=True, exif=with_orientation(5)),
    }
    files["animated.webp"] = saved(
        rgba, "WEBP", save_all=True, append_images=[rgba.rotate(180)], lossless=True, exact=True, duration=50)
    return files


# ---------------------------------------------------------------------------------------- expected
def expected(data):
    """What read_image should return: as diffusers' load_image, but grey and alpha are kept."""
    opened = Image.open(io.BytesIO(data))
    if opened.mode == "I;16":
        # Pillow clips at 255 when it converts; OmniRT scales, as Pillow does for 16-bit colour.
        pixels = (numpy.asarray(opened) >> 8).astype(numpy.uint8)
        return pixels[:, :, None]
    image = ImageOps.exif_transpose(opened)
    if "A" in image.getbands() or "transparency" in opened.info:
        image = image.convert("RGBA")
    elif image.mode in ("1", "L"):
        image = image.convert("L")
    else:
        image = image.convert("RGB")
    pixels = numpy.asarray(image)
    return pixels if pixels.ndim == 3 else pixels[:, :, None]


def resize_cases():
    generator = numpy.random.default_rng(11)
    filters = ("nearest", "bilinear", "bicubic", "lanczos")
    shapes = [((61, 47), (61, 47)), ((61, 47), (1, 1)), ((1, 1), (9, 7)), ((64, 64), (32, 32)), ((32, 32), (64, 64))]
    # Pillow runs the pass down first when the height shrinks by more than twice what the width does.
    shapes += [((40, 80), (30, 20)), ((80, 43), (56, 12)), ((50, 60), (40, 40))]
    for _ in range(20):
        shapes.append((tuple(generator.integers(1, 90, 2).tolist()), tuple(generator.integers(1, 140, 2).tolist())))
    cases = []
    for source, target in shapes:
        for channels in (1, 3, 4):
            image = as_pillow(noise(*source, channels))
            for name in filters:
                resized = image.resize(target, getattr(Image.Resampling, name.upper()))
                checksum = zlib.crc32(resized.tobytes())
                cases.append([name, channels, *source, *target, checksum])
    return cases


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "tests" / "data" / "images")
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    files = png_samples() | jpeg_samples() | webp_samples()
    samples, pixels = [], b""
    for name, data in files.items():
        (folder / name).write_bytes(data)
        array = expected(data)
        height, width, channels = array.shape
        rgb = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("L")
        samples.append({"file": name, "width": width, "height": height, "channels": channels, "offset": len(pixels)})
        if name != "grey16.png":
            samples[-1]["grey_crc32"] = zlib.crc32(rgb.tobytes())
        pixels += numpy.ascontiguousarray(array).tobytes()
    (folder / "expected.bin").write_bytes(pixels)
    lines = ",\n".join("  " + json.dumps(sample) for sample in samples)
    cases = ",\n".join("  " + json.dumps(case) for case in resize_cases())
    (folder / "index.json").write_text(f'{{"samples": [\n{lines}\n],\n"resizes": [\n{cases}\n]}}\n')
    total = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{len(samples)} samples, {total} bytes in all")


if __name__ == "__main__":
    main()
