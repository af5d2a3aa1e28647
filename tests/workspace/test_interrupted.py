"""Ctrl-C ends a command with one short line and exit code 130, whenever it is pressed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from . import company
from .company import NOVEMBER, OCTOBER
from .folder import Ran, Workspace

MAX_SECONDS = 120
"""It takes less than one; tests may share their machine."""

WITH_DEFAULT_HANDLER = "import signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
"""As in a terminal: processes that a shell starts in the background ignore Ctrl-C, and so do their children."""
PRESS_CTRL_C = """
import os, signal
from trainfare.books import build

def as_the_engine_does(*_):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        while True:
            pass
    except KeyboardInterrupt:
        raise RuntimeError("Query interrupted") from None
"""
IN_A_QUERY = f"{PRESS_CTRL_C}\nbuild.normalize_month = as_the_engine_does"
AFTER_THE_FIRST_MONTH = f"""{PRESS_CTRL_C}
build_month = build._build_month
def once(*arguments):
    build._build_month = as_the_engine_does
    return build_month(*arguments)
build._build_month = once
"""
WHILE_IMPORTING = """
class Pressed:
    def find_spec(self, name, *_):
        if name == "click":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Pressed())
"""
IN_AN_ENDLESS_QUERY = """
from trainfare.allocate import account

def run_endlessly(engine, *_, **__):
    engine.table("lines", "SELECT range AS line FROM range(1000000)")
    print("allocating", flush=True)
    engine.table("long", "SELECT max(hash(line, n)) FROM (SELECT line, unnest(range(100000)) AS n FROM lines)")

account.run = run_endlessly
"""


def build(workspace: Workspace, patch: str) -> Ran:
    command = ["build", "-w", str(workspace.folder)]
    code = f"{WITH_DEFAULT_HANDLER}{patch}\nfrom trainfare.cli import main\nmain({command!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    return Ran(done.returncode, done.stdout, done.stderr.strip())


def test_a_build_interrupted_in_a_query_reports_that_nothing_was_published(workspace: Workspace) -> None:
    assert build(workspace, IN_A_QUERY) == Ran(130, "", "interrupted; nothing was published")


def test_a_build_interrupted_later_reports_what_was_published(workspace: Workspace) -> None:
    assert build(workspace, AFTER_THE_FIRST_MONTH) == Ran(
        130, "", f"interrupted; published before that: {OCTOBER} version 1"
    )
    assert workspace.books() == [(str(OCTOBER), 1)]
    workspace.build()
    assert workspace.books() == [(str(OCTOBER), 1), (str(NOVEMBER), 1)]


def test_a_command_interrupted_during_startup_reports_it(workspace: Workspace) -> None:
    assert build(workspace, WHILE_IMPORTING) == Ran(130, "", "interrupted")


@pytest.mark.parametrize(
    ("command", "message"), [("build", "interrupted; nothing was published"), ("report", "interrupted")]
)
def test_a_long_query_is_stopped_soon(built: Workspace, tmp_path: Path, command: str, message: str) -> None:
    """All threads of the engine are busy when Ctrl-C is pressed. The book is unchanged, and no file is left behind."""
    built.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-1", "1"))
    before = built.digits(OCTOBER)
    files = ["bills/2026-10.csv", "--jobs", "jobs/2026-10.csv"] if command == "report" else []
    code = f"{WITH_DEFAULT_HANDLER}{IN_AN_ENDLESS_QUERY}\nfrom trainfare.cli import main\nmain({[command, *files]})"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = os.environ | {"TMPDIR": str(scratch)}
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=built.folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "allocating\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=MAX_SECONDS)
        finally:
            process.kill()
    assert Ran(process.returncode, out, err.strip()) == Ran(130, "", message)
    assert list(scratch.iterdir()) == []
    assert built.digits(OCTOBER) == before
    assert built.build()[0].startswith("2026-10  version 2: ")
    assert built.unreferenced() == set()
