#!/usr/bin/env python3
"""Kills a server that keeps its jobs in a folder (--state) at random moments, and says what became of the jobs.

  tools/api/kills_alone.py build/release/omnirt [--kills 200] [--seed 1]

The server is ended by SIGKILL while clients submit jobs, ask for them and fetch images, and started again on the same folder.
It ends with 1 where a job that was accepted (202) is lost or never ends, where an image has other bits than a calm run makes
of the same request, or other bits the second time that it is fetched. A job during which the server was killed three times is
dead, as documented; the last of the kills leaves the rest to be done.
"""

import argparse
import collections
import hashlib
import json
import pathlib
import random
import sys
import tempfile
import threading
import time

from kills import Process, ask, free_port, request_of

KINDS = [(seed, steps) for seed in (3, 4, 5) for steps in (2, 6, 20)]


class Server(Process):
    def __init__(self, omnirt, folder, port):
        folder = pathlib.Path(folder)
        super().__init__([omnirt, "serve", "--port", str(port), "--queue", "1000", "--keep-jobs", "100000", "--state",
                          str(folder / "state"), "-m", "emoji"], folder / "server")

    def wait_until_up(self):
        while self.wait_for(r"(listening on)") is None:
            self.start()


class Clients(threading.Thread):
    """Submits jobs while few are in line, and fetches each image once it is there."""

    def __init__(self, server, seed, calm):
        super().__init__(daemon=True)
        self.server, self.draw, self.calm = server, random.Random(seed), calm
        self.accepted, self.open, self.images, self.bad = {}, set(), {}, []
        self.answers, self.states, self.over = collections.Counter(), collections.Counter(), threading.Event()

    def submit(self):
        kind = self.draw.choice(KINDS)
        status, body = ask(self.server, "POST", "/v1/generate", {**request_of(kind), "async": True})
        self.answers[status] += 1
        if status == 202:
            job = json.loads(body)["id"]
            self.accepted[job] = kind
            self.open.add(job)

    def look(self, job):
        status, body = ask(self.server, "GET", f"/v1/jobs/{job}")
        if status == 0:
            return
        state = json.loads(body) if status == 200 else {"state": f"lost ({status})"}
        if state["state"] in ("queued", "running"):
            return
        if state["state"] == "done":
            status, body = ask(self.server, "GET", f"/v1/jobs/{job}/artifacts/0")
            if status == 0:
                return
            self.images[job] = hashlib.sha256(body).hexdigest() if status == 200 else f"status {status}"
            if self.images[job] != self.calm[self.accepted[job]]:
                self.bad.append(f"job {job} has other bits than a calm run's ({self.images[job]})")
        elif state["state"] != "dead" or state["crashes"] != 3:
            self.bad.append(f"job {job} {state}")
        self.states[state["state"]] += 1
        self.open.discard(job)

    def run(self):
        while not self.over.is_set() or self.open:
            if not self.over.is_set() and len(self.open) < 6:
                self.submit()
            for job in list(self.open):
                self.look(job)
            time.sleep(0.01)

    def fetch_again(self):
        for job, digest in self.images.items():
            status, body = ask(self.server, "GET", f"/v1/jobs/{job}/artifacts/0")
            if status != 200 or hashlib.sha256(body).hexdigest() != digest:
                self.bad.append(f"job {job} has other bits the second time ({status})")


def calm_images(server):
    calm = {}
    for kind in KINDS:
        status, body = ask(server, "POST", "/v1/generate", request_of(kind))
        url = json.loads(body)["artifacts"][0]["url"]
        calm[kind] = hashlib.sha256(ask(server, "GET", url)[1]).hexdigest()
    return calm


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("omnirt")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw, began = random.Random(options.seed), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(options.omnirt, folder, free_port())
        try:
            server.wait_until_up()
            clients = Clients(server, options.seed, calm_images(server))
            clients.start()
            for _ in range(options.kills):
                time.sleep(draw.uniform(0, 1.2))
                server.kill()
                server.start()
                # Now and then before it is up, too.
                if draw.random() < 0.9:
                    server.wait_until_up()
            server.wait_until_up()
            clients.over.set()
            clients.join(300)
            if clients.open:
                clients.bad.append(f"{len(clients.open)} jobs never ended")
            server.kill()
            server.start()
            server.wait_until_up()
            clients.fetch_again()
        finally:
            server.process.kill()
            server.process.wait()
    print(f"{options.kills} kills in {time.monotonic() - began:.0f} s: {len(clients.accepted)} jobs accepted, "
          f"{dict(clients.states)}, {len(clients.images)} images fetched twice, answers {dict(clients.answers)}")
    print("\n".join(clients.bad))
    sys.exit(1 if clients.bad else 0)


if __name__ == "__main__":
    main()
