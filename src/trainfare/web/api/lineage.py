"""Where money comes from, down to bill lines; and back, from a bill line to everyone who pays a part of it."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Annotated, Any, TypeVar

import msgspec
from litestar import Request, Response, get
from litestar.params import Parameter

from trainfare import pipeline
from trainfare.report import job
from trainfare.report.explain import Explanation
from trainfare.report.line import LinePayers
from trainfare.web.api.answer import Format, Row, Told, answered, documented, plain
from trainfare.web.api.asked import Basis, Currency, MonthText, Version, chosen_book
from trainfare.web.books import Shelf
from trainfare.web.problems import NotThereError
from trainfare.web.rights import sees_everything
from trainfare.web.viewer import Viewer

KEPT = 64
Found = TypeVar("Found")


class Explained(msgspec.Struct):
    """A job's money by rules, pots and bill lines. `opened` is the sum of the parts, `cost` what the book says: the same."""

    schema_version: int
    job: str
    month: str
    version: int
    basis: str
    currency: str
    cost: str
    opened: str
    rules: list[Row]
    pots: list[Row]
    lines: list[Row]


class Line(msgspec.Struct):
    """A bill line with everyone who pays a part of it. `parts` is the sum of the parts: the line itself."""

    schema_version: int
    month: str
    version: int
    file: str
    file_line: int
    line: Row
    parts: dict[str, str]
    payers: list[Row]


class Opening:
    """Opens one account at a time, since that takes much memory, and keeps the last answers."""

    def __init__(self) -> None:
        self._busy = threading.Lock()
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()

    def ask(self, key: Hashable, find: Callable[[], Found]) -> Found:
        with self._busy:
            if key not in self._kept:
                self._kept[key] = find()
                if len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            found: Found = self._kept[key]
            return found


@get(
    "/jobs/{job_id:str}/explain",
    responses=documented(Explained),
    sync_to_thread=True,
    summary="Where a job's money comes from",
)
def explained(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    viewer: Viewer,
    opening: Opening,
    job_id: Annotated[str, Parameter(description="The job's id.", max_length=500)],
    basis: Basis = "effective",
    currency: Currency = None,
    month: MonthText = None,
    version: Version = None,
    format_: Format = None,
) -> Response[bytes]:
    """Rules, pots, weights and bill lines, adding up to the published figure. CSV and Parquet have the bill lines."""
    book = chosen_book(shelf, month, version)

    def find() -> Told:
        with shelf.opened(viewer, [book]) as opened:
            if job.facts(opened, job_id) is None:
                raise NotThereError("job", f"there is no job '{job_id[:100]}' in this book", "List them: /api/v1/jobs")
            chosen = opened.currency(currency, shelf.config.currency)
        found = opening.ask((book.id, job_id, basis, chosen), lambda: _explain(shelf, book, job_id, basis, chosen))
        beside = {"job": job_id, "month": str(book.month), "version": book.version, "basis": basis, "currency": chosen}
        beside |= {"cost": plain(found.stored), "opened": plain(found.opened)}
        return Told("lines", found.lines, beside | {"rules": plain(found.rules), "pots": plain(found.pots)})

    return answered(request, format_, [book], find)


def _explain(shelf: Shelf, book: Any, job_id: str, basis: str, currency: str) -> Explanation:
    with pipeline.fresh_engine() as engine:
        return pipeline.explain(shelf.store, book, engine, job_id, basis, currency)


@get(
    "/lines/{delivery:int}/{line:int}",
    responses=documented(Line),
    guards=[sees_everything],
    sync_to_thread=True,
    summary="Who pays a bill line",
)
def line_payers(
    request: Request[Viewer, Any, Any],
    shelf: Shelf,
    viewer: Viewer,
    opening: Opening,
    delivery: Annotated[int, Parameter(description="Number of the delivered file.", ge=1, le=2_000_000_000)],
    line: Annotated[
        int, Parameter(description="Position in it: 1 is the first line after the header.", ge=1, le=2**62)
    ],
    month: MonthText = None,
    version: Version = None,
    format_: Format = None,
) -> Response[bytes]:
    """Everyone who pays a part of a bill line, with rule, weight and whole weight; the parts add up to the line."""
    book = chosen_book(shelf, month, version)

    def find() -> Told:
        def opened() -> LinePayers | None:
            with pipeline.fresh_engine() as engine:
                return pipeline.payers_of_line(shelf.store, book, engine, delivery, line)

        found = opening.ask((book.id, delivery, line), opened)
        if found is None:
            do = "Lines are named by a job's explanation: /api/v1/jobs/JOB/explain"
            raise NotThereError("line", f"{book.month} has no line {line} of delivery {delivery}", do)
        beside = {"month": str(book.month), "version": book.version, "file": found.file, "file_line": found.file_line}
        return Told("payers", found.payers, beside | {"line": plain(found.line), "parts": plain(found.parts)})

    return answered(request, format_, [book], find)


ROUTES = [explained, line_payers]
