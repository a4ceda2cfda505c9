"""`scripts/mutants`: weave, compile, run, report. docs/mutants.md says how it works."""

import fcntl
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

CORE = "colony-core"
PACKAGE = os.environ["PACKAGE"]
CRATE = f"crates/{PACKAGE}"
# Tests of the core compute, so that optimising pays; tests of shells wait.
TESTS = os.environ.get("TESTS", "").split()
PROFILE = "mutants" if PACKAGE == CORE else "dev"
BOUNDS = run.Bounds(3, False, 150) if PACKAGE == CORE else run.Bounds(16, True, 5)
# Shells are large: these are the files whose checks protect data, identity or order.
CHECKS = {
    # All of it: transactions, the claim with its fencing, migrations, limits.
    "colony-store": ["**"],
    # What is written and pushed, compare-and-swap of references, what clients send, packs and limits.
    "colony-git": [
        "path.rs", "repo/durable/**", "repo/durable.rs", "repo/mod.rs", "repo/origin.rs", "repo/pack/**",
        "serve/gzip.rs", "serve/incoming.rs", "serve/line.rs", "serve/small.rs", "transport/limit.rs",
        "writer/hosted.rs", "writer/push.rs", "writer/apply.rs", "writer/batch.rs",
    ],
    # Who a peer is, what a token permits, what a certificate proves, and what a body may hold.
    "colony-wfm": [
        "file.rs", "identity/**", "join.rs", "login.rs", "tls/verify.rs", "server/body.rs", "server/caller.rs",
        "server/content.rs", "server/limit.rs", "server/poll.rs", "link/url.rs",
    ],
    # The journal, the step that stores before it acts, the identity, and reports until they are taken.
    # Not what acts: it needs a container engine.
    "colony-node": [
        "brain/**", "identity/**", "manager/mod.rs", "manager/report.rs",
    ],
    # Store before acting, orders, the log on its way to central, who may join, and what is on disk.
    "colony-local": [
        "brain/load.rs", "brain/mod.rs", "brain/writer.rs", "home.rs", "join.rs", "margo/enrollment.rs",
        "margo/keys.rs", "margo/mod.rs", "margo/served_manifests.rs", "operator/caller.rs", "operator/order.rs",
        "orders.rs", "server/server_certificate.rs", "uplink/events.rs", "uplink/prune.rs", "uplink/renew.rs",
        "uplink/seed.rs",
    ],
    # The one writer, who may do what, who may join, batches of sites, backups, plans by hash, purges,
    # the queue for Git. Without most handlers: they are wiring, and long ones take minutes to compile
    # in many versions.
    "colony-central": [
        "auth/key.rs", "auth/local.rs", "auth/mod.rs", "auth/token.rs", "backup/archive.rs",
        "backup/restore.rs", "brain/record.rs", "brain/stage.rs", "brain/writer.rs", "command/mod.rs",
        "link/authority.rs", "link/events.rs", "link/join.rs", "link/renew.rs", "plan/delete/purge.rs",
        "plan/hash.rs", "writer/batch.rs", "writer/overruled.rs",
    ],
    # What is fetched and unpacked, what on the engine is this node's, and credentials; without engines.
    "colony-runtime": [
        "compose/archive.rs", "compose/service/mount.rs", "compose/unpack.rs", "containers/label.rs",
        "containers/scope.rs", "containers/survey/interference.rs", "file.rs", "oci/registry/**",
    ],
    # Locks, folders and files of every role.
    "colony-process": ["file.rs", "folder.rs", "lock.rs"],
}  # fmt: skip
# Their tests in `tests/` need container engines: too slow to run once per mutant.
WITHOUT_ENGINES = {"colony-runtime"}
# Where decisions are made: these files are tried first.
DECISIONS = [
    "transition", "event", "fleet/events/fold.rs", "fleet/join.rs", "node/decision", "node/manifest.rs",
    "node/outcome.rs", "site/desired", "site/placement", "site/rollout",
]  # fmt: skip


