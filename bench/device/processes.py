"""Processes with a time limit, and GoogleTest programs whose failures may take the device with them."""

import collections
import os
import re
import signal
import subprocess
import time

Ended = collections.namedtuple("Ended", "status text timed_out seconds")

# After these CUDA refuses all that a process asks.
LOST = re.compile(r"illegal memory access|misaligned address|device-side assert|unspecified launch failure|illegal instruction")
RESULT = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] ([^\s,]+)(?:,.*)? \((\d+) ms\)$")
BEGINS = re.compile(r"^\[ RUN +\] (\S+)$")


class Process:
    """A process whose output goes to a file; its children end with it."""

    def __init__(self, line, log, environment, folder=None):
        log.parent.mkdir(parents=True, exist_ok=True)
        self.log, self.began = log, time.monotonic()
        with open(log, "wb") as file:
            self.child = subprocess.Popen(
                [str(word) for word in line], stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, cwd=folder,
                env={**environment, "BENCH_STARTED": repr(self.began)}, start_new_session=True,
            )

    def end(self, deadline):
        """Waits until it ends or the deadline is over."""
        timed_out = False
        try:
            self.child.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            self.kill()
        text = self.log.read_text(errors="replace")
        return Ended(self.child.returncode, text, timed_out, time.monotonic() - self.began)

    def kill(self):
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()


def run(line, log, environment, deadline, folder=None):
    return Process(line, log, environment, folder).end(deadline)


def tests_of(text):
    """[{name, result, seconds, message}] of what a GoogleTest program said; a test that never ended is `running`."""
    tests, lines, name = [], [], None
    for line in text.splitlines():
        if begins := BEGINS.match(line):
            name, lines = begins[1], []
        elif (ends := RESULT.match(line)) and name == ends[2]:
            message = "" if ends[1] == "OK" else "\n".join(lines)[:3000]
            tests.append({"name": name, "result": ends[1].lower(), "seconds": int(ends[3]) / 1e3, "message": message})
            name = None
        elif name:
            lines.append(line)
    if name:
        tests.append({"name": name, "result": "running", "seconds": 0, "message": "\n".join(lines)[-3000:]})
    return tests


def kept(tests, ended):
    """Of one process's tests those that count, and whether another process must go on after them: a test that ended the
    process or lost the device has failed, and what came after it in that process tells nothing."""
    for place, test in enumerate(tests):
        if test["result"] == "running":
            test["result"] = "timed out" if ended.timed_out else "crashed"
            return tests[: place + 1]
        if test["result"] == "failed" and LOST.search(test["message"]):
            return tests[: place + 1]
    return tests


def listed(program, pattern, environment, folder, log, deadline):
    ended = run([program, "--gtest_list_tests", f"--gtest_filter={pattern}"], log, environment, deadline, folder)
    names, suite = [], ""
    for line in ended.text.splitlines():
        line = line.split("#")[0].rstrip()
        if line.startswith("  "):
            names.append(suite + line.strip())
        elif line.endswith("."):
            suite = line
    return names


def run_tests(program, names, logs, environment, deadline, folder, at_once):
    """All tests, spread over processes that run side by side; each goes on in a new process where one was lost."""
    queues = [collections.deque(names[i::at_once]) for i in range(at_once)]
    tests, running, started = [], {}, 0
    while time.monotonic() < deadline and (running or any(queues)):
        for place, queue in enumerate(queues):
            if queue and place not in running:
                started += 1
                line = [program, f"--gtest_filter={':'.join(queue)}", "--gtest_color=no"]
                running[place] = Process(line, logs / f"tests-{place}-{started}.log", environment, folder)
        for place, process in list(running.items()):
            if process.child.poll() is not None:
                tests += settle(running.pop(place).end(deadline), queues[place])
        time.sleep(0.05)
    for place, process in running.items():
        tests += settle(process.end(0), queues[place])
    tests += [{"name": name, "result": "not run", "seconds": 0, "message": ""} for queue in queues for name in queue]
    return tests


def settle(ended, queue):
    """Takes what a process has done from its queue."""
    done = kept(tests_of(ended.text), ended)
    if not done and not ended.timed_out:
        # It ended before its first test: none of them can run.
        done = [{"name": name, "result": "crashed", "seconds": 0, "message": ended.text[-3000:]} for name in queue]
    names = {test["name"] for test in done}
    left = [name for name in queue if name not in names]
    queue.clear()
    queue.extend(left)
    return done
