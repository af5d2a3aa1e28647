"""Measure how long questions about a large month take from the command line, each in a process of its own.

    python bench/questions.py [--machines 5000] [--folder FOLDER]

Generates and builds the month of `bench/attribution.py`, and prints for each command: wall seconds, processor seconds
and the target. A command runs once before it is measured if it is the first to need its grains, which is printed, too.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from attribution import build
from generated import GeneratedMonth, generate_month

QUESTIONS = {
    "report": 2,
    "report --by machine": 2,
    "metrics": 2,
    "explain JOB": 2,
    "explain JOB --lines": 4,
    "report --by job": None,
    "report --by pool": None,
    "report --by day --by category": None,
    "reconcile": None,
    "check": None,
}
"""Commands, and the seconds that each may take."""
FIRST_USE = ("report --by job", "report --by pool", "report --by day --by category")
"""Questions for which the build makes no grains: they are made by the first one that needs them."""


def measured(command: list[str]) -> tuple[float, float, str]:
    """Run a command; return wall seconds, processor seconds and its output."""
    before, started = os.times(), time.monotonic()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    after = os.times()
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return time.monotonic() - started, processor, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", type=int, default=5000)
    parser.add_argument("--folder", type=Path, help="keep the month here, and use it if it exists")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        workspace = folder / "workspace"
        if not (workspace / "catalog.sqlite").exists():
            made: GeneratedMonth = generate_month(folder, options.machines)
            started = time.monotonic()
            build(made, workspace)
            print(f"built {made.lines:,} charges in {time.monotonic() - started:.1f} s", flush=True)
        trainfare = [str(Path(sys.executable).with_name("trainfare"))]
        at = ["-w", str(workspace)]
        jobs = [*trainfare, "report", "--by", "job", "--top", "1", "--format", "json", *at]
        first, _, found = measured(jobs)
        job = json.loads(found)["rows"][0]["job"]
        print(f"{'':32}{'wall s':>8}{'cpu s':>8}{'target':>8}")
        for question, target in QUESTIONS.items():
            words = [job if word == "JOB" else word for word in question.split()]
            note = ""
            if question in FIRST_USE:
                first = first if question == FIRST_USE[0] else measured([*trainfare, *words, *at])[0]
                note = f"   the first time {first:.1f} s"
            wall, processor, _ = measured([*trainfare, *words, *at])
            print(f"{question:32}{wall:8.1f}{processor:8.1f}{target or '':>8}{note}", flush=True)


if __name__ == "__main__":
    main()
