"""Weaves many mutants into one copy of a crate: a build instead of thousands.

cargo-mutants says what to change (`--list --json`). Every function with a
mutant gets a `match` around its body: one arm per mutant, the body as it was in
the last. The environment says which arm runs. What does not compile is found
by the compiler's own errors and left out.
"""

import json
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

SWITCH = """\
//! Which mutant runs, and which functions are met: written by `scripts/mutants`.
use std::{collections::BTreeSet, fs::OpenOptions, io::Write, sync::{Mutex, OnceLock}};

static MUTANT: OnceLock<u32> = OnceLock::new();
static MET: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
static FILE: OnceLock<Option<String>> = OnceLock::new();

pub(crate) fn at(function: u32) -> u32 {
    if let Some(file) = FILE.get_or_init(|| std::env::var("MUTANT_MET").ok()) {
        if MET.lock().expect("nobody panics here").insert(function) {
            let mut file = OpenOptions::new().append(true).create(true).open(file).expect("a file to write");
            writeln!(file, "{function}").expect("a line is written");
        }
    }
    *MUTANT.get_or_init(|| std::env::var("MUTANT").ok().and_then(|it| it.parse().ok()).unwrap_or(0))
}
"""


@dataclass
class Mutant:
    id: int
    name: str
    file: str
    start: int
    end: int
    replacement: str
    function: int = 0
    lines: range = range(0)


@dataclass
class Function:
    id: int
    file: str
    start: int
    end: int
    mutants: list = field(default_factory=list)
    lines: range = range(0)


def read(tree: Path, listed: list) -> tuple[list, dict]:
    """The mutants of a list, and the outermost functions they are in."""
    mutants, functions = [], {}
    texts = {it["file"]: (tree / it["file"]).read_text() for it in listed}
    spans = defaultdict(set)
    for it in listed:
        if it["function"]:
            spans[it["file"]].add(offsets(texts[it["file"]], it["function"]["span"]))
    for number, it in enumerate(listed, 1):
        start, end = offsets(texts[it["file"]], it["span"])
        mutant = Mutant(number, it["name"], it["file"], start, end, it["replacement"])
        around = [span for span in spans[it["file"]] if span[0] <= start and end <= span[1]]
        if around:
            span = max(around, key=lambda span: span[1] - span[0])
            function = functions.setdefault((it["file"], span), Function(number, it["file"], *span))
            function.mutants.append(mutant)
            mutant.function = function.id
        mutants.append(mutant)
    return mutants, {it.id: it for it in functions.values()}


def offsets(text: str, span: dict) -> tuple[int, int]:
    return offset(text, span["start"]), offset(text, span["end"])


def offset(text: str, place: dict) -> int:
    at = 0
    for _ in range(place["line"] - 1):
        at = text.index("\n", at) + 1
    return at + place["column"] - 1


def body(text: str, function: Function) -> tuple[int, int]:
    """Where the body of a function is, between its braces."""
    depth = 0
    for at in range(text.index("fn ", function.start), function.end):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(text[at], 0)
        if text[at] == "{" and depth == 0:
            return at + 1, function.end - 1
    raise ValueError(f"{function.file}: no body at {function.start}")


def write(source: Path, woven: Path, crate: str, functions: dict) -> None:
    """Writes the files of `functions` with their mutants; notes the lines they are at."""
    files = defaultdict(list)
    for it in functions.values():
        files[it.file].append(it)
    for file, inside in files.items():
        (woven / file).write_text(weave((source / file).read_text(), inside))
    root = woven / crate / "src"
    (root / "mutation.rs").write_text(SWITCH)
    with (root / "lib.rs").open("a") as lib:
        lib.write("\nmod mutation;\n")


def weave(text: str, functions: list) -> str:
    out, at = "", 0
    for it in sorted(functions, key=lambda it: it.start):
        opening, closing = body(text, it)
        out += text[at:opening]
        first = out.count("\n") + 1
        out += f"\nmatch crate::mutation::at({it.id}) {{\n"
        for mutant in it.mutants:
            line = out.count("\n") + 1
            changed = text[opening : mutant.start] + mutant.replacement + text[mutant.end : closing]
            out += f"{mutant.id} => {{{changed}\n}}\n"
            mutant.lines = range(line, out.count("\n") + 1)
        out += f"_ => {{{text[opening:closing]}\n}}\n}}\n"
        it.lines = range(first, out.count("\n") + 1)
        at = closing
    return out + text[at:]


def errors(woven: Path, command: list) -> list[set]:
    """What the compiler refuses: for each error the (file, line) it points at."""
    told = subprocess.run(command, cwd=woven, capture_output=True, text=True)
    found = []
    for line in told.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] != "compiler-message" or message["message"]["level"] != "error":
            continue
        spans = message["message"]["spans"]
        # A future that is not `Send` is refused where it is spawned; only the notes name the function.
        notes = [it | {"is_primary": False} for note in message["message"]["children"] for it in note["spans"]]
        if spans:
            found.append({(it["file_name"], it["line_start"], it["is_primary"]) for it in spans + notes})
    if told.returncode and not found:
        raise SystemExit(told.stderr or "the build failed without an error that can be placed")
    return found


def blame(found: list[set], functions: dict) -> tuple[set, set]:
    """The mutants that do not compile, and functions that cannot be woven at all."""
    bad, odd = set(), set()
    for spans in found:
        primary = [(file, line) for file, line, main in spans if main]
        every = [(file, line) for file, line, _ in spans]
        hit = mutants_at(primary, functions) or mutants_at(every, functions)
        bad |= hit
        if not hit:
            inside = lambda it: any(file == it.file and line in it.lines for file, line in every)
            odd |= {it.id for it in functions.values() if inside(it)}
    return bad, odd


def mutants_at(places: list, functions: dict) -> set:
    return {
        mutant.id
        for it in functions.values()
        for mutant in it.mutants
        for file, line in places
        if file == it.file and line in mutant.lines
    }
