"""The reference is printed from the code, is not stale, and leaves nothing out."""

import importlib.util
import re
import subprocess
import sys
from types import ModuleType

import pytest

from docs.pages import DOCS, ROOT
from trainfare import config, tables
from trainfare.cli.main import COMMANDS
from trainfare.metrics.failures import FAILURES
from trainfare.metrics.findings import FAULTS
from trainfare.report import keys


def _printer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("print_reference", DOCS / "print_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PRINTER = _printer()


def reference(name: str) -> str:
    return (DOCS / "reference" / f"{name}.md").read_text(encoding="utf-8")


STALE = """
import runpy
pages = runpy.run_path("docs/print_reference.py")["pages"]()
assert len(pages) == 9
print(*(path.name for path, text in pages.items() if path.read_text(encoding="utf-8") != text))
"""


def test_no_printed_page_is_stale() -> None:
    """Asked of a new process: click keeps the help option a command was first asked with."""
    asked = subprocess.run([sys.executable, "-c", STALE], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not asked.stdout.strip(), "Run: make reference"


@pytest.mark.parametrize("table", tables.TABLES, ids=lambda table: table.name)
def test_every_column_is_in_the_reference(table: tables.Table) -> None:
    section = reference("tables").partition(f"## {table.name}\n")[2].partition("\n## ")[0]
    told = [line for line in section.split("\n") if line.startswith("| `")]
    assert [line.split("`")[1] for line in told] == list(table.names)


def test_every_command_and_option_is_in_the_reference() -> None:
    page = reference("commands")
    commands = dict(PRINTER.commands())
    assert {name.split()[0] for name in commands} == set(COMMANDS)
    for name, command in commands.items():
        section = page.partition(f"## trainfare {name}\n")[2].partition("\n## ")[0]
        assert section, f"{name} has no section"
        for parameter in command.params:
            for option in parameter.opts if parameter.param_type_name == "option" else []:
                assert re.search(rf"{re.escape(option)}\b", section), f"{name} {option}"


def test_every_key_to_group_by_is_in_the_reference() -> None:
    page = reference("commands")
    for key in (*keys.OF_JOB, *keys.OF_MACHINE, *keys.OF_TIME, *keys.OF_CHARGE):
        assert f"`{key}`" in page


def test_every_setting_is_in_the_reference() -> None:
    page = reference("settings")
    names = [name for shape in (config.Config, config.Source, config.Rule) for name in shape.__struct_fields__]
    values = (*config.MATCH_KEYS, *config.AMONG, "tag:KEY", *config.BY, *config.IDLE, *config.TO)
    for name in (*(name for name in names if name not in ("where", "folder")), *values):
        assert f"| `{name}` |" in page, name


def test_a_setting_without_words_stops_the_printing() -> None:
    with pytest.raises(ValueError, match="new_setting"):
        PRINTER.worded(PRINTER.SETTINGS, [*PRINTER.SETTINGS, "new_setting"])


def test_every_variable_the_code_reads_is_in_the_reference() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    named = set(re.findall(r"TRAINFARE_[A-Z_]*[A-Z]", code)) | {
        f"TRAINFARE_{name.upper()}" for name in ("currency", "catalog")
    }
    assert len(named) >= 3
    for name in named:
        assert f"| `{name}` |" in reference("settings"), name


def test_every_finding_is_in_the_reference() -> None:
    page = reference("findings")
    assert re.findall(r"^### ([\w-]+)", page, re.MULTILINE) == [one.code for one in (*FAILURES, *FAULTS)]


def test_every_sql_step_is_in_the_house() -> None:
    house = (DOCS / "house.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "trainfare"
    steps = [path for path in package.rglob("*.sql") if path.parent.name not in ("cluster", "faults", "modes")]
    assert len(steps) > 40
    for path in steps:
        assert f"| `{path.stem}` |" in house, path.relative_to(package)
