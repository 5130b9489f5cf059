#!/usr/bin/env python3
"""Holds the files in deploy/ against their schemas, and runs what deploy/compose.yaml says by hand.

  scripts/setup deploy && build/deploy-venv/bin/python tools/deploy/check.py build/release/omnirt

The compose file is checked by the schema of the compose specification, the Kubernetes manifests by Kubernetes' own
(kubernetes-validate), the packages of the Containerfile by what the program loads. Then each service's command is run as a
process of this machine (no containers): names of services become 127.0.0.1, ports are free ones, files of secrets are made
here; an image is asked for through the server, once of workers of whole runs and once of those of the profile `stages`, and
both must have the same bits. Ends with 1 where something does not hold.
"""

import base64
import hashlib
import json
import pathlib
import re
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


def check_schemas():
    tools = pathlib.Path(sys.executable).parent
    subprocess.run([tools / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml"], check=True)
    for manifest in sorted((DEPLOY / "k8s").glob("*.yaml")):
        subprocess.run([tools / "kubernetes-validate", "--strict", manifest], check=True)


def check_packages(omnirt):
    """What the program is linked with is installed in the image, by the names that this Debian has for it."""
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", subprocess.run(["readelf", "-d", omnirt], capture_output=True, text=True,
                                                                check=True).stdout)
    found = dict(re.findall(r"(\S+) => (/\S+)", subprocess.run(["ldd", omnirt], capture_output=True, text=True, check=True).stdout))
    named = (DEPLOY / "Containerfile").read_text()
    for library in needed:
        path = pathlib.Path(found.get(library, library)).resolve()
        package = subprocess.run(["dpkg", "-S", path], capture_output=True, text=True).stdout.split(":")[0]
        if package and package not in ("libc6", "libgcc-s1") and f" {package} " not in named.replace("\n", " "):
            sys.exit(f"deploy/Containerfile installs no {package}, which {omnirt} is linked with ({library})")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ByHand:
    """The compose file's services as processes."""

    def __init__(self, omnirt, folder):
        self.omnirt, self.folder, self.processes = omnirt, pathlib.Path(folder), []
        self.services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
        self.key, self.redis_port, self.port = secrets.token_hex(24), free_port(), free_port()
        (self.folder / "redis-password").write_text(secrets.token_hex(24) + "\n")
        digest = hashlib.sha256(self.key.encode()).hexdigest()
        (self.folder / "api-keys").write_text(json.dumps({"keys": [{"name": "check", "sha256": digest}]}))

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.stop(*self.processes)

    def stop(self, *processes):
        for each in processes:
            each.terminate()
        for each in processes:
            each.wait(60)
            self.processes.remove(each)

    def run(self, service):
        words = [str(word).replace("$$", "$") for word in self.services[service]["command"]]
        words = [word.replace("/run/secrets", str(self.folder)).replace("redis://redis:6379", f"redis://127.0.0.1:{self.redis_port}")
                 for word in words]
        if service == "redis":
            here = f"--port {self.redis_port} --bind 127.0.0.1 --dir {shlex.quote(str(self.folder))}"
            words[2] = words[2].replace("redis-server - ", f"redis-server - {here} ")
        else:
            words = [self.omnirt, *words]
            for at, word in enumerate(words):
                if word == "--host":
                    words[at + 1] = "127.0.0.1"
                if word == "--port":
                    words[at + 1] = str(self.port if service == "server" else free_port())
        log = (self.folder / f"{service}-{len(self.processes)}.log").open("w")
        self.processes.append(subprocess.Popen(words, stdout=log, stderr=log))
        return self.processes[-1]

    def ask(self, path, body=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", json.dumps(body).encode() if body else None,
                                         {"Content-Type": "application/json", "Authorization": f"Bearer {self.key}"})
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == 503:
                raise
            sys.exit(f"{path}: {error.code} {error.read().decode()}")

    def wait_until_ready(self):
        for _ in range(600):
            try:
                return self.ask("/readyz")
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        sys.exit("the server is not ready: " + (self.folder / "server-1.log").read_text())

    def image(self):
        made = self.ask("/v1/generate", {"model": "emoji", "inputs": {"prompt": "a red apple"}, "config": {"seed": 3}})
        return hashlib.sha256(base64.b64decode(made["artifacts"][0]["data"])).hexdigest(), made["report"]


def main():
    omnirt = str(pathlib.Path(sys.argv[1]).resolve())
    check_schemas()
    check_packages(omnirt)
    if not shutil.which("redis-server"):
        sys.exit("redis-server is not installed (scripts/setup does it)")
    with tempfile.TemporaryDirectory() as folder, ByHand(omnirt, folder) as compose:
        redis = compose.run("redis")
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", compose.redis_port)) == 0:
                    break
            if redis.poll() is not None:
                sys.exit("Redis ended: " + (compose.folder / "redis-0.log").read_text())
            time.sleep(0.05)
        compose.run("server")
        compose.wait_until_ready()
        whole = [compose.run("worker") for _ in range(compose.services["worker"]["deploy"]["replicas"])]
        image, report = compose.image()
        compose.stop(*whole)
        for part in ("encode", "denoise", "decode"):
            compose.run(part)
        parts_image, parts_report = compose.image()
        if parts_image != image:
            sys.exit("parts of a run by three workers make other bits")
        print(f"by hand: an image of two workers and one of {len(parts_report['parts'])} workers of a part each, of the same bits; "
              f"containers were not run")


if __name__ == "__main__":
    main()
