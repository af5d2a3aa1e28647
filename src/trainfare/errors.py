"""What goes wrong, told to a person: where, what, what to do."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

SHOWN_FAULTS = 20


class TrainfareError(Exception):
    """Something a user can mend. Carries where it is, what it is and what to do about it."""

    exit_code = 2

    def __init__(self, where: str, what: str, do: str) -> None:
        super().__init__(f"{where}: {what}\n  {do}" if where else f"{what}\n  {do}")
        self.where = where
        self.what = what
        self.do = do


class IncompleteError(TrainfareError):
    """The data is not there yet, or somebody else was faster: the same command may work later."""

    exit_code = 3


class UnwritableError(TrainfareError):
    """A folder or a database that this user may read and not write."""

    def __init__(self, where: str, what: str = "this folder may be read, but not written") -> None:
        super().__init__(where, what, "Run the command as a user who may write there, or use a workspace of your own.")


class DamagedError(TrainfareError):
    """A file that cannot be read any more, by its name if the engine tells that."""

    def __init__(self, where: str) -> None:
        do = (
            "Restore it from a backup; or remove it and run trainfare build, which makes it again if its month is open."
        )
        super().__init__(where, "the file is damaged" if where else "a file of the lake is damaged", do)


class UnreachableError(TrainfareError):
    """A server that does not answer, or does not let us in."""

    exit_code = 4


@dataclass(frozen=True, order=True)
class Fault:
    """One thing wrong with an input, so that all of them can be shown together."""

    where: str
    what: str
    do: str


class BadInputError(TrainfareError):
    """Everything that is wrong with the inputs, at once. Nothing of them was loaded."""

    def __init__(self, faults: Iterable[Fault], more: int = 0) -> None:
        """`more` counts faults that were found but are not listed in `faults`."""
        self.faults = list(faults)
        shown = _some_of_each_kind(self.faults)
        hidden = len(self.faults) - len(shown) + more
        text = _told_once_per_remedy(shown)
        if hidden > 0:
            all_kinds = {_kind(fault) for fault in self.faults} == {_kind(fault) for fault in shown}
            text += f"\n... and {hidden} more{' like these' if all_kinds else ''}."
        first = self.faults[0]
        super().__init__(first.where, first.what, first.do)
        self.args = (text,)


def _kind(fault: Fault) -> tuple[str, str]:
    """What faults are alike in: the file, and what is to be done."""
    return re.sub(r":\d+$", "", fault.where), fault.do


def _some_of_each_kind(faults: list[Fault]) -> list[Fault]:
    """As many as are shown, in their order: the first of every kind, so that no file and no remedy is left out, and then the others."""
    firsts = {_kind(fault): place for place, fault in reversed([*enumerate(faults)])}
    places = [*sorted(firsts.values()), *range(len(faults))]
    return [faults[place] for place in sorted([*dict.fromkeys(places)][:SHOWN_FAULTS])]


def _told_once_per_remedy(faults: list[Fault]) -> str:
    """Neighbouring faults with one remedy show it once, below the last of them."""
    lines: list[str] = []
    for fault, following in zip(faults, [*faults[1:], None], strict=True):
        lines.append(f"{fault.where}: {fault.what}")
        if following is None or following.do != fault.do:
            lines.append(f"  {fault.do}")
    return "\n".join(lines)


@dataclass
class Faults:
    """Collects faults while reading, and refuses everything if there was one."""

    found: list[Fault] = field(default_factory=list)
    unlisted: int = 0

    def add(self, where: str, what: str, do: str) -> None:
        self.found.append(Fault(where, what, do))

    def refuse(self) -> None:
        """Raise all collected faults together; with none, do nothing."""
        if self.found:
            raise BadInputError(self.found, self.unlisted)
