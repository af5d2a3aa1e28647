"""Every row of a file is read or refused: the rows are counted independently of the reader, for every source."""

import csv
import gzip
import hashlib
import io
import json
import tempfile
import threading
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import BadInputError, Problems, TrainfareError
from trainfare.settings.config import Config, SourceSettings
from trainfare.sources import counts, deliveries, registry
from trainfare.sources.deliveries import DeliveredFile
from trainfare.sources.head import CHANGED, Content, Head, Tally, Unit, measure, read_head
from trainfare.sources.protocol import ReadOptions

from .test_protocol import SAMPLES

LONG = 33_600_000
"""Bytes that exceed the buffer of the reader, which then loses the line without a message."""


def ingest(path: Path, folder: Path) -> list[DeliveredFile]:
    config = Config(folder=folder, source=(SourceSettings(path=str(path)),))
    return deliveries.ingest(DuckDB(), config, lambda sha256, _: folder / f"{sha256[:8]}.parquet", lambda *_: None)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_source_states_what_it_read_and_read_all_of_it(name: str, tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_text(SAMPLES[name], encoding="utf-8")
    (file,) = ingest(path, tmp_path)
    assert file.format == name


@pytest.mark.parametrize("name", SAMPLES)
def test_a_row_that_a_reader_loses_is_reported_for_every_source(name: str, tmp_path: Path) -> None:
    """The reader's own count is made one too small, as if it had lost a row."""
    path = tmp_path / "file.csv"
    path.write_text(SAMPLES[name], encoding="utf-8")
    engine, problems = DuckDB(), Problems()
    source, head = registry.recognize(engine, path)
    lines = source.archive(engine, head, tmp_path / "archive.parquet", ReadOptions(), problems)
    counts.require_all_read(engine, head, measure(head), (tmp_path / "archive.parquet", lines), problems)
    problems.raise_if_any()
    head.tally.rows -= 1
    counts.require_all_read(engine, head, measure(head), (tmp_path / "archive.parquet", lines), problems)
    assert len(problems.found) == 1
    assert "were read" in problems.found[0].what


@given(
    st.lists(st.lists(st.text('a,"\n\r', max_size=5), min_size=2, max_size=2).filter(lambda row: row != ["", ""])),
    st.integers(1, 7),
)
def test_lines_outside_quotes_are_the_rows_of_any_quoted_file(rows: list[list[str]], block: int) -> None:
    """Whatever is quoted, and wherever a block of the file ends."""
    written = io.StringIO(newline="")
    csv.writer(written, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([["x", "y"], *rows])
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        path = Path(folder) / "file.csv"
        path.write_text(written.getvalue(), encoding="utf-8", newline="")
        patched.setattr(counts, "BLOCK_BYTES", block)
        head = Head(path, is_parquet=False, is_gzip=False, text="x,y\n")
        assert counts._lines_outside_quotes(head) == len(rows) + 1


def test_a_source_that_states_nothing_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(SAMPLES["jobs"], encoding="utf-8")
    head = read_head(path)
    with pytest.raises(TrainfareError, match="does not state how many rows it read"):
        counts.require_all_read(DuckDB(), head, measure(head), (path, 1), Problems())


@pytest.mark.parametrize("name", ["focus", "sacct", "jobs", "labor"])
def test_a_line_longer_than_the_readers_buffer_is_refused(name: str, tmp_path: Path) -> None:
    """A bill, job logs and ledgers. Before, the line was lost and the rest tied out."""
    header, row, *rest = SAMPLES[name].splitlines()
    path = tmp_path / "file.csv"
    mark = "|" if name == "sacct" else ","
    first, _, others = row.partition(mark)
    path.write_text("\n".join([header, row, f"{first}{'x' * LONG}{mark}{others}", *rest, row, ""]), encoding="utf-8")
    with pytest.raises(BadInputError) as refused:
        ingest(path, tmp_path)
    assert f"{path}:3: " in str(refused.value)
    assert "too long to be read" in str(refused.value) or "longer than" in str(refused.value)


def test_a_long_line_within_the_limit_is_read(tmp_path: Path) -> None:
    """The nearest case that must not be refused."""
    path = tmp_path / "jobs.csv"
    header, row = SAMPLES["jobs"].splitlines()[:2]
    path.write_text(f"{header},note\n{row},{'x' * 1_900_000}\n{row},short\n")
    assert [file.lines for file in ingest(path, tmp_path)] == [2]


JOB = '{"job_id": "%s", "attempt": 1, "machine_id": "n1", "started": "2026-10-01T00:00:00Z", "ended": null, "gpus": 1}'


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("{header}\n{row}\n{row}\n", 2),
        ("{header}\n{row}\n{row}", 2),
        ("{header}\r\n{row}\r\n{row}\r\n", 2),
        ("{header}\n\n{row}\n\n\n{row}\n\n", 2),
        ('{header},note\n{row},"two\nlines"\n{row},"a ""quoted""\n\nblank"\n', 2),
        ('{header},note\n{row},5" disk\n{row},6" disk\n', 2),
        ("\ufeff{header}\n{row}\n", 1),
        ("{header}\n", 0),
    ],
    ids=["plain", "no last line end", "crlf", "blank lines", "quoted line breaks", "inches", "byte order mark", "none"],
)
@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
def test_line_breaks_that_are_not_rows_are_counted_right(text: str, rows: int, suffix: str, tmp_path: Path) -> None:
    header, row = SAMPLES["jobs"].splitlines()[:2]
    content = text.format(header=header, row=row).encode()
    path = tmp_path / f"jobs.{suffix}"
    path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    assert [file.lines for file in ingest(path, tmp_path)] == [rows]


