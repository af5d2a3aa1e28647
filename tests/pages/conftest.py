"""A real browser on the demo, served by the real command."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import prebuilt
import pytest
from playwright.sync_api import Browser, sync_playwright
from web.server import serving
from workspace import everything

from .visitor import Visitor

ROOT = Path(__file__).parents[2]
SHOTS = ROOT / "screenshots"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or "/usr/bin/chromium"


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two months of the demo, the last one with two versions."""
    return prebuilt.copy_of("demo-of-two-months", build_demo, tmp_path_factory)


def build_demo(folder: Path) -> None:
    command = [sys.executable, "-m", "trainfare", "demo", "--folder", str(folder), "--months", "2", "--serve"]
    ran = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
    assert ran.returncode == 0, ran.stderr
    assert "trainfare serve" in ran.stderr, "without a terminal, the demo prints how to see the pages"


@pytest.fixture(scope="session")
def site(workspace: Path) -> Iterator[str]:
    with serving(workspace) as server:
        yield server.url


@pytest.fixture(scope="session")
def signed_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A company with every kind of record, whose users sign in."""
    with serving(prebuilt.copy_of("everything", everything.make, tmp_path_factory)) as server:
        yield server.url


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not os.path.exists(CHROMIUM):
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


@pytest.fixture
def visitor(browser: Browser, site: str) -> Iterator[Visitor]:
    """A browser session in which nothing may go wrong."""
    with Visitor.start(browser, site) as session:
        yield session
