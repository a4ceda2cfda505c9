"""Weaves many mutants into one copy of a crate: a build instead of thousands.

cargo-mutants says what to change (`--list --json`), or `mutants/bugs.toml` for
the known bugs. Every function with a mutant gets a `match` around its body: one
arm per mutant, the body as it was in the last. The environment says which arm
runs. What does not compile is found by the compiler's own errors and left out.
"""

import json
import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

SWITCH = """\
//! Which mutant runs, and which functions are met: written by `scripts/lib/mutants/weave.py`.
use std::{collections::BTreeSet, fs::OpenOptions, io::Write, sync::{Mutex, OnceLock}};

static MUTANT: OnceLock<u32> = OnceLock::new();
static MET: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
static FILE: OnceLock<Option<String>> = OnceLock::new();

pub(crate) fn at(function: u32) -> u32 {
    if let Some(file) = FILE.get_or_init(|| std::env::var("MUTANT_MET").ok()) {
        if MET.lock().expect("no thread panics here").insert(function) {
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


def copy(source: Path, woven: Path, other: dict) -> None:
    """A copy of what Git knows, with `other` files in place of some; one that stays the same keeps its
    time, so builds are small."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    told = subprocess.run(command, cwd=source, check=True, capture_output=True, text=True)
    wanted = {it for it in told.stdout.splitlines() if (source / it).is_file()} | other.keys()
    for it in woven.rglob("*.rs"):
        path = str(it.relative_to(woven))
        if not path.startswith("target/") and path not in wanted:
            it.unlink()
    for it in wanted:
        put(woven / it, other[it] if it in other else (source / it).read_bytes())


def put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)


def read(tree: Path, listed: list) -> tuple[list, dict]:
    """The mutants of a list by cargo-mutants, and the outermost functions they are in."""
    texts = {it["file"]: (tree / it["file"]).read_text() for it in listed}
    spans, mutants = defaultdict(set), []
    for number, it in enumerate(listed, 1):
        text = texts[it["file"]]
        if it["function"]:
            spans[it["file"]].add(offsets(text, it["function"]["span"]))
        mutants.append(Mutant(number, it["name"], it["file"], *offsets(text, it["span"]), it["replacement"]))
    return mutants, group(mutants, spans)


def group(mutants: list, spans: dict) -> dict:
    """The outermost functions that mutants are in, of the spans of functions in each file."""
    functions = {}
    for it in mutants:
        around = [span for span in spans[it.file] if span[0] <= it.start and it.end <= span[1]]
        if around:
            span = max(around, key=lambda span: span[1] - span[0])
            function = functions.setdefault((it.file, span), Function(it.id, it.file, *span))
            function.mutants.append(it)
            it.function = function.id
    return {it.id: it for it in functions.values()}


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
    for file, content in render(source, crate, functions).items():
        put(woven / file, content)


def render(source: Path, crate: str, functions: dict) -> dict:
    """The files of `functions` with their mutants, and the switch; notes the lines the mutants are at."""
    files = defaultdict(list)
    for it in functions.values():
        files[it.file].append(it)
    texts = {file: weave((source / file).read_text(), inside) for file, inside in files.items()}
    lib = f"{crate}/src/lib.rs"
    texts[lib] = (texts.get(lib) or (source / lib).read_text()) + "\nmod mutation;\n"
    texts[f"{crate}/src/mutation.rs"] = SWITCH
    return {file: text.encode() for file, text in texts.items()}


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
