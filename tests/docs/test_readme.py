"""The README, the tutorial and the how-to pages show what really happens."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.pages import DOCS, ROOT, Block, blocks, checkout, run
from trainfare.settings import config

RUN_PAGES = (ROOT / "README.md", DOCS / "start.md")
HOW_TO = sorted((DOCS / "howto").glob("*.md"))
EVERY_PAGE = (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))


@pytest.mark.parametrize("page", RUN_PAGES, ids=lambda page: page.name)
def test_every_shell_line_does_what_the_page_says(page: Path, tmp_path: Path) -> None:
    ran = list(run(page, checkout(tmp_path)))
    assert len(ran) >= 5, "the page has hardly any line to run: is it still parsed?"
    for one in ran:
        assert one.code == one.wanted_code, f"{page.name}: {one.line}\n{one.output}"
        _require_shown(one.shown, one.output, f"{page.name}: {one.line}")


def _require_shown(shown: list[str], output: str, where: str) -> None:
    """Each shown line is printed, in this order; `...` stands for omitted lines. Column widths may differ."""
    printed = [line.split() for line in output.split("\n")]
    position = 0
    for line in shown:
        if line.strip() != "...":
            matches = [index for index in range(position, len(printed)) if printed[index] == line.split()]
            assert matches, f"{where} does not print: {line}\nIt prints:\n{output}"
            position = matches[0] + 1


def test_the_readme_shows_its_output_on_the_first_screen() -> None:
    first_screen = (ROOT / "README.md").read_text(encoding="utf-8").split("\n")[:45]
    assert any(line.startswith("ties to the bill") for line in first_screen)
    assert any("no account, no telemetry" in line for line in first_screen)


def _settings() -> Iterator[tuple[str, Block]]:
    for page in HOW_TO:
        for number, block in enumerate(blocks(page, "toml"), 1):
            yield f"{page.stem}-{number}", block


@pytest.mark.parametrize("block", [pytest.param(block, id=name) for name, block in _settings()])
def test_each_settings_example_is_accepted(block: Block) -> None:
    config.parse(block.text, Path("trainfare.toml"))


def test_each_rule_example_runs(tmp_path: Path) -> None:
    folder = checkout(tmp_path) / "docs" / "example"
    examples = [block.text for block in blocks(DOCS / "howto" / "rules.md", "toml")]
    assert len(examples) >= 8
    sources = '[[source]]\npath = "bill.csv"\n\n[[source]]\npath = "sacct.txt"\n\n[[source]]\npath = "machines.csv"\n\n'
    (folder / "trainfare.toml").write_text("\n".join(sorted(examples, key=_top_first)) + sources, encoding="utf-8")
    output = json.loads(_trainfare("rules", "test", "-w", str(folder), "--format", "json"))
    names = re.findall(r'^name = "(.*)"$', "\n".join(examples), re.MULTILINE)
    assert set(names) <= {rule["rule"] for rule in output["rules"]}
    lines = {rule["rule"]: rule["lines"] for rule in output["rules"]}
    assert lines["datasets"] == 1
    assert lines["owned pools"] + lines["everything on machines"] == 2


def _top_first(example: str) -> bool:
    """Top-level settings come before all tables."""
    return example.startswith("[")


def test_the_documented_json_is_what_a_report_gives(tmp_path: Path) -> None:
    folder = checkout(tmp_path) / "docs" / "example"
    bill = folder / "bill.csv"
    bill.write_text(bill.read_text(encoding="utf-8").replace("ListCost", "x_NoListCost"), encoding="utf-8")
    settings = "\n".join(f'[[source]]\npath = "{name}"\n' for name in ("bill.csv", "sacct.txt"))
    outside = '[[rule]]\nname = "away"\nmatch = { category = "storage" }\nto = "__outside__"\n'
    nobody = '[[rule]]\nname = "nobody"\nmatch = { category = "support" }\nto = "__unallocated__"\n'
    idle = '[[rule]]\nname = "unused"\nmatch = { resource_id = "i-0bb2" }\nto = "__idle__"\n'
    (folder / "trainfare.toml").write_text(settings + outside + nobody + idle, encoding="utf-8")
    _trainfare("build", "-w", str(folder))
    given = json.loads(_trainfare("report", "-w", str(folder), "--by", "job", "--top", "1", "--format", "json"))
    assert given["findings"], "the files have no findings, so their fields are not tested"
    page = (DOCS / "howto" / "scripts.md").read_text(encoding="utf-8")
    documented = re.findall(r"^\| `([a-z_.\[\]0-9]+)` \|", page, re.MULTILINE)
    assert len(documented) == len(set(documented))
    assert set(documented) - {"rows[]", "overall"} == set(_fields(given))


def _fields(value: object, name: str = "") -> Iterator[str]:
    """Yield the names of all values in a JSON document, with [] for the members of lists."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from _fields(member, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for member in value:
            yield from _fields(member, f"{name}[]")
    else:
        yield name


def _trainfare(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", "trainfare", *arguments], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_links_between_pages_lead_somewhere() -> None:
    links = [
        (page, link) for page in EVERY_PAGE for link in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    ]
    assert len(links) > 30
    for page, link in links:
        assert (page.parent / link).exists(), f"{page.relative_to(ROOT)} links to {link}"
