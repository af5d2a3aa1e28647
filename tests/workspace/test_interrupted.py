"""Ctrl-C ends a command with one short line and exit code 130, wherever it comes."""

import subprocess
import sys

from .company import NOVEMBER, OCTOBER
from .folder import Ran, Workspace

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


def build(workspace: Workspace, meanwhile: str) -> Ran:
    code = f"import sys\n{meanwhile}\nfrom trainfare.cli import main\nmain(['build', '-w', {str(workspace.folder)!r}])"
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
