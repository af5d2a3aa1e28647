"""Errors for people: where, what, and what to do."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

SHOWN_PROBLEMS = 20


class TrainfareError(Exception):
    """An error that a user can fix: where it is, what it is, and what to do about it."""

    exit_code = 2

    def __init__(self, where: str, what: str, do: str) -> None:
        super().__init__(f"{where}: {what}\n  {do}" if where else f"{what}\n  {do}")
        self.where = where
        self.what = what
        self.do = do


class IncompleteError(TrainfareError):
    """The data is not complete yet, or another process was faster: the same command may succeed later."""

    exit_code = 3


class UnwritableError(TrainfareError):
    """A folder or database that this user may read but not write."""

    def __init__(self, where: str, what: str = "this folder is read-only for this user") -> None:
        super().__init__(where, what, "Run the command as a user who may write there, or use another workspace.")


class DamagedError(TrainfareError):
    """A file that is not as it was written, with its name if that is known, or damaged rows of the catalog."""

    def __init__(self, where: str, what: str = "", do: str = "") -> None:
        super().__init__(
            where,
            what or ("the file is damaged" if where else "a file of the lake is damaged"),
            do or "Restore it from a backup, or run trainfare build, which rebuilds it if its month is open.",
        )


class UnreachableError(TrainfareError):
    """A server that does not respond, or rejects our credentials."""

    exit_code = 4


@dataclass(frozen=True, order=True)
class Problem:
    """One problem in an input, so that all problems can be shown together."""

    where: str
    what: str
    do: str


class BadInputError(TrainfareError):
    """All problems of the inputs at once. Nothing of them was loaded."""

    def __init__(self, problems: Iterable[Problem], more: int = 0) -> None:
        """`more` counts problems that were found but are not listed in `problems`."""
        self.problems = list(problems)
        shown = _some_of_each_kind(self.problems)
        hidden = len(self.problems) - len(shown) + more
        text = _listed(shown)
        if hidden > 0:
            all_kinds = {_kind(problem) for problem in self.problems} == {_kind(problem) for problem in shown}
            text += f"\n... and {hidden} more{' like these' if all_kinds else ''}."
        first = self.problems[0]
        super().__init__(first.where, first.what, first.do)
        self.args = (text,)


def _kind(problem: Problem) -> tuple[str, str]:
    """Return what similar problems share: the file, and what to do."""
    return re.sub(r":\d+$", "", problem.where), problem.do


def _some_of_each_kind(problems: list[Problem]) -> list[Problem]:
    """Return the problems to show, in order: the first of every kind, so no file or remedy is left out, then others."""
    firsts = {_kind(problem): index for index, problem in reversed([*enumerate(problems)])}
    indexes = [*sorted(firsts.values()), *range(len(problems))]
    return [problems[index] for index in sorted([*dict.fromkeys(indexes)][:SHOWN_PROBLEMS])]


def _listed(problems: list[Problem]) -> str:
    """Return one line per problem; adjacent problems with the same remedy show it once, below the last of them."""
    lines: list[str] = []
    for problem, following in zip(problems, [*problems[1:], None], strict=True):
        lines.append(f"{problem.where}: {problem.what}")
        if following is None or following.do != problem.do:
            lines.append(f"  {problem.do}")
    return "\n".join(lines)


@dataclass
class Problems:
    """Collects problems while inputs are read."""

    found: list[Problem] = field(default_factory=list)
    unlisted: int = 0

    def add(self, where: str, what: str, do: str) -> None:
        self.found.append(Problem(where, what, do))

    def raise_if_any(self) -> None:
        """Raise all collected problems together, if there are any."""
        if self.found:
            raise BadInputError(self.found, self.unlisted)
