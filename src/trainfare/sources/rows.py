"""Text files as rows of text: delimited or JSON, each row with its number. All broken rows are told at once."""

import csv
import glob
import io
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import duckdb

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import Faults
from trainfare.sources.head import Head, opened

LISTED_PER_CHECK = 25
MEND = "Mend the line, or export the file again."
READER_WORDS = {
    "Value with unterminated quote": ("a quote begins here and does not end before the next column", MEND),
    "Invalid unicode": ("this is not UTF-8 text", "Save or export it as UTF-8."),
    "Maximum line size": ("the line is longer than 2 MB", MEND),
}
"""What the engine says of a broken line, in our words."""


def header_names(head: Head) -> list[str]:
    """The column names of a delimited text file, as written."""
    return next(csv.reader(io.StringIO(head.first_line), delimiter=delimiter(head)), [])


def delimiter(head: Head) -> str:
    """What stands between the columns: the mark the header has most of."""
    return max((",", ";", "\t"), key=lambda mark: (head.first_line.count(mark), mark == ","))


def bare(name: str) -> str:
    """A column's name by which misspellings are told: small letters and digits only."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def located(head: Head) -> str:
    """The file's name for the engine, which takes * ? and [ for a pattern."""
    return quoted(glob.escape(str(head.path)))


@dataclass(frozen=True)
class Lines:
    """Which line of a delimited file a row stands on; blank lines and line ends inside quotes shift it."""

    head: Head
    rows: int

    def of(self, rows: Sequence[int]) -> list[int]:
        """The line on which each of these rows begins; the header is line 1."""
        found = self._counted(set(rows)) if self._is_shifted else {}
        return [found.get(row, row + 1) for row in rows]

    @cached_property
    def _is_shifted(self) -> bool:
        ends, last = 0, b"\n"
        with opened(self.head.path, self.head.is_gzip) as content:
            while block := content.read(1 << 20):
                ends, last = ends + block.count(b"\n"), block[-1:]
        return ends + (last != b"\n") != self.rows + 1

    def _counted(self, wanted: set[int]) -> dict[int, int]:
        found: dict[int, int] = {}
        row, before = -1, 0
        with opened(self.head.path, self.head.is_gzip) as content:
            text = io.TextIOWrapper(content, encoding="utf-8-sig", newline="")
            reader = csv.reader(text, delimiter=delimiter(self.head))
            try:
                for record in reader:
                    row += bool(record)
                    if record and row in wanted:
                        found[row] = before + 1
                    before = reader.line_num
            except csv.Error:
                pass
        return found


def open_delimited(engine: DuckDB, head: Head, into: str, faults: Faults) -> bool:
    """Make table `into` of a delimited file, every value as text; false if it cannot be had, and faults say why."""
    names = [name.strip() for name in header_names(head)]
    if "" in names:
        faults.add(f"{head.path}:1", f"column {names.index('') + 1} has no name", "Give every column its own name.")
        return False
    if not named_once(names, f"{head.path}:1", faults):
        return False
    columns = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in names)
    marks = f"delim = {quoted(delimiter(head))}, quote = '\"', escape = '\"'"
    options = f"header = true, {marks}, nullstr = ['', 'NULL', 'null']"
    return _read_lines(engine, head, into, columns, options, faults)


def open_json(engine: DuckDB, head: Head, into: str, faults: Faults) -> bool:
    """Make table `into` of JSON lines or a JSON list of objects, every value as text; false if it cannot be had."""
    is_list = head.text.lstrip().startswith("[")
    if not (_read_json_list if is_list else _read_json_lines)(engine, head, faults):
        return False
    bad = "FROM json_rows WHERE NOT json_valid(json) OR json_type(json) <> 'OBJECT'"
    found = engine.rows(f"SELECT line {bad} ORDER BY line LIMIT {LISTED_PER_CHECK}")
    for (line,) in found:
        faults.add(f"{head.path}:{line}", f"this {'entry' if is_list else 'line'} is not a JSON object", MEND)
    if found:
        faults.unlisted += engine.row(f"SELECT count(*) {bad}")[0] - len(found)
        return False
    keys = "SELECT line, unnest(json_keys(json)) AS key FROM json_rows"
    names = [name for (name,) in engine.rows(f"SELECT key FROM ({keys}) GROUP BY key ORDER BY min(line), key") if name]
    if not named_once(names, str(head.path), faults):
        return False
    pointers = ", ".join(quoted("/" + name.replace("~", "~0").replace("/", "~1")) for name in names)
    values = "".join(f", nullif(v[{n}], '') AS {identifier(name)}" for n, name in enumerate(names, 1))
    told = f"SELECT line, json_extract_string(json, CAST([{pointers}] AS VARCHAR[])) AS v FROM json_rows"
    engine.table(into, f"SELECT line{values} FROM ({told})")
    engine.drop("json_rows")
    return True


