#!/usr/bin/env python3
"""Drives the server's page in headless Chromium as a user would, by mouse and by keyboard, and has axe-core look at each state.

  scripts/setup page && build/page-venv/bin/python tools/page/check.py build/release/omnirt [--screenshots FOLDER]

Starts `omnirt serve` with the embedded models, and a tiny one that takes the adapters of tests/goldens, on a free port. Exit status 1 where a step fails, the page logs an error or axe
finds a violation. Needs Debian's chromium.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[2]
AXE = pathlib.Path(sys.prefix) / "axe.min.js"
SHEET = [("a red apple", 1), ("a tiger face on a blue background", 2), ("a rocket on a yellow background", 3),
         ("a taxi", 4), ("an owl on a purple background", 5), ("a pizza", 6)]


class Page:
    """The page in a browser, and what was wrong with it."""

    def __init__(self, browser, url, folder):
        # axe is evaluated from outside, which the page's own policy forbids.
        self.page = browser.new_context(bypass_csp=True, viewport={"width": 1280, "height": 960}).new_page()
        self.folder, self.wrong = folder, []
        self.page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        self.page.goto(url)
        self.page.wait_for_selector("#input-prompt")

    def look(self, name):
        self.page.evaluate(AXE.read_text())
        for violation in self.page.evaluate("axe.run()")["violations"]:
            nodes = [node["html"][:120] for node in violation["nodes"]]
            self.wrong.append(f"axe, {name}: {violation['id']}: {nodes}")
        if self.folder:
            self.page.screenshot(path=self.folder / f"{name}.png")

    def wait_for_status(self, pattern):
        for _ in range(400):
            if re.search(pattern, self.page.inner_text("#status")):
                return
            self.page.wait_for_timeout(100)
        raise RuntimeError(f"no {pattern!r}: {self.page.inner_text('#status')!r}, {self.page.inner_text('#findings')!r}")

    def generate(self, prompt, seed):
        self.page.fill("#input-prompt", prompt)
        self.page.fill("#key-seed", str(seed))
        self.page.click("#generate")
        self.page.wait_for_function("!document.getElementById('generate').disabled")
        self.wait_for_status("^Done")

    def want(self, what, condition):
        if not condition:
            self.wrong.append(what)

    def draw_mask(self):
        box = self.page.query_selector("canvas").bounding_box()
        at = [(box["x"] + box["width"] * x, box["y"] + box["height"] * y) for x, y in ((0.3, 0.5), (0.7, 0.5), (0.7, 0.7))]
        self.page.mouse.move(*at[0])
        self.page.mouse.down()
        for place in at[1:]:
            self.page.mouse.move(*place, steps=5)
        self.page.mouse.up()
        self.page.focus("canvas")
        for key in ("ArrowLeft", "ArrowUp", " "):
            self.page.keyboard.press(key)


def run(page, image):
    page.look("start")
    for prompt, seed in SHEET:
        page.generate(prompt, seed)
    page.page.evaluate("scrollTo(0, 0)")
    page.look("gallery")
    page.page.select_option("#task", "inpaint")
    page.page.set_input_files("#input-image", image)
    page.page.wait_for_timeout(300)
    page.draw_mask()
    page.generate("a green apple", 7)
    page.look("inpaint")
    page.page.wait_for_function(f"document.querySelectorAll('#gallery li').length === {len(SHEET) + 1}")
    page.page.click("#gallery li:nth-child(3) button")
    page.page.wait_for_selector("#viewer[open]")
    page.look("viewer")
    page.page.click("#again")
    page.page.wait_for_function("!document.getElementById('viewer').open && "
                                "document.getElementById('task').value === 'text2image'")
    page.page.wait_for_timeout(300)
    page.want("again: the prompt", page.page.input_value("#input-prompt") == SHEET[-2][0])
    page.want("again: the seed", page.page.input_value("#key-seed") == str(SHEET[-2][1]))
    page.page.fill("#key-width", "131")
    page.page.click("#generate")
    page.page.wait_for_selector("#findings p")
    page.want("the finding names the width", "width" in page.page.inner_text("#findings"))
    page.look("finding")
    page.page.fill("#key-width", "")
    page.page.click("#theme")
    page.look("dark")
    page.page.click("#theme")
    adapters(page, image)
    page.page.fill("#key-num_inference_steps", "900")
    page.page.focus("#input-prompt")
    page.page.keyboard.press("Control+Enter")
    page.wait_for_status("^Step")
    page.page.click("#cancel")
    page.page.wait_for_function("!document.getElementById('generate').disabled")
    page.want("cancelled", "cancelled" in page.page.inner_text("#status"))


def upload(page, file, config=None, name=None):
    page.page.set_input_files("#upload-file", file)
    if config:
        page.page.set_input_files("#upload-config", config)
    if name:
        page.page.fill("#upload-name", name)
    page.page.click("#upload-send")
    page.page.wait_for_function("!document.getElementById('upload-send').disabled")


def adapters(page, image):
    """A LoRA and a ControlNet are uploaded, used together, and deleted."""
    goldens = ROOT / "build/goldens"
    page.page.select_option("#model", "tiny")
    page.page.wait_for_function("document.getElementById('summary').textContent.includes('512x512')")
    page.page.select_option("#task", "text2image")
    upload(page, goldens / "adapters/files/kohya.safetensors")
    page.want("the LoRA is listed", page.page.locator("#adapter-list li").count() == 1)
    upload(page, goldens / "adapters/files/loha.safetensors", name="second")
    net = goldens / "control/parts/controlnet_a"
    upload(page, net / "diffusion_pytorch_model.safetensors", net / "config.json", "edges")
    page.want("three are uploaded", page.page.locator("#uploaded li").count() == 3)
    upload(page, goldens / "adapters/files/sdxl_kohya.safetensors", name="other")
    page.want("one for another model is refused", "tiny" in page.page.inner_text("#upload-status"))
    for name in ("kohya", "second"):
        page.page.check(f"#adapter-{name}")
    page.page.focus("#adapter-list li:first-child input[type=range]")
    for _ in range(6):
        page.page.keyboard.press("ArrowLeft")
    page.want("the slider moves", page.page.inner_text("#adapter-list li:first-child output") == "0.70")
    page.page.select_option("#controlnet", "edges")
    page.page.set_input_files("#control-image", image)
    page.page.fill("#key-num_inference_steps", "2")
    page.generate("a red apple", 8)
    page.look("adapters")
    page.page.click("#gallery li:first-child button")
    page.page.wait_for_selector("#viewer[open]")
    page.page.click("#again")
    page.page.wait_for_function("document.getElementById('controlnet').value === 'edges' && !document.getElementById('viewer').open")
    page.page.wait_for_timeout(300)
    page.want("again: the adapters", page.page.is_checked("#adapter-kohya") and page.page.is_checked("#adapter-second"))
    page.want("again: the ControlNet", page.page.input_value("#controlnet") == "edges")
    page.page.click("[aria-label='Delete kohya']")
    page.page.wait_for_function("document.querySelectorAll('#uploaded li').length === 2")
    page.want("it is no longer listed", page.page.locator("#adapter-kohya").count() == 0)
    page.page.select_option("#model", "emoji")
    page.page.wait_for_function("document.querySelectorAll('#adapter-list li').length === 0")
    page.page.select_option("#task", "text2image")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("omnirt")
    parser.add_argument("--screenshots", type=pathlib.Path)
    args = parser.parse_args()
    models = ["--model", "emoji", "--model", "emoji-sd", "--model", f"tiny={ROOT}/build/goldens/pipelines/sd15/model"]
    server = subprocess.Popen([args.omnirt, "serve", "--port", "0", *models], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
    try:
        url = next(found[0] for line in server.stdout if (found := re.search(r"http://\S+", line)))
        with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
            image = pathlib.Path(folder) / "apple.png"
            subprocess.run([args.omnirt, "generate", "--prompt", "a red apple", "-o", image], check=True, capture_output=True)
            drain = subprocess.Popen(["cat"], stdin=server.stdout, stdout=subprocess.DEVNULL)
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
            page = Page(browser, url, args.screenshots)
            run(page, image)
            browser.close()
            drain.terminate()
    finally:
        server.terminate()
        server.wait()
    print("\n".join(page.wrong) or
          f"page: {len(SHEET) + 2} images, uploads, again, a finding, both themes, cancel; axe finds nothing")
    return 1 if page.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
