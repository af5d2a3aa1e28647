"""The bad inputs: pairs of a file that is wrong and the text that must come of it.

A file `NAME.bad.*` stands beside `NAME.bad.expected`; which command reads it, its folder says. Files that are no
text are made by their recipe. In `command` the file holds the arguments themselves.
"""

import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from .recipes import RECIPES

HERE = Path(__file__).parent
COMMANDS = {
    "bill": "report {file} --jobs jobs.csv --machines machines.csv",
    "jobs": "report bill.csv --jobs {file}",
    "machines": "report bill.csv --jobs jobs.csv --machines {file}",
    "usage": "report bill.csv --jobs jobs.csv --with {file}",
    "quality": "report bill.csv --jobs jobs.csv --with {file}",
    "prices": "report bill.csv --jobs jobs.csv --with {file}",
    "ledgers": "report bill.csv --jobs jobs.csv --with {file}",
    "settings": "report bill.csv --jobs jobs.csv --config {file}",
    "workspace": "build",
    "command": "{text}",
    "incomplete": "{text}",
}
EXIT_CODES = {"incomplete": 3}
"""What is not wrong but not there yet; everything else leaves with 2."""


@dataclass(frozen=True)
class Case:
    """One bad input."""

    role: str
    file: str

    @property
    def name(self) -> str:
        return self.file.split(".")[0]

    @property
    def path(self) -> Path:
        return HERE / self.role / self.file

    @property
    def is_made(self) -> bool:
        return self.file in RECIPES.get(self.role, {})

    @property
    def expected_path(self) -> Path:
        return self.path.with_name(f"{self.name}.bad.expected")

    @property
    def command(self) -> str:
        """What follows `trainfare` on the command line."""
        text = self.path.read_text(encoding="utf-8").strip() if self.path.suffix == ".args" else ""
        return COMMANDS[self.role].format(file=self.file, text=text)

    @property
    def arguments(self) -> list[str]:
        return shlex.split(self.command)

    @property
    def exit_code(self) -> int:
        return EXIT_CODES.get(self.role, 2)

    def make(self, folder: Path) -> None:
        """Put the file into `folder`; settings of a workspace take their usual name."""
        target = folder / ("trainfare.toml" if self.role == "workspace" else self.file)
        if self.is_made:
            RECIPES[self.role][self.file](target)
        else:
            shutil.copyfile(self.path, target)


def cases() -> list[Case]:
    """All of them, by folder and name."""
    found = [Case(role, name) for role, recipes in RECIPES.items() for name in recipes]
    for role in COMMANDS:
        found += [Case(role, path.name) for path in (HERE / role).glob("*.bad.*") if path.suffix != ".expected"]
    return sorted(found, key=lambda case: (list(COMMANDS).index(case.role), case.name))


def furnish(folder: Path, *wanted: Case) -> None:
    """Make a folder with the good files and these bad ones."""
    shutil.copytree(HERE / "good", folder, dirs_exist_ok=True)
    for case in wanted:
        case.make(folder)
