"""No output lets text from data do anything, and unusual labels keep nobody from getting a statement."""

import csv
import io
import os
import pty
import re
import subprocess
from pathlib import Path

import openpyxl
import pypdf
import pytest
from web.server import COMMAND, Server, serving
from workspace.folder import Ran, Workspace

from trainfare import quoting
from trainfare.cli.main import COMMANDS
from trainfare.engine.duckdb import DuckDB
from trainfare.report.statements import pdf
from trainfare.serve.app import pages as service_pages

from . import hostile
from .hostile import HOSTILE, MONTH
from .test_quoting import is_hidden

READING = {
    "report": ("--by", "job"),
    "explain": (f"{HOSTILE[0]} 0", "--all"),
    "label": (f"{HOSTILE[0]} 0",),
    "reconcile": ("--by", "account"),
    "rules": ("test",),
    "metrics": ("--by", "job"),
    "check": (),
    "estimates": (),
    "live": ("--window", "24h"),
    "forecast": (),
    "checkpoints": (),
    "user": ("list",),
    "token": ("list",),
    "audit": ("list",),
    "doctor": (),
}
"""Commands that print figures, and how they are asked."""
NOT_READING = {
    *("build", "close", "collect", "demo", "diff", "export", "gameday", "init", "rates", "reopen", "run", "sbom"),
    *("serve", "simulate", "statement", "sync"),
    "verify",
}
"""Commands that print no rows of data, or are tested by themselves."""
FORMATS = ("table", "csv", "json", "md")


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return hostile.furnish(tmp_path_factory.mktemp("hostile") / "workspace")


@pytest.fixture(scope="module")
def server(company: Workspace) -> "Server":
    with serving(company.folder) as running:
        yield running  # type: ignore[misc]


def hidden(text: str) -> set[str]:
    return {mark for mark in text if is_hidden(mark)}


def test_every_command_is_asked() -> None:
    assert {*READING, *NOT_READING} == {*COMMANDS}


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("command", READING)
def test_no_command_prints_a_hidden_character(company: Workspace, command: str, format_: str) -> None:
    ran = _run(company, command, format_)
    assert not hidden(ran.out + ran.err)
    if format_ == "csv":
        for cell in (cell for row in csv.reader(io.StringIO(ran.out)) for cell in row):
            assert quoting.csv_text(quoting.from_csv_text(cell)) == cell


def _run(company: Workspace, command: str, format_: str) -> Ran:
    ran = company.run(command, *READING[command], "--format", format_)
    if "No such option" in ran.err or "is not one of" in ran.err:
        ran = company.run(command, *READING[command])
    assert ran.code in (0, 1, 3), ran.err
    return ran


def test_csv_on_the_terminal_has_every_name_exactly_and_no_formula(company: Workspace) -> None:
    rows = list(csv.DictReader(io.StringIO(company.run("report", "--by", "team", "--format", "csv").out)))
    teams = [row["team"] for row in rows if row["payer"] == "jobs"]
    assert {quoting.from_csv_text(team) for team in teams} == {*HOSTILE}
    assert not [team for team in teams if team[0] in "=+-@"]


def test_markdown_tables_have_one_cell_per_column(company: Workspace) -> None:
    lines = company.run("report", "--by", "team", "--format", "md").out.splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) > len(HOSTILE)
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table}) == 1
    assert not [line for line in table if "](" in line.replace("\\](", "")]


def test_a_terminal_gets_only_the_colors_of_trainfare(company: Workspace) -> None:
    """In a real terminal, where colors are on."""
    for command, arguments in (("report", READING["report"]), ("explain", READING["explain"]), ("check", ())):
        shown = _in_terminal(company.folder, command, *arguments)
        assert "\x1b[" in shown, "this terminal has colors"
        assert not hidden(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown).replace("\r", ""))
        assert "\x1b]0;" not in shown
        assert r"\u001b]0;owned\u0007" in shown.replace("\r\n", "") or command == "check"


