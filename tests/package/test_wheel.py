"""The wheel, installed into an empty environment, is the whole product: the demo runs and its pages are served."""

import re
import subprocess
import sys
import venv
from decimal import Decimal
from pathlib import Path

import pytest
from web.server import Server, serving

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "src" / "trainfare" / "serve" / "static"

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of an environment that holds the wheel and its dependencies, and nothing of the source tree."""
    if not (STATIC / "version.txt").exists():
        pytest.skip("the pages' scripts and styles are not built: run `make assets`")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", folder / "dist", ROOT], check=True, cwd=folder)
    (wheel,) = (folder / "dist").glob("trainfare-*.whl")
    venv.create(folder / "empty", with_pip=True)
    python = folder / "empty" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*install, "--require-hashes", "-r", ROOT / "requirements.txt"], check=True, cwd=folder)
    subprocess.run([*install, wheel], check=True, cwd=folder)
    return python.parent


@pytest.fixture(scope="module")
def demo(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    run = [environment / "trainfare", "demo", "--folder", folder / "demo"]
    ran = subprocess.run(run, cwd=folder, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    assert "659,399.87 USD, difference 0.00" in ran.stdout
    return folder / "demo"


@pytest.fixture(scope="module")
def server(environment: Path, demo: Path) -> "Server":
    with serving(demo, command=environment / "trainfare") as running:
        yield running


def test_the_wheel_holds_every_query_template_and_asset(environment: Path) -> None:
    (installed,) = environment.parent.glob("lib/python*/site-packages/trainfare")
    source = ROOT / "src" / "trainfare"
    needed = (".sql", ".html", ".typ", ".csv", ".toml", ".js", ".css", ".svg")
    expected = {
        path.relative_to(source)
        for path in source.rglob("*")
        if path.suffix in needed and "assets" not in path.relative_to(source).parts
    }
    assert len(expected) > 200
    assert {path for path in expected if not (installed / path).is_file()} == set()


def test_the_pages_and_everything_they_load_are_served(server: "Server") -> None:
    page = server.ask("/", headers={"Accept": "text/html"})
    assert page.status == 200
    loaded = re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text)
    assert loaded
    assert [path for path in loaded if server.ask(path).status != 200] == []


def test_the_api_answers_with_the_figures_of_the_demo(server: "Server") -> None:
    report = server.ask("/api/v1/report?window=2026-10")
    assert report.status == 200
    assert (round(Decimal(report.json["total"]), 2), report.json["difference"]) == (Decimal("659399.87"), "0.00")
