"""What Slurm printed, recorded: each file in `slurm` shows one edge case, named by the file and the version.

`NAME@VERSION.txt` has what sacct prints at one time or several, with ␟ for the byte between columns, and what scontrol
prints at the first of them. `NAME@VERSION.expected.csv` has the placements.
"""

import csv
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from trainfare.collect import slurm
from trainfare.collect.run import collect
from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Problems, TrainfareError, UnreachableError
from trainfare.settings.collectors import CollectorSettings
from trainfare.settings.config import Config
from trainfare.sources import deliveries
from trainfare.sources.head import read_head
from trainfare.sources.schedulers import sacct
from trainfare.sources.schedulers.slurm_recorded import COLUMNS
from trainfare.store import Store

FOLDER = Path(__file__).parent / "slurm"
CASES = sorted(FOLDER.glob("*.txt"))
SHOWN = ("job_id", "attempt", "machine_id", "started", "ended", "gpus", "cpus", "memory_gb", "state", "owner", "team")
SAME = (*SHOWN, "cost_center", "project", "experiment", "submitted", "log_cluster", "log_run", "resized")
SETTINGS = CollectorSettings(name="lab", system="slurm", since="2026-11-17", options={"programs": "programs"})


class Recorded:
    """A folder with programs that print what Slurm printed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = Config(folder=folder)
        (folder / "programs").mkdir()
        columns = len(COLUMNS) - len(slurm.FREE_TEXT)
        cut = f"cut -d '{slurm.SEPARATOR}' -f 1-{columns}"
        self.program("sacct", f'case "$*" in *JobName*) cat "$here/sacct.out";; *) {cut} "$here/sacct.out";; esac')
        self.program("sdiag", 'cat "$here/sdiag.out"')
        self.program("scontrol", 'case "$*" in *config*) cat "$here/config.out";; *) cat "$here/jobs.out";; esac')
        self.prints("sdiag", "DBD Agent queue size: 0\n")
        self.at("2026-11-17T23:20:00")

    def program(self, name: str, script: str) -> None:
        path = self.folder / "programs" / name
        path.write_text(f'#!/bin/sh\nhere="${{0%/*}}"\n{script}\n', encoding="utf-8")
        path.chmod(0o755)

    def prints(self, name: str, text: str) -> None:
        (self.folder / "programs" / f"{name}.out").write_text(text.replace("␟", slurm.SEPARATOR), encoding="utf-8")

    def at(self, time: str, printed: str = "", jobs: str = "") -> datetime:
        """Set what is printed at a time, by the controller's clock."""
        self.prints("config", f"Configuration data as of {time}\nClusterName             = lab\n")
        self.prints("sacct", printed)
        self.prints("jobs", jobs)
        return datetime.fromisoformat(time).replace(tzinfo=UTC)


