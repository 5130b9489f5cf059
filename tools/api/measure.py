#!/usr/bin/env python3
"""Measures a server on this machine, with the embedded model: what docs/performance.md says of it.

  tools/api/measure.py build/release/omnirt load|overload|cancel|share|cost [--seconds N] [--requests N] [--seed N]

load      load 0.9 of 50/40/10 % requests of 4/20/50 steps, by --order shortest and by arrival
overload  4 times what the server can do: statuses, memory, /healthz
share     four requests at once, of --sizes, with and without shared steps, by turns: images per second, and the same bits
cost      what a server takes beside its runs, per request
cancel    requests of which half are cancelled; the others' images have the bits that they have alone
"""

import argparse
import concurrent.futures
import hashlib
import http.client
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

MIX = "50:4,40:20,10:50"


class Server:
    """`omnirt serve` on a free port of this machine."""

    def __init__(self, omnirt, *flags):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([omnirt, "serve", "--port", "0", "-m", "emoji", "--drain-seconds", "0", *flags],
                                        stderr=self.log)
        self.port = None
        while self.port is None and self.process.poll() is None:
            time.sleep(0.1)
            self.log.seek(0)
            found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", self.log.read())
            self.port = found and int(found.group(1))
        if self.port is None:
            sys.exit("the server did not start")

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.process.terminate()
        self.process.wait(60)

    def rss_mb(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def ask(self, method, path, body=None, accept="application/json"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None,
                               {"Content-Type": "application/json", "Accept": accept})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


def bench(omnirt, server, *flags):
    command = [omnirt, "bench", "--serve", f"http://127.0.0.1:{server.port}", "-p", "a red apple", "--seed", "3", "--mix", MIX,
               "--json", *flags]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def show(name, result):
    print(f"{name}: load {result['load']:.2f}, {result['requests']} requests over {result['seconds']:.0f} s, "
          f"attainment {result['attainment']:.3f}, {result['per_second']:.2f} per second, statuses {result['statuses']}, "
          f"/healthz p50 {result['healthz']['p50_ms']:.1f} p99 {result['healthz']['p99_ms']:.1f} ms")
    for kind in result["kinds"]:
        print(f"  {kind['name']}: alone {kind['own_ms']:.0f} ms, {kind['requests']} requests, in SLO "
              f"{kind['attainment']:.3f}, p50 {kind['p50_ms']:.0f}, p99 {kind['p99_ms']:.0f} ms")


def load_once(arguments, order, rate, seed):
    with Server(arguments.omnirt, "--order", order, "--share-steps", arguments.share_steps, "--queue", "1000",
                "--connections", "2000") as server:
        flags = ["--rate", str(rate)] if rate else ["--load", "0.9"]
        result = bench(arguments.omnirt, server, *flags, "--seconds", str(arguments.seconds), "--total", "100000",
                       "--arrival-seed", str(seed))
        show(order, result)
        return result


# The same arrivals for both orders, at the rate that was measured first, so that they differ by the order alone; by
# turns, which begin with the other order each time.
def load(arguments):
    rate, attained, ratios = None, {"shortest": [], "arrival": []}, {}
    for turn in range(arguments.turns):
        p99 = {}
        for order in ("shortest", "arrival") if turn % 2 == 0 else ("arrival", "shortest"):
            result = load_once(arguments, order, rate, arguments.seed + turn)
            rate = rate or result["rate"]
            attained[order].append(result["attainment"])
            p99[order] = {kind["name"]: kind["p99_ms"] for kind in result["kinds"]}
        for name, ms in p99["shortest"].items():
            ratios.setdefault(name, []).append(ms / p99["arrival"][name])
    print("attainment, median:", ", ".join(f"{order} {statistics.median(each):.3f}" for order, each in attained.items()))
    print("p99 of shortest over that of arrival, median (all):", "; ".join(
        f"{name} {statistics.median(each):.2f} ({', '.join(f'{one:.2f}' for one in each)})" for name, each in ratios.items()))


def overload(arguments):
    with Server(arguments.omnirt, "--share-steps", arguments.share_steps, "--connections", "1000") as server:
        sizes, over = [], threading.Event()

        def watch():
            while not over.wait(2):
                sizes.append(server.rss_mb())

        thread = threading.Thread(target=watch)
        thread.start()
        result = bench(arguments.omnirt, server, "--load", "4", "--seconds", str(arguments.seconds), "--total", "100000",
                       "--arrival-seed", str(arguments.seed))
        over.set()
        thread.join()
        show("overload", result)
        quarters = [sizes[len(sizes) * i // 4:len(sizes) * (i + 1) // 4] for i in range(4)]
        print("  RSS, MB, most in each quarter:", ", ".join(f"{max(each):.0f}" for each in quarters if each))


def cancel(arguments):
    draw = random.Random(arguments.seed)
    with Server(arguments.omnirt, "--queue", "2000", "--connections", "1000") as server:

        def request(seed):
            return {"inputs": {"prompt": "a red apple"}, "config": {"seed": seed, "num_inference_steps": 1 + seed % 8}}

        alone = {seed: hashlib.sha256(server.ask("POST", "/v1/generate", request(seed), "image/png")[1]).hexdigest()
                 for seed in range(16)}
        plan = [(i % 16, i % 2 == 0, draw.random()) for i in range(arguments.requests)]

        def one(seed, leaves, wait):
            if not leaves:
                status, body = server.ask("POST", "/v1/generate", request(seed), "image/png")
                return "same" if status == 200 and hashlib.sha256(body).hexdigest() == alone[seed] else f"other: {status}"
            status, body = server.ask("POST", "/v1/generate", {**request(seed), "async": True})
            job = json.loads(body)
            time.sleep(wait)
            status, _ = server.ask("DELETE", f"/v1/jobs/{job['id']}")
            return f"cancelled: {json.loads(server.ask('GET', '/v1/jobs/' + job['id'])[1])['state']}"

        with concurrent.futures.ThreadPoolExecutor(64) as pool:
            outcomes = list(pool.map(lambda each: one(*each), plan))
        print({outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes))}, f"RSS {server.rss_mb():.0f} MB")
    return any(outcome.startswith("other") for outcome in outcomes)


def image_request(seed, steps, size=128):
    return {"inputs": {"prompt": "a red apple"},
            "config": {"seed": seed, "num_inference_steps": steps, "width": size, "height": size}}


def four_at_once(server, size):
    """(seconds, processor seconds, images, runs of each step) of four requests."""
    began, cpu = time.monotonic(), server.cpu_seconds()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda seed: server.ask("POST", "/v1/generate", image_request(seed, 20, size)), range(4)))
    seconds, cpu = time.monotonic() - began, server.cpu_seconds() - cpu
    results = [json.loads(body) for _, body in answers]
    return seconds, cpu, [each["artifacts"][0]["data"] for each in results], results[0]["report"]["denoise_steps_runs"]


