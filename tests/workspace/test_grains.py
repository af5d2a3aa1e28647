"""Answers come from files of grains, with the figures of the book; a missing or damaged file is made again."""

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from trainfare.engine.duckdb import DuckDB, parquet
from trainfare.errors import IncompleteError, UnwritableError
from trainfare.files import digests
from trainfare.query.grains import making, parts
from trainfare.query.grains.texts import text
from trainfare.store.catalog import Catalog
from trainfare.store.grain_files import kept_in

from . import company
from .company import OCTOBER
from .folder import Workspace

QUESTIONS: list[list[Any]] = [
    *(
        ["report", "--by", key]
        for key in ("team", "job", "attempt", "owner", "machine", "pool", "day", "category", "rule")
    ),
    ["report", "--by", "day", "--by", "team", "--by", "job"],
    ["report", "--by", "machine", "--by", "team", "--per", "gpu"],
    ["report", "--by", "job", "--top", "3", "--per", "gpu", "--basis", "list", "--scope", "infra"],
    *(["report", "--by", "team", "--per", "productive", "--productive", one] for one in ("held", "busy", "not_lost")),
    ["report", "--by", "pool", "--per", "productive", "--productive", "not_lost"],
    ["metrics"],
    ["metrics", "--by", "project"],
    ["metrics", "--by", "attempt"],
]
LARGE = 10**9


def answers(workspace: Workspace) -> list[str]:
    ran = [workspace.run(*question, "--month", OCTOBER, "--format", "json") for question in QUESTIONS]
    assert [one.code for one in ran] == [0] * len(QUESTIONS), [one.err for one in ran]
    return [one.out for one in ran]


def files(workspace: Workspace) -> dict[str, Path]:
    """Return the recorded files of grains by part, after checking that each is as its digest in the catalog says."""
    with workspace.open() as store:
        recorded = {
            one.part: (kept_in(store.workspace) / one.path, one.digest) for one in store.catalog.grain_files.all()
        }
    assert {part: digests.digest(path) for part, (path, _) in recorded.items()} == {
        part: digest for part, (_, digest) in recorded.items()
    }
    return {part: path for part, (path, _) in recorded.items()}


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Store the grains of every book, however small."""
    monkeypatch.setattr(parts, "SMALL_BOOK", 0)


def test_answers_from_files_of_grains_equal_those_of_the_book(
    built: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "SMALL_BOOK", LARGE)
    in_memory = answers(built)
    assert not kept_in(built.folder).exists()
    monkeypatch.setattr(parts, "SMALL_BOOK", 0)
    assert answers(built) == in_memory, "made on first use"
    made = files(built)
    assert set(made) == set(parts.PARTS)
    assert answers(built) == in_memory, "read"
    assert files(built) == made


@pytest.mark.usefixtures("stored")
def test_a_file_of_grains_that_is_missing_or_damaged_is_made_again(built: Workspace) -> None:
    question = ["report", "--by", "machine", "--month", OCTOBER, "--format", "json"]
    expected = built.run(*question)
    made = files(built)
    damage(made["labels"])
    made["machines"].unlink()
    assert built.run(*question) == expected
    again = files(built)
    assert set(again) == set(made)
    assert {*again.values()}.isdisjoint((made["labels"], made["machines"]))
    assert not made["labels"].exists()


@pytest.mark.usefixtures("stored")
def test_verify_names_a_damaged_file_of_grains(built: Workspace) -> None:
    built.run("report", "--month", OCTOBER)
    path = files(built)["labels"]
    damage(path)
    ran = built.run("verify")
    assert ran.code != 0
    assert f"{path}: the file is damaged\n  Nothing is lost: the next question that needs it makes it again" in ran.err
    built.run("report", "--month", OCTOBER)
    assert built.run("verify").code == 0


@pytest.mark.usefixtures("stored")
def test_a_build_makes_and_records_the_grains_that_most_questions_need(template: Workspace, built: Workspace) -> None:
    built.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-1", "1"))
    built.build()
    made = files(built)
    assert set(made) == set(parts.BUILT)
    for question in (["report"], ["report", "--by", "machine"], ["report", "--by", "day"], ["metrics"]):
        assert built.run(*question, "--month", OCTOBER).code == 0
    assert files(built) == made


@pytest.mark.usefixtures("stored")
def test_a_workspace_that_cannot_be_written_to_still_answers(built: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(catalog: Catalog) -> None:
        raise UnwritableError(str(built.folder))

    monkeypatch.setattr(Catalog, "require_writable", refuse)
    ran = built.run("report", "--by", "machine", "--month", OCTOBER, "--format", "json")
    assert ran.code == 0, ran.err
    assert not kept_in(built.folder).exists()
    monkeypatch.undo()
    assert built.run("report", "--by", "machine", "--month", OCTOBER, "--format", "json") == ran


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("name", sorted({*making.MONEY_TABLES}))
def test_grains_that_do_not_add_up_to_the_shares_are_rejected(
    built: Workspace, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A millionth of a millionth in one row is enough."""

    def changed(one: str) -> str:
        first = "row_number() OVER () = 1"
        more = f"CASE WHEN {first} THEN coalesce(billed, 0) + 0.000000000001 ELSE billed END"
        return f"SELECT * REPLACE ({more} AS billed) FROM ({text(one)})" if one == name else text(one)

    monkeypatch.setattr(making, "text", changed)
    with built.open() as store:
        folder = parts.GrainFolder(store, built.book(OCTOBER))
        with pytest.raises(IncompleteError, match=f"grain {name}: it does not add up to the shares"):
            folder.make(parts.PART_OF[name])
        assert parts.PART_OF[name] not in {one.part for one in store.catalog.grain_files.all()}


def test_reconciling_reads_the_book(built: Workspace, stored: None) -> None:
    """After an amount is changed by hand and accepted as it is, a report from grains still shows what was published;
    reconcile reads the book itself.
    """
    before = built.run("report", "--month", OCTOBER, "--format", "json")
    with built.open() as store:
        shares = store.files(built.book(OCTOBER)).files["shares"]
    with closing(DuckDB()) as engine:
        engine.table("changed", f"SELECT * REPLACE (effective + 1 AS effective) FROM {parquet(shares)}")
        engine.write_parquet("SELECT * FROM changed", shares)
    built.forget_digests()
    assert built.run("report", "--month", OCTOBER, "--format", "json") == before
    ran = built.run("reconcile", "--month", OCTOBER)
    assert ran.code == 1, ran.err


def test_the_grains_of_the_last_versions_are_kept(tmp_path: Path) -> None:
    names = [f"grains-2026-10-v{number}-abc" for number in (1, 2, 9, 10)]
    for second, name in enumerate((*names, "grains-2026-09-v1-abc")):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (second, second))
    assert {path.name for path in parts.old_folders(tmp_path, names[-1])} == {*names[:2]}
    assert {path.name for path in parts.old_folders(tmp_path, names[0])} == {names[1]}
