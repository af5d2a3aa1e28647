"""The documentation as the tests read it: pages, and the code blocks in them."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

REPLACED = {"make demo": "trainfare demo --folder demo --months 3 --serve"}
"""Lines that would install packages, and what is run instead."""
NOT_RUN = ("make ", "git clone ", "pip ")
"""Prefixes of other lines that are not run."""

_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_EXIT = re.compile(r"#\s*exit (\d+)\s*$")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language and its text."""

    kind: str
    text: str

    @property
    def lines(self) -> list[str]:
        return [line for line in self.text.split("\n") if line.strip()]


def blocks(page: Path, *kinds: str) -> list[Block]:
    """Return the fenced blocks of a page, only of these kinds if any are given."""
    found = [Block(kind, text) for kind, text in _FENCE.findall(page.read_text(encoding="utf-8"))]
    return [block for block in found if not kinds or block.kind in kinds]


@dataclass(frozen=True)
class Ran:
    """A shell line that was run, and the output that the page shows."""

    line: str
    wanted_code: int
    code: int
    output: str
    shown: list[str]


def run(page: Path, folder: Path) -> Iterator[Ran]:
    """Run every line of the page's `sh` blocks in `folder`. A `text` block below shows what the last line prints."""
    found = blocks(page, "sh", "text")
    for block, following in zip(found, [*found[1:], None], strict=True):
        if block.kind == "sh":
            shown = following.lines if following and following.kind == "text" else []
            for line in block.lines:
                if ran := _run(line, folder, shown if line == block.lines[-1] else []):
                    yield ran


def _run(line: str, folder: Path, shown: list[str]) -> Ran | None:
    command = REPLACED.get(line, line)
    if command.startswith(NOT_RUN):
        return None
    wanted = _EXIT.search(line)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "COLUMNS": "120", "NO_COLOR": "1"}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return Ran(line, int(wanted[1]) if wanted else 0, done.returncode, done.stdout, shown)


def checkout(folder: Path) -> Path:
    """Create a folder like the project's, with a bill and a job log as a reader of the README has them."""
    shutil.copytree(DOCS / "example", folder / "docs" / "example")
    shutil.copy(ROOT / "README.md", folder)
    (folder / ".venv").symlink_to(Path(sys.executable).parent.parent)
    example = DOCS / "example"
    shutil.copy(example / "bill.csv", folder / "bill.csv")
    named = (
        (example / "sacct.txt")
        .read_text(encoding="utf-8")
        .replace("gpu[01-02]", "i-0aa1,i-0bb2")
        .replace("gpu01", "i-0aa1")
    )
    (folder / "jobs.csv").write_text(named, encoding="utf-8")
    return folder
