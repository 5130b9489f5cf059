#!/usr/bin/env python3
"""Goldens of the schedulers: diffusers' trajectories under a small function in place of a network.

For each scheduler a covering set of its options is stepped: every pair of option values that the reference can run
at all is run at least once, at 1, 2, 5 and 30 steps, from noise and from within the schedule (image2image). What the
reference refuses, crashes on, or turns into NaN is recorded as such.

Writes <out>/<scheduler>.json: {"trained_betas": [...], "cases": [case, ...]}, a case being
  config     scheduler_config.json's content ("trained_betas": "shared" means the list above)
  steps, eta, mu, begin (index of the first call), outcome (ok, refused, crash, nan)
and, when ok, base64 little-endian:
  timesteps  float64
  init_sigma float64
  checks     float32, three for each call: mean of |sample| after it, its last element, and the mean of |image|
             re-noised as inpainting does after that call (0 after the last)
  middle, final  float32 samples [2, 3, 2, 4] after the middle and the last call
"""

import argparse
import base64
import itertools
import json
import pathlib
import random
import struct
import warnings

import diffusers
import numpy as np
import torch

SHAPE = (2, 3, 2, 4)
SEEDS = (11, 12)
STEPS = [1, 2, 5, 30]
TRAINED = [round(0.001 + 0.0009 * i + 0.00001 * (i % 7), 6) for i in range(60)]


def pattern(multiplier):
    count = int(np.prod(SHAPE))
    values = torch.tensor([(i * multiplier) % 101 for i in range(count)], dtype=torch.float32)
    return (values / 101 - 0.5).reshape(SHAPE)


PICTURE = pattern(53)
FIXED = pattern(37)


def network(x, t, learned):
    out = 0.5 * torch.tanh(x) + FIXED * (0.5 + t / 1000)
    return torch.cat([out, 0.5 + 0.4 * FIXED], dim=1) if learned else out


