"""A statement has exactly the report's figures, in every format, from the command line and from the pages."""

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
    written = tmp_path_factory.mktemp("statements")
    formats = [part for name in ("pdf", "xlsx", "html") for part in ("--format", name)]
    ran = company.run("statement", "--month", "2026-10", "--by", "team", *formats, "--folder", written)
    assert ran.code == 0, ran.err
    return written


@pytest.mark.parametrize("team", ["nlp", "speech", "vision"])
def test_a_statement_has_the_figures_of_the_report(company: Workspace, folder: Path, team: str) -> None:
    report = json.loads(company.run("report", "--month", "2026-10", "--by", "team", "--format", "json").out)
    (row,) = [row for row in report["rows"] if row["team"] == team]
    pages = pypdf.PdfReader(folder / f"2026-10-v1-team-{team}.pdf").pages
    text = "\n".join(page.extract_text() for page in pages)
    html = (folder / f"2026-10-v1-team-{team}.html").read_text(encoding="utf-8")
    for content in (text.replace("\u200b", ""), html):
        for amount in (row["cost"], report["idle"]["cost"], report["unallocated"]["cost"], report["total"]):
            assert amount in content, "the appendix has all digits"
            assert f"{Decimal(amount):,.2f}" in content
        for sentence in ("It ties out to the last digit.", "not closed: it may still change", "effective cost in USD"):
            assert sentence in content
    assert "Definitions" in pages[-1].extract_text()
    book = openpyxl.load_workbook(folder / f"2026-10-v1-team-{team}.xlsx")
    assert book.sheetnames == [
        "Statement",
        "Categories",
        "Projects",
        "Jobs",
        "Ties out",
        "Exact amounts",
        "Definitions",
    ]
    of_bill = "Reconciliation with the bill"
    exact = {row: text for table, row, text in book["Exact amounts"].iter_rows(values_only=True) if table == of_bill}
    parts = [f"Team {team}", "All others", "Idle", "Unallocated", "Non-training"]
    assert exact[parts[0]] == row["cost"]
    assert sum(Decimal(exact[part]) for part in parts) == Decimal(exact["Bill"]) == Decimal(report["bill"])
    assert Decimal(exact["Difference"]) == 0
    jobs = [cells[-1] for cells in book["Jobs"].iter_rows(min_row=2, values_only=True)]
    assert sum(Decimal(cost) for cost in jobs if cost not in (None, "-")) <= Decimal(row["cost"])


def test_numbers_in_a_workbook_are_numbers_with_separators(folder: Path) -> None:
    book = openpyxl.load_workbook(folder / "2026-10-v1-team-nlp.xlsx")
    summary = {name.value: value for name, value in book["Statement"].iter_rows(max_col=2)}
    for name, code in (("Total cost USD", "#,##0.00"), ("GPU hours", "#,##0.0"), ("Jobs", "#,##0")):
        assert isinstance(summary[name].value, int | float)
        assert summary[name].number_format == code
    for sheet, columns in {"Projects": (1, 2, 3, 4), "Categories": (1,), "Jobs": (4, 5), "Ties out": (1,)}.items():
        rows = [row for row in book[sheet].iter_rows(min_row=2, values_only=True) if row[-1] is not None]
        assert rows
        assert all(isinstance(row[column], int | float) for row in rows for column in columns)


def test_every_line_of_a_statement_has_a_name_of_its_own(folder: Path) -> None:
    book = openpyxl.load_workbook(folder / "2026-10-v1-team-nlp.xlsx")
    names = [name for (name,) in book["Statement"].iter_rows(max_col=1, values_only=True)]
    assert len(names) == len(set(names)) > 8
    assert "Cost" not in names


def test_the_run_ends_with_a_summary(company: Workspace, tmp_path: Path) -> None:
    formats = ("--format", "html", "--format", "xlsx")
    ran = company.run("statement", "--month", "2026-10", "--by", "team", *formats, "--folder", tmp_path)
    assert ran.err.splitlines()[-1] == f"Wrote 6 files for 3 teams to {tmp_path}."


def test_the_page_gives_the_same_files(server: Server, folder: Path) -> None:
    assert "/statements/2026-10.pdf?" in server.ask("/monthly-close?from=2026-10&to=2026-10&by=team").text
    for extension, start in (("pdf", b"%PDF"), ("html", b"<!doctype"), ("xlsx", b"PK")):
        response = server.ask(f"/statements/2026-10.{extension}?by=team&value=nlp")
        assert response.headers["content-disposition"] == f'attachment; filename="2026-10-v1-team-nlp.{extension}"'
        assert response.body.startswith(start)
        if extension != "xlsx":
            assert response.body == (folder / f"2026-10-v1-team-nlp.{extension}").read_bytes()
    sheets = openpyxl.load_workbook(io.BytesIO(server.ask("/statements/2026-10.xlsx?by=team&value=nlp").body))
    written = openpyxl.load_workbook(folder / "2026-10-v1-team-nlp.xlsx")
    for sheet in sheets:
        assert list(sheet.values) == list(written[sheet.title].values)


def test_a_statement_of_a_closed_month_states_who_closed_it(company: Workspace, tmp_path: Path) -> None:
    workspace = copy(company, tmp_path / "workspace")
    assert workspace.run("close", "2026-10").code == 0
    assert workspace.run("statement", "nlp", "--month", "2026-10", "--by", "team", "--folder", tmp_path).code == 0
    assert "closed on " in (tmp_path / "2026-10-v1-team-nlp.html").read_text(encoding="utf-8")


def test_a_label_value_without_charges_has_no_statement(company: Workspace, server: Server, tmp_path: Path) -> None:
    ran = company.run("statement", "nobody", "--by", "team", "--folder", tmp_path)
    assert (ran.code, ran.err.splitlines()[0]) == (2, "statement: nothing is charged to team 'nobody'")
    assert company.run("statement", "--by", "color", "--folder", tmp_path).code == 2
    assert server.ask("/statements/2026-10.pdf?by=team&value=nobody").status == 400
    assert server.ask("/statements/2026-10.doc?by=team&value=nlp").status == 404