# By turns, after rounds in which the server of `auto` measures its table. Processor time says more where others use the
# machine; of one thread, since threads of a team wait for each other by spinning.
def share(arguments):
    modes, differ = ("off", "on", "auto"), False
    threads = ["--threads", str(arguments.threads)] if arguments.threads else []
    servers = {mode: Server(arguments.omnirt, "--share-steps", mode, *threads) for mode in modes}
    try:
        for size in arguments.sizes:
            wall, cpu = {mode: [] for mode in modes}, {mode: [] for mode in modes}
            images, runs = {}, {}
            for round in range(-3, arguments.rounds):
                for mode in modes:
                    seconds, processor, images[mode], runs[mode] = four_at_once(servers[mode], size)
                    if round >= 0:
                        wall[mode].append(seconds)
                        cpu[mode].append(processor)
            wall, cpu = ({mode: statistics.median(each[mode]) for mode in modes} for each in (wall, cpu))
            same = images["off"] == images["on"] == images["auto"]
            differ = differ or not same
            print(f"{size}x{size}: " + ", ".join(
                f"{mode} {wall[mode] / 4 * 1000:.0f} ms per image ({wall['off'] / wall[mode]:.2f}x), "
                f"{cpu[mode] / 4 * 1000:.0f} of the processor ({cpu['off'] / cpu[mode]:.2f}x)" for mode in modes)
                + f"; the same bits: {same}; runs of a step: on {max(runs['on'])}, auto {max(runs['auto'])}", flush=True)
    finally:
        for server in servers.values():
            server.__exit__()
    return differ


def cost(arguments):
    with Server(arguments.omnirt) as server:
        for steps in (4, 20, 50):
            own, made = [], []
            for seed in range(25):
                began = time.monotonic()
                _, body = server.ask("POST", "/v1/generate", image_request(seed, steps))
                ms = (time.monotonic() - began) * 1000
                generation = json.loads(body)["report"]["total_ms"]
                if seed >= 5:
                    own.append(ms - generation)
                    made.append(generation)
            print(f"{steps} steps: the run {statistics.median(made):.1f} ms, all else until the client has the answer "
                  f"{statistics.median(own):.2f} ms, {100 * statistics.median(own) / statistics.median(made):.1f} %", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("omnirt")
    parser.add_argument("what", choices=["load", "overload", "cancel", "share", "cost"])
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 256])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--turns", type=int, default=3, help="of load, each with both orders")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--share-steps", choices=["auto", "on", "off"], default="auto", help="of load and overload")
    arguments = parser.parse_args()
    what = {"load": load, "overload": overload, "cancel": cancel, "share": share, "cost": cost}[arguments.what]
    return what(arguments)


if __name__ == "__main__":
    sys.exit(main())
