"""The house as DESIGN draws it. Each guard counts what it looks at first: one that looks at nothing would pass."""

import ast
import re
import shutil
from pathlib import Path

import pytest

from . import architecture
from .architecture import MAY_IMPORT, SOURCE, STILL, against_the_table, files, imports

LINES_OF_A_FILE = 400
LINES_OF_A_FUNCTION = 60
NAMES_OF_NO_HOME = ("util", "utils", "common", "helper", "helpers", "manager", "managers", "misc")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return shutil.copytree(SOURCE, tmp_path / "trainfare", ignore=shutil.ignore_patterns("__pycache__"))


def queries(source: Path = SOURCE) -> list[Path]:
    return sorted(source.rglob("*.sql"))


def words() -> set[str]:
    """Every text that stands in the code by itself, in small letters."""
    return {
        node.value.lower()
        for path in files()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_there_is_something_to_look_at() -> None:
    assert len(files()) > 70
    assert len(imports()) > 200
    assert len(queries()) > 50


def test_every_part_of_the_house_is_in_the_table() -> None:
    assert {one.part for one in imports()} <= MAY_IMPORT.keys()
    parts = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in files()}
    assert parts == MAY_IMPORT.keys()


def test_imports_go_the_way_the_table_allows() -> None:
    assert against_the_table() == STILL


@pytest.mark.parametrize(
    ("file", "line", "target"),
    [
        ("errors.py", "import trainfare.money", "money"),
        ("store/lake.py", "from trainfare.engine.duckdb import DuckDB", "engine.duckdb"),
        ("engine/duckdb.py", "from trainfare.tables import CHARGES", "tables"),
        ("normalise/facts.py", "from trainfare.attribute import rules", "attribute.rules"),
        ("attribute/rules.py", "from ..metrics import book", "metrics.book"),
        ("sources/head.py", "from trainfare import pipeline", "pipeline"),
        ("report/cost.py", "def late():\n    from trainfare.store.catalog import Catalog", "store.catalog"),
        ("report/cost.py", "from trainfare.store import Store", "store"),
        ("simulate/files.py", "import trainfare.attribute.account as told", "attribute.account"),
        ("pipeline.py", "from trainfare.cli import main", "cli.main"),
    ],
)
def test_a_planted_import_is_found(copy: Path, file: str, line: str, target: str) -> None:
    assert against_the_table(copy) == STILL
    path = copy / file
    path.write_text(f"{path.read_text(encoding='utf-8')}\n\n{line}\n", encoding="utf-8")
    assert against_the_table(copy) == STILL | {(file, target)}


def test_a_new_part_must_be_put_into_the_table(copy: Path) -> None:
    (copy / "annexe").mkdir()
    (copy / "annexe" / "pages.py").write_text("from trainfare.report import cost\n", encoding="utf-8")
    assert against_the_table(copy) == STILL | {("annexe/pages.py", "report.cost")}


def test_what_only_one_file_may_know_is_known_by_one_file() -> None:
    """Clouds' and schedulers' words stay in `sources`; the order of the stages stays in `pipeline`, what they begin with in `inputs`, the
    way back in `reopened`.
    """
    stages = {one.file for one in imports() if one.target.split(".")[0] in architecture.STAGES}
    outside = {file for file in stages if file.split("/")[0] not in architecture.STAGES}
    assert outside == {"inputs.py", "pipeline.py", "reopened.py"}


def test_every_query_opens_with_what_it_does() -> None:
    silent = [path.name for path in queries() if not path.read_text(encoding="utf-8").startswith("-- ")]
    assert silent == []


def test_every_query_is_used() -> None:
    used = words()
    assert [path.name for path in queries() if path.stem not in used] == []


def test_no_file_is_named_for_having_no_home() -> None:
    named = [path.name for path in SOURCE.rglob("*") if path.stem in NAMES_OF_NO_HOME]
    assert named == []


def test_files_and_functions_fit_in_a_head() -> None:
    long = [path.name for path in (*files(), *queries()) if len(path.read_text("utf-8").splitlines()) > LINES_OF_A_FILE]
    assert long == []
    functions = [
        (path.name, node.name)
        for path in files()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= LINES_OF_A_FUNCTION
    ]
    assert functions == []


def test_money_is_never_a_float() -> None:
    """No code makes one, and no query that sees money has such a type. The engine may guess where it proves it.

    The models of a forecast know nothing else: one place makes floats for them, and what they say is rounded to the cent there.
    """
    made = [
        path.name
        for path in files()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "float"
    ]
    assert made == ["forecast_models.py"]
    floating = re.compile(r"\b(double|float[48]?|real)\b", re.IGNORECASE)
    seeing = [path for path in queries() if path.relative_to(SOURCE).parts[0] in {*architecture.STAGES, "report"}]
    assert len(seeing) > 40
    assert [path.name for path in seeing if floating.search(_without_comments(path))] == []


def _without_comments(query: Path) -> str:
    return re.sub(r"--.*", "", query.read_text(encoding="utf-8"))
