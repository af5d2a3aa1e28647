"""What the Slurm readers make of a file: each pair in this folder shows one oddity, named in the file name.

`NAME.txt` or `NAME.json` is what sacct wrote and `NAME.expected.csv` the placements, in the columns of interest.
`NAME.bad.txt` or `.bad.json` cannot be read, and `NAME.bad.expected` is what a user is told. Local times are in UTC, or
in the zone that the name ends with, as in `NAME@Europe_Berlin.txt`.
"""

import csv
import gzip
import json
import tempfile
from decimal import Decimal
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainfare import tables
from trainfare.engine.duckdb import DuckDB
from trainfare.errors import BadInputError, Faults
from trainfare.sources.head import look
from trainfare.sources.schedulers import sacct, sacct_json

FOLDER = Path(__file__).parent
WRITTEN = sorted(path for path in FOLDER.iterdir() if path.suffix in (".txt", ".json"))
GOOD = [path for path in WRITTEN if ".bad" not in path.suffixes]
BAD = [path for path in WRITTEN if ".bad" in path.suffixes]


def reader_of(path: Path) -> ModuleType:
    return sacct_json if path.suffix == ".json" else sacct


def read(path: Path, zone: str | None = None) -> tuple[DuckDB, Faults]:
    """Read a file into the table `read` of a new engine."""
    engine, faults = DuckDB(), Faults()
    named = path.name.split(".")[0].partition("@")[2].replace("_", "/", 1)
    reader_of(path).read(engine, path, "read", zone or named or "UTC", faults)
    return engine, faults


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
def test_what_is_written_is_read(path):
    engine, faults = read(path)
    faults.refuse()
    with path.with_name(path.name.removesuffix(path.suffix) + ".expected.csv").open(newline="") as opened:
        columns, *expected = csv.reader(opened)
    assert [alike(row) for row in rows(engine, columns)] == sorted(alike(tuple(row)) for row in expected)
    assert engine.columns("read") == {column.name: column.type for column in tables.PLACEMENTS.columns}


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.name)
def test_what_cannot_be_read_is_told(path, monkeypatch):
    monkeypatch.chdir(FOLDER)
    engine, faults = read(Path(path.name))
    with pytest.raises(BadInputError) as told:
        faults.refuse()
    assert str(told.value) == path.with_suffix(".expected").read_text().rstrip("\n")
    assert set(engine.columns("read")) == set(tables.PLACEMENTS.names)


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_a_file_is_known_by_what_it_holds(path):
    head = look(path)
    assert sacct.recognise(head) == (path.suffix == ".txt")
    assert sacct_json.recognise(head) == (path.suffix == ".json")


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
def test_other_files_are_left_to_others(text, tmp_path):
    (tmp_path / "file").write_text(text)
    head = look(tmp_path / "file")
    assert not sacct.recognise(head)
    assert not sacct_json.recognise(head)


def test_there_are_enough_pairs_to_mean_something():
    assert len(GOOD) > 40
    assert len(BAD) > 20
    assert len({path.with_suffix(".expected").read_text().split(": ", 1)[1] for path in BAD}) > 15


def test_text_and_json_of_one_cluster_tell_the_same():
    """Everything but the line: also the labels, which come from other columns."""
    columns = [name for name in tables.PLACEMENTS.names if name != "line"]
    from_text = rows(read(FOLDER / "real-cluster.txt")[0], columns)
    from_json = rows(read(FOLDER / "real-cluster.json")[0], columns)
    assert len(from_text) == 27
    assert from_json == from_text


@pytest.mark.parametrize("name", ["real-cluster.txt", "shape-of-23.11.json"])
def test_a_packed_file_reads_like_an_open_one(name, tmp_path):
    packed = tmp_path / name
    packed.write_bytes(gzip.compress((FOLDER / name).read_bytes()))
    assert reader_of(packed).recognise(look(packed))
    engine, faults = read(packed, "UTC")
    faults.refuse()
    columns = list(tables.PLACEMENTS.names)
    assert rows(engine, columns) == rows(read(FOLDER / name)[0], columns)


def test_windows_line_ends_change_nothing(tmp_path):
    text = (FOLDER / "resized.txt").read_text()
    (tmp_path / "resized.txt").write_bytes(text.replace("\n", "\r\n").encode("utf-8-sig"))
    engine, faults = read(tmp_path / "resized.txt")
    faults.refuse()
    columns = list(tables.PLACEMENTS.names)
    assert rows(engine, columns) == rows(read(FOLDER / "resized.txt")[0], columns)


@pytest.mark.parametrize("name", ["real-cluster.txt", "real-cluster.json"])
def test_a_damaged_packed_file_is_a_fault(name, tmp_path):
    written = (FOLDER / name).read_bytes()
    whole = gzip.compress(written * (4_000_000 // len(written)))
    (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    _, faults = read(tmp_path / name)
    assert [fault.what for fault in faults.found] == ["the gzip file is damaged"]


def test_text_that_is_not_utf_8_is_a_fault_with_its_line(tmp_path):
    """Far into the file, where a look at its beginning does not see it."""
    header, row, *_ = (FOLDER / "quotes-in-job-name.txt").read_text().splitlines()
    lines = [header, *[row] * 1000, row.replace("alice", "Jürgen")]
    (tmp_path / "sacct.txt").write_bytes("\n".join(lines).encode("latin-1"))
    _, faults = read(tmp_path / "sacct.txt")
    assert [(fault.where, fault.what) for fault in faults.found] == [
        (f"{tmp_path / 'sacct.txt'}:1002", "this is not UTF-8 text")
    ]


def test_every_bad_row_is_counted_and_the_first_are_listed(tmp_path):
    header, row, *_ = (FOLDER / "not-a-time.bad.txt").read_text().splitlines()
    (tmp_path / "sacct.txt").write_text("\n".join([header, *[row] * 1000]))
    _, faults = read(tmp_path / "sacct.txt")
    assert len(faults.found) == 50
    assert faults.unlisted == 950


def test_order_of_the_lines_does_not_matter(tmp_path):
    """Requeues, resizes and parts of a het job are put in order by their times, not by where they stand."""
    lines = (FOLDER / "resized-twice-then-requeued.txt").read_text().splitlines()
    lines += (FOLDER / "heterogeneous-requeued.txt").read_text().splitlines()[1:]
    columns = [name for name in tables.PLACEMENTS.names if name != "line"]
    (tmp_path / "there.txt").write_text("\n".join(lines))
    (tmp_path / "back.txt").write_text("\n".join([lines[0], *reversed(lines[1:])]))
    there = rows(read(tmp_path / "there.txt")[0], columns)
    assert len(there) == 11
    assert rows(read(tmp_path / "back.txt")[0], columns) == there


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
def test_whatever_stands_in_a_cell_there_is_an_answer(spoiled):
    """A row is placed or told about as a fault; no text in any column ends in a traceback."""
    header, row, *_ = (FOLDER / "comment-labels.txt").read_text().splitlines()
    lines = [header]
    for place, text in spoiled:
        cells = row.split("|")
        cells[place] = text
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
def test_whatever_stands_in_a_record_there_is_an_answer(spoiled):
    """The same for JSON, where a value may also be of another kind."""
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
