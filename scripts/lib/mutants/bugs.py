"""`scripts/bugs`: weaves the bugs of `mutants/bugs.toml` into one build and has each of them caught.

A bug is caught if a story of the simulator ends badly with it or, if none does,
if a test of the core fails. The tests are built only for a bug that no story catches.
"""

import difflib
import fcntl
import os
import re
import subprocess
import sys
import time
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import run
import rust
import weave

PACKAGE = "colony-core"
CRATE = f"crates/{PACKAGE}"
LIST = "mutants/bugs.toml"
FIELDS = ["name", "what", "function", "find", "replace"]
SIMULATOR = ["cargo", "build", "--quiet", "--profile", "prove", "-p", "colony-sim"]
TESTS = run.compiling("mutants", ["-p", PACKAGE, "--lib", "--tests"])
# A bug may loop or allocate without end. Its output goes to a file, so it may write.
BOUNDS = run.Bounds(gigabytes=8, writes=True, patience=20)

EDIT = """\
if {case}.
    The bug must still do what its sentence says: verify with `scripts/bugs {name}`. If no code can
    have this bug after the change, remove the entry and say so in the commit."""


@dataclass(frozen=True)
class Bug:
    name: str
    what: str
    function: str
    find: str
    replace: str


def main() -> int:
    source, arguments = Path.cwd(), sys.argv[1:]
    bugs = read(source)
    places, findings = locate(source, bugs)
    if findings:
        print(*findings, sep="\n\n", file=sys.stderr)
        print(f"\nscripts/bugs: {len(findings)} of {len(bugs)} bugs have no place in the code", file=sys.stderr)
        return 1
    if arguments == ["--check"]:
        print(f"bugs: each of the {len(bugs)} in {LIST} has its place in the code")
        return 0
    unknown = set(arguments) - {it.name for it in bugs}
    if unknown:
        raise SystemExit(f"{LIST} has no bug named {', '.join(sorted(unknown))}")
    return prove(source, bugs, places, [it for it in bugs if not arguments or it.name in arguments])


def read(source: Path) -> list[Bug]:
    with (source / LIST).open("rb") as file:
        try:
            listed = tomllib.load(file)["bug"]
        except (tomllib.TOMLDecodeError, KeyError) as error:
            raise SystemExit(f"{LIST} cannot be read: {error}")
    for number, it in enumerate(listed, 1):
        name = it.get("name", f"number {number}")
        if sorted(it) != sorted(FIELDS):
            raise SystemExit(f"{LIST}: bug `{name}` must have exactly these fields: {', '.join(FIELDS)}")
        if "".join(it["find"].split()) in ("", "".join(it["replace"].split())):
            raise SystemExit(f"{LIST}: bug `{name}`: `find` is empty or the same as `replace`")
    names = [it["name"] for it in listed]
    if len(names) != len(set(names)):
        raise SystemExit(f"{LIST}: two bugs have the same name")
    return [Bug(**it) for it in listed]


def locate(source: Path, bugs: list[Bug]) -> tuple[dict, list[str]]:
    """Where each bug is, as (function, start, end), and a finding for each that is not at one place."""
    places, findings = {}, []
    for bug in bugs:
        functions = rust.functions(source, CRATE, re.escape(bug.function))
        found = [(it, *span) for it in functions for span in rust.occurrences(source, it, bug.find)]
        if len(found) == 1:
            places[bug.name] = found[0]
        else:
            findings.append(finding(source, bug, functions, found))
    return places, findings


def finding(source: Path, bug: Bug, functions: list, found: list) -> str:
    """Says which entry has no place, where it was searched, and what to do."""
    at = [rust.line(source, it, start) for it, start, _ in found] or [rust.line(source, it) for it in functions]
    if found:
        problem = f"the find text occurs {len(found)} times in functions named `{bug.function}`:"
        advice = "extend `find` and `replace` by code around them, so that only one place matches"
    elif not functions:
        problem = f"no function in {CRATE}/src has the name `{bug.function}`"
        advice = EDIT.format(case="the function was renamed or its code was moved, edit `function`", name=bug.name)
    else:
        problem = f"the find text is not in the function `{bug.function}`, which is at"
        case = "the line was rewritten, edit `find` and `replace`; if it was moved, edit `function`"
        advice = EDIT.format(case=case, name=bug.name)
    facts = [
        f"{LIST}:{line_of(source, bug)}: bug `{bug.name}`: {bug.what}",
        indent(f"problem: {problem}", *at),
        indent("find text:", *bug.find.strip().splitlines()),
        *([] if found else hints(source, bug, functions)),
        f"  what to do: {advice}",
    ]
    return "\n".join(facts)


def hints(source: Path, bug: Bug, functions: list) -> list[str]:
    """Other functions that have the text, or the most similar line of those with the right name."""
    every = rust.functions(source, CRATE)
    has = [(it, start) for it in every for start, _ in rust.occurrences(source, it, bug.find)]
    if has:
        return [indent("the text is in:", *(f"`{it.name}`, {rust.line(source, it, at)}" for it, at in has[:3]))]
    lines = [line for it in functions for line in rust.read(source / it.file).code[it.start : it.end].splitlines()]
    likeness = lambda line: sum(it.size for it in difflib.SequenceMatcher(None, bug.find, line).get_matching_blocks())
    nearest = max(lines, key=likeness, default="")
    return [indent("the most similar line there:", nearest.strip())] if likeness(nearest) * 2 > len(bug.find) else []


