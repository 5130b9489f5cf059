#!/usr/bin/env python3
"""Holds a running server against its own /openapi.json by schemathesis: requests made from the document, good and bad ones.

  scripts/setup api && build/api-venv/bin/python tools/api/check.py build/release/omnirt [--cases N] [--seconds N] [--model ID]

Starts `omnirt serve` with one embedded model on a free port of this machine and sends it up to N cases (1000) for each route.
Steps and sizes of images are held to few and small (tools/api/small_runs.py), so that runs are short. Exit status 1 where an
answer is a server error (5xx), or is another than the document says.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Besides what is checked: whether requests that fit the document are taken. They need not be, since what a model takes of a
# key depends on other keys; and unknown models of keys are warnings. The tests hold each key against its check.
CHECKS = ("not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
          "response_headers_conformance,unsupported_method,allow_header_conformance")


def port_of(server):
    for line in server.stderr:
        found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", line)
        if found:
            return int(found.group(1))
    raise SystemExit("the server did not start")


def peak_mb(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("omnirt")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--model", default="emoji")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with open(pathlib.Path(folder) / "log", "w+") as log:
            command = [arguments.omnirt, "serve", "--port", "0", "-m", arguments.model, "--max-images", "2",
                       "--max-megapixels", "0.02", "--keep-jobs", "50", "--drain-seconds", "0"]
            server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            port = port_of(server)
            # What is logged later is not of interest, and is to be read all the same.
            drain = subprocess.Popen(["cat"], stdin=server.stderr, stdout=log)
            st = pathlib.Path(sys.executable).parent / "st"
            result = subprocess.run(
                [st, "run", f"http://127.0.0.1:{port}/openapi.json", "--checks", CHECKS, "--max-examples", str(arguments.cases),
                 "--max-time", str(arguments.seconds), "--phases", "coverage,fuzzing", "--seed", str(arguments.seed),
                 "--request-timeout", "60", "--suppress-health-check", "all", "--continue-on-failure",
                 "--generation-database", "none", "--no-color"],
                cwd=folder, env={**os.environ, "SCHEMATHESIS_HOOKS": "small_runs", "PYTHONPATH": str(HERE)})
            alive = server.poll() is None
            print(f"server: {'alive' if alive else 'DEAD'}" + (f", peak RSS {peak_mb(server):.0f} MB" if alive else ""))
            server.terminate()
            server.wait(60)
            drain.wait(10)
            log.seek(0)
            statuses = {}
            for line in log:
                found = re.search(r'"status":(\d+)', line)
                if found:
                    statuses[found.group(1)] = statuses.get(found.group(1), 0) + 1
            print("answers by status:", ", ".join(f"{name}: {count}" for name, count in sorted(statuses.items())),
                  f"; {sum(statuses.values())} in all")
    return result.returncode if alive else 1


if __name__ == "__main__":
    sys.exit(main())
