"""Ctrl-C ends a command with one short line and exit code 130, wherever it comes."""

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

SOON_SECONDS = 10
"""It takes less than one; tests may run on a machine that has much else to do."""

HEARS = "import signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
"""As in a terminal: what a shell starts in the background does not hear Ctrl-C, nor does what that starts."""
PRESSED = """
import os, signal
from trainfare import pipeline

def as_the_engine_does(*_):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        while True:
            pass
    except KeyboardInterrupt:
        raise RuntimeError("Query interrupted") from None
"""
IN_A_QUERY = f"{PRESSED}\npipeline.build = as_the_engine_does"
AFTER_THE_FIRST_MONTH = f"""{PRESSED}
whole = pipeline._build_month
def once(*given):
    pipeline._build_month = as_the_engine_does
    return whole(*given)
pipeline._build_month = once
"""
WHILE_IMPORTING = """
class Pressed:
    def find_spec(self, name, *_):
        if name == "click":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Pressed())
"""
IN_A_QUERY_WITHOUT_END = """
from trainfare import pipeline

def without_end(engine, *_):
    engine.table("lines", "SELECT range AS line FROM range(1000000)")
    print("sharing", flush=True)
    engine.table("long", "SELECT max(hash(line, n)) FROM (SELECT line, unnest(range(100000)) AS n FROM lines)")

pipeline.account.run = without_end
"""


def build(workspace: Workspace, meanwhile: str) -> Ran:
    code = f"{HEARS}{meanwhile}\nfrom trainfare.cli import main\nmain(['build', '-w', {str(workspace.folder)!r}])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    return Ran(done.returncode, done.stdout, done.stderr.strip())


def test_a_build_interrupted_in_a_query_says_that_nothing_was_published(workspace: Workspace) -> None:
    assert build(workspace, IN_A_QUERY) == Ran(130, "", "interrupted; nothing was published")


def test_a_build_interrupted_later_says_what_was_published(workspace: Workspace) -> None:
    assert build(workspace, AFTER_THE_FIRST_MONTH) == Ran(
        130, "", f"interrupted; published before that: {OCTOBER} version 1"
    )
    assert workspace.books() == [(str(OCTOBER), 1)]
    workspace.build()
    assert workspace.books() == [(str(OCTOBER), 1), (str(NOVEMBER), 1)]


def test_a_command_interrupted_while_it_starts_says_so(workspace: Workspace) -> None:
    assert build(workspace, WHILE_IMPORTING) == Ran(130, "", "interrupted")


@pytest.mark.parametrize(
    ("command", "told"), [("build", "interrupted; nothing was published"), ("report", "interrupted")]
)
def test_one_long_query_is_given_up_soon(built: Workspace, tmp_path: Path, command: str, told: str) -> None:
    """All threads of the engine are at work when Ctrl-C is pressed. The book stands, and nothing is left behind."""
    built.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-1", "1"))
    before = built.digits(OCTOBER)
    files = ["bills/2026-10.csv", "--jobs", "jobs/2026-10.csv"] if command == "report" else []
    code = f"{HEARS}{IN_A_QUERY_WITHOUT_END}\nfrom trainfare.cli import main\nmain({[command, *files]})"
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
        assert process.stdout.readline() == "sharing\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=SOON_SECONDS)
        finally:
            process.kill()
    assert Ran(process.returncode, out, err.strip()) == Ran(130, "", told)
    assert list(scratch.iterdir()) == []
    assert built.digits(OCTOBER) == before
    assert built.build()[0].startswith("2026-10  version 2: ")
    assert built.unreferenced() == set()