def polls(path: Path) -> list[tuple[str, str, str]]:
    """The times in a file, with what sacct and scontrol print at each."""
    parts = re.split(r"^--- sacct at (\S+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    found = []
    for time, text in zip(parts[::2], parts[1::2], strict=True):
        printed, _, jobs = text.partition("--- scontrol\n")
        found.append((time, printed, jobs))
    return found


def placements(store: Store) -> DuckDB:
    """An engine with the placements of everything that was sealed in the table `read`."""
    engine = DuckDB()
    files = [deliveries.from_catalog(row, store.archive(row)) for _, row in store.catalog.recordings.segments()]
    deliveries.prepare_recordings(engine, files, pytest.fail)
    engine.table("read", " UNION ALL ".join(file.select(engine) for file in files) or "SELECT 1 AS nothing LIMIT 0")
    return engine


def shown(engine: DuckDB, columns: tuple[str, ...] | list[str]) -> list[tuple[str, ...]]:
    rows = engine.rows(f"SELECT {', '.join(columns)} FROM read")
    return sorted(tuple("" if value is None else str(value) for value in row) for row in rows)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_what_slurm_printed_gives_its_placements_as_a_file_of_it_does(path: Path, tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    with Store.open(tmp_path) as store:
        for time, printed, jobs in polls(path):
            now = recorded.at(time, printed, jobs)
            settings = msgspec.structs.replace(SETTINGS, since=time[:10])
            collect(recorded.config, settings, store, seal=True, now=lambda now=now: now)
        live = placements(store)
    label = "json_extract_string(labels, '$.{}') AS {}"
    columns = [*SHOWN, *(label.format(name, name) for name in ("gpu_indexes", "ended_between"))]
    with path.with_name(f"{path.stem}.expected.csv").open(newline="", encoding="utf-8") as file:
        _, *expected = csv.reader(file)
    assert shown(live, columns) == sorted(map(tuple, expected))
    if "free-text" not in path.stem and "purged" not in path.stem:
        assert shown(live, SAME) == shown(from_file(tmp_path / "sacct.txt", polls(path)[-1][1]), SAME)


def from_file(path: Path, printed: str) -> DuckDB:
    """An engine with the placements of a file of sacct in the table `read`."""
    lines = [line.replace("a␟b", "ab").split("␟") for line in printed.splitlines()]
    path.write_text("\n".join("|".join(cells) for cells in [list(COLUMNS), *lines]) + "\n", encoding="utf-8")
    engine, problems = DuckDB(), Problems()
    sacct.read(engine, read_head(path), "read", "UTC", problems)
    problems.raise_if_any()
    return engine


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 15
    assert {path.stem.partition("@")[2] for path in CASES} == {"22.05", "24.11", "26.05"}


RUN = "7␟7␟lab␟bob␟nlp␟␟normal␟spot␟{}␟2026-11-17T20:00:00␟2026-11-17T20:00:05␟{}␟cpu=1,mem=1G,node=1␟n1␟train␟\n"


def test_a_second_query_records_nothing_new(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    with Store.open(tmp_path) as store:
        recorded.at("2026-11-17T23:20:00", RUN.format("RUNNING", "Unknown"))
        assert collect(recorded.config, SETTINGS, store).recorded == 1
        recorded.at("2026-11-17T23:25:00", RUN.format("RUNNING", "Unknown"))
        assert collect(recorded.config, SETTINGS, store).recorded == 0


def test_a_controller_whose_clock_is_set_back_is_asked_again_from_there(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    with Store.open(tmp_path) as store:
        recorded.at("2026-12-24T00:00:00", RUN.format("RUNNING", "Unknown"))
        collect(recorded.config, SETTINGS, store)
        recorded.program("sacct", 'echo "$*" >> "$here/asked"; cat "$here/sacct.out"')
        recorded.at("2026-11-17T23:30:00", RUN.format("COMPLETED", "2026-11-17T23:29:00"))
        done = collect(recorded.config, SETTINGS, store)
        assert done.recorded == 1
        assert done.complete_through == datetime(2026, 11, 17, 23, 30, tzinfo=UTC)
    asked = (tmp_path / "programs" / "asked").read_text(encoding="utf-8")
    assert "--starttime=2026-11-16T23:30:00 --endtime=2026-11-17T23:30:00" in asked


def test_nothing_is_complete_while_the_controller_holds_records_back(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    with Store.open(tmp_path) as store:
        recorded.prints("sdiag", "DBD Agent queue size: 3\n")
        assert collect(recorded.config, SETTINGS, store).complete_through is None
        recorded.prints("sdiag", "DBD Agent queue size: 0\n")
        assert collect(recorded.config, SETTINGS, store).complete_through is not None


def test_an_error_of_slurm_is_reported_without_the_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTER_TOKEN", "s3cret")
    recorded = Recorded(tmp_path)
    recorded.program("sacct", 'echo "sacct: error: $SLURM_JWT was rejected" >&2; exit 1')
    settings = CollectorSettings("lab", "slurm", "2026-11-17", "env:CLUSTER_TOKEN", {"programs": "programs"})
    with Store.open(tmp_path) as store, pytest.raises(UnreachableError) as caught:
        collect(recorded.config, settings, store)
    assert caught.value.what == "sacct failed: sacct: error: *** was rejected"


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    (tmp_path / "programs" / "sdiag").unlink()
    with Store.open(tmp_path) as store, pytest.raises(TrainfareError, match=r"there is no program .*/programs/sdiag"):
        collect(recorded.config, SETTINGS, store)


def test_no_other_fields_are_recorded(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    with Store.open(tmp_path) as store:
        recorded.at("2026-11-17T23:20:00", RUN.format("RUNNING", "Unknown"))
        collect(recorded.config, SETTINGS, store)
        (row,) = store.catalog.recordings.open_segment("lab", 10)
    assert set(json.loads(row["fields"])) == set(COLUMNS)