def identifier(name: str) -> str:
    """A column's name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def _read_json_lines(engine: DuckDB, head: Head, faults: Faults) -> bool:
    """Make `json_rows`, one per line that is not blank."""
    if head.first_line.strip() == "{":
        do = "Write each object on a line of its own (JSON lines), or all of them as one list."
        faults.add(f"{head.path}:1", "a JSON object spreads over several lines", do)
        return False
    options = "header = false, delim = E'\\x01', quote = '', escape = ''"
    if not _read_lines(engine, head, "json_lines", "'json': 'VARCHAR'", options, faults):
        return False
    engine.table("json_rows", "SELECT line, json FROM json_lines WHERE trim(json) <> ''")
    engine.drop("json_lines")
    return True


def _read_json_list(engine: DuckDB, head: Head, faults: Faults) -> bool:
    """Make `json_rows`, one per entry of the list."""
    packed = "gzip" if head.is_gzip else "uncompressed"
    origin = f"read_json_objects({located(head)}, format = 'array', compression = '{packed}')"
    try:
        engine.table("json_rows", f"SELECT row_number() OVER () AS line, CAST(json AS VARCHAR) AS json FROM {origin}")
    except duckdb.Error:
        faults.add(*_broken_json(head), MEND)
        return False
    return True


def _broken_json(head: Head) -> tuple[str, str]:
    """Where a JSON list breaks, and how."""
    with opened(head.path, head.is_gzip) as content:
        try:
            json.load(content)
        except json.JSONDecodeError as error:
            return f"{head.path}:{error.lineno}", f"not valid JSON: {error.msg[0].lower()}{error.msg[1:]}"
        except UnicodeDecodeError:
            return str(head.path), "this is not UTF-8 text"
    return str(head.path), "not valid JSON"


def named_once(names: Sequence[str], where: str, faults: Faults) -> bool:
    times = Counter(name.lower() for name in names)
    twice = {name.lower(): name for name in reversed(names) if times[name.lower()] > 1}
    if twice:
        what = f"column {', '.join(reversed(twice.values()))} stands there twice"
        faults.add(where, what, "Give every column its own name; capitals make no difference.")
    return not twice


def _read_lines(engine: DuckDB, head: Head, into: str, columns: str, options: str, faults: Faults) -> bool:
    packed = "gzip" if head.is_gzip else "none"
    engine.run("SET preserve_insertion_order = true")
    try:
        engine.table(
            into,
            f"SELECT row_number() OVER () AS line, * FROM read_csv({located(head)}, columns = {{{columns}}}, "
            f"auto_detect = false, store_rejects = true, compression = '{packed}', {options})",
        )
    except duckdb.Error as error:
        if "reached an invalid state" not in str(error):
            raise
        what = "its lines do not all end the same way (CRLF and LF)"
        faults.add(str(head.path), what, "Save it with one kind of line end, or export it again.")
        return False
    broken = "FROM reject_errors QUALIFY row_number() OVER (PARTITION BY line ORDER BY error_message) = 1"
    rejected = engine.rows(f"SELECT line, error_message, csv_line {broken} ORDER BY line LIMIT {LISTED_PER_CHECK}")
    for line, message, text in rejected:
        faults.add(f"{head.path}:{line}", *_plain(message, text, delimiter(head)))
    if rejected:
        faults.unlisted += engine.row(f"SELECT count(*) FROM (SELECT line {broken})")[0] - len(rejected)
        engine.run("DELETE FROM reject_errors")
    return not rejected


def _plain(message: str, text: str, mark: str) -> tuple[str, str]:
    """The reader's own words for a broken line in ours, and what to do. It does not count the columns of a short line right."""
    first = message.split("\n")[0]
    if found := re.match(r"Expected Number of Columns: (\d+) Found: (\d+)", first):
        wanted, there = int(found[1]), len(next(csv.reader(io.StringIO(text), delimiter=mark), [])) or int(found[2])
        return f"{there} column{'s' * (there != 1)} where the header has {wanted}", MEND
    for theirs, ours in READER_WORDS.items():
        if first.startswith(theirs):
            return ours
    return first[0].lower() + first[1:].rstrip("."), MEND