def run(cls, config, steps, eta, mu, strength, given=None):
    """The case's outcome and, when it is ok, what is recorded of it."""
    config = dict(config)
    if config.get("trained_betas") == "shared":
        config["trained_betas"] = TRAINED
    scheduler = cls.from_config(config)
    plan = {"num_inference_steps": steps} if given is None else given
    consistency = cls.__name__ == "SCMScheduler"
    if consistency and steps != 2:
        plan = plan | {"intermediate_timesteps": None}
    scheduler.set_timesteps(**plan, **({} if mu is None else {"mu": mu}))
    if consistency:  # the last is where the run ends; noise is added as between its steps
        ends = scheduler.timesteps
        spread = scheduler.config.sigma_data
        scheduler.add_noise = lambda x, n, t: x * torch.cos(t[0]) + n * spread * torch.sin(t[0])
    timesteps_of = (lambda: ends[:-1]) if consistency else (lambda: scheduler.timesteps)
    begin = max(steps - min(int(steps * strength), steps), 0) * scheduler.order
    if begin >= len(timesteps_of()):
        begin = 0
    if hasattr(scheduler, "set_begin_index"):
        scheduler.set_begin_index(begin)
    add_noise = getattr(scheduler, "add_noise", None) or (lambda x, n, t: scheduler.scale_noise(x, t, n))
    generators = [torch.Generator().manual_seed(seed) for seed in SEEDS]
    noise = torch.cat([torch.randn((1,) + SHAPE[1:], generator=g) for g in generators])
    init_sigma = float(getattr(scheduler, "init_noise_sigma", 1.0))
    timesteps = timesteps_of()[begin:]
    if strength < 1:
        sample = add_noise(PICTURE, noise, timesteps[:1].repeat(SHAPE[0]))
    else:
        sample = noise * init_sigma
    learned = str(config.get("variance_type")).startswith("learned") and hasattr(scheduler.config, "variance_type")
    options = {}
    names = scheduler.step.__code__.co_varnames
    if "generator" in names:
        options["generator"] = generators
    if "eta" in names:
        options["eta"] = eta
    checks, samples = [], []
    for i, t in enumerate(timesteps):
        x = scheduler.scale_model_input(sample, t) if hasattr(scheduler, "scale_model_input") else sample
        sample = scheduler.step(network(x, t.item(), learned), t, sample, return_dict=False, **options)[0]
        again = 0.0
        if i + 1 < len(timesteps):
            again = add_noise(PICTURE, noise, timesteps[i + 1 : i + 2]).abs().mean().item()
        checks += [sample.abs().mean().item(), sample.flatten()[-1].item(), again]
        samples.append(sample)
    if not all(torch.isfinite(s).all() for s in samples):
        return "nan", {}
    recorded = {
        "begin": begin,
        "timesteps": packed("d", timesteps_of().tolist()),
        "init_sigma": packed("d", [init_sigma]),
        "checks": packed("f", checks),
        "middle": packed("f", samples[len(samples) // 2].flatten().tolist()),
        "final": packed("f", samples[-1].flatten().tolist()),
    }
    return "ok", recorded


def packed(kind, values):
    return base64.b64encode(struct.pack(f"<{len(values)}{kind}", *values)).decode()


def case_of(cls, config, steps, eta=0.0, mu=None, strength=1.0, given=None):
    case = {"config": config, "steps": steps}
    if eta:
        case["eta"] = eta
    if mu is not None:
        case["mu"] = mu
    if strength < 1:
        case["image2image"] = True
    try:
        case["outcome"], recorded = run(cls, config, steps, eta, mu, 1.0, given)
        # What cannot be run from noise does not count from an image, though its late steps may run.
        if strength < 1 and case["outcome"] == "ok":
            case["outcome"], recorded = run(cls, config, steps, eta, mu, strength, given)
        case.update(recorded)
    except (ValueError, NotImplementedError) as error:
        # torch and numpy raise ValueError too, for shapes that do not fit: those are crashes.
        refused = "broadcast" not in str(error)
        case["outcome"], case["error"] = ("refused" if refused else "crash"), str(error)[:160]
    except Exception as error:  # whatever the reference breaks on is worth a record
        case["outcome"], case["error"] = "crash", f"{type(error).__name__}: {error}"[:160]
    return case


def spacings():
    return {
        "linspace": {"timestep_spacing": "linspace"},
        "leading": {"timestep_spacing": "leading"},
        "leading1": {"timestep_spacing": "leading", "steps_offset": 1},
        "trailing": {"timestep_spacing": "trailing"},
    }


def betas(*more):
    options = {
        "linear": {"beta_schedule": "linear"},
        "scaled": {"beta_schedule": "scaled_linear", "beta_start": 0.00085, "beta_end": 0.012},
        "cosine": {"beta_schedule": "squaredcos_cap_v2"},
        "trained": {"trained_betas": "shared", "num_train_timesteps": len(TRAINED)},
        "default": {},
    }
    options.update({name: {"beta_schedule": name} for name in more})
    options["unknown"] = {"beta_schedule": "cubic"}
    return options


def spreads():
    return {
        "table": {},
        "karras": {"use_karras_sigmas": True},
        "exponential": {"use_exponential_sigmas": True},
        "beta": {"use_beta_sigmas": True},
        "karras_ends": {"use_karras_sigmas": True, "sigma_min": 0.1, "sigma_max": 9.0},
        "beta_ends": {"use_beta_sigmas": True, "sigma_min": 0.05, "sigma_max": 12.0},
        "two": {"use_karras_sigmas": True, "use_beta_sigmas": True},
    }


def flags(name):
    return {"off": {name: False}, "on": {name: True}}


def predictions(*names):
    return {name: {"prediction_type": name} for name in names}


def limits(clip_sample=True):
    options = {
        "default": {},
        "threshold": {"thresholding": True},
        "threshold_wide": {"thresholding": True, "dynamic_thresholding_ratio": 0.8, "sample_max_value": 2.5},
    }
    if clip_sample:
        options["none"] = {"clip_sample": False}
        options["clip"] = {"clip_sample": True, "clip_sample_range": 0.5}
    return options


def run_options():
    return {
        "steps": {str(n): {"@steps": n} for n in STEPS},
        "start": {"noise": {}, "image": {"@strength": 0.6}},
    }


THREE = predictions("epsilon", "v_prediction", "sample")
FOUR = predictions("epsilon", "v_prediction", "sample", "flow_prediction")
ZERO_SNR = flags("rescale_betas_zero_snr")
FINAL = {"zero": {"final_sigmas_type": "zero"}, "sigma_min": {"final_sigmas_type": "sigma_min"}}
ORDERS = {str(n): {"solver_order": n} for n in (1, 2, 3)}
FLOWS = {
    "flow": {"use_flow_sigmas": True},
    "flow_shift": {"use_flow_sigmas": True, "flow_shift": 3.0},
    "flow_mu": {"use_flow_sigmas": True, "use_dynamic_shifting": True, "@mu": 0.8},
    "flow_karras": {"use_flow_sigmas": True, "use_karras_sigmas": True},
}
CLAMP = {"off": {}, "on": {"lambda_min_clipped": -3.5}}
VARIANCE = {"none": {}, "learned": {"variance_type": "learned_range"}, "fixed": {"variance_type": "fixed_small"}}


def dimensions():
    sigma = {"betas": betas(), "prediction": THREE, "spacing": spacings(), "spread": spreads()}
    table = {"betas": betas(), "prediction": FOUR, "spacing": spacings(), "limit": limits(), "zero_snr": ZERO_SNR}
    solver = {"betas": betas(), "prediction": FOUR, "limit": limits(False), "order": ORDERS}
    lower = {"lower": flags("lower_order_final")}
    dpm = {
        "solver": {n: {"solver_type": n} for n in ("midpoint", "heun", "bh2", "rk4")},
        "final": FINAL,
        "clamp": CLAMP,
        "variance": VARIANCE,
    }
    edm = {
        "ends": {"default": {}, "near": {"sigma_min": 0.01, "sigma_max": 20.0}},
        "data": {"default": {}, "1": {"sigma_data": 1.0}},
        "schedule": {n: {"sigma_schedule": n} for n in ("karras", "exponential", "linear")},
        "prediction": THREE,
        "rho": {"default": {}, "5": {"rho": 5.0}},
        "final": FINAL,
    }
    algorithms = ["dpmsolver++", "dpmsolver", "sde-dpmsolver++", "sde-dpmsolver", "deis"]
    algorithm = {"algorithm": {n: {"algorithm_type": n} for n in algorithms}}
    flow = {
        "shift": {
            "1": {},
            "3": {"shift": 3.0},
            "mu": {"use_dynamic_shifting": True, "@mu": 0.8},
            "mu_linear": {"use_dynamic_shifting": True, "time_shift_type": "linear", "@mu": 1.7},
            "mu_missing": {"use_dynamic_shifting": True},
        },
        "spread": {k: v for k, v in spreads().items() if not k.endswith("_ends")},
        "invert": flags("invert_sigmas"),
        "terminal": {"off": {}, "on": {"shift_terminal": 0.02}},
    }
    return {
        "EulerDiscreteScheduler": sigma
        | {"prediction": FOUR, "zero_snr": ZERO_SNR, "final": FINAL}
        | {"interpolation": {n: {"interpolation_type": n} for n in ("linear", "log_linear", "cubic")}}
        | {"type": {n: {"timestep_type": n} for n in ("discrete", "continuous")}},
        "EulerAncestralDiscreteScheduler": {k: v for k, v in sigma.items() if k != "spread"} | {"zero_snr": ZERO_SNR},
        "HeunDiscreteScheduler": sigma
        | {"betas": betas("exp"), "clip": {"off": {}, "on": {"clip_sample": True, "clip_sample_range": 0.7}}},
        "LMSDiscreteScheduler": sigma,
        "KDPM2DiscreteScheduler": sigma,
        "KDPM2AncestralDiscreteScheduler": sigma,
        "DDIMScheduler": table
        | {"one": flags("set_alpha_to_one"), "eta": {str(e): {"@eta": e} for e in (0.0, 0.5, 1.0)}},
        "DDPMScheduler": table
        | {"betas": betas("sigmoid", "laplace")}
        | {
            "variance": {
                n: {"variance_type": n}
                for n in ("fixed_small", "fixed_small_log", "fixed_large", "learned", "learned_range")
            }
            | {"null": {"variance_type": None}}
        },
        "LCMScheduler": {k: v for k, v in table.items() if k != "spacing"}
        | {"original": {"default": {}, "25": {"original_inference_steps": 25}, "60": {"original_inference_steps": 60}}}
        | {"scaling": {"10": {}, "1": {"timestep_scaling": 1.0}}},
        "PNDMScheduler": {"betas": betas(), "prediction": THREE, "spacing": spacings()}
        | {"one": flags("set_alpha_to_one"), "skip": flags("skip_prk_steps")},
        "DPMSolverMultistepScheduler": solver
        | lower
        | dpm
        | algorithm
        | {"spacing": spacings(), "zero_snr": ZERO_SNR, "euler": flags("euler_at_final")}
        | {"spread": spreads() | FLOWS | {"lu": {"use_lu_lambdas": True}}},
        "DPMSolverSinglestepScheduler": solver | lower | dpm | algorithm | {"spread": spreads() | FLOWS},
        "DEISMultistepScheduler": solver
        | lower
        | algorithm
        | {"spacing": spacings(), "spread": spreads() | FLOWS}
        | {"solver": {n: {"solver_type": n} for n in ("logrho", "bh2", "rk4")}},
        "UniPCMultistepScheduler": solver
        | lower
        | {"order": ORDERS | {"4": {"solver_order": 4}}, "spacing": spacings(), "final": FINAL, "zero_snr": ZERO_SNR}
        | {"solver": {n: {"solver_type": n} for n in ("bh1", "bh2", "midpoint", "rk4")}, "x0": flags("predict_x0")}
        | {"corrector": {"all": {}, "0": {"disable_corrector": [0]}, "12": {"disable_corrector": [1, 2]}}}
        | {
            "spread": spreads()
            | FLOWS
            | {"flow_terminal": {"use_flow_sigmas": True, "shift_terminal": 0.02}}
            | {"terminal": {"shift_terminal": 0.02}}
            | {"mu_missing": {"use_flow_sigmas": True, "use_dynamic_shifting": True}}
        },
        "FlowMatchEulerDiscreteScheduler": flow | {"stochastic": flags("stochastic_sampling")},
        "FlowMatchHeunDiscreteScheduler": {
            "shift": {"1": {}, "3": {"shift": 3.0}, "half": {"shift": 0.5}},
            "training": {"1000": {}, "200": {"num_train_timesteps": 200}},
        },
        "FlowMatchLCMScheduler": flow,
        "TCDScheduler": {"betas": betas(), "prediction": FOUR, "zero_snr": ZERO_SNR}
        | {"original": {"default": {}, "25": {"original_inference_steps": 25}, "60": {"original_inference_steps": 60}}}
        | {"eta": {str(e): {"@eta": e} for e in (0.0, 0.3, 1.0)}},
        "EDMEulerScheduler": edm,
        "EDMDPMSolverMultistepScheduler": edm
        | lower
        | {"limit": limits(False), "order": ORDERS, "euler": flags("euler_at_final")}
        | {"solver": {n: {"solver_type": n} for n in ("midpoint", "heun", "bh2", "rk4")}}
        | {"algorithm": {n: {"algorithm_type": n} for n in ("dpmsolver++", "sde-dpmsolver++", "deis", "dpmsolver")}},
        "SCMScheduler": {
            "prediction": {"default": {}, "trigflow": {"prediction_type": "trigflow"}},
            "data": {"default": {}, "1": {"sigma_data": 1.0}},
            "training": {"default": {}, "20": {"num_train_timesteps": 20}},
        },
        "SASolverScheduler": {"betas": betas(), "prediction": FOUR, "limit": limits(False), "spacing": spacings()}
        | lower
        | {"predictor": {str(n): {"predictor_order": n} for n in (1, 2, 3, 4)}}
        | {"corrector": {str(n): {"corrector_order": n} for n in (1, 2, 3, 4)}}
        | {"algorithm": {n: {"algorithm_type": n} for n in ("data_prediction", "noise_prediction", "deis")}}
        | {"clamp": CLAMP, "variance": VARIANCE}
        | {"spread": {k: v for k, v in (spreads() | FLOWS).items() if k != "flow_mu"}},
    }


class Cover:
    """Rows that cover every pair of option values which some row can run."""

    def __init__(self, cls, dims, rng):
        self.cls, self.dims, self.rng = cls, dims, rng
        self.names = list(dims)
        self.left = {
            frozenset({(a, x), (b, y)})
            for a, b in itertools.combinations(self.names, 2)
            for x in dims[a]
            for y in dims[b]
        }
        self.cases, self.failures, self.blamed = [], {}, {}

    def pairs(self, row):
        return {frozenset(p) for p in itertools.combinations(row.items(), 2)}

    def complete(self, fixed):
        best, gain = None, -1
        for _ in range(30):
            row = {n: fixed.get(n) or self.rng.choice(list(self.dims[n])) for n in self.names}
            new = len(self.pairs(row) & self.left)
            if new > gain and not any(self.doomed(p) for p in self.pairs(row) - self.pairs(fixed)):
                best, gain = row, new
        return best or row

    def doomed(self, pair):
        """Whether the pair holds a value that has failed always, or has failed often itself."""
        return self.blamed.get(pair, 0) >= 8 or any(self.blamed.get(value, 0) >= 12 for value in pair)

    def take(self, row):
        config, run_args = {}, {}
        for name in self.names:
            for key, value in self.dims[name][row[name]].items():
                (run_args if key.startswith("@") else config)[key.lstrip("@")] = value
        case = case_of(self.cls, config, **run_args)
        if case["outcome"] == "ok":
            self.cases.append(case)
            self.left -= self.pairs(row)
            for key in list(itertools.chain(self.pairs(row), row.items())):
                self.blamed[key] = -1000000
            return True
        for key in itertools.chain(self.pairs(row), row.items()):
            self.blamed[key] = self.blamed.get(key, 0) + 1
        self.failures.setdefault((case["outcome"], case["error"][:40] if "error" in case else ""), []).append(case)
        return False

    def run(self):
        while self.left:
            pair = sorted(self.left, key=lambda p: sorted(p))[0]
            if not any(self.take(self.complete(dict(pair))) for _ in range(25)):
                self.left.discard(pair)
        return self.cases + [case for some in self.failures.values() for case in some[:6]]


# As models with EDM's preconditioning are published (Playground 2.5).
EDM = {
    "_class_name": "EDMDPMSolverMultistepScheduler",
    "algorithm_type": "dpmsolver++",
    "euler_at_final": False,
    "final_sigmas_type": "zero",
    "lower_order_final": True,
    "num_train_timesteps": 1000,
    "prediction_type": "epsilon",
    "rho": 7.0,
    "sigma_data": 0.5,
    "sigma_max": 80.0,
    "sigma_min": 0.002,
    "solver_order": 2,
    "solver_type": "midpoint",
}


# As Sana-Sprint is published.
SCM = {"_class_name": "SCMScheduler", "num_train_timesteps": 1000, "prediction_type": "trigflow", "sigma_data": 0.5}


def emoji_cases(cls, config):
    for steps in (1, 2, 5, 20, 30):
        yield case_of(cls, config, steps)
        yield case_of(cls, config, steps, strength=0.6)
    for extra in ({"use_karras_sigmas": True}, {"rescale_betas_zero_snr": True, "timestep_spacing": "trailing"}):
        yield case_of(cls, config | extra, 20)


def main():
    here = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=here / "tests/goldens/schedulers")
    parser.add_argument("--emoji-config", type=pathlib.Path, default=here / "models/emoji-sd/scheduler/scheduler_config.json")
    parser.add_argument("--only", default="", help="a scheduler's class name")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    diffusers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    emoji = json.loads(args.emoji_config.read_text())
    args.out.mkdir(parents=True, exist_ok=True)
    for name, dims in dimensions().items():
        if args.only not in ("", name):
            continue
        cls = getattr(diffusers, name)
        ordinary = EDM if name.startswith("EDM") else SCM if name == "SCMScheduler" else emoji
        cases = list(emoji_cases(cls, ordinary)) + Cover(cls, dims | run_options(), random.Random(0)).run()
        lines = ",\n".join(json.dumps(case) for case in cases)
        text = f'{{"trained_betas": {json.dumps(TRAINED)},\n"cases": [\n{lines}\n]}}\n'
        (args.out / f"{name}.json").write_text(text)
        counts = {o: sum(c["outcome"] == o for c in cases) for o in ("ok", "refused", "crash", "nan")}
        print(f"{name}: {len(text)} bytes, {counts}")


if __name__ == "__main__":
    main()
