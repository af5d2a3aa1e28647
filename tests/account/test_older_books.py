"""A closed book is never written again, so it is read as it is: what came after it is not known of it, and nothing else changes."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import msgspec

from trainfare import pipeline
from trainfare.config import load
from trainfare.engine.duckdb import DuckDB, parquet, quoted
from trainfare.keyed import NUMBERED
from trainfare.report import cost, digest
from trainfare.report.check import Life, check
from trainfare.report.difference import causes, difference
from trainfare.report.opened import LATER, open_books, select_of
from trainfare.sections import Check
from trainfare.store import BookFiles

from .books import HOUR, Bookkeeper, Case, hours_of, placement


def older(engine: DuckDB, book: BookFiles, folder: Path) -> BookFiles:
    """The same book as one would have been built before these columns and tables were thought of."""
    files = {name: path for name, path in book.files.items() if name != "conversions"}
    for name in ("ways", "bill_totals"):
        files[name] = folder / f"older-{name}.parquet"
        without = ", ".join(column.name for column in LATER[name])
        engine.run(f"COPY (SELECT * EXCLUDE ({without}) FROM {parquet(book.files[name])}) TO {quoted(files[name])}")
    return replace(book, files=files)


def test_a_book_with_fewer_columns_gives_the_same_report(keeper: Bookkeeper):
    case = Case([hours_of("n1", (0, 4 * HOUR), "8")], [placement("a", "n1", (0, 2 * HOUR), gpus=4, team="nlp")])
    folder = keeper.write(case)
    (book,) = pipeline.books_of_files(load(folder / "trainfare.toml"), folder / "books", keeper.builder)
    told, told_of = [], []
    for one in (book, older(keeper.builder, book, folder)):
        opened = open_books(keeper.reader, [one])
        told.append(cost.report(opened, cost.Question(["team"])))
        told_of.append(check(opened, msgspec.structs.asdict(Check()), Life({}, {})))
    assert told[0] == told[1]
    assert told_of[0] == told_of[1]
    assert told[1].total == told[1].bill == Decimal(8)
    assert told[1].conversions == []
    assert keeper.reader.rows("SELECT DISTINCT origin, converted_from FROM shares") == [(None, None)]


def test_a_digest_of_an_older_book_is_made(keeper: Bookkeeper):
    """The service makes one of every book that it shows, also of those that were closed long ago."""
    case = Case([hours_of("n1", (0, 4 * HOUR), "8")], [placement("a", "n1", (0, 2 * HOUR), gpus=4, team="nlp")])
    folder = keeper.write(case)
    (book,) = pipeline.books_of_files(load(folder / "trainfare.toml"), folder / "books", keeper.builder)
    before = older(keeper.builder, book, folder)
    files = {name: path for name, path in before.files.items() if name not in NUMBERED.values()}
    digest.write(replace(before, files=files), folder / "older.duckdb")
    keeper.reader.run(f"ATTACH {quoted(folder / 'older.duckdb')} AS older")
    assert keeper.reader.rows("SELECT sum(effective), max(origin) FROM older.digest_costs") == [(Decimal(8), None)]
    assert keeper.reader.rows("SELECT effective, estimated_effective FROM older.digest_jobs") == [
        (Decimal(4), Decimal(0))
    ]
    assert keeper.reader.rows("SELECT count(*) FROM older.digest_usage") == [(0,)]


def test_a_newer_version_is_compared_with_an_older_one(keeper: Bookkeeper):
    case = Case([hours_of("n1", (0, 4 * HOUR), "8")], [placement("a", "n1", (0, 2 * HOUR), gpus=4, team="nlp")])
    folder = keeper.write(case)
    (book,) = pipeline.books_of_files(load(folder / "trainfare.toml"), folder / "books", keeper.builder)
    before = older(keeper.builder, book, folder)
    assert (
        difference(keeper.reader, before, book, "effective") == causes(keeper.reader, before, book, "effective") == []
    )


def test_an_older_book_and_a_newer_one_are_read_together(keeper: Bookkeeper):
    """One of the two knows where its money comes from; both are in the sum."""
    case = Case([hours_of("n1", (0, 4 * HOUR), "8")], [placement("a", "n1", (0, 2 * HOUR), gpus=4, team="nlp")])
    folder = keeper.write(case)
    (book,) = pipeline.books_of_files(load(folder / "trainfare.toml"), folder / "books", keeper.builder)
    opened = open_books(keeper.reader, [older(keeper.builder, book, folder), replace(book, month=book.month.next())])
    assert opened.engine.rows("SELECT origin, sum(effective) FROM shares GROUP BY ALL ORDER BY ALL NULLS FIRST") == [
        (None, Decimal(8)),
        ("bill", Decimal(8)),
    ]
    told = opened.engine.rows("SELECT source, category, sum(effective) FROM bill_totals GROUP BY ALL")
    assert told == [("bill", "compute", Decimal(16))]
    assert opened.engine.row("SELECT count(*) FROM conversions") == (0,)


def test_a_book_that_kept_names_with_its_lost_work_is_read_as_it_is(keeper: Bookkeeper):
    """Books keep numbers where they kept names; both say the same to a reader, also together."""
    case = Case(
        [hours_of("n1", (0, 4 * HOUR), "8")],
        [
            placement("a", "n1", (0, 2 * HOUR), gpus=4, state="failed"),
            placement("b", "n1", (2 * HOUR, 4 * HOUR), gpus=4),
        ],
    )
    folder = keeper.write(case)
    (book,) = pipeline.books_of_files(load(folder / "trainfare.toml"), folder / "books", keeper.builder)
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
