"""`scripts/mutants`: weave, compile, run, tell. docs/mutants.md says how it works."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import run
import weave

PACKAGE, CRATE, PROFILE = "colony-core", "crates/colony-core", "mutants"
# Where decisions are made: these files are tried first.
DECISIONS = re.compile(
    r"src/(transition/|event/|fleet/(fold|join)\.rs|node/(apply|repair|decide|outcome)\.rs"
    r"|site/(wave|want|lanes|failure|facts|refused|moving|rollout|stage)\.rs)"
)


def main() -> None:
    source, folder, jobs = Path.cwd(), Path(os.environ["OUT"]), int(os.environ["JOBS"])
    woven = folder / "tree"
    copy(source, woven)
    mutants, functions = weave.read(source, chosen(listed(source), folder / "results.txt"))
    results = {it.id: ("apart", "") for it in mutants if not it.function}
    compile_all(source, woven, functions, results)
    binaries = run.build(woven, run.compiling(PACKAGE, PROFILE))
    start = time.monotonic()
    tests = run.look(binaries, woven / CRATE, jobs)
    print(f"{len(tests)} tests looked at in {time.monotonic() - start:.0f} s", flush=True)
    waiting = [it for it in mutants if it.id not in results]
    waiting.sort(key=lambda it: not DECISIONS.search(it.file))
    try_all(waiting, tests, woven / CRATE, jobs, results)
    tell(mutants, results, folder)


def listed(source: Path) -> list:
    command = ["cargo", "mutants", "--list", "--json", "-p", PACKAGE, *sys.argv[1:]]
    return json.loads(subprocess.run(command, cwd=source, check=True, stdout=subprocess.PIPE).stdout)


def copy(source: Path, woven: Path) -> None:
    """A copy of what Git knows; files that stay the same keep their time, so builds are small."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    told = subprocess.run(command, cwd=source, check=True, capture_output=True, text=True)
    wanted = {it for it in told.stdout.splitlines() if (source / it).is_file()}
    for it in woven.rglob("*.rs"):
        path = str(it.relative_to(woven))
        if not path.startswith("target/") and path not in wanted:
            it.unlink()
    for it in wanted:
        target = woven / it
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != (source / it).read_bytes():
            shutil.copyfile(source / it, target)


def compile_all(source: Path, woven: Path, functions: dict, results: dict) -> None:
    """Takes out what the compiler refuses, until it refuses nothing."""
    files = {it.file for it in functions.values()} | {f"{CRATE}/src/lib.rs"}
    while True:
        for file in files:
            shutil.copyfile(source / file, woven / file)
        weave.write(source, woven, CRATE, functions)
        found = weave.errors(woven, run.compiling(PACKAGE, PROFILE))
        if not found:
            return
        bad, odd = weave.blame(found, functions)
        print(f"{len(bad)} mutants do not compile, {len(odd)} functions cannot be woven", flush=True)
        if not bad and not odd:
            raise SystemExit(f"errors outside of any mutant: {found[:3]}")
        for it in list(functions.values()):
            results |= {m.id: ("unviable", "") for m in it.mutants if m.id in bad}
            results |= {m.id: ("apart", "") for m in it.mutants if it.id in odd and m.id not in bad}
            it.mutants = [m for m in it.mutants if m.id not in results]
            if not it.mutants:
                functions.pop(it.id)


def chosen(mutants: list, earlier: Path) -> list:
    """With RESUME all that the run before has not caught, with AGAIN only what it had tried of it.

    Lines move, so names are compared without them; of equal names one survivor is enough to try all.
    """
    again, resume = os.environ.get("AGAIN"), os.environ.get("RESUME")
    if not again and not resume:
        earlier.write_text("")
        return mutants
    told = defaultdict(set)
    for line in earlier.read_text().splitlines():
        verdict, name = line.split("\t")[:2]
        told[placeless(name)].add(verdict)
    caught = {name for name, verdicts in told.items() if verdicts == {"caught"}}
    waiting = [it for it in mutants if placeless(it["name"]) not in caught]
    return [it for it in waiting if resume or placeless(it["name"]) in told]


def placeless(name: str) -> str:
    return re.sub(r":\d+:\d+:", ":", name)


def try_all(mutants: list, tests: list, place: Path, jobs: int, results: dict) -> None:
    start = time.monotonic()
    with (Path(os.environ["OUT"]) / "results.txt").open("a", buffering=1) as log:

        def step(it):
            results[it.id] = verdict, by = run.ask(it, tests, place)
            log.write(f"{verdict}\t{it.name}\t{by}\n")
            if verdict != "caught":
                print(f"{verdict:8} {it.name}", flush=True)

        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(step, mutants))
    print(f"{len(mutants)} mutants tried in {time.monotonic() - start:.0f} s")


def tell(mutants: list, results: dict, folder: Path) -> None:
    names = defaultdict(list)
    for it in mutants:
        names[results[it.id][0]].append(it.name)
    for verdict in ("caught", "missed", "unmet", "timeout", "unviable", "apart"):
        (folder / f"{verdict}.txt").write_text("".join(f"{it}\n" for it in names[verdict]))
    caught, endless = len(names["caught"]), len(names["timeout"])
    survivors = names["missed"] + names["unmet"]
    tried = len(survivors) + caught + endless
    print("\nsurvivors:", *survivors, sep="\n  ")
    print(f"{tried} mutants: {caught} caught, {endless} endless, {len(survivors)} survived", end=" ")
    print(f"({100 * len(survivors) / max(tried, 1):.1f} %);", end=" ")
    print(f"{len(names['unviable'])} do not compile, {len(names['apart'])} cannot be woven")


if __name__ == "__main__":
    main()
