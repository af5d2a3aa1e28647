"""Bills that are replaced while a build reads them: a book has one bill or the other, never parts of both."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
import soak

from . import company
from .company import OCTOBER, Line
from .folder import Workspace

pytestmark = [pytest.mark.services, pytest.mark.soak]

BUILDS = 6 * soak.SCALE
PAUSES_SECONDS = (0.002, 0.2, 1.0)
"""Between two replacements: within one reading, about once per reading, and less often."""
CHANGED = "the file changed while it was read"


@contextmanager
def replacing(path: Path, contents: list[str], pause: float) -> Iterator[None]:
    """Replace a file with other contents in turn, each time as a whole, until the block ends."""
    over = threading.Event()

    def run() -> None:
        number = 0
        while not over.wait(pause):
            number += 1
            draft = path.with_name(f".{path.name}")
            draft.write_text(contents[number % len(contents)], encoding="utf-8")
            draft.replace(path)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def raised(by: Decimal) -> list[Line]:
    return [replace(line, cost=line.cost + by) for line in company.lines(OCTOBER)]


def test_a_book_has_one_of_the_bills_or_is_not_published(built: Workspace) -> None:
    soak.announce("replaced bills", BUILDS)
    seen = Counter[str]()
    bill = built.folder / "bills" / "2026-10.csv"
    for number in range(BUILDS):
        # Every line differs, so that a mixture of both has another total.
        versions = [raised(Decimal(number) + Decimal(part) / 10) for part in (1, 2)]
        allowed = {company.total(lines) for lines in versions} | {built.total(OCTOBER)}
        before = built.book(OCTOBER).version
        built.write_bill(OCTOBER, versions[0])
        with replacing(bill, [company.bill(OCTOBER, lines) for lines in versions], PAUSES_SECONDS[number % 3]):
            ran = built.run("build")
        assert "Traceback" not in ran.err
        assert ran.code == 0 or f"{bill}: {CHANGED}" in ran.err, ran.err
        assert built.total(OCTOBER) in allowed
        assert built.book(OCTOBER).version - before in ((0, 1) if ran.code == 0 else (0,))
        built.require_sound(latest=True)
        seen["published" if ran.code == 0 else "refused"] += 1
    print(dict(seen))
    assert seen["refused"]
    built.write_bill(OCTOBER, company.lines(OCTOBER))
    built.build()
    assert built.total(OCTOBER) == company.total(company.lines(OCTOBER))
    assert built.unreferenced() == set()
