"""Schemathesis' hook: requests that run are made short, and stay as good or as bad as they are."""

import schemathesis

SMALL = {"num_inference_steps": 3, "steps": 3, "num_images_per_prompt": 2, "n": 2, "hr_second_pass_steps": 3, "hires_steps": 3}


def shorten(value):
    if isinstance(value, dict):
        return {name: min(each, SMALL[name]) if name in SMALL and type(each) is int else shorten(each)
                for name, each in value.items()}
    return [shorten(each) for each in value] if isinstance(value, list) else value


@schemathesis.hook
def map_body(context, body):
    return shorten(body)