def main() -> None:
    source, out, jobs = Path.cwd(), Path(os.environ["OUT"]), int(os.environ["JOBS"])
    check_names(source)
    if sys.argv[1:] == ["--check"]:
        return
    woven, folder = out / "tree", out / PACKAGE
    folder.mkdir(exist_ok=True)
    # One run of a package at a time: the next build replaces the binaries of this one.
    running = (folder / "lock").open("w")
    fcntl.flock(running, fcntl.LOCK_EX)
    # Third-party crates are built once for all packages. Not beside ordinary builds: cargo knows
    # a crate by its path inside the workspace, and would take turns in building the two.
    os.environ["CARGO_TARGET_DIR"] = str(out / "target")
    with (out / "lock").open("w") as lock:
        # The tree is one package's at a time; tests of one may run while the next is built.
        fcntl.flock(lock, fcntl.LOCK_EX)
        manifests = source.glob("crates/*/Cargo.toml")
        weave.copy(source, woven, {str(it.relative_to(source)): manifest(it) for it in manifests})
        mutants, functions = weave.read(source, chosen(listed(source), folder / "results.txt"))
        results = {it.id: ("apart", "") for it in mutants if not it.function}
        compile_all(source, woven, functions, results)
        binaries = run.build(woven, compiling(), TESTS)
    start = time.monotonic()
    tests = run.look(binaries, woven / CRATE, jobs)
    print(f"{len(tests)} tests looked at in {time.monotonic() - start:.0f} s", flush=True)
    waiting = [it for it in mutants if it.id not in results]
    decisions = tuple(f"crates/{CORE}/src/{it}" for it in DECISIONS)
    waiting.sort(key=lambda it: not it.file.startswith(decisions))
    try_all(waiting, tests, woven / CRATE, folder, jobs, results)
    report(mutants, results, folder)


def compiling() -> list[str]:
    if PACKAGE == CORE:
        return run.compiling(PROFILE, ["-p", PACKAGE, *(TESTS or ["--lib", "--tests"])])
    # Of the whole workspace, whose other manifests ask for no tests: with the features of all crates
    # together, nothing that two of them need is built twice.
    return run.compiling(PROFILE, ["--workspace"])


def check_names(source: Path) -> None:
    """Every name in the lists above is that of a file or folder."""
    globs = [f"crates/{package}/src/{glob}" for package, globs in CHECKS.items() for glob in globs]
    globs += [f"crates/{CORE}/src/{it}" for it in DECISIONS]
    stale = [it for it in globs if not any(source.glob(it))]
    if stale:
        raise SystemExit(f"scripts/lib/mutants/main.py names files that are not there: {', '.join(stale)}")


def listed(source: Path) -> list:
    wanted = sys.argv[1:]
    if not any(it in ("-f", "--file") for it in wanted):
        wanted += [part for glob in CHECKS.get(PACKAGE, []) for part in ("-f", f"{CRATE}/src/{glob}")]
    command = ["cargo", "mutants", "--list", "--json", "-p", PACKAGE, *wanted]
    return json.loads(subprocess.run(command, cwd=source, check=True, stdout=subprocess.PIPE).stdout)


def manifest(path: Path) -> bytes:
    """The manifest of a crate, without tests unless they are those of the package."""
    text, name = path.read_text(), path.parent.name
    if name == PACKAGE and name not in WITHOUT_ENGINES:
        return text.encode()
    text = text.replace("[package]\n", "[package]\nautotests = false\nautobins = false\nautoexamples = false\n")
    if name == PACKAGE:
        return text.encode()
    if (path.parent / "src/lib.rs").exists():
        return f"{text}\n[lib]\ntest = false\ndoctest = false\n".encode()
    return f'{text}\n[[bin]]\nname = "{name}"\npath = "src/main.rs"\ntest = false\n'.encode()


def compile_all(source: Path, woven: Path, functions: dict, results: dict) -> None:
    """Takes out what the compiler refuses, until it refuses nothing."""
    files = {it.file for it in functions.values()} | {f"{CRATE}/src/lib.rs"}
    while True:
        for file in files:
            shutil.copyfile(source / file, woven / file)
        weave.write(source, woven, CRATE, functions)
        found = weave.errors(woven, compiling())
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


def try_all(mutants: list, tests: list, place: Path, folder: Path, jobs: int, results: dict) -> None:
    start = time.monotonic()
    with (folder / "results.txt").open("a", buffering=1) as log:

        def step(it):
            results[it.id] = verdict, by = run.ask(it, tests, place, BOUNDS)
            log.write(f"{verdict}\t{it.name}\t{by}\n")
            if verdict != "caught":
                print(f"{verdict:8} {it.name}", flush=True)

        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(step, mutants))
    print(f"{len(mutants)} mutants tried in {time.monotonic() - start:.0f} s")


def report(mutants: list, results: dict, folder: Path) -> None:
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
