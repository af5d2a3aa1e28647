"""The Slurm readers: each pair in this folder shows one quirk, stated in the file name.

`NAME.txt` or `NAME.json` is the output of sacct and `NAME.expected.csv` the placements, in the columns of interest.
`NAME.bad.txt` or `.bad.json` cannot be read, and `NAME.bad.expected` is the message. Local times are in UTC, or in the
zone at the end of the name, as in `NAME@Europe_Berlin.txt`.
"""

import csv
import gzip
import json
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Protocol

import plain_reading
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainfare import tables
from trainfare.engine.duckdb import DuckDB
from trainfare.errors import BadInputError, Problems
from trainfare.sources.head import Head, read_head
from trainfare.sources.schedulers import sacct, sacct_json

FOLDER = Path(__file__).parent
FILES = sorted(path for path in FOLDER.iterdir() if path.suffix in (".txt", ".json"))
GOOD = [path for path in FILES if ".bad" not in path.suffixes]
BAD = [path for path in FILES if ".bad" in path.suffixes]


class Reader(Protocol):
    """What both readers of Slurm's records have."""

    def recognize(self, head: Head) -> bool: ...
    def read(self, engine: DuckDB, head: Head, into: str, zone: str, problems: Problems) -> None: ...


def reader_of(path: Path) -> Reader:
    return sacct_json if path.suffix == ".json" else sacct


def read(path: Path, zone: str | None = None) -> tuple[DuckDB, Problems]:
    """Read a file into the table `read` of a new engine."""
    engine, problems = DuckDB(), Problems()
    named = path.name.split(".")[0].partition("@")[2].replace("_", "/", 1)
    reader_of(path).read(engine, read_head(path), "read", zone or named or "UTC", problems)
    return engine, problems


def shown(value: object) -> str:
    if isinstance(value, Decimal):
        return format(value.normalize(), "f") if value else "0"
    return "" if value is None else str(value)


def rows(engine: DuckDB, columns: list[str]) -> list[tuple[str, ...]]:
    found = engine.rows(f"SELECT {', '.join(columns)} FROM read")
    return sorted(tuple(map(shown, row)) for row in found)