@pytest.mark.parametrize("suffix", ["json", "json.gz"])
@pytest.mark.parametrize(
    "layout", [lambda jobs: "\n".join(jobs), lambda jobs: "\n\n".join(jobs), lambda jobs: f"[{','.join(jobs)}]"]
)
def test_entries_of_json_are_counted(layout: object, suffix: str, tmp_path: Path) -> None:
    content = layout([JOB % name for name in "abc"]).encode()  # type: ignore[operator]
    path = tmp_path / f"jobs.{suffix}"
    path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    assert [file.lines for file in ingest(path, tmp_path)] == [3]


def test_a_list_in_json_is_counted_by_another_parser(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    entries = [{"job_id": f"a,]{n}", "nested": [[n], {"x": '"]'}]} for n in range(1000)]
    for text in (json.dumps(entries), json.dumps(entries).replace('"a,]0"', "NaN")):
        path.write_text(text, encoding="utf-8")
        head = read_head(path)
        head.tally.record(Unit.ENTRIES, 1000)
        assert counts._counted(DuckDB(), head) == 1000
    path.write_text(json.dumps({"meta": {"jobs": [1, 2]}, "jobs": entries}), encoding="utf-8")
    head = read_head(path)
    head.tally.record(Unit.ENTRIES, 1000)
    assert counts._counted(DuckDB(), head) == 1000


def test_rows_of_parquet_are_those_of_its_metadata(tmp_path: Path) -> None:
    path = tmp_path / "jobs.parquet"
    duckdb.connect().execute(
        f"COPY (SELECT 'a' || range AS job_id, 1 AS attempt, 'n1' AS machine_id, TIMESTAMP '2026-10-01' AS started, "
        f"TIMESTAMP '2026-10-02' AS ended, 1 AS gpus FROM range(300000)) TO '{path}' (FORMAT parquet)"
    )
    assert [file.lines for file in ingest(path, tmp_path)] == [300_000]


def test_a_copy_with_other_rows_is_reported(tmp_path: Path) -> None:
    path, copy = tmp_path / "jobs.csv", tmp_path / "copy.parquet"
    path.write_text(SAMPLES["jobs"], encoding="utf-8")
    duckdb.connect().execute(f"COPY (SELECT 1 AS x FROM range(7)) TO '{copy}' (FORMAT parquet)")
    head, problems = read_head(path), Problems()
    content = measure(head)
    head.tally.record(Unit.RECORDS, content.lines - 1)
    counts.require_all_read(DuckDB(), head, content, (copy, 8), problems)
    assert [problem.what for problem in problems.found] == ["8 rows were to be archived, but the copy has 7"]


def test_the_size_and_fingerprint_are_those_of_the_content(tmp_path: Path) -> None:
    content = b"a,b\n" * 700_000 + b"1,2"
    (tmp_path / "plain").write_bytes(content)
    (tmp_path / "packed").write_bytes(gzip.compress(content))
    found = {measure(read_head(tmp_path / name)) for name in ("plain", "packed")}
    assert found == {Content(hashlib.sha256(content).hexdigest(), len(content), 700_001)}


def test_a_file_that_never_ends_is_refused(tmp_path: Path) -> None:
    """A writer that is faster than the reader: the file is read up to the size it had, and refused."""
    path, stop = tmp_path / "bill.csv", threading.Event()
    path.write_bytes(b"a,b\n" * 100_000)

    def grow() -> None:
        with path.open("ab") as file:
            while not stop.is_set():
                file.write(b"1,2\n" * 65_536)
                file.flush()
                if file.tell() > 1 << 30:
                    return

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        head = Head(path, is_parquet=False, is_gzip=False, text="a,b\n", tally=Tally())
        with pytest.raises(TrainfareError, match=CHANGED[0]):
            all(measure(head) for _ in range(100))
    finally:
        stop.set()
        writer.join()


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/proc/self/mem"])
def test_devices_are_refused(device: str) -> None:
    with pytest.raises(TrainfareError) as refused:
        read_head(Path(device))
    assert refused.value.what in ("this is a pipe or a device, not a file", "cannot be read (Input/output error)")
