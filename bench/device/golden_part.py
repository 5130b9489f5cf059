"""Every family's goldens on a backend, spread over processes that run side by side."""

import json
import os
import time

import processes

LOST = 86  # the exit status of a process whose device is lost to it


class Shard:
    """One share of the runs, in as many processes as it takes: one that ends early is followed by one that goes on."""

    def __init__(self, session, number, count):
        self.session, self.number, self.count = session, number, count
        self.records, self.done, self.starts = [], 0, 0
        self.process = None

    def start(self):
        options = self.session.options
        line = [
            self.session.bundle.device_tests, "goldens", "--backend", options.backend, "--levels", options.levels,
            "--dtypes", options.dtypes, "--shards", str(self.count), "--shard", str(self.number), "--after", str(self.done),
        ]
        line += ["--filter", options.goldens] if options.goldens else []
        line += ["--first"] if options.first else []
        self.starts += 1
        log = self.session.logs / f"goldens-{self.number}-{self.starts}.log"
        threads = max(1, (os.cpu_count() or 1) // self.count)
        self.process = processes.Process(
            line, log, {**self.session.environment, "OMP_NUM_THREADS": str(threads)}, self.session.root
        )

    def settle(self, ended):
        """Takes the records of a process that ended. True where the shard is done."""
        records, begun = parsed(ended.text)
        if begun:
            what = "the time was over" if ended.timed_out else f"the process ended with {ended.status}"
            records.append({"golden": begun["begins"], "backend": self.session.options.backend, "level": begun["level"],
                            "dtype": begun["dtype"], "passed": False, "error": f"{what}: {ended.text[-600:]}"})
        self.records += records
        self.done += sum("golden" in record for record in records)
        if ended.timed_out or ended.status == 0:
            return True
        if not records or self.starts > 200:
            self.records.append({"passed": False, "error": f"ended with {ended.status}: {ended.text[-2000:]}"})
            return True
        return False


def parsed(text):
    """The records of a log, and the run that was begun and has none."""
    records, begun = [], None
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if "begins" in record:
            begun = record
        else:
            records.append(record)
            begun = None
    return records, begun


def run_shards(shards, deadline):
    for shard in shards:
        shard.start()
    running = list(shards)
    while running and time.monotonic() < deadline:
        for shard in list(running):
            if shard.process.child.poll() is None:
                continue
            if shard.settle(shard.process.end(deadline)):
                running.remove(shard)
            else:
                shard.start()
        time.sleep(0.05)
    for shard in running:
        ended = shard.process.end(0)
        shard.settle(ended._replace(timed_out=True))
    return bool(running)


def run(session, deadline):
    shards = [Shard(session, number, session.options.at_once) for number in range(session.options.at_once)]
    cut = run_shards(shards, deadline)
    records = [record for shard in shards for record in shard.records]
    skipped = next((record["skipped"] for record in records if "skipped" in record), None)
    if skipped:
        return {"status": "no device", "reason": skipped}
    for record in records:
        if not record["passed"]:
            why = record.get("error") or (f"{record['psnr_db']} dB" if not record.get("fallbacks") else json.dumps(record["fallbacks"]))
            session.results.say(f"  failed: {record.get('golden')} {record.get('level')} {record.get('dtype')}: {why.splitlines()[0][:200]}")
    passed = sum(record["passed"] for record in records)
    session.results.say(f"  {passed} of {len(records)} passed")
    status = "failed" if passed < len(records) else "cut short" if cut else "passed"
    return {"status": status, "passed": passed, "records": records}