def alike(cells: tuple[str, ...]) -> tuple[str, ...]:
    """JSON with its keys in order."""
    return tuple(json.dumps(json.loads(cell), sort_keys=True) if cell.startswith("{") else cell for cell in cells)


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.name)
def test_a_good_file_gives_its_placements(path):
    engine, problems = read(path)
    problems.raise_if_any()
    with path.with_name(path.name.removesuffix(path.suffix) + ".expected.csv").open(newline="") as opened:
        columns, *expected = csv.reader(opened)
    assert [alike(row) for row in rows(engine, columns)] == sorted(alike(tuple(row)) for row in expected)
    assert engine.columns("read") == {column.name: column.type for column in tables.PLACEMENTS.columns}


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.name)
def test_a_bad_file_gives_its_message(path, monkeypatch):
    monkeypatch.chdir(FOLDER)
    engine, problems = read(Path(path.name))
    with pytest.raises(BadInputError) as raised:
        problems.raise_if_any()
    assert str(raised.value) == path.with_suffix(".expected").read_text().rstrip("\n")
    assert set(engine.columns("read")) == set(tables.PLACEMENTS.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_is_recognized_by_its_content(path):
    head = read_head(path)
    assert sacct.recognize(head) == (path.suffix == ".txt")
    assert sacct_json.recognize(head) == (path.suffix == ".json")


@pytest.mark.parametrize(
    "text",
    [
        "job_id,machine_id,started,ended,gpus\n1,n1,,,2\n",
        "JOBID|NAME|STATE|REASON|USER\n10|requeued|PENDING|BeginTime|alice\n",
        "Cluster|Account|User|Partition\nlab|root||\n",
        '{"meta": {"plugin": {"type": "openapi/v0.0.38"}}, "jobs": [{"account": "vision", "array_job_id": 0}]}',
        '{"kind": "List", "items": []}',
        "BilledCost,EffectiveCost\n1,1\n",
    ],
)
def test_other_files_are_not_recognized(text, tmp_path):
    (tmp_path / "file").write_text(text)
    head = read_head(tmp_path / "file")
    assert not sacct.recognize(head)
    assert not sacct_json.recognize(head)


def test_there_are_enough_pairs_to_mean_something():
    assert len(GOOD) > 40
    assert len(BAD) > 20
    assert len({path.with_suffix(".expected").read_text().split(": ", 1)[1] for path in BAD}) > 15


CLUSTERS = {"real-cluster": 27, "real-cluster-24.11": 36, "real-cluster-26.05": 35}
"""Exports of real clusters with Slurm 22.05, 24.11 and 26.05, and the placements in each."""


@pytest.mark.parametrize("name", CLUSTERS)
def test_text_and_json_of_one_cluster_give_the_same_placements(name: str):
    """Everything but the line, including the labels, which come from other columns."""
    columns = [column for column in tables.PLACEMENTS.names if column != "line"]
    from_text = rows(read(FOLDER / f"{name}.txt")[0], columns)
    from_json = rows(read(FOLDER / f"{name}.json")[0], columns)
    assert len(from_text) == CLUSTERS[name]
    assert from_json == from_text


@pytest.mark.parametrize("name", CLUSTERS)
def test_every_version_of_slurm_gives_what_its_runs_held(name: str):
    """Requeued, preempted, resized, heterogeneous and array jobs, compared with a plain reading of the JSON."""
    engine, _ = read(FOLDER / f"{name}.json")
    found = engine.rows("SELECT job_id, machine_id, epoch_second(started), epoch_second(ended), gpus FROM read")
    expected = list(plain_reading.held(FOLDER / f"{name}.json"))
    assert sum(one.gpus for one in expected) > 40
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("name", ["real-cluster.txt", "shape-of-23.11.json"])
def test_a_compressed_file_is_read_like_any_other(name, tmp_path):
    compressed = tmp_path / name
    compressed.write_bytes(gzip.compress((FOLDER / name).read_bytes()))
    assert reader_of(compressed).recognize(read_head(compressed))
    engine, problems = read(compressed, "UTC")
    problems.raise_if_any()
    columns = list(tables.PLACEMENTS.names)
    assert rows(engine, columns) == rows(read(FOLDER / name)[0], columns)


def test_windows_line_ends_change_nothing(tmp_path):
    text = (FOLDER / "resized.txt").read_text()
    (tmp_path / "resized.txt").write_bytes(text.replace("\n", "\r\n").encode("utf-8-sig"))
    engine, problems = read(tmp_path / "resized.txt")
    problems.raise_if_any()
    columns = list(tables.PLACEMENTS.names)
    assert rows(engine, columns) == rows(read(FOLDER / "resized.txt")[0], columns)


@pytest.mark.parametrize("name", ["real-cluster.txt", "real-cluster.json"])
def test_a_damaged_compressed_file_is_a_problem(name, tmp_path):
    content = (FOLDER / name).read_bytes()
    compressed = gzip.compress(content * (4_000_000 // len(content)))
    (tmp_path / name).write_bytes(compressed[: len(compressed) // 2])
    _, problems = read(tmp_path / name)
    assert [problem.what for problem in problems.found] == ["the gzip file is damaged or truncated"]


def test_text_that_is_not_utf_8_is_a_problem_with_its_line(tmp_path):
    """Far into the file, beyond its head."""
    header, row, *_ = (FOLDER / "quotes-in-job-name.txt").read_text().splitlines()
    lines = [header, *[row] * 1000, row.replace("alice", "Jürgen")]
    (tmp_path / "sacct.txt").write_bytes("\n".join(lines).encode("latin-1"))
    _, problems = read(tmp_path / "sacct.txt")
    assert [(problem.where, problem.what) for problem in problems.found] == [
        (f"{tmp_path / 'sacct.txt'}:1002", "not UTF-8 text")
    ]


def test_every_bad_row_is_counted_and_the_first_are_listed(tmp_path):
    header, row, *_ = (FOLDER / "not-a-time.bad.txt").read_text().splitlines()
    (tmp_path / "sacct.txt").write_text("\n".join([header, *[row] * 1000]))
    _, problems = read(tmp_path / "sacct.txt")
    assert len(problems.found) == 50
    assert problems.unlisted == 950


def test_order_of_the_lines_does_not_matter(tmp_path):
    """Requeues, resizes and parts of a het job are ordered by their times, not by their lines."""
    lines = (FOLDER / "resized-twice-then-requeued.txt").read_text().splitlines()
    lines += (FOLDER / "heterogeneous-requeued.txt").read_text().splitlines()[1:]
    columns = [name for name in tables.PLACEMENTS.names if name != "line"]
    (tmp_path / "forward.txt").write_text("\n".join(lines))
    (tmp_path / "reversed.txt").write_text("\n".join([lines[0], *reversed(lines[1:])]))
    forward = rows(read(tmp_path / "forward.txt")[0], columns)
    assert len(forward) == 11
    assert rows(read(tmp_path / "reversed.txt")[0], columns) == forward


NASTY = [
    "",
    " ",
    "0",
    "-1",
    "x",
    "'",
    '"',
    "{",
    "99999999999999999999",
    "é",
    "None",
    "Unknown",
    "\x01\x02",
    "|",
    "a\nb",
    "1e999",
]
NASTY += [
    "0000-00-00T00:00:00",
    "0001-01-01T00:00:00",
    "9999-12-31T23:59:59",
    "99999999999",
    "2026-11-15T19:00:00+99:99",
]
NASTY += [
    "gres/gpu=999999999999",
    "mem=999999999999P",
    "cpu=1e9",
    "=",
    "a=b;c",
    ";",
    ",,",
    "n[1-2]",
    "1_1",
    "1+1",
    "1.0",
]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 13), st.sampled_from(NASTY)), min_size=1, max_size=12))
def test_no_cell_causes_a_traceback(spoiled):
    """A row becomes placements or a problem, whatever its columns contain."""
    header, row, *_ = (FOLDER / "comment-labels.txt").read_text().splitlines()
    lines = [header]
    for index, text in spoiled:
        cells = row.split("|")
        cells[index] = text
        lines.append("|".join(cells))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "sacct.txt").write_text("\n".join(lines))
        read(Path(folder) / "sacct.txt", "Europe/Berlin")


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(NASTY),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "set",
                    "number",
                    "current",
                    "start",
                    "end",
                    "job_id",
                    "task_id",
                    "allocated",
                    "type",
                    "name",
                    "count",
                    "job",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["job_id", "array", "het", "state", "time", "nodes", "tres", "user", "comment"]),
            json_values,
        ),
        max_size=8,
    )
)
def test_no_json_value_causes_a_traceback(spoiled):
    """The same for JSON, where a value may also have another type."""
    record = json.loads((FOLDER / "shape-of-23.11.json").read_text())["jobs"][0]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "sacct.json").write_text(
            json.dumps({"jobs": [{**record, name: value} for name, value in spoiled]})
        )
        read(Path(folder) / "sacct.json", "UTC")


def test_no_temporary_table_is_left_behind():
    for path in (FOLDER / "real-cluster.txt", FOLDER / "real-cluster.json", FOLDER / "cut-off.bad.txt"):
        engine, _ = read(path)
        assert engine.rows("SELECT table_name FROM duckdb_tables()") == [("read",)]
