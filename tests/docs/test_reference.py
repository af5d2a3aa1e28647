"""The reference is generated from the code, is up to date, and complete."""

import importlib.util
import re
import subprocess
import sys
from types import ModuleType

import pytest

from docs.pages import DOCS, ROOT
from trainfare import tables
from trainfare.cli.main import COMMANDS
from trainfare.findings.failure_modes import FAILURE_MODES
from trainfare.findings.record_problems import RECORD_PROBLEMS
from trainfare.query import keys
from trainfare.settings import config, rules


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("print_reference", DOCS / "print_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATOR = _generator()


def reference(name: str) -> str:
    return (DOCS / "reference" / f"{name}.md").read_text(encoding="utf-8")


STALE = """
import runpy
pages = runpy.run_path("docs/print_reference.py")["pages"]()
assert len(pages) == 10
print(*(path.name for path, text in pages.items() if path.read_text(encoding="utf-8") != text))
"""


def test_no_generated_page_is_out_of_date() -> None:
    """In a new process: click caches the help option of a command."""
    ran = subprocess.run([sys.executable, "-c", STALE], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not ran.stdout.strip(), "Run: make reference"


@pytest.mark.parametrize("table", tables.TABLES, ids=lambda table: table.name)
def test_every_column_is_in_the_reference(table: tables.Table) -> None:
    section = reference("tables").partition(f"## {table.name}\n")[2].partition("\n## ")[0]
    rows = [line for line in section.split("\n") if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(table.names)


def test_every_command_and_option_is_in_the_reference() -> None:
    page = reference("commands")
    commands = dict(GENERATOR.commands())
    assert {name.split()[0] for name in commands} == set(COMMANDS)
    for name, command in commands.items():
        section = page.partition(f"## trainfare {name}\n")[2].partition("\n## ")[0]
        assert section, f"{name} has no section"
        for parameter in command.params:
            for option in parameter.opts if parameter.param_type_name == "option" else []:
                assert re.search(rf"{re.escape(option)}\b", section), f"{name} {option}"


def test_every_key_to_group_by_is_in_the_reference() -> None:
    page = reference("commands")
    for key in (*keys.JOB_KEYS, *keys.MACHINE_KEYS, *keys.TIME_KEYS, *keys.CHARGE_KEYS):
        assert f"`{key}`" in page


def test_every_setting_is_in_the_reference() -> None:
    page = reference("settings")
    names = [name for shape in (config.Config, config.SourceSettings, rules.Rule) for name in shape.__struct_fields__]
    values = (*rules.MATCH_KEYS, *rules.AMONG, "tag:KEY", *rules.BY, *rules.IDLE, *rules.TO)
    for name in (
        *(name for name in names if name not in ("named_sources", "given_labels", "where", "folder")),
        *values,
    ):
        assert f"| `{name}` |" in page, name


def test_a_setting_without_a_text_is_an_error() -> None:
    with pytest.raises(ValueError, match="new_setting"):
        GENERATOR.described(GENERATOR.SETTINGS, [*GENERATOR.SETTINGS, "new_setting"])


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
    assert re.findall(r"^### ([\w-]+)", page, re.MULTILINE) == [one.code for one in (*FAILURE_MODES, *RECORD_PROBLEMS)]


def test_every_sql_step_is_in_the_architecture() -> None:
    architecture = (DOCS / "architecture.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "trainfare"
    steps = [path for path in package.rglob("*.sql") if path.parent.name not in ("cluster", "records", "modes")]
    assert len(steps) > 40
    for path in steps:
        assert f"| `{path.stem}` |" in architecture, path.relative_to(package)
