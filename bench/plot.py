#!/usr/bin/env python3
"""Draws a bench's results: step time and peak memory a peer; and the step cache, where it ran.

  bench/plot.py build/bench/results-....json out.svg
"""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "omnirt"  # the same figures make the same file
import matplotlib.pyplot as pyplot  # noqa: E402

import contestants  # noqa: E402
import summary  # noqa: E402

OURS, THEIRS = "#2f6f4f", "#9aa3ad"


def colour(name):
    return OURS if name.startswith("omnirt") else THEIRS


def bars(axes, rows, value, title, form):
    names = list(rows)[::-1]
    drawn = axes.barh(
        [contestants.BY_NAME[name].title for name in names],
        [value(rows[name]) for name in names],
        color=[colour(name) for name in names],
    )
    axes.bar_label(drawn, fmt=form, padding=3, fontsize=8)
    axes.set_title(title, fontsize=10)
    axes.tick_params(labelsize=8)
    axes.margins(x=0.15)
    axes.spines[["top", "right"]].set_visible(False)


def cache_points(rows):
    """(times faster, PSNR, title) of the step cache against the same program without it."""
    plain = rows.get("omnirt-compile")
    for name, row in rows.items():
        if plain and name.startswith("omnirt-cache") and row.psnr_db is not None:
            interval = name.removeprefix("omnirt-cache")
            yield plain.loop_step() / row.loop_step(), row.psnr_db, interval


def cache(axes, points, title):
    points = sorted(points)
    axes.plot([x for x, _, _ in points], [y for _, y, _ in points], "o-", color=OURS)
    for x, y, interval in points:
        axes.annotate(
            f"interval {interval}", (x, y), (5, 5), textcoords="offset points", fontsize=8
        )
    axes.axhline(30, color=THEIRS, linewidth=0.8)
    axes.set_xlabel("times faster per step", fontsize=8)
    axes.set_ylabel("PSNR against diffusers, dB", fontsize=8)
    axes.set_title(title, fontsize=10)


def titled(model, size):
    return f"{'SD 1.5 size' if model == 'sd15' else 'emoji-sd'}, {size}x{size}"


def main():
    source, target = map(pathlib.Path, sys.argv[1:])
    sections = summary.sections(json.loads(source.read_text()))
    curves = {key: list(cache_points(rows)) for key, rows in sections.items()}
    cached = {key: points for key, points in curves.items() if len(points) > 1}
    lines = len(sections) + (1 if cached else 0)
    if not lines:
        sys.exit("plot: no run to draw")
    heights = [0.28 * len(rows) + 0.8 for rows in sections.values()] + ([3.0] if cached else [])
    figure, axes = pyplot.subplots(
        lines, 2, figsize=(11, sum(heights)), squeeze=False, height_ratios=heights
    )
    for line, (key, rows) in zip(axes, sections.items()):
        bars(line[0], rows, lambda row: row.step_min, f"{titled(*key)}: seconds per step", "%.3g")
        bars(line[1], rows, lambda row: row.peak_mb / 1024, "peak resident memory, GB", "%.2f")
        line[1].set_yticklabels([])
    if cached:
        for place in axes[-1]:
            place.set_visible(False)
        for place, (key, points) in zip(axes[-1], cached.items()):
            place.set_visible(True)
            cache(place, points, f"{titled(*key)}: step cache")
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None} if target.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
