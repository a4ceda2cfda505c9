"""Finds functions by name, and text in them, in the Rust source of a crate."""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

# Comments, strings and characters; a lifetime has no second quote after one character.
TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)"""
    r"""|\bb?r(?P<hashes>\#*)".*?"(?P=hashes)|"(?:\\.|[^"\\])*"|'(?:\\.[^'\n]*|[^'\\\n])'""",
    re.DOTALL,
)


@dataclass(frozen=True)
class Place:
    """A function: its file, and where it starts and ends there."""

    name: str
    file: str
    start: int
    end: int


@dataclass(frozen=True)
class Source:
    text: str
    # Without comments, and without comments and strings; everything else at the same offset.
    code: str
    shape: str


@lru_cache(maxsize=None)
def text_of(path: Path) -> str:
    return path.read_text()


@lru_cache(maxsize=None)
def read(path: Path) -> Source:
    text = text_of(path)
    blank = lambda it: re.sub(r"[^\n]", " ", it[0])
    code = TOKEN.sub(lambda it: blank(it) if it["comment"] else it[0], text)
    return Source(text, code, TOKEN.sub(blank, text))


def functions(tree: Path, crate: str, name: str = r"\w+") -> list[Place]:
    """The functions of a crate that have a body and this name."""
    found, head = [], re.compile(rf"\bfn\s+({name})\b")
    for path in sorted((tree / crate / "src").rglob("*.rs")):
        # Most files do not name it, and to find what is code in them takes longer.
        if not head.search(text_of(path)):
            continue
        shape = read(path).shape
        for it in head.finditer(shape):
            end = end_of_function(shape, it.end())
            if end:
                found.append(Place(it[1], str(path.relative_to(tree)), it.start(), end))
    return found


def end_of_function(shape: str, at: int) -> int:
    """Where the function ends whose name ends at `at`; 0 if it has no body."""
    depth = 0
    for bracket in re.compile(r"[()\[\]{};]").finditer(shape, at):
        if bracket[0] == ";" and depth == 0:
            return 0
        depth += {"(": 1, "[": 1, "{": 1, ";": 0}.get(bracket[0], -1)
        if bracket[0] == "}" and depth == 0:
            return bracket.end()
    return 0


def occurrences(tree: Path, place: Place, wanted: str) -> list[tuple[int, int]]:
    """Where a text is in a function; neither whitespace nor comments count."""
    code = read(tree / place.file).code
    offsets = [at for at in range(place.start, place.end) if not code[at].isspace()]
    squeezed, wanted = "".join(code[at] for at in offsets), "".join(wanted.split())
    starts = [it.start() for it in re.finditer(f"(?={re.escape(wanted)})", squeezed)]
    return [(offsets[it], offsets[it + len(wanted) - 1] + 1) for it in starts]


def line(tree: Path, place: Place, offset: int | None = None) -> str:
    at = place.start if offset is None else offset
    return f"{place.file}:{read(tree / place.file).text.count(chr(10), 0, at) + 1}"
