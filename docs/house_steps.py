"""The SQL steps of each stage, read from the code that runs them."""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from importlib import resources
from typing import Any

from layout import grid, sentence

from trainfare.attribute import weighing

STAGES = {
    "sources/schedulers": (("sacct", "read"), ("sacct_json", "read"), ("slurm_runs", "place")),
    "ledgers": (("laying", "lay"),),
    "normalise": (("conversion", "prepare"), ("facts", "charges"), ("facts", "held"), ("estimating", "run")),
    "attribute": (
        ("account", "route"),
        ("weighing", "weigh_all"),
        ("account", "run"),
        ("lineage", "open_job"),
        ("lineage", "open_everything"),
    ),
    "metrics": (("coverage", "run"), ("book", "run")),
    "report": (("cost", "report"),),
}
"""Where the steps of each stage are run: modules and the functions to begin with."""


def steps() -> str:
    """The SQL steps of each stage, in the order they run."""
    text = ""
    for stage, modules in STAGES.items():
        package = f"trainfare.{stage.replace('/', '.')}"
        there = sorted(
            file.name.removesuffix(".sql") for file in resources.files(package).iterdir() if file.name.endswith(".sql")
        )
        found = [
            name
            for module, entry in modules
            for name in _named(importlib.import_module(f"{package}.{module}"), entry, there)
        ]
        rows = [(f"`{name}`", _purpose(package, name)) for name in dict.fromkeys([*found, *there])]
        text += f"\n**{stage}**\n\n{grid(('step', 'gives'), rows)}\n"
    return text + "\n"


def _named(module: Any, entry: str, wanted: list[str]) -> Iterator[str]:
    """The wanted words in the order the code comes to them, following calls within the module."""
    functions = {
        node.name: node for node in ast.parse(inspect.getsource(module)).body if isinstance(node, ast.FunctionDef)
    }
    entered: set[str] = set()

    def visit(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Constant) and node.value in wanted:
            yield node.value
        for child in node.values if isinstance(node, ast.Dict) else ast.iter_child_nodes(node):
            yield from visit(child)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield from enter(node.func.id)

    def enter(name: str) -> Iterator[str]:
        if name in functions and name not in entered:
            entered.add(name)
            for statement in functions[name].body:
                yield from visit(statement)

    yield from enter(entry)


def head(package: str, name: str) -> list[str]:
    """The lines of comment a step opens with."""
    lines = resources.files(package).joinpath(f"{name}.sql").read_text(encoding="utf-8").split("\n")
    head = lines[: next((place for place, line in enumerate(lines) if not line.startswith("--")), len(lines))]
    return [line.removeprefix("--").strip() for line in head]


def _purpose(package: str, name: str) -> str:
    """What comes out of a step, in a sentence."""
    text = " ".join(head(package, name))
    out = text.partition("Out: ")[2] if text.startswith("In: ") else text
    told = sentence(re.split(r"(?<=[.])\s", out, maxsplit=1)[0])
    return told.replace("{{second}}", f"{weighing.SECOND:,}").replace("{{", "").replace("}}", "")
