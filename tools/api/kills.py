#!/usr/bin/env python3
"""Kills servers, workers and their Redis at random while jobs run, and says what became of the jobs.

  tools/api/kills.py build/release/omnirt [--kills 200] [--seed 1] [--servers 2] [--workers 2] [--strict]

Redis (a redis-server on a free port, with an append-only file that is on the disk before each answer), servers and workers are
processes of this machine; one of them at a time is ended by SIGKILL and started again. It ends with 1 where a job that was
accepted (202) is lost or never ends, where an image has other bits than a calm run makes of the same request, or other bits
the second time that it is fetched. --strict: also where a job was run by nobody for longer than 5 s, which a machine that is
busy with other things cannot promise. A job during which its worker was killed three times is dead, as documented.
"""

import argparse
import collections
import hashlib
import http.client
import json
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

LEASE_SECONDS = 3


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Process:
    """A process that is started again after it was killed."""

    def __init__(self, command, log):
        self.command, self.log, self.starts = command, log, 0
        self.killed = None
        self.start()

    def start(self):
        self.starts += 1
        self.path = pathlib.Path(f"{self.log}-{self.starts}.log")
        self.process = subprocess.Popen(self.command, stderr=self.path.open("w"), stdout=subprocess.DEVNULL)

    def text(self):
        return self.path.read_text()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.killed = time.monotonic()

    def wait_for(self, pattern, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := re.search(pattern, self.text()):
                return found.group(1)
            if self.process.poll() is not None:
                return None
            time.sleep(0.05)
        return None


class Cluster:
    def __init__(self, omnirt, folder, servers, workers):
        self.folder, self.port = pathlib.Path(folder), free_port()
        self.redis = Process(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(folder),
                              "--appendonly", "yes", "--appendfsync", "always", "--save", ""], self.folder / "redis")
        self.wait_for_redis()
        shared = ["--redis", f"redis://127.0.0.1:{self.port}", "--lease-seconds", str(LEASE_SECONDS), "-m", "emoji"]
        self.servers = [Process([omnirt, "serve", "--port", str(free_port()), "--queue", "1000", *shared], self.folder / f"server{i}")
                        for i in range(servers)]
        self.workers = [Process([omnirt, "worker", "--threads", "1", *shared], self.folder / f"worker{i}") for i in range(workers)]
        for each in self.servers + self.workers:
            self.wait_until_up(each)
        self.redis_back = time.monotonic()

    def wait_for_redis(self):
        while self.ask_redis("PING") not in (b"PONG",):
            time.sleep(0.02)

    def wait_until_up(self, process):
        """A server or a worker; one that found no Redis ended, and is started again, as its supervisor would."""
        pattern = r"(listening on|worker \S+ takes)"
        while process.wait_for(pattern) is None:
            process.process.kill()
            process.process.wait()
            process.start()

    def ask_redis(self, *words):
        """One command; None where Redis does not answer."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                encoded = [word.encode() if isinstance(word, str) else word for word in words]
                connection.sendall(b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(e), e) for e in encoded))
                return read_reply(connection.makefile("rb"))
        except (OSError, EOFError, ValueError):
            return None

    def stop(self):
        for each in [*self.servers, *self.workers, self.redis]:
            each.process.kill()
            each.process.wait()


def read_reply(stream):
    line = stream.readline()
    if not line.endswith(b"\r\n"):
        raise EOFError
    kind, rest = line[:1], line[1:-2]
    if kind in b"+-":
        return rest
    if kind == b":":
        return int(rest)
    if kind == b"$":
        return None if int(rest) < 0 else stream.read(int(rest) + 2)[:-2]
    return [read_reply(stream) for _ in range(int(rest))]


def ask(server, method, path, body=None):
    """(status, bytes); (0, b"") of a server that does not answer."""
    port = int(server.command[server.command.index("--port") + 1])
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return 0, b""


def request_of(kind):
    seed, steps = kind
    return {"model": "emoji", "inputs": {"prompt": "a red apple"}, "config": {"seed": seed, "num_inference_steps": steps}}


def fetch(cluster, path, seconds=120):
    """From any server that answers."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for server in cluster.servers:
            status, body = ask(server, "GET", path)
            if status in (200, 404):
                return status, body
        time.sleep(0.1)
    return 0, b""


