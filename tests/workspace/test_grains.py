"""The command line answers from a file of grains, faster and with the same figures."""

from contextlib import closing
from pathlib import Path
from typing import Any

from trainfare.engine.duckdb import DuckDB, parquet
from trainfare.query.grains import making

from .company import OCTOBER
from .folder import Workspace

QUESTIONS: list[list[Any]] = [
    *(
        ["report", "--by", key]
        for key in ("team", "job", "attempt", "owner", "machine", "pool", "day", "category", "rule")
    ),
    ["report", "--by", "day", "--by", "team", "--by", "job"],
    ["report", "--by", "job", "--top", "3", "--per", "gpu", "--basis", "list", "--scope", "infra"],
    *(["report", "--by", "team", "--per", "productive", "--productive", one] for one in ("held", "busy", "not_lost")),
    ["metrics"],
    ["metrics", "--by", "project"],
]


def with_grains(workspace: Workspace) -> Path:
    """Make the grains of October's newest version, as the service does."""
    with workspace.open() as store:
        files = store.files(workspace.book(OCTOBER))
    path = making.path_of(making.kept_in(workspace.folder), files)
    making.write(files, path)
    return path


def answers(workspace: Workspace) -> list[str]:
    ran = [workspace.run(*question, "--month", OCTOBER, "--format", "json") for question in QUESTIONS]
    assert [one.code for one in ran] == [0] * len(QUESTIONS), [one.err for one in ran]
    return [one.out for one in ran]


def test_answers_from_a_file_of_grains_equal_those_of_the_book(built: Workspace) -> None:
    from_the_book = answers(built)
    path = with_grains(built)
    assert answers(built) == from_the_book
    path.write_bytes(b"not a database")
    assert answers(built) == from_the_book, "an unreadable file is ignored"


def test_reconciling_reads_the_book(built: Workspace) -> None:
    """After an amount is changed by hand and accepted as it is, a report from grains still shows what was published;
    reconcile reads the book itself.
    """
    before = built.run("report", "--month", OCTOBER, "--format", "json")
    with_grains(built)
    with built.open() as store:
        shares = store.files(built.book(OCTOBER)).files["shares"]
    with closing(DuckDB()) as engine:
        engine.table("changed", f"SELECT * REPLACE (effective + 1 AS effective) FROM {parquet(shares)}")
        engine.write_parquet("SELECT * FROM changed", shares)
    built.forget_digests()
    assert built.run("report", "--month", OCTOBER, "--format", "json") == before
    ran = built.run("reconcile", "--month", OCTOBER)
    assert ran.code == 1, ran.err
