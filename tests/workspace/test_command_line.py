"""What all commands share: help in groups, suggestions, headers of empty tables, and ports in use."""

import re
import socket
import subprocess
import sys

import pytest

from trainfare.cli import main, terminal
from trainfare.cli.main import COMMANDS, GROUPS

from .company import OCTOBER
from .folder import COMMAND, Workspace


def test_help_shows_every_command_in_its_group(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    for group, commands in GROUPS.items():
        start = lines.index(f"{group}:") + 1
        listed = [line.split()[0] for line in lines[start : start + len(commands)]]
        assert listed == list(commands)
    assert sum(map(len, GROUPS.values())) == len(COMMANDS)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("repot", "No such command 'repot'. Did you mean 'report'?"),
        ("Build", "No such command 'Build'. Did you mean 'build'?"),
        ("xyzzy", "No such command 'xyzzy'."),
    ],
)
def test_an_unknown_command_suggests_the_closest_one(
    typed: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exited:
        main([typed])
    assert exited.value.code == 2
    assert f"Error: {message}\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "header"),
    [
        (["user", "list"], "name,role,visibility,has_password,created_at,disabled_at"),
        (["token", "list"], "id,name,role,visibility,scopes,created_at,created_by,expires_at,revoked_at,last_used_at"),
        (["estimates"], "category,kind,method,price_source,currency,first_day,last_day,machine_hours,estimated"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_csv_without_rows_has_a_header(built: Workspace, arguments: list[str], header: str) -> None:
    ran = built.run(*arguments, "--format", "csv")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(header)
    assert ran.out.count("\n") == 1


def test_the_header_of_an_empty_csv_is_that_of_a_full_one(built: Workspace) -> None:
    empty = built.run("token", "list", "--format", "csv").out
    built.run("token", "create", "grafana")
    assert built.run("token", "list", "--format", "csv").out.splitlines()[0] == empty.strip()


def test_a_port_in_use_is_reported_before_the_service_starts(built: Workspace) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [COMMAND, "serve", "-w", built.folder, "--port", str(port)]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        f"--port: {port} is already in use on 127.0.0.1\n"
        "  Stop the other service, or choose another port with --port.\n"
    )


def test_an_explanation_is_printed_as_markdown_with_the_units_of_weights(built: Workspace) -> None:
    ran = built.run("explain", f"alone-{OCTOBER}", "--month", OCTOBER, "--lines", "--format", "md")
    assert ran.code == 0
    assert re.findall(r"^### (\w+)", ran.out, re.MULTILINE) == ["Job", "Pots", "Bill"]
    assert "| GPU time |" in ran.out
    assert "Sum of the parts: " in ran.out


def test_one_is_singular() -> None:
    assert [terminal.count(number, "day") for number in (0, 1, 2, 1000)] == ["0 days", "1 day", "2 days", "1,000 days"]


def test_a_command_imports_no_other_command() -> None:
    code = (
        "import sys; from trainfare.cli import main; print(*(m for m in sys.modules if m.startswith('trainfare.cli.')))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(ran.stdout.split()) == {"trainfare.cli.main", "trainfare.cli.interrupts"}


def test_a_narrow_terminal_names_the_columns_that_it_leaves_out(
    built: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = built.run("report")
    assert "Columns that do not fit this terminal: of all, median, p95; --format csv has all." in ran.err
    assert "median" not in ran.out
    monkeypatch.setenv("COLUMNS", "120")
    ran = built.run("report")
    assert ("do not fit" in ran.err, "median" in ran.out) == (False, True)
