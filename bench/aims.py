"""What omnirt must reach against its peers, compared with one bench's figures."""


def ratio(of, to, value):
    """How many times `to`'s figure is larger than `of`'s; None when either is missing."""
    if of is None or to is None or value(of) is None or value(to) is None:
        return None
    return value(to) / value(of)


def step(row):
    return row.step_min


def decode(row):
    return row.decode_min


def first(row):
    return row.first_min


def peak(row):
    return row.peak_mb


def speed_aims(large):
    ours = large.get("omnirt-compile")
    stored_fp16 = large.get("omnirt-fp16-file")
    theirs = large.get
    return [
        ("UNet step: times faster than diffusers", 1.5, ratio(ours, theirs("diffusers"), step)),
        ("UNet step: times faster than OpenVINO fp32", 1.4, ratio(ours, theirs("openvino"), step)),
        (
            "UNet step: times faster than stable-diffusion.cpp",
            4.5,
            ratio(ours, theirs("stable-diffusion.cpp"), step),
        ),
        ("VAE decode: times faster than diffusers", 3.0, ratio(ours, theirs("diffusers"), decode)),
        (
            "VAE decode: times faster than stable-diffusion.cpp",
            6.0,
            ratio(ours, theirs("stable-diffusion.cpp"), decode),
        ),
        ("first step: times faster than diffusers", 10.0, ratio(ours, theirs("diffusers"), first)),
        (
            "UNet step, stored as fp16: share of the speed from fp32",
            0.9,
            ratio(stored_fp16, ours, step),
        ),
    ]


def memory_aims(large):
    """Shares of diffusers' peak: at most."""
    theirs = large.get("diffusers")
    return [
        ("peak RSS: share of diffusers'", 0.8, ratio(theirs, large.get("omnirt-compile"), peak)),
        (
            "peak RSS, stored as fp16: share of diffusers'",
            0.5,
            ratio(theirs, large.get("omnirt-fp16-file"), peak),
        ),
    ]


def picture_aims(large, embedded):
    def psnr(rows, name):
        return rows[name].psnr_db if name in rows else None

    found = [
        ("image, PSNR in dB at compile", 50.0, psnr(large, "omnirt-compile")),
        ("image, PSNR in dB at eager", 60.0, psnr(large, "omnirt-eager")),
    ]
    return found + [
        ("emoji-sd, image, PSNR in dB at compile", 50.0, psnr(embedded, "omnirt-compile")),
        ("emoji-sd, image, PSNR in dB at eager", 60.0, psnr(embedded, "omnirt-eager")),
    ]


def embedded_aims(embedded):
    ours, theirs = embedded.get("omnirt-compile"), embedded.get("diffusers")
    found = [
        (
            "emoji-sd, a step of 20: times faster than diffusers",
            3.0,
            ratio(ours, theirs, lambda row: row.loop_step()),
        )
    ]
    cached = [
        ratio(row, ours, lambda row: row.loop_step())
        for name, row in embedded.items()
        if name.startswith("omnirt-cache") and (row.psnr_db or 0) >= 30
    ]
    best = max(filter(None, cached), default=None)
    return [*found, ("emoji-sd, step cache at 30 dB and over: times faster", 2.0, best)]


def all_aims(sections):
    """[(what, limit, "at least" or "at most", value or None)], at 512x512 and embedded."""
    large, embedded = sections.get(("sd15", 512), {}), sections.get(("emoji-sd", 128), {})
    floors = speed_aims(large) + picture_aims(large, embedded) + embedded_aims(embedded)
    return [(what, limit, "at least", value) for what, limit, value in floors] + [
        (what, limit, "at most", value) for what, limit, value in memory_aims(large)
    ]
