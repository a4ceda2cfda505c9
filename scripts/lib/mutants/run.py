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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

QUICK = 0.25
# A test that takes longer than this without a mutant is left out.
PATIENCE = 60.0
# Random tests are the same for every mutant, and need not find the smallest case.
FIXED = {"PROPTEST_RNG_SEED": "7", "PROPTEST_MAX_SHRINK_ITERS": "0", "INSTA_UPDATE": "no"}


@dataclass(frozen=True)
class Bounds:
    """What a run may use before it is ended."""

    # Of address space. Programs with many threads reserve far more than they touch.
    gigabytes: int
    # Whether files may be written. The core has no reason to.
    writes: bool
    # Wall-clock seconds, as a multiple of the time without a mutant. A shell that waits for
    # an answer which never comes uses no processor time.
    patience: int


@dataclass
class Test:
    binary: str
    name: str
    seconds: float
    meets: frozenset


def compiling(profile: str, what: list[str]) -> list[str]:
    """The command that builds the tests; what it builds for its errors is there for its end."""
    shape = ["-q", "--no-run", "--message-format=json"]
    return ["cargo", "test", *what, "--profile", profile, *shape]


def build(woven: Path, command: list[str], wanted: list[str]) -> list[str]:
    """The binaries of the tests that are wanted; `--lib`, `--test name`, or none of these for all."""
    told = subprocess.run(command, cwd=woven, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if told.returncode:
        raise SystemExit(f"the woven tests do not build: run `{' '.join(command)}` in {woven} to see why")
    artifacts = [json.loads(line) for line in told.stdout.splitlines()]
    built = [it for it in artifacts if it.get("executable") and it["profile"]["test"]]
    asked = lambda it: "--lib" in wanted if "lib" in it["kind"] else it["name"] in wanted
    return [it["executable"] for it in built if not wanted or "--tests" in wanted or asked(it["target"])]


def look(binaries: list[str], place: Path, jobs: int) -> list[Test]:
    """Every test that passes alone, with its time and the functions it meets."""
    names = [(binary, name) for binary in binaries for name in listed(binary, place)]
    with ThreadPoolExecutor(jobs) as pool:
        return [it for it in pool.map(lambda it: alone(*it, place), names) if it]


def listed(binary: str, place: Path) -> list[str]:
    command = [binary, "--list", "--format=terse"]
    told = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True)
    return [line.removesuffix(": test") for line in told.stdout.splitlines() if line.endswith(": test")]


def alone(binary: str, name: str, place: Path) -> Test | None:
    with tempfile.TemporaryDirectory() as folder:
        met = Path(folder) / "met"
        start = time.monotonic()
        code = finish([binary, "--exact", name], place, {"MUTANT_MET": str(met)}, PATIENCE)
        seconds = time.monotonic() - start
        if code != 0:
            print(f"left out: {name} {'takes too long' if code is None else 'fails'} without any mutant", flush=True)
            return None
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


def ask(mutant, tests: list[Test], place: Path, bounds: Bounds) -> tuple[str, str]:
    """What became of a mutant: caught, missed, timeout or unmet, and by which tests."""
    order = rounds(tests, mutant.function)
    for group in order:
        verdict = one(mutant.id, group, place, bounds)
        if verdict:
            name = Path(group[0].binary).name.rsplit("-", 1)[0]
            return verdict, f"{name} {group[0].name}" if len(group) == 1 else name
    return ("missed", "") if order else ("unmet", "")


def one(mutant: int, group: list[Test], place: Path, bounds: Bounds) -> str:
    seconds = sum(it.seconds for it in group)
    limit = max(20.0, 5 * seconds)
    command = [group[0].binary, "-q", "--test-threads=1", "--exact", *(it.name for it in group)]
    patience = max(20.0, bounds.patience * seconds)
    code = finish(command, place, {"MUTANT": str(mutant)}, patience, lambda: bounded(limit, bounds))
    if code is None or code == -signal.SIGXCPU:
        return "timeout"
    return "caught" if code else ""


def finish(command: list[str], place: Path, more: dict, seconds: float, before=None, log=None) -> int | None:
    """The exit code of a command, or nothing if it was ended; its children and its files end with it.

    What it prints goes to `log`, if there is one.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        # Tests may start programs as another user.
        os.chmod(scratch, 0o777)
        nowhere, environment = subprocess.DEVNULL, os.environ | FIXED | {"TMPDIR": scratch} | more
        child = subprocess.Popen(
            command, cwd=place, env=environment, stdin=nowhere, stdout=log or nowhere, stderr=log or nowhere,
            start_new_session=True, preexec_fn=before,
        )  # fmt: skip
        try:
            return child.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def bounded(limit: float, bounds: Bounds) -> None:
    """An endless loop may not eat the machine, and the core writes nothing beside the sources.

    The time is the processor's: others may be busy meanwhile.
    """
    memory = bounds.gigabytes << 30
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not bounds.writes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
