#!/usr/bin/env python3
"""Goldens of runs over levels from outside: diffusers' trajectories where set_timesteps is given timesteps or
sigmas, for each scheduler that takes them.

Writes <out>/<scheduler>.json as schedulers.py does, each case with the lists in addition ("given": {"timesteps": [...],
"sigmas": [...]}); what the reference refuses is recorded, too.
"""

import argparse
import json
import pathlib
import warnings

import diffusers
import numpy as np
import torch

import schedulers

# Steps that were aligned for Stable Diffusion 1.x (arXiv 2404.14507), as diffusers has them.
TIMESTEPS = [999, 850, 736, 645, 545, 455, 343, 233, 124, 24]
SIGMAS = [14.615, 6.475, 3.861, 2.697, 1.886, 1.396, 0.963, 0.652, 0.399, 0.152, 0.0]
FEW = [999, 499, 1]
LEVELS = [0.98, 0.9, 0.71, 0.5, 0.2, 0.03]
FLOW_TIMESTEPS = [1000.0, 812.5, 600.0, 333.3, 50.0]
SD = {"beta_schedule": "scaled_linear", "beta_start": 0.00085, "beta_end": 0.012}
V = {"prediction_type": "v_prediction"}
SPREADS = [{"use_karras_sigmas": True}, {"use_exponential_sigmas": True}, {"use_beta_sigmas": True}]


def timesteps(*more):
    lists = [{"timesteps": TIMESTEPS}, {"timesteps": FEW}, {"timesteps": [700]}]
    return [(SD | config, given) for config in ({}, V, *more) for given in lists]


def flow():
    lists = [{"sigmas": LEVELS}, {"timesteps": FLOW_TIMESTEPS}]
    lists += [{"sigmas": LEVELS[:5], "timesteps": FLOW_TIMESTEPS}]
    configs = [{}, {"shift": 3.0}, {"shift_terminal": 0.02}, {"use_karras_sigmas": True}, {"invert_sigmas": True}]
    configs += [{"use_dynamic_shifting": True, "@mu": 0.8}]
    configs += [{"use_dynamic_shifting": True, "time_shift_type": "linear", "@mu": 1.7}]
    return [(config, given) for config in configs for given in lists]


def cases():
    euler = timesteps({"timestep_spacing": "trailing"}, {"final_sigmas_type": "sigma_min"}, *SPREADS)
    for config in ({}, V, {"use_karras_sigmas": True}, V | {"timestep_type": "continuous"}):
        euler += [(SD | config, {"sigmas": SIGMAS}), (SD | config, {"sigmas": SIGMAS[:6]})]
    unipc = [{}, {"flow_shift": 3.0}, {"use_dynamic_shifting": True, "@mu": 0.8}, {"shift_terminal": 0.02}]
    unipc += [{"final_sigmas_type": "sigma_min"}]
    unipc = [SD | {"use_flow_sigmas": True, "prediction_type": "flow_prediction"} | config for config in unipc] + [SD]
    solver = [{"solver_order": 3}, {"algorithm_type": "sde-dpmsolver++"}, {"final_sigmas_type": "sigma_min"}]
    return {
        "EulerDiscreteScheduler": euler,
        "HeunDiscreteScheduler": timesteps(*SPREADS),
        "DDPMScheduler": timesteps({"clip_sample": False}),
        "LCMScheduler": timesteps({"original_inference_steps": 25}),
        "TCDScheduler": timesteps({"original_inference_steps": 25}, {"@eta": 0.3}),
        "DPMSolverMultistepScheduler": timesteps(*solver, *SPREADS),
        "DPMSolverSinglestepScheduler": timesteps(*solver, {"solver_order": 3, "lower_order_final": True}, *SPREADS),
        "UniPCMultistepScheduler": [(config, {"sigmas": LEVELS}) for config in unipc],
        "FlowMatchEulerDiscreteScheduler": flow(),
        "FlowMatchLCMScheduler": flow(),
    }


def made(cls, config, given, strength):
    config = dict(config)
    options = {key.lstrip("@"): config.pop(key) for key in list(config) if key.startswith("@")}
    some = given.get("timesteps") or given["sigmas"]
    steps = len(some) - (cls.__name__ == "EulerDiscreteScheduler" and "sigmas" in given)
    # UniPC multiplies what it is given, and a list would be repeated.
    arrays = {key: np.array(value) for key, value in given.items()} if "UniPC" in cls.__name__ else given
    return schedulers.case_of(cls, config, steps, strength=strength, given=arrays, **options) | {"given": given}


def main():
    here = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=here / "tests/goldens/schedulers_given")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    diffusers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    for name, given in cases().items():
        cls = getattr(diffusers, name)
        found = [made(cls, config, lists, strength) for config, lists in given for strength in (1.0, 0.6)]
        lines = ",\n".join(json.dumps(case) for case in found)
        text = f'{{"trained_betas": [],\n"cases": [\n{lines}\n]}}\n'
        (args.out / f"{name}.json").write_text(text)
        counts = {o: sum(c["outcome"] == o for c in found) for o in ("ok", "refused", "crash", "nan")}
        print(f"{name}: {len(text)} bytes, {counts}")


if __name__ == "__main__":
    main()