def indent(title: str, *lines: str) -> str:
    return "\n    ".join([f"  {title}", *lines])


def line_of(source: Path, bug: Bug) -> int:
    lines = (source / LIST).read_text().splitlines()
    return next((number for number, it in enumerate(lines, 1) if it == f'name = "{bug.name}"'), 1)


def prove(source: Path, bugs: list[Bug], places: dict, chosen: list[Bug]) -> int:
    out = Path(os.environ["OUT"])
    out.mkdir(parents=True, exist_ok=True)
    out = out.resolve()
    # One run at a time: the next build would replace the simulator of this one.
    lock = (out / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.environ["CARGO_TARGET_DIR"] = str(out / "target")
    start = time.monotonic()
    mutants, functions = as_mutants(bugs, places)
    build(source, out / "tree", mutants, functions)
    built = time.monotonic()
    print(f"one simulator with all {len(bugs)} bugs built in {built - start:.0f} s", flush=True)
    catcher, survivors = Catcher(out), 0
    for bug in chosen:
        by = catcher.caught_by(mutants[bug.name].id)
        survivors += not by
        print(f"bug {bug.name:27} {'caught' if by else 'FAILED':8} {by or f'not caught: {bug.what}'}", flush=True)
    seconds = time.monotonic() - built
    print(f"{len(chosen) - survivors} of {len(chosen)} known bugs were caught, in {seconds:.0f} s after the build")
    return min(survivors, 1)


def as_mutants(bugs: list[Bug], places: dict) -> tuple[dict, dict]:
    """The bugs and their functions in the form of the weaver; a bug has its number in the list."""
    mutants, spans = {}, defaultdict(set)
    for number, bug in enumerate(bugs, 1):
        function, start, end = places[bug.name]
        spans[function.file].add((function.start, function.end))
        mutants[bug.name] = weave.Mutant(number, bug.name, function.file, start, end, bug.replace)
    return mutants, weave.group(list(mutants.values()), spans)


def build(source: Path, woven: Path, mutants: dict, functions: dict) -> None:
    weave.copy(source, woven, weave.render(source, CRATE, functions))
    found = weave.errors(woven, [*SIMULATOR, "--message-format=json"])
    if not found:
        return
    # Once more for people: the first build has printed for this program.
    subprocess.run(SIMULATOR, cwd=woven)
    bad, _ = weave.blame(found, functions)
    names = [f"`{it.name}`" for it in mutants.values() if it.id in bad]
    raise SystemExit(f"{LIST}: the code does not compile with bug {', '.join(names)}" if names else "the build failed")


class Catcher:
    """Has bugs caught: by the simulator, or else by the tests of the core."""

    def __init__(self, out: Path):
        self.place, self.log = out / "tree" / CRATE, out / "log"
        self.tests = None
        self.simulator = [str(out / "target/prove/colony-sim"), "--seeds", os.environ["BUG_SEEDS"]]
        # Without a bug no story may end badly, or the rest proves nothing. The time is the measure for
        # the others; a busy machine may need long.
        start, self.limit = time.monotonic(), 1800.0
        if self.fails(self.simulator):
            raise SystemExit(f"the simulator fails without any bug: see {self.log}")
        self.limit = max(60.0, BOUNDS.patience * (time.monotonic() - start))

    def caught_by(self, bug: int) -> str:
        """What catches a bug: a story, a test, or nothing."""
        if self.fails(self.simulator, bug):
            return f"simulation, {self.story()}"[:110]
        for binary in self.built_tests():
            if self.fails([binary, "-q"], bug):
                failed = re.search(r"^    ([\w:]+)$", self.log.read_text(), re.MULTILINE)
                return f"test {failed[1] if failed else Path(binary).name}"
        return ""

    def story(self) -> str:
        log = self.log.read_text(errors="replace")
        bad = re.search(r"^story (\d+) ends badly: (.*)", log, re.MULTILINE)
        other = re.search(r"^.*(panicked|error|no end).*", log, re.MULTILINE)
        return f"seed {bad[1]}: {bad[2]}" if bad else other[0] if other else "ended without a story"

    def built_tests(self) -> list[str]:
        if self.tests is None:
            start = time.monotonic()
            self.tests = run.build(self.place.parents[1], TESTS, [])
            for binary in self.tests:
                if self.fails([binary, "-q"]):
                    raise SystemExit(f"a test fails without any bug: see {self.log}")
            print(f"tests of the core built in {time.monotonic() - start:.0f} s", flush=True)
        return self.tests

    def fails(self, command: list[str], bug: int = 0) -> bool:
        """Whether a program fails or does not end; its output is in the log."""
        bounded = lambda: run.bounded(os.cpu_count() * self.limit, BOUNDS)
        with self.log.open("w+") as log:
            code = run.finish(command, self.place, {"MUTANT": str(bug)}, self.limit, bounded, log)
            if code is None:
                log.write(f"\nno end after {self.limit:.0f} s\n")
        return code != 0


if __name__ == "__main__":
    sys.exit(main())
