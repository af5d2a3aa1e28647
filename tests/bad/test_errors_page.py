"""The page of errors is printed from the bad inputs and is up to date."""

import importlib.util
from pathlib import Path
from types import ModuleType

from .cases import COMMANDS, cases

DOCS = Path(__file__).parents[2] / "docs"


def printer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("print_errors", DOCS / "print_errors.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date() -> None:
    module = printer()
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), "Run: python docs/print_errors.py"


def test_the_page_has_every_error() -> None:
    text = printer().PAGE.read_text(encoding="utf-8")
    found = cases()
    assert text.count("\n### ") == len(found) > 0
    assert text.count("\n## ") == len(COMMANDS)
    assert all(case.expected_path.read_text(encoding="utf-8") in text for case in found)
