"""From a bench's runs to one row a peer: minima, medians, and what follows from them."""

import statistics

import contestants

LONG_STEPS = 20


class Row:
    """One peer on one model at one size. Seconds and MB; None where nothing was measured."""

    def __init__(self, peer, runs):
        self.peer, self.runs = peer, runs
        self.steps = self.step_seconds()
        self.step_min, self.step_median = min(self.steps), statistics.median(self.steps)
        self.decode_min, self.decode_median = self.both("decode_ms", 1e-3)
        self.text_min, self.text_median = self.both("text_ms", 1e-3)
        self.first_min, self.first_median = self.both("first_step_s")
        self.peak_mb = max(run["peak_rss_mb"] for run in runs)
        self.whole, self.whole_measured = self.whole_run()
        self.psnr_db = None
        self.notes = sorted({note for run in runs for note in run.get("notes", [])})

    def step_seconds(self):
        if contestants.BY_NAME[self.peer].uneven:
            return [statistics.mean(run["steps_ms"]) / 1e3 for run in self.runs]
        return [value / 1e3 for run in self.runs for value in run["steps_ms"]]

    def both(self, field, scale=1.0):
        values = [run[field] * scale for run in self.runs if run.get(field) is not None]
        return (min(values), statistics.median(values)) if values else (None, None)

    def whole_run(self):
        """Process start to the image's file: measured, or estimated from the parts."""
        measured = [run["wall_s"] for run in self.runs if run["steps"] == LONG_STEPS]
        if measured:
            return min(measured), True
        return self.first_median + LONG_STEPS * self.step_median + self.decode_median, False

    def loop_step(self):
        """Seconds per step over a whole loop, where 20 steps were run; else the median step."""
        loops = [
            sum(run["steps_ms"]) / 1e3 / len(run["steps_ms"])
            for run in self.runs
            if run["steps"] == LONG_STEPS
        ]
        return min(loops) if loops else self.step_median


def sections(results):
    """{(model, size): {peer: Row}} in the order of the list of peers."""
    found = {}
    for run in results["runs"]:
        if "failed" not in run:
            key = run["model"], run["size"]
            found.setdefault(key, {}).setdefault(run["peer"], []).append(run)
    rows = {
        key: {name: Row(name, peers[name]) for name in contestants.BY_NAME if name in peers}
        for key, peers in sorted(found.items(), key=lambda item: (item[0][0] != "sd15", item[0]))
    }
    for (model, size, peer), decibels in worst_pictures(results).items():
        if peer in rows.get((model, size), {}):
            rows[model, size][peer].psnr_db = decibels
    return rows


def worst_pictures(results):
    """{(model, size, peer): the lowest PSNR of the rounds with the most steps}"""
    found = {}
    for picture in results["pictures"]:
        if picture["psnr_db"] is not None:
            key = picture["model"], picture["size"], picture["peer"]
            found.setdefault(key, {}).setdefault(picture["steps"], []).append(picture["psnr_db"])
    return {key: min(by_steps[max(by_steps)]) for key, by_steps in found.items()}
