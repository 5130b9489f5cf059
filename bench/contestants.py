"""Who takes part in the bench, on which models, and at which sizes.

A peer is a script of bench/peers in one mode. `stored` picks the folder of the checkpoint; `once`
marks those whose start is so long that one round has to do, `uneven` those whose steps differ by
design, so that only a run's mean step says something.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str
    title: str
    script: str
    mode: str
    stored: str = "fp32"  # or fp16; or a type of GGUF, whose file stable-diffusion.cpp has made
    models: tuple = ("sd15", "emoji-sd")
    once: bool = False
    extra: tuple = ()
    uneven: bool = False

    def arguments(self):
        return ["--mode", self.mode, *(f"--extra={value}" for value in self.extra)]


def omnirt(name, title, mode="compile", **more):
    return Peer(name, title, "omnirt_program.py", mode, **more)


def diffusers(name, title, mode, **more):
    return Peer(name, title, "diffusers_pipeline.py", mode, **more)


def openvino(name, title, mode):
    return Peer(name, title, "openvino_pipeline.py", mode)


def gguf(kind):
    return omnirt(f"omnirt-{kind}", f"omnirt, GGUF {kind}", stored=kind, models=("sd15",))


def step_cache(interval, branch=0):
    """What a step cache does to an image can only be seen on a network that has learnt to draw."""
    deeper = f", branch {branch}" if branch else ""
    return omnirt(
        f"omnirt-cache{interval}",
        f"omnirt, step cache, interval {interval}{deeper}",
        extra=("--cache", "deep", "--cache-interval", str(interval), "--cache-branch", str(branch)),
        models=("sd15", "emoji-sd") if interval == 3 else ("emoji-sd",),
        uneven=True,
    )


def sdcpp(name, title, mode):
    return Peer(name, title, "sdcpp_pipeline.py", mode, models=("sd15",), once=True)


# In the order of the table.
PEERS = [
    omnirt("omnirt-compile", "omnirt, compile"),
    omnirt(
        "omnirt-highest",
        "omnirt, compile, products in fp32",
        extra=("--matmul-precision", "highest"),
    ),
    omnirt("omnirt-kernels", "omnirt, kernel_override", "kernel_override"),
    omnirt("omnirt-eager", "omnirt, eager", "eager"),
    omnirt("omnirt-fp16-file", "omnirt, compile, stored as fp16", stored="fp16", models=("sd15",)),
    omnirt("omnirt-int8", "omnirt, int8", extra=("--quantize", "int8")),
    omnirt("omnirt-bf16", "omnirt, bf16", extra=("--dtype", "bf16")),
    *(step_cache(interval) for interval in (2, 3, 5)),
    step_cache(4, branch=2),
    diffusers("diffusers", "diffusers, eager", "eager"),
    diffusers("diffusers-channels-last", "diffusers, channels-last", "channels_last"),
    diffusers("torch-compile", "diffusers, torch.compile, frozen", "compile", once=True),
    openvino("openvino", "OpenVINO, fp32", "fp32"),
    openvino("openvino-int8", "OpenVINO, int8 (NNCF)", "int8"),
    sdcpp("stable-diffusion.cpp", "stable-diffusion.cpp", "fp32"),
    sdcpp("stable-diffusion.cpp-q8_0", "stable-diffusion.cpp, GGUF q8_0", "q8_0"),
    sdcpp("stable-diffusion.cpp-q4_k", "stable-diffusion.cpp, GGUF q4_k", "q4_k"),
    gguf("q8_0"),
    gguf("q4_k"),
]
REFERENCE = "diffusers"  # whose images the others' are compared with
BY_NAME = {peer.name: peer for peer in PEERS}

# Enough for a first answer in minutes; `--full` is the whole list at both sizes.
QUICK = ("omnirt-compile", "omnirt-eager", "diffusers", "openvino")

MODELS = {"sd15": {"sizes": (512, 768)}, "emoji-sd": {"sizes": (128,)}}


def folder(peer, model, root, work):
    if model == "emoji-sd":
        return root / "models" / "emoji-sd"
    names = {"fp32": "sd15", "fp16": "sd15-fp16"}
    return work / names.get(peer.stored, f"converted/sd15-{peer.stored}.gguf")
