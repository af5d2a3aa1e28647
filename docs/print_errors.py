"""Print the page of errors from the bad inputs in `tests/bad`: each with the file that causes it and its message."""

import sys
from pathlib import Path

DOCS = Path(__file__).parent
PAGE = DOCS / "reference" / "errors.md"
sys.path.insert(0, str(DOCS.parent / "tests"))

from bad.cases import COMMANDS, Case, cases  # noqa: E402

PRINTED = "<!-- Printed by docs/print_errors.py from tests/bad. Do not edit: run `python docs/print_errors.py`. -->\n"
SHOWN_LINES = 6
INTRODUCTION = """\
# Errors

An error says where it is, what is wrong and what to do. All problems are reported at once (the first 20, and how many \
more there are). Nothing of the files is loaded, and published books stay unchanged. The exit code is 2, or 3 if nothing \
is wrong but data is still missing. The number after a file name is a line in text files, and a row in Parquet and in a \
JSON list.

Each error below is caused by the file above it. For a file that is not text, only the name is shown.
"""
TITLES = {
    "bill": "Bills",
    "jobs": "Job logs",
    "machines": "Machine files",
    "usage": "Measurements",
    "quality": "Results",
    "prices": "Prices",
    "ledgers": "Ledgers",
    "settings": "Settings",
    "workspace": "Workspaces",
    "mapping": "Mappings of bills",
    "command": "The command line",
    "incomplete": "Incomplete data (exit code 3)",
}


def page() -> str:
    """Return the page as Markdown."""
    parts = [PRINTED + INTRODUCTION]
    for role, title in TITLES.items():
        parts.append(f"## {title}\n")
        if "{file}" in COMMANDS[role]:
            parts.append(f"Read with `trainfare {COMMANDS[role].format(file='FILE')}`.\n")
        parts += [_section(case) for case in cases() if case.role == role]
    return "\n".join(parts)


def _section(case: Case) -> str:
    text = case.expected_path.read_text(encoding="utf-8").rstrip("\n")
    return f"### {case.name.replace('_', ' ')}\n\n{_cause(case)}\n```text\n{text}\n```\n"


def _cause(case: Case) -> str:
    if case.path.suffix == ".args":
        return f"`trainfare {case.command}`\n"
    name = "trainfare.toml" if case.role == "workspace" else case.file
    if case.is_generated or not (text := case.path.read_text(encoding="utf-8")).strip():
        return f"`{name}`\n"
    lines = text.rstrip("\n").split("\n")
    shown = [*lines[:SHOWN_LINES], "..."] if len(lines) > SHOWN_LINES + 1 else lines
    kind = "toml" if name.endswith(".toml") else "text"
    return f"`{name}`\n\n```{kind}\n" + "\n".join(shown) + "\n```\n"


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.relative_to(DOCS.parent))