def _in_terminal(folder: Path, *arguments: str) -> str:
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "200"}
    process = subprocess.Popen([COMMAND, *arguments, "-w", folder], stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    process.wait(timeout=60)
    os.close(ours)
    return b"".join(parts).decode()


def test_an_error_shows_the_code_of_a_hidden_character(company: Workspace) -> None:
    ran = company.run("explain", "nobody\x1b[31m")
    assert ran.code == 2
    assert r"nobody\u001b[31m" in ran.err
    assert not hidden(ran.err)


@pytest.mark.parametrize("arguments", [(), ("--focus",)])
def test_an_export_can_be_restored(company: Workspace, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    for name in ("all.csv", "all.parquet"):
        assert company.run("export", tmp_path / name, *arguments).code == 0
    column = "x_JobId" if arguments else "job_id"
    with (tmp_path / "all.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert not [cell for row in rows for cell in row.values() if hidden(cell)]
    assert not [cell for row in rows for cell in row.values() if cell[:1] in "=+@" and cell]
    jobs = {quoting.from_csv_text(row[column]) for row in rows} - {""}
    assert jobs == {f"{name} {number}" for number, name in enumerate(HOSTILE)}
    exact = DuckDB().rows(f"SELECT DISTINCT {column} FROM '{tmp_path}/all.parquet' WHERE {column} IS NOT NULL")
    assert {name for (name,) in exact} == jobs


def test_no_page_or_download_has_a_hidden_character(server: Server) -> None:
    pages = [f"{route.path}?from={MONTH}-01&to={MONTH}-31" for route in service_pages.PAGES.values()]
    files = [f"/panels/{page}/{name}.csv" for page, route in service_pages.PAGES.items() for name in route.panels]
    more = [
        f"/export/jobs.csv?from={MONTH}-01&to={MONTH}-31",
        "/api/v1/report?aggregate=job",
        "/api/v1/jobs?format=csv",
    ]
    asked = [path for path in (*pages, *files, *more) if "groups" not in path]
    assert len(asked) > 20
    for path in asked:
        answer = server.ask(path)
        assert answer.status == 200, path
        assert not hidden(answer.text), path
        assert "<script>alert(1)" not in answer.text or not answer.headers["content-type"].startswith("text/html"), path


def test_json_of_the_service_keeps_every_name(server: Server) -> None:
    rows = server.ask(f"/api/v1/report?aggregate=team&window={MONTH}").json["rows"]
    assert {row["team"] for row in rows} == {*HOSTILE}


@pytest.fixture(scope="module")
def statements(company: Workspace, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ran]:
    folder = tmp_path_factory.mktemp("statements")
    formats = [part for name in ("pdf", "xlsx", "html") for part in ("--format", name)]
    return folder, company.run("statement", "--month", MONTH, "--by", "team", *formats, "--folder", folder)


def test_every_label_gets_its_statement_in_every_format(statements: tuple[Path, Ran]) -> None:
    folder, ran = statements
    assert ran.code == 0, ran.err
    assert ran.err.splitlines()[-1] == f"Wrote {3 * len(HOSTILE)} files for {len(HOSTILE)} teams to {folder}."
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) == 3 * len(HOSTILE)
    assert {path.parent for path in files} == {folder}
    assert len({path.name.casefold() for path in files}) == len(files)
    assert not hidden("".join(path.name for path in files) + ran.err)
    assert max(len(path.name.encode()) for path in files) < 140


def test_statements_show_codes_for_what_cannot_be_shown(statements: tuple[Path, Ran]) -> None:
    folder, _ = statements
    titles = set()
    for path in sorted(folder.glob("*.pdf")):
        text = "".join(page.extract_text() for page in pypdf.PdfReader(path).pages).replace("\u200b", "")
        assert not hidden(text)
        titles.add(re.sub(r"\s", "", text))
    assert any(r"esc\u001b]0;owned\u0007" in text for text in titles)
    assert any("日本語" in text or r"\u65e5\u672c\u8a9e" in text for text in titles)
    for path in folder.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not hidden(text)
        assert "<script" not in text
    for path in folder.glob("*.xlsx"):
        for sheet in openpyxl.load_workbook(path):
            for cell in (cell for row in sheet.iter_rows() for cell in row if isinstance(cell.value, str)):
                assert cell.data_type == "s"
                assert not hidden(cell.value)


def test_characters_without_a_glyph_are_found_in_the_typesetters_error() -> None:
    message = (
        'the text `"日"` could not be displayed with font `"X"` error: the text `"\\u{200d}a"` could not be displayed'
    )
    assert pdf._without_glyph(message) == {"日", "\u200d"}


def test_one_statement_that_fails_does_not_keep_the_others(company: Workspace, tmp_path: Path) -> None:
    name = f"{MONTH}-v1-team-{quoting.file_name('a-b')}.html"
    (tmp_path / name).mkdir()
    ran = company.run("statement", "--month", MONTH, "--by", "team", "--folder", tmp_path)
    assert ran.code == 2
    assert f"Wrote {len(HOSTILE) - 1} files for {len(HOSTILE) - 1} teams to {tmp_path}." in ran.err
    assert f"{name}: cannot be written (Is a directory)" in ran.err
