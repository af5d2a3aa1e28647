"""The structure described in docs/architecture.md, enforced. Every guard first proves that it inspects something."""

import ast
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import imports
from .imports import ORDER, SOURCE, files, vendor_words, violations

LINES_PER_FILE = 400
LINES_PER_FUNCTION = 50
ARGUMENTS_PER_FUNCTION = 7
HOMELESS_NAMES = ("util", "utils", "common", "helper", "helpers", "manager", "managers", "misc")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return shutil.copytree(SOURCE, tmp_path / "trainfare", ignore=shutil.ignore_patterns("__pycache__", "static"))


def queries(source: Path = SOURCE) -> list[Path]:
    return sorted(source.rglob("*.sql"))


def functions(source: Path = SOURCE) -> Iterator[tuple[Path, Function]]:
    for path in files(source):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, Function):
                yield path, node


def string_constants() -> set[str]:
    return {
        node.value.lower()
        for path in files()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_the_guards_inspect_the_whole_package() -> None:
    assert len(files()) > 200
    assert len(imports.imports()) > 600
    assert len(queries()) > 150


def test_every_part_of_the_package_has_a_place_in_the_order() -> None:
    assert {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in files()} == {*ORDER}


def test_imports_follow_the_order() -> None:
    assert violations() == set()


@pytest.mark.parametrize(
    ("file", "line", "target"),
    [
        ("errors.py", "import trainfare.money", "money"),
        ("store/lake.py", "from trainfare.sources import registry", "sources.registry"),
        ("engine/duckdb.py", "from trainfare.store import Store", "store"),
        ("normalize/facts.py", "from trainfare.allocate import rules", "allocate.rules"),
        ("allocate/rules.py", "from ..measures import coverage", "measures.coverage"),
        ("findings/failure_modes.py", "from trainfare.measures import coverage", "measures.coverage"),
        ("sources/head.py", "from trainfare.books import build", "books.build"),
        ("sources/head.py", "from trainfare.collect import run", "collect.run"),
        ("collect/run.py", "from trainfare.normalize import facts", "normalize.facts"),
        ("query/cost.py", "def late():\n    from trainfare.books import build", "books.build"),
        ("books/build.py", "from trainfare.cli import main", "cli.main"),
    ],
)
def test_a_planted_import_is_found(copy: Path, file: str, line: str, target: str) -> None:
    path = copy / file
    path.write_text(f"{path.read_text(encoding='utf-8')}\n\n{line}\n", encoding="utf-8")
    assert violations(copy) == {(file, target)}


def test_the_sdk_and_the_product_do_not_import_each_other() -> None:
    """The SDK runs inside other people's training, so it needs nothing but Python's own library."""
    assert len(files(imports.SDK_SOURCE)) >= 8
    foreign = {name for _, name in imports.imported_modules(imports.SDK_SOURCE)} - {imports.SDK, "__future__"}
    assert foreign <= sys.stdlib_module_names
    assert imports.SDK not in {name for _, name in imports.imported_modules(SOURCE)}


def test_a_planted_import_between_the_sdk_and_the_product_is_found(tmp_path: Path) -> None:
    (tmp_path / "event.py").write_text("from trainfare.tables import STATES\nimport numpy\n", encoding="utf-8")
    assert imports.imported_modules(tmp_path) == {("event.py", "trainfare"), ("event.py", "numpy")}


def test_files_and_functions_of_the_sdk_stay_small() -> None:
    long = [
        path.name for path in files(imports.SDK_SOURCE) if len(path.read_text("utf-8").splitlines()) > LINES_PER_FILE
    ]
    assert long == []
    found = [node for _, node in functions(imports.SDK_SOURCE)]
    assert [node.name for node in found if (node.end_lineno or 0) - node.lineno >= LINES_PER_FUNCTION] == []
    assert [node.name for node in found if _arguments(node) > ARGUMENTS_PER_FUNCTION] == []


def test_a_part_that_is_not_in_the_order_may_import_nothing(copy: Path) -> None:
    (copy / "annex").mkdir()
    (copy / "annex" / "pages.py").write_text("from trainfare.query import cost\n", encoding="utf-8")
    assert violations(copy) == {("annex/pages.py", "query.cost")}


def test_only_a_few_parts_start_processes_or_use_a_network() -> None:
    assert imports.outside(imports.PROCESS_MODULES, imports.STARTS_PROCESSES) == set()
    assert imports.outside(imports.NETWORK_MODULES, imports.USES_NETWORK) == set()


def test_a_planted_process_and_a_planted_network_call_are_found(copy: Path) -> None:
    for file, line in (("query/cost.py", "import subprocess"), ("allocate/rules.py", "from httpx import get")):
        path = copy / file
        path.write_text(f"{path.read_text(encoding='utf-8')}\n\n{line}\n", encoding="utf-8")
    assert imports.outside(imports.PROCESS_MODULES, imports.STARTS_PROCESSES, copy) == {("query/cost.py", "subprocess")}
    assert imports.outside(imports.NETWORK_MODULES, imports.USES_NETWORK, copy) == {("allocate/rules.py", "httpx")}


def test_scheduler_and_provider_terms_stay_in_the_sources() -> None:
    assert vendor_words() == set()


def test_a_planted_scheduler_term_is_found(copy: Path) -> None:
    path = copy / "allocate" / "rules.py"
    path.write_text(f"{path.read_text(encoding='utf-8')}\n\nslurm_partition = ''\n", encoding="utf-8")
    query = copy / "measures" / "bill_totals.sql"
    query.write_text(f"{query.read_text(encoding='utf-8')}\n-- aws in a comment\n, sacct_state", encoding="utf-8")
    planted = {("allocate/rules.py", "slurm"), ("measures/bill_totals.sql", "sacct_")}
    assert vendor_words(copy) - vendor_words() == planted


def test_every_query_opens_with_one_sentence_on_its_purpose() -> None:
    unexplained = [path.name for path in queries() if not re.match(r"-- [A-Z]", path.read_text(encoding="utf-8"))]
    assert unexplained == []


def test_every_query_is_used() -> None:
    used = string_constants()
    assert [path.name for path in queries() if path.stem not in used] == []


def test_no_file_is_named_for_having_no_home() -> None:
    assert [path.name for path in SOURCE.rglob("*") if path.stem in HOMELESS_NAMES] == []


def test_files_and_functions_stay_small() -> None:
    long = [path.name for path in (*files(), *queries()) if len(path.read_text("utf-8").splitlines()) > LINES_PER_FILE]
    assert long == []
    long_functions = [
        (path.relative_to(SOURCE).as_posix(), node.name)
        for path, node in functions()
        if (node.end_lineno or 0) - node.lineno >= LINES_PER_FUNCTION
    ]
    assert long_functions == []


def test_no_function_takes_more_than_seven_arguments() -> None:
    wide = [
        (path.relative_to(SOURCE).as_posix(), node.name)
        for path, node in functions()
        if _arguments(node) > ARGUMENTS_PER_FUNCTION and not _is_command_or_route(node)
    ]
    assert wide == []


def _arguments(function: Function) -> int:
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return len([one for one in given if one.arg not in ("self", "cls")])


def _is_command_or_route(function: Function) -> bool:
    """Click and Litestar pass one argument per option or query parameter; the decorator declares them."""
    return any(isinstance(one, ast.Call) for one in function.decorator_list)


def test_money_is_never_a_float() -> None:
    """No code converts to float, and no query that handles money has a floating type.

    Forecast models need floats: one module converts for them, and rounds their results to the cent.
    """
    conversions = [
        path.name
        for path in files()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "float"
    ]
    assert conversions == ["forecast_models.py"]
    floating = re.compile(r"\b(double|float[48]?|real)\b", re.IGNORECASE)
    with_money = [path for path in queries() if path.relative_to(SOURCE).parts[0] in {*imports.STAGES, "query"}]
    assert len(with_money) > 40
    assert [path.name for path in with_money if floating.search(_without_comments(path))] == []


def _without_comments(query: Path) -> str:
    return re.sub(r"--.*", "", query.read_text(encoding="utf-8"))