def wait_for_end(cluster, job, seconds=300):
    end = time.monotonic() + seconds
    state = {}
    while time.monotonic() < end:
        status, body = fetch(cluster, f"/v1/jobs/{job}")
        if status == 404:
            return {"state": "lost"}
        state = json.loads(body) if status == 200 else {}
        if state.get("state") not in (None, "queued", "running"):
            return state
        time.sleep(0.05)
    return {**state, "state": f"never ended ({state.get('state')})"}


class Owners(threading.Thread):
    """Looks at who runs what, and for how long a job was at a worker that was killed."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.longest, self.over = cluster, 0.0, threading.Event()
        self.dead = {}  # {worker's id: when it was killed}

    def killed(self, process):
        if found := re.search(r"worker (\S+) takes", process.text()):
            self.dead[found.group(1).encode()] = time.monotonic()

    def run(self):
        while not self.over.wait(0.1):
            jobs = self.cluster.ask_redis("SMEMBERS", "omnirt:line")
            for job in jobs if isinstance(jobs, list) else []:  # no list while Redis reads its files
                seen = time.monotonic()
                found = self.cluster.ask_redis("HMGET", b"omnirt:j:" + job, "st", "w")
                if not isinstance(found, list) or found[0] != b"running" or found[1] not in self.dead:
                    continue
                self.longest = max(self.longest, seen - max(self.dead[found[1]], self.cluster.redis_back))


def kill_one(cluster, owners, draw, counts):
    kind = draw.choice(["server", "worker", "redis"])
    process = {"server": draw.choice(cluster.servers), "worker": draw.choice(cluster.workers), "redis": cluster.redis}[kind]
    time.sleep(draw.uniform(0, 0.6))
    process.kill()
    counts[kind] += 1
    if kind == "worker":
        owners.killed(process)
    time.sleep(draw.uniform(0, 0.5))
    process.start()
    if kind == "redis":
        cluster.wait_for_redis()
        cluster.redis_back = time.monotonic()
        for each in cluster.servers + cluster.workers:
            if each.process.poll() is not None:
                each.start()
    else:
        cluster.wait_until_up(process)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("omnirt")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--servers", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    if not shutil.which("redis-server"):
        sys.exit("redis-server is not installed (scripts/setup does it)")
    draw, counts, began = random.Random(options.seed), collections.Counter(), time.monotonic()
    bad, states, accepted = [], collections.Counter(), {}
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(options.omnirt, folder, options.servers, options.workers)
        try:
            kinds = [(seed, steps) for seed in (3, 4) for steps in (2, 12)]
            calm = {}
            for kind in kinds:
                status, body = ask(cluster.servers[0], "POST", "/v1/generate", {**request_of(kind), "async": True})
                job = json.loads(body)["id"]
                wait_for_end(cluster, job)
                calm[kind] = hashlib.sha256(fetch(cluster, f"/v1/jobs/{job}/artifacts/0")[1]).hexdigest()
            owners = Owners(cluster)
            owners.start()
            for _ in range(options.kills):
                for _ in range(draw.randint(1, 3)):
                    kind = draw.choice(kinds)
                    status, body = ask(draw.choice(cluster.servers), "POST", "/v1/generate", {**request_of(kind), "async": True})
                    counts[f"answers {status}"] += 1
                    if status == 202:
                        accepted[json.loads(body)["id"]] = kind
                kill_one(cluster, owners, draw, counts)
            for job, kind in accepted.items():
                state = wait_for_end(cluster, job)
                states[state["state"]] += 1
                if state["state"] == "dead" and state["crashes"] == 3:
                    continue
                if state["state"] != "done":
                    bad.append(f"job {job} {state}")
                    continue
                for server in cluster.servers:
                    digest = hashlib.sha256(fetch(cluster, f"/v1/jobs/{job}/artifacts/0")[1]).hexdigest()
                    if digest != calm[kind]:
                        bad.append(f"job {job} has other bits than a calm run's")
            owners.over.set()
            dead_letters = cluster.ask_redis("XLEN", "omnirt:dead")
        finally:
            cluster.stop()
    if options.strict and owners.longest > 5:
        bad.append(f"a job was run by nobody for {owners.longest:.1f} s")
    print(f"{options.kills} kills ({counts['server']} of servers, {counts['worker']} of workers, {counts['redis']} of Redis) in "
          f"{time.monotonic() - began:.0f} s: {len(accepted)} jobs accepted, {dict(states)}, dead letters {dead_letters}; at most "
          f"{owners.longest:.1f} s at a worker that was gone; {({k: v for k, v in counts.items() if k.startswith('answers')})}")
    print("\n".join(bad))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
