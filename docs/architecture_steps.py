"""The SQL steps of each stage in the order they run, with their purpose, read from the code that runs them."""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from types import ModuleType

from layout import grid, sentence

STAGES = {
    "sources/schedulers": ("sources.schedulers.sacct:read", "sources.schedulers.sacct_json:read"),
    "sources/telemetry": ("sources.telemetry.events:archive", "sources.telemetry.events:rows"),
    "normalize/amortization": ("normalize.amortization.ledgers:amortize",),
    "normalize": (
        "normalize.currencies:prepare",
        "normalize.facts:make_charges",
        "normalize.facts:make_month",
        "normalize.estimates:run",
    ),
    "allocate": (
        "allocate.account:run",
        "allocate.account:require_balance",
        "allocate.lineage:open_job",
        "allocate.lineage:open_everything",
    ),
    "measures": ("books.tables:measure", "books.preview:preview_rules"),
    "live": ("live.prices:read_fleet", "live.holdings:follow"),
    "query": ("query.cost:report",),
    "query/grains": ("query.grains.parts:write",),
}
"""The folders with steps, and the functions that run them, as module:function. Other steps of a folder come last."""


def steps() -> str:
    """Return one table of steps per stage."""
    text = ""
    for stage, entries in STAGES.items():
        package = f"trainfare.{stage.replace('/', '.')}"
        names = sorted(
            file.name.removesuffix(".sql") for file in resources.files(package).iterdir() if file.name.endswith(".sql")
        )
        walk = _Walk(frozenset(names))
        found = [name for entry in entries for name in walk.run(entry)]
        rows = [(f"`{name}`", purpose(package, name)) for name in dict.fromkeys([*found, *names])]
        text += f"\n**{stage}**\n\n{grid(('step', 'purpose'), rows)}\n"
    return text + "\n"


class _Walk:
    """Finds step names in the order in which the code reaches them, following calls and constants of the package."""

    def __init__(self, wanted: frozenset[str]) -> None:
        self.wanted = wanted
        self.visited: set[tuple[str, str]] = set()

    def run(self, entry: str) -> Iterator[str]:
        module, _, function = entry.partition(":")
        imported = importlib.import_module(f"trainfare.{module}")
        if function not in _definitions(imported):
            raise ValueError(f"docs/architecture_steps.py: there is no function {entry}")
        yield from self._enter(imported, function)

    def _enter(self, module: ModuleType, name: str) -> Iterator[str]:
        definition = _definitions(module).get(name)
        if definition is not None and (module.__name__, name) not in self.visited:
            self.visited.add((module.__name__, name))
            for statement in definition:
                yield from self._visit(module, statement)

    def _visit(self, module: ModuleType, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Constant) and node.value in self.wanted:
            yield node.value
        children = node.values if isinstance(node, ast.Dict) else list(ast.iter_child_nodes(node))
        # A function runs after its arguments were computed.
        for child in [*children[1:], children[0]] if isinstance(node, ast.Call) else children:
            yield from self._visit(module, child)
        if isinstance(node, ast.Name):
            yield from self._follow(module, node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            other = getattr(module, node.value.id, None)
            is_ours = isinstance(other, ModuleType) and other.__name__.startswith("trainfare.")
            yield from self._enter(other if is_ours else module, node.attr)

    def _follow(self, module: ModuleType, name: str) -> Iterator[str]:
        """Enter a name of this module, or one that it imports from another module of ours."""
        home = inspect.getmodule(getattr(module, name, None))
        if name not in _definitions(module) and home and home.__name__.startswith("trainfare."):
            module = home
        yield from self._enter(module, name)


@cache
def _definitions(module: ModuleType) -> dict[str, list[ast.stmt]]:
    """Return the functions, methods and constants of a module by name."""
    found: dict[str, list[ast.stmt]] = {}
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, node.body)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
            found.setdefault(node.targets[0].id, [node])
    return found


def head(package: str, name: str) -> list[str]:
    """Return the comment lines that a step opens with."""
    text = resources.files(package).joinpath(f"{name}.sql").read_text(encoding="utf-8")
    comment = re.match(r"(--.*\n)*", text)
    return [line.removeprefix("--").strip() for line in comment[0].splitlines()] if comment else []


def purpose(package: str, name: str) -> str:
    """Return the first sentence of a step's comment."""
    text = re.sub(r"^In: .*? Out: ", "", " ".join(head(package, name)))
    first = re.split(r"(?<=[.])\s", text, maxsplit=1)[0]
    return sentence(first.replace("{{", "").replace("}}", ""))
