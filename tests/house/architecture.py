"""Who may import whom, and how far the code keeps to it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "trainfare"
NAME = "trainfare"

FOUNDATION = frozenset({"engine", "errors", "ledger_tables", "period", "places", "tables"})
STAGES = frozenset({"normalise", "attribute", "metrics"})

MAY_IMPORT: dict[str, frozenset[str]] = {
    "errors": frozenset(),
    "money": frozenset(),
    "period": frozenset(),
    "places": frozenset({"errors", "object_store"}),
    "object_store": frozenset({"places"}),
    "tables": frozenset(),
    "ledger_tables": frozenset({"tables"}),
    "sections": frozenset({"errors", "places", "tables"}),
    "setting_words": frozenset({"errors"}),
    "config": frozenset({"errors", "sections", "setting_words", "tables"}),
    "engine": frozenset({"errors", "places"}),
    "scope": frozenset({"engine", "tables"}),
    "keyed": frozenset({"tables"}),
    "store": frozenset({"errors", "period", "places"}),
    "sources": FOUNDATION | {"config"},
    "normalise": FOUNDATION,
    "attribute": FOUNDATION | {"config", "keyed", "scope"},
    "metrics": FOUNDATION | {"keyed", "scope"},
    "ledgers": FOUNDATION | {"config", "sources"},
    "closing": FOUNDATION | {"report", "store"},
    "adjustments": FOUNDATION | {"config", "ledgers", "sources", "store"},
    "intake": FOUNDATION | {"config", "sources", "store"},
    "inputs": FOUNDATION | {"adjustments", "attribute", "config", "ledgers", "normalise", "sources"},
    "pipeline": FOUNDATION
    | STAGES
    | {"adjustments", "config", "inputs", "intake", "ledgers", "report", "sources", "store"},
    "reopened": FOUNDATION | {"attribute", "inputs", "pipeline", "report", "sources", "store"},
    "report": FOUNDATION | {"keyed", "money", "store.records"},
    "web": FOUNDATION | {"closing", "config", "sections", "pipeline", "reopened", "report", "store"},
    "simulate": frozenset({"errors", "money", "period", "tables"}),
    "gameday": FOUNDATION | {"config", "pipeline", "report", "simulate", "store"},
    "cli": frozenset({"*"}),
    "__init__": frozenset(),
    "__main__": frozenset({"cli"}),
}
"""A part of the house, and the parts it may import beside itself. A dotted name allows one file of a part only."""

STILL: set[tuple[str, str]] = set()
"""Imports against the table that are known. One that is gone must be taken out here."""


@dataclass(frozen=True)
class Import:
    """One file importing something of ours, named without the package."""

    file: str
    target: str

    @property
    def part(self) -> str:
        return self.file.split("/")[0].removesuffix(".py")

    def is_allowed(self) -> bool:
        allowed = MAY_IMPORT.get(self.part, frozenset())
        own = self.target.split(".")[0] == self.part
        return own or "*" in allowed or any(self.target == one or self.target.startswith(f"{one}.") for one in allowed)


def files(source: Path = SOURCE) -> list[Path]:
    return sorted(source.rglob("*.py"))


def imports(source: Path = SOURCE) -> set[Import]:
    """Every import of ours, also those inside of functions. `from a import b` is taken as a.b, whatever b is."""
    return {
        Import(path.relative_to(source).as_posix(), target)
        for path in files(source)
        for target in _targets(ast.parse(path.read_text(encoding="utf-8")), path.relative_to(source))
    }


def _targets(tree: ast.Module, path: Path) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [".".join([*_origin(node, path), alias.name]) for alias in node.names]
        else:
            continue
        for name in names:
            package, _, target = name.partition(".")
            if package == NAME and target and not target.startswith("__"):
                yield target


def _origin(node: ast.ImportFrom, path: Path) -> list[str]:
    """The module an import names; a leading dot is the folder the file is in."""
    folder = [NAME, *path.parts[:-1]]
    return [*(folder[: len(folder) - node.level + 1] if node.level else []), *([node.module] if node.module else [])]


def against_the_table(source: Path = SOURCE) -> set[tuple[str, str]]:
    return {(one.file, _file_of(one.target, source)) for one in imports(source) if not one.is_allowed()}


def _file_of(target: str, source: Path) -> str:
    """The module a target is or is in: `store.records.Book` is `store.records`."""
    parts = target.split(".")
    while parts and not (source.joinpath(*parts).is_dir() or source.joinpath(*parts).with_suffix(".py").is_file()):
        parts.pop()
    return ".".join(parts)
