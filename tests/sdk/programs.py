"""Programs that use the SDK, run as processes of their own, and the events they leave behind."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SDK = Path(__file__).parents[2] / "sdk" / "src"
OURS = re.compile(r"(TRAINFARE|SLURM|TORCHELASTIC|CUDA|AWS_BATCH|RAY)_|(LOCAL_)?RANK$|POD_|CI_JOB_ID|GITHUB_RUN_ID")
"""Variables that would change what the SDK detects."""


def environment(folder: Path, **variables: str) -> dict[str, str]:
    """The environment of a program: this one without what the SDK looks at, and these variables."""
    plain = {name: value for name, value in os.environ.items() if not OURS.match(name)}
    return plain | {"PYTHONPATH": str(SDK), "TRAINFARE_SPOOL": str(folder), "TRAINFARE_MACHINE": "n1"} | variables


def start(code: str, folder: Path, python: str = sys.executable, **variables: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [python, "-c", code],
        env=environment(folder, **variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(code: str, folder: Path, python: str = sys.executable, **variables: str) -> tuple[int, str, str]:
    """Run a program to its end; return its exit code, its output and its messages."""
    program = start(code, folder, python, **variables)
    out, err = program.communicate(timeout=120)
    return program.returncode, out, err


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jsonl"))


def events(folder: Path) -> list[dict[str, Any]]:
    """Every complete event of a spool, by file; only the last line of a file may be incomplete."""
    found = []
    for path in files(folder):
        *lines, last = path.read_bytes().split(b"\n")
        found += [json.loads(line) for line in lines]
        if last:
            try:
                found.append(json.loads(last))
            except ValueError:
                continue
    return found


def types(found: Sequence[Mapping[str, Any]]) -> list[str]:
    return [one["type"].removeprefix("trainfare.") for one in found]


def of_type(found: Sequence[Mapping[str, Any]], name: str) -> list[dict[str, Any]]:
    return [one["data"] for one in found if one["type"] == f"trainfare.{name}"]
