"""The import rules of the codebase, and a scanner that reports every violation.

The same table is printed in docs/architecture.md: a folder may import what stands above it, and nothing below.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "trainfare"
PACKAGE = "trainfare"
SDK_SOURCE = Path(__file__).parents[2] / "sdk" / "src" / "trainfare_sdk"
SDK = "trainfare_sdk"

ORDER = (
    *("errors", "job_ids", "money", "period", "quoting", "tables"),
    *("files", "settings", "engine", "store", "sources", "collect"),
    *("normalize", "allocate", "measures", "findings"),
    *("query", "books", "live", "report", "serve", "simulate", "cli"),
    *("__init__", "__main__"),
)
"""Every part of the package. A part may import the parts before it, never those after it."""

BASE = frozenset({"errors", "job_ids", "money", "period", "quoting", "tables"})
"""These import nothing of ours."""

STAGES = frozenset({"normalize", "allocate", "measures", "findings"})
"""The stages of a build. They communicate through tables, so none imports another."""

STARTS_PROCESSES = ("engine/", "collect/", "serve/databases/", "simulate/scorecard.py", "cli/run.py", "cli/gpu_use.py")
PROCESS_MODULES = frozenset({"subprocess", "multiprocessing"})
USES_NETWORK = ("engine/", "collect/", "files/", "serve/", "store/", "cli/serve.py", "cli/demo.py", "cli/sync.py")
NETWORK_MODULES = frozenset(
    {"socket", "ssl", "http.client", "urllib.request", "httpx", "requests", "s3fs", "uvicorn", "psycopg"}
)
VENDOR_TERMS = ("sources/", "collect/", "simulate/", "files/", "store/migrations/versions/")
VENDOR_WORDS = re.compile(
    r"\b(slurm|sacct|sbatch|htcondor|kubernetes|kubectl|aws|azure|gcp)\b|slurm_|sacct_", re.IGNORECASE
)


@dataclass(frozen=True)
class Import:
    """One file that imports a module of ours, named without the package."""

    file: str
    target: str

    @property
    def part(self) -> str:
        return self.file.split("/")[0].removesuffix(".py")

    def is_allowed(self) -> bool:
        target = self.target.split(".")[0]
        if target == self.part and self.part not in BASE:
            return True
        if self.part not in ORDER or target not in ORDER or self.part in BASE:
            return False
        return ORDER.index(target) < ORDER.index(self.part) and not {self.part, target} <= STAGES


def files(source: Path = SOURCE) -> list[Path]:
    return sorted(source.rglob("*.py"))


def imports(source: Path = SOURCE) -> set[Import]:
    """Every import of our own modules, including those inside functions. `from a import b` counts as a.b."""
    return {
        Import(file, name.removeprefix(f"{PACKAGE}."))
        for file, name in _imported(source)
        if name.startswith(f"{PACKAGE}.") and not name.startswith(f"{PACKAGE}.__")
    }


def violations(source: Path = SOURCE) -> set[tuple[str, str]]:
    """Each file that imports a module it must not, with that module."""
    return {(one.file, _module(one.target, source)) for one in imports(source) if not one.is_allowed()}


def imported_modules(source: Path) -> set[tuple[str, str]]:
    """Each file with the first part of every module it imports, relative imports left out."""
    return {(file, name.split(".")[0]) for file, name in _imported(source)}


def outside(modules: frozenset[str], allowed: tuple[str, ...], source: Path = SOURCE) -> set[tuple[str, str]]:
    """Each file outside `allowed` that imports one of `modules`, with that module."""
    return {
        (file, module)
        for file, name in _imported(source)
        for module in modules
        if (name == module or name.startswith(f"{module}.")) and not file.startswith(allowed)
    }


def vendor_words(source: Path = SOURCE) -> set[tuple[str, str]]:
    """Each file outside `VENDOR_TERMS` that names a scheduler or a cloud provider in code or SQL, with the word."""
    return {
        (path.relative_to(source).as_posix(), found.lower())
        for path in (*files(source), *source.rglob("*.sql"))
        if not path.relative_to(source).as_posix().startswith(VENDOR_TERMS)
        for found in _vendor_matches(path)
    }


def _vendor_matches(path: Path) -> Iterator[str]:
    """Vendor words in identifiers and SQL. Prose may name a product: messages say where a user finds an export."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".sql":
        yield from (found.group(0) for found in VENDOR_WORDS.finditer(re.sub(r"--.*", "", text)))
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not re.search(r"\s", node.value):
            yield from (found.group(0) for found in VENDOR_WORDS.finditer(node.value))
        name = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "name", None)
        if isinstance(name, str):
            yield from (found.group(0) for found in VENDOR_WORDS.finditer(name.replace("_", " ")))


def _imported(source: Path) -> Iterator[tuple[str, str]]:
    for path in files(source):
        relative = path.relative_to(source)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from ((relative.as_posix(), alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                origin = _origin(node, relative)
                yield from ((relative.as_posix(), ".".join([*origin, alias.name])) for alias in node.names)


def _origin(node: ast.ImportFrom, path: Path) -> list[str]:
    """The module an import names; a leading dot is the folder of the file."""
    folder = [PACKAGE, *path.parts[:-1]]
    return [*(folder[: len(folder) - node.level + 1] if node.level else []), *([node.module] if node.module else [])]


def _module(target: str, source: Path) -> str:
    """The module that a target is, or is in: `store.records.Book` is in `store.records`."""
    parts = target.split(".")
    while parts and not (source.joinpath(*parts).is_dir() or source.joinpath(*parts).with_suffix(".py").is_file()):
        parts.pop()
    return ".".join(parts)
