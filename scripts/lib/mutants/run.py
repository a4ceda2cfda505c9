"""Runs the tests of a woven crate once per mutant.

First every test alone, which tells how long it takes and which functions it
meets. Then for each mutant the tests that meet its function: quick ones first,
together; slow ones after, one by one; none after the first that fails.
"""

import json
import os
import resource
import signal
import subprocess
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

QUICK = 0.25
GIGABYTES = 3
# Random tests are the same for every mutant, and need not find the smallest case.
FIXED = {"PROPTEST_RNG_SEED": "7", "PROPTEST_MAX_SHRINK_ITERS": "0", "INSTA_UPDATE": "no"}


@dataclass
class Test:
    binary: str
    name: str
    seconds: float
    meets: frozenset


def compiling(package: str, profile: str) -> list[str]:
    """The command that builds the tests; what it builds for its errors is there for its end."""
    tests = os.environ.get("TESTS", "--lib --tests").split()
    shape = ["-q", "--no-run", "--message-format=json"]
    return ["cargo", "test", "-p", package, "--profile", profile, *tests, *shape]


def build(woven: Path, command: list[str]) -> list[str]:
    told = subprocess.run(command, cwd=woven, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if told.returncode:
        raise SystemExit(f"the woven tests do not build: run `{' '.join(command)}` in {woven} to see why")
    artifacts = [json.loads(line) for line in told.stdout.splitlines()]
    return [it["executable"] for it in artifacts if it.get("executable") and it["profile"]["test"]]


def look(binaries: list[str], place: Path, jobs: int) -> list[Test]:
    """Every test, with its time and the functions it meets."""
    names = [(binary, name) for binary in binaries for name in listed(binary, place)]
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda it: alone(*it, place), names))


def listed(binary: str, place: Path) -> list[str]:
    command = [binary, "--list", "--format=terse"]
    told = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True)
    return [line.removesuffix(": test") for line in told.stdout.splitlines() if line.endswith(": test")]


def alone(binary: str, name: str, place: Path) -> Test:
    with tempfile.TemporaryDirectory() as folder:
        met = Path(folder) / "met"
        start = time.monotonic()
        ended = subprocess.run([binary, "--exact", name], **quiet(place, {"MUTANT_MET": str(met)}))
        seconds = time.monotonic() - start
        if ended.returncode:
            raise SystemExit(f"{name} fails without any mutant")
        lines = met.read_text().split() if met.exists() else []
    return Test(binary, name, seconds, frozenset(int(it) for it in lines))


def rounds(tests: list[Test], function: int) -> list[list[Test]]:
    """The tests to ask about a mutant, in the order of asking."""
    meeting = sorted((it for it in tests if function in it.meets), key=lambda it: it.seconds)
    quick = defaultdict(list)
    for it in meeting:
        if it.seconds <= QUICK:
            quick[it.binary].append(it)
    together = sorted(quick.values(), key=lambda group: sum(it.seconds for it in group))
    return together + [[it] for it in meeting if it.seconds > QUICK]


def ask(mutant, tests: list[Test], place: Path) -> tuple[str, str]:
    """What became of a mutant: caught, missed, timeout or unmet, and by which tests."""
    order = rounds(tests, mutant.function)
    for group in order:
        verdict = one(mutant.id, group, place)
        if verdict:
            name = Path(group[0].binary).name.rsplit("-", 1)[0]
            return verdict, f"{name} {group[0].name}" if len(group) == 1 else name
    return ("missed", "") if order else ("unmet", "")


def one(mutant: int, group: list[Test], place: Path) -> str:
    limit = max(20.0, 5 * sum(it.seconds for it in group))
    command = [group[0].binary, "-q", "--test-threads=1", "--exact", *(it.name for it in group)]
    try:
        asked = quiet(place, {"MUTANT": str(mutant)})
        ended = subprocess.run(command, timeout=30 * limit, preexec_fn=lambda: bounded(limit), **asked)
    except subprocess.TimeoutExpired:
        return "timeout"
    if ended.returncode == -signal.SIGXCPU:
        return "timeout"
    return "caught" if ended.returncode else ""


def quiet(place: Path, more: dict) -> dict:
    nowhere = subprocess.DEVNULL
    return {"cwd": place, "stdout": nowhere, "stderr": nowhere, "env": os.environ | FIXED | more}


def bounded(limit: float) -> None:
    """An endless loop may not eat the machine, and nothing is written beside the sources.

    The time is the processor's: others may be busy meanwhile.
    """
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
    resource.setrlimit(resource.RLIMIT_AS, (GIGABYTES << 30, GIGABYTES << 30))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
