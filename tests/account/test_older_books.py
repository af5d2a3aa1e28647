"""A closed book is never rewritten, so older books stay readable: columns added later are unknown in them."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import msgspec

from trainfare.books.compare import causes, difference
from trainfare.books.from_files import build_from_files
from trainfare.engine.duckdb import DuckDB, parquet, quoted
from trainfare.query import cost
from trainfare.query.check import FindingStates, check
from trainfare.query.grains import parts
from trainfare.query.open_books import open_books
from trainfare.query.stored import ADDED_COLUMNS, select_of
from trainfare.settings.config import load
from trainfare.settings.sections import Check
from trainfare.store import BookFiles
from trainfare.store.book_views import NUMBERED

from .books import HOUR, Bookkeeper, Case, hours_of, placement


def older(engine: DuckDB, book: BookFiles, folder: Path) -> BookFiles:
    """Return the same book as it was built before these columns and tables existed."""
    files = {name: path for name, path in book.files.items() if name != "conversions"}
    for name in ("share_kinds", "bill_totals"):
        files[name] = folder / f"older-{name}.parquet"
        without = ", ".join(column.name for column in ADDED_COLUMNS[name])
        engine.run(f"COPY (SELECT * EXCLUDE ({without}) FROM {parquet(book.files[name])}) TO {quoted(files[name])}")
    return replace(book, files=files)


def test_a_book_with_fewer_columns_gives_the_same_report(keeper: Bookkeeper):
    case = Case([hours_of("n1", (0, 4 * HOUR), "8")], [placement("a", "n1", (0, 2 * HOUR), gpus=4, team="nlp")])
    folder = keeper.write(case)
    (book,) = build_from_files(load(folder / "trainfare.toml"), folder / "books", keeper.builder)
    reports, findings = [], []
    for one in (book, older(keeper.builder, book, folder)):
        opened = open_books(keeper.reader, [one])
        reports.append(cost.report(opened, cost.Question(["team"])))
        findings.append(check(opened, msgspec.structs.asdict(Check()), FindingStates({}, {})))
    assert reports[0] == reports[1]
    assert findings[0] == findings[1]
    assert reports[1].total == reports[1].bill == Decimal(8)
    assert reports[1].conversions == []
    assert keeper.reader.rows("SELECT DISTINCT origin, converted_from FROM shares") == [(None, None)]


def test_the_grains_of_an_older_book_can_be_made(keeper: Bookkeeper):
    """The service builds one for every book that it shows, including those closed long ago."""
    case = Case([hours_of("n1", (0, 4 * HOUR), "8")], [placement("a", "n1", (0, 2 * HOUR), gpus=4, team="nlp")])
    folder = keeper.write(case)
    (book,) = build_from_files(load(folder / "trainfare.toml"), folder / "books", keeper.builder)
    before = older(keeper.builder, book, folder)
    files = {name: path for name, path in before.files.items() if name not in NUMBERED.values()}
    paths = {part: folder / f"{part}.duckdb" for part in parts.PARTS}
    parts.write(replace(before, files=files), paths)
    for part, path in paths.items():
        keeper.reader.run(f"ATTACH {quoted(path)} AS {part}")
    assert keeper.reader.rows("SELECT sum(effective) FROM labels.grain_cost_d") == [(Decimal(8),)]
    assert keeper.reader.rows("SELECT DISTINCT origin, estimated FROM labels.grain_ways_2") == [(None, False)]
    assert keeper.reader.rows("SELECT effective FROM labels.grain_fact_s WHERE job = 1") == [(Decimal(4),)]
    assert keeper.reader.rows("SELECT count(*) FROM work.grain_usage") == [(0,)]


def test_a_newer_version_is_compared_with_an_older_one(keeper: Bookkeeper):
    case = Case([hours_of("n1", (0, 4 * HOUR), "8")], [placement("a", "n1", (0, 2 * HOUR), gpus=4, team="nlp")])
    folder = keeper.write(case)
    (book,) = build_from_files(load(folder / "trainfare.toml"), folder / "books", keeper.builder)
    before = older(keeper.builder, book, folder)
    assert (
        difference(keeper.reader, before, book, "effective") == causes(keeper.reader, before, book, "effective") == []
    )


def test_an_older_book_and_a_newer_one_are_read_together(keeper: Bookkeeper):
    """Only one of the two knows the origin of its cost; both are in the sum."""
    case = Case([hours_of("n1", (0, 4 * HOUR), "8")], [placement("a", "n1", (0, 2 * HOUR), gpus=4, team="nlp")])
    folder = keeper.write(case)
    (book,) = build_from_files(load(folder / "trainfare.toml"), folder / "books", keeper.builder)
    opened = open_books(keeper.reader, [older(keeper.builder, book, folder), replace(book, month=book.month.next())])
    assert opened.engine.rows("SELECT origin, sum(effective) FROM shares GROUP BY ALL ORDER BY ALL NULLS FIRST") == [
        (None, Decimal(8)),
        ("bill", Decimal(8)),
    ]
    totals = opened.engine.rows("SELECT source, category, sum(effective) FROM bill_totals GROUP BY ALL")
    assert totals == [("bill", "compute", Decimal(16))]
    assert opened.engine.row("SELECT count(*) FROM conversions") == (0,)


def test_a_book_that_stores_names_with_its_lost_work_can_be_read(keeper: Bookkeeper):
    """Books store numbers where older ones stored names; both give the same rows, alone and together."""
    case = Case(
        [hours_of("n1", (0, 4 * HOUR), "8")],
        [
            placement("a", "n1", (0, 2 * HOUR), gpus=4, state="failed"),
            placement("b", "n1", (2 * HOUR, 4 * HOUR), gpus=4),
        ],
    )
    folder = keeper.write(case)
    (book,) = build_from_files(load(folder / "trainfare.toml"), folder / "books", keeper.builder)
    files = dict(book.files)
    for name, numbered in NUMBERED.items():
        del files[numbered]
        files[name] = folder / f"older-{name}.parquet"
        keeper.builder.run(f"COPY ({select_of(book, name)}) TO {quoted(files[name])}")
    before = replace(book, files=files)
    lost = "SELECT job_id, part, how, effective FROM work"
    assert open_books(keeper.reader, [before]).engine.rows(lost) == [("a", "lost", "at most", Decimal(4))]
    opened = open_books(keeper.reader, [before, replace(book, month=book.month.next())])
    assert opened.engine.rows(lost) == [("a", "lost", "at most", Decimal(4))] * 2
