"""A statement has the report's figures to the digit, in every form, from the command line and from the pages."""

import io
import json
from decimal import Decimal
from pathlib import Path

import openpyxl
import pypdf
import pytest
from workspace.folder import Workspace

from .copies import copy
from .server import Server


@pytest.fixture(scope="module")
def folder(company: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("statements")
    forms = [part for form in ("pdf", "xlsx", "html") for part in ("--format", form)]
    ran = company.run("statement", "--month", "2026-10", "--by", "team", *forms, "--folder", made)
    assert ran.code == 0, ran.err
    return made


@pytest.mark.parametrize("team", ["nlp", "speech", "vision"])
def test_a_statement_says_what_the_report_says(company: Workspace, folder: Path, team: str) -> None:
    report = json.loads(company.run("report", "--month", "2026-10", "--by", "team", "--format", "json").out)
    (row,) = [row for row in report["rows"] if row["team"] == team]
    pages = pypdf.PdfReader(folder / f"2026-10-v1-team-{team}.pdf").pages
    text = "\n".join(page.extract_text() for page in pages)
    html = (folder / f"2026-10-v1-team-{team}.html").read_text(encoding="utf-8")
    for form in (text, html):
        for told in (row["cost"], report["idle"]["cost"], report["unallocated"]["cost"], report["total"]):
            assert told in form
        for told in ("It ties out to the last digit.", "not closed: it may still change", "effective cost in USD"):
            assert told in form
    assert "Definitions" in pages[-1].extract_text()
    book = openpyxl.load_workbook(folder / f"2026-10-v1-team-{team}.xlsx")
    assert book.sheetnames == ["Statement", "Categories", "Projects", "Jobs", "Ties out", "Definitions"]
    exact = {cells[0]: cells[-1] for cells in book["Ties out"].iter_rows(values_only=True) if cells[0]}
    parts = [f"Team {team}", "All others that are charged", "Idle", "Unallocated", "Outside training"]
    assert exact[parts[0]] == row["cost"]
    assert sum(Decimal(exact[part]) for part in parts) == Decimal(exact["The bill says"]) == Decimal(report["bill"])
    assert Decimal(exact["Difference"]) == 0
    jobs = [cells[-1] for cells in book["Jobs"].iter_rows(min_row=2, values_only=True)]
    assert sum(Decimal(cost) for cost in jobs if cost not in (None, "-")) <= Decimal(row["cost"])


def test_the_page_gives_the_same_files(server: Server, folder: Path) -> None:
    assert "/statements/2026-10.pdf?" in server.ask("/books?from=2026-10&to=2026-10&by=team").text
    for form, start in (("pdf", b"%PDF"), ("html", b"<!doctype"), ("xlsx", b"PK")):
        told = server.ask(f"/statements/2026-10.{form}?by=team&value=nlp")
        assert told.headers["content-disposition"] == f'attachment; filename="2026-10-v1-team-nlp.{form}"'
        assert told.body.startswith(start)
        if form != "xlsx":
            assert told.body == (folder / f"2026-10-v1-team-nlp.{form}").read_bytes()
    sheets = openpyxl.load_workbook(io.BytesIO(server.ask("/statements/2026-10.xlsx?by=team&value=nlp").body))
    kept = openpyxl.load_workbook(folder / "2026-10-v1-team-nlp.xlsx")
    for sheet in sheets:
        assert list(sheet.values) == list(kept[sheet.title].values)


def test_a_closed_month_says_so_and_by_whom(company: Workspace, tmp_path: Path) -> None:

    made = copy(company, tmp_path / "workspace")
    assert made.run("close", "2026-10").code == 0
    assert made.run("statement", "nlp", "--month", "2026-10", "--by", "team", "--folder", tmp_path).code == 0
    assert "closed on " in (tmp_path / "2026-10-v1-team-nlp.html").read_text(encoding="utf-8")


def test_who_is_charged_nothing_has_no_statement(company: Workspace, server: Server, tmp_path: Path) -> None:
    ran = company.run("statement", "nobody", "--by", "team", "--folder", tmp_path)
    assert (ran.code, ran.err.splitlines()[0]) == (2, "statement: nothing is charged to team 'nobody'")
    assert company.run("statement", "--by", "colour", "--folder", tmp_path).code == 2
    assert server.ask("/statements/2026-10.pdf?by=team&value=nobody").status == 400
    assert server.ask("/statements/2026-10.doc?by=team&value=nlp").status == 404
