"""A folder of exports is a source: all files below it, by month or not, as providers and tools leave them."""

from pathlib import Path

import pytest

from trainfare.cli import main
from trainfare.errors import TrainfareError
from trainfare.period import Month
from trainfare.settings.config import SourceSettings
from trainfare.simulate import azure, files
from trainfare.simulate.files import SimulatedMonth
from trainfare.simulate.restatement import restate
from trainfare.sources.deliveries import source_files
from trainfare.sources.registry import read_head

MONTH = Month(2026, 10)


def put(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x", encoding="utf-8")


def test_a_folder_stands_for_the_data_files_below_it(tmp_path: Path) -> None:
    data = ("data/BILLING_PERIOD=2026-09/a.csv", "data/BILLING_PERIOD=2026-10/b.csv", "late.csv")
    put(
        tmp_path / "exports",
        *data,
        "_SUCCESS",
        ".late.csv.crc",
        "_delta_log/0.json",
        "data/.tmp/c.csv",
        "manifest.json",
    )
    found = source_files(SourceSettings(path="exports"), tmp_path)
    assert [str(one.relative_to(tmp_path / "exports")) for one in found if isinstance(one, Path)] == list(data)
    assert source_files(SourceSettings(path="exports/"), tmp_path) == found


def test_a_folder_without_files_and_that_of_the_settings_are_errors(tmp_path: Path) -> None:
    put(tmp_path / "exports", "_SUCCESS")
    with pytest.raises(TrainfareError, match="there are no files below this folder"):
        source_files(SourceSettings(path="exports"), tmp_path)
    for path in (".", "..", str(tmp_path)):
        (named,) = source_files(SourceSettings(path=path), tmp_path)
        with pytest.raises(TrainfareError, match="this is a folder"):
            read_head(named)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as left:
        main([*arguments])
    assert not left.value.code
    said = capsys.readouterr()
    return said.out + said.err


def total(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """Build the workspace; return what the build says, and the billed cost of the month by group."""
    built = run(capsys, "build", "-w", str(folder))
    return built, run(
        capsys, "report", "-w", str(folder), "--basis", "billed", "--format", "csv", "--month", str(MONTH)
    )


def test_a_restated_month_in_a_folder_supersedes_the_first_statement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both exports are written again; the account is that of the restated month, and a third build does nothing."""
    simulated: SimulatedMonth = files.write(tmp_path / "month", 5, MONTH, scale=0.02)
    for name in ("restated", "plain"):
        (tmp_path / name / "azure").mkdir(parents=True)
        settings = "[[source]]\npath = 'azure'\n[[source]]\npath = '../month/jobs.csv'\n"
        (tmp_path / name / "trainfare.toml").write_text(settings, encoding="utf-8")
    azure.write(tmp_path / "restated" / "azure", MONTH, restate(simulated.charges).first)
    azure.write(tmp_path / "plain" / "azure", MONTH, simulated.charges)
    _, first = total(tmp_path / "restated", capsys)
    azure.write(tmp_path / "restated" / "azure", MONTH, simulated.charges)
    _, second = total(tmp_path / "restated", capsys)
    _, wanted = total(tmp_path / "plain", capsys)
    assert first != second == wanted
    third, again = total(tmp_path / "restated", capsys)
    assert "unchanged" in third
    assert again == second
