"""Text files as rows of text: delimited or JSON, each row with its number. All broken rows are reported at once."""

import csv
import glob
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import duckdb

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import Problems
from trainfare.sources.head import Head, Unit, open_content

LISTED_PER_CHECK = 25
FIX_LINE = "Fix the line, or export the file again."
READER_MESSAGES = {
    "Value with unterminated quote": ("a quote opens here and does not close before the next column", FIX_LINE),
    "Invalid unicode": ("not UTF-8 text", "Save or export it as UTF-8."),
    "Maximum line size": ("the line is longer than 2 MB", FIX_LINE),
}
"""What the engine says about a broken line -> what we say, and what to do."""
_NO_BLANK = re.compile(r"\S")


def header_names(head: Head) -> list[str]:
    """Return the column names of a delimited text file, as written."""
    return next(csv.reader(io.StringIO(head.first_line), delimiter=delimiter(head)), [])


def columns_among(head: Head, wanted: Sequence[str]) -> set[str]:
    """Return which of these columns a file has, judging by its beginning."""
    if head.is_parquet:
        return {name for name in wanted if name in head.parquet_columns}
    if head.is_json:
        return {name for name in wanted if f'"{name}"' in head.text}
    return {name.strip().lower() for name in header_names(head)} & set(wanted)


def delimiter(head: Head) -> str:
    """Return the character that separates columns: the candidate that occurs most often in the header."""
    return max((",", ";", "\t"), key=lambda mark: (head.first_line.count(mark), mark == ","))


def simplified(name: str) -> str:
    """Return a column's name in lower case letters and digits only, to compare spellings."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def plain_name(name: str) -> str:
    """Return the original name of a translated column, which some exports append in brackets."""
    found = re.search(r"\(([^()]+)\)\s*$", name)
    return found[1] if found else name


def quoted_path(head: Head) -> str:
    """Return the file's name for the engine, which treats * ? and [ as a pattern."""
    return quoted(glob.escape(str(head.content)))


def identifier(name: str) -> str:
    """Return a column's name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def missing_columns(names: Sequence[str]) -> str:
    """Return the message for columns that a file lacks."""
    return f"missing column{'s' * (len(names) > 1)} {', '.join(names)}"


@dataclass(frozen=True)
class Lines:
    """Maps rows of a delimited file to lines; blank lines and line breaks inside quotes shift them."""

    head: Head
    rows: int

    def of(self, rows: Sequence[int]) -> list[int]:
        """Return the line on which each of these rows begins; the header is line 1."""
        found = self._counted(set(rows)) if self._is_shifted else {}
        return [found.get(row, row + 1) for row in rows]

    @cached_property
    def _is_shifted(self) -> bool:
        line_ends, last = 0, b"\n"
        with open_content(self.head.content, self.head.is_gzip) as content:
            while block := content.read(1 << 20):
                line_ends, last = line_ends + block.count(b"\n"), block[-1:]
        return line_ends + (last != b"\n") != self.rows + 1

    def _counted(self, wanted: set[int]) -> dict[int, int]:
        found: dict[int, int] = {}
        row, before = -1, 0
        with open_content(self.head.content, self.head.is_gzip) as content:
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


def open_delimited(engine: DuckDB, head: Head, into: str, problems: Problems) -> bool:
    """Load a delimited file into table `into`, every value as text; false if it is broken, and problems say how."""
    names = [name.strip() for name in header_names(head)]
    if "" in names:
        what = f"column {names.index('') + 1} has no name"
        problems.add(f"{head.path}:1", what, "Give every column a unique name.")
        return False
    if not check_unique_names(names, f"{head.path}:1", problems):
        return False
    columns = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in names)
    marks = f"delim = {quoted(delimiter(head))}, quote = '\"', escape = '\"'"
    options = f"header = true, {marks}, nullstr = ['', 'NULL', 'null']"
    if not _read_lines(engine, head, into, columns, options, problems):
        return False
    head.tally.record(Unit.RECORDS, engine.row(f"SELECT count(*) FROM {identifier(into)}")[0])
    return True


def open_json(engine: DuckDB, head: Head, into: str, problems: Problems) -> bool:
    """Load JSON lines, a JSON list or objects one after another into `into`, every value as text; false if broken."""
    is_list, are_lines = head.text.lstrip().startswith("["), is_json_line(head.first_line)
    read = _read_json_list if is_list else _read_json_lines if are_lines else _read_json_objects
    if not read(engine, head, problems):
        return False
    bad = "FROM json_rows WHERE NOT json_valid(json) OR json_type(json) <> 'OBJECT'"
    found = engine.rows(f"SELECT line {bad} ORDER BY line LIMIT {LISTED_PER_CHECK}")
    for (line,) in found:
        problems.add(f"{head.path}:{line}", f"this {'entry' if is_list else 'line'} is not a JSON object", FIX_LINE)
    if found:
        problems.unlisted += engine.row(f"SELECT count(*) {bad}")[0] - len(found)
        return False
    keys = "SELECT line, unnest(json_keys(json)) AS key FROM json_rows"
    names = [name for (name,) in engine.rows(f"SELECT key FROM ({keys}) GROUP BY key ORDER BY min(line), key") if name]
    if not check_unique_names(names, str(head.path), problems):
        return False
    pointers = ", ".join(quoted("/" + name.replace("~", "~0").replace("/", "~1")) for name in names)
    columns = "".join(f", nullif(v[{n}], '') AS {identifier(name)}" for n, name in enumerate(names, 1))
    values = f"SELECT line, json_extract_string(json, CAST([{pointers}] AS VARCHAR[])) AS v FROM json_rows"
    engine.table(into, f"SELECT line{columns} FROM ({values})")
    engine.drop("json_rows")
    return True


def check_unique_names(names: Sequence[str], where: str, problems: Problems) -> bool:
    """Report column names that occur more than once."""
    counts = Counter(name.lower() for name in names)
    duplicates = {name.lower(): name for name in reversed(names) if counts[name.lower()] > 1}
    if duplicates:
        what = f"duplicate column {', '.join(reversed(duplicates.values()))}"
        problems.add(where, what, "Give every column a unique name; case is ignored.")
    return not duplicates


def _read_json_lines(engine: DuckDB, head: Head, problems: Problems) -> bool:
    """Create `json_rows` with one row per line that is not blank."""
    options = "header = false, delim = E'\\x01', quote = '', escape = ''"
    if not _read_lines(engine, head, "json_lines", "'json': 'VARCHAR'", options, problems):
        return False
    head.tally.record(Unit.LINES, engine.row("SELECT count(*) FROM json_lines")[0])
    engine.table("json_rows", "SELECT line, json FROM json_lines WHERE trim(json) <> ''")
    engine.drop("json_lines")
    return True


def is_json_line(line: str) -> bool:
    """Return whether a line is one JSON object; a broken one counts as such, unless it merely begins an object."""
    text = line.strip()
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos < len(text)
    except RecursionError:
        return True
    return True


def _read_json_objects(engine: DuckDB, head: Head, problems: Problems) -> bool:
    """Create `json_rows` with one row per object; each may span several lines."""
    return _read_json_values(engine, head, Unit.OBJECTS, problems)


def _read_json_list(engine: DuckDB, head: Head, problems: Problems) -> bool:
    """Create `json_rows` with one row per entry of the list."""
    return _read_json_values(engine, head, Unit.ENTRIES, problems)


def _read_json_values(engine: DuckDB, head: Head, unit: Unit, problems: Problems) -> bool:
    compression = "gzip" if head.is_gzip else "uncompressed"
    format_ = "array" if unit is Unit.ENTRIES else "unstructured"
    origin = f"read_json_objects({quoted_path(head)}, format = '{format_}', compression = '{compression}')"
    try:
        engine.table("json_rows", f"SELECT row_number() OVER () AS line, CAST(json AS VARCHAR) AS json FROM {origin}")
    except duckdb.Error:
        problems.add(*_broken_json(head, unit), FIX_LINE)
        return False
    head.tally.record(unit, engine.row("SELECT count(*) FROM json_rows")[0])
    return True


def json_objects(text: str) -> Iterator[int]:
    """Yield the position at which each of the JSON values in a text ends; raise where one is broken."""
    decoder, position = json.JSONDecoder(), 0
    while (start := _NO_BLANK.search(text, position)) is not None:
        _, position = decoder.raw_decode(text, start.start())
        yield position


def _broken_json(head: Head, unit: Unit) -> tuple[str, str]:
    """Return where JSON is broken, and how."""
    with open_content(head.content, head.is_gzip) as content:
        try:
            text = content.read().decode("utf-8-sig")
            for _ in json_objects(text) if unit is Unit.OBJECTS else [json.loads(text)]:
                pass
        except json.JSONDecodeError as error:
            return f"{head.path}:{error.lineno}", f"not valid JSON: {error.msg[0].lower()}{error.msg[1:]}"
        except UnicodeDecodeError:
            return str(head.path), "not UTF-8 text"
    return str(head.path), "not valid JSON"


def _read_lines(engine: DuckDB, head: Head, into: str, columns: str, options: str, problems: Problems) -> bool:
    compression = "gzip" if head.is_gzip else "none"
    engine.run("SET preserve_insertion_order = true")
    try:
        engine.table(
            into,
            f"SELECT row_number() OVER () AS line, * FROM read_csv({quoted_path(head)}, columns = {{{columns}}}, "
            f"auto_detect = false, store_rejects = true, compression = '{compression}', {options})",
        )
    except duckdb.Error as error:
        if "reached an invalid state" not in str(error):
            raise
        do = "Save it with one kind of line ending, or export it again."
        problems.add(str(head.path), "mixed line endings (CRLF and LF)", do)
        return False
    broken = "FROM reject_errors QUALIFY row_number() OVER (PARTITION BY line ORDER BY error_message) = 1"
    rejected = engine.rows(f"SELECT line, error_message, csv_line {broken} ORDER BY line LIMIT {LISTED_PER_CHECK}")
    for line, message, text in rejected:
        problems.add(f"{head.path}:{line}", *_broken_line(message, text, delimiter(head)))
    if rejected:
        problems.unlisted += engine.row(f"SELECT count(*) FROM (SELECT line {broken})")[0] - len(rejected)
        engine.run("DELETE FROM reject_errors")
    return not rejected


def _broken_line(message: str, text: str, mark: str) -> tuple[str, str]:
    """Return what is wrong with a line, and what to do. The engine miscounts the columns of a short line."""
    first = message.split("\n")[0]
    if found := re.match(r"Expected Number of Columns: (\d+) Found: (\d+)", first):
        wanted, actual = int(found[1]), len(next(csv.reader(io.StringIO(text), delimiter=mark), [])) or int(found[2])
        return f"{actual} column{'s' * (actual != 1)} where the header has {wanted}", FIX_LINE
    for theirs, ours in READER_MESSAGES.items():
        if first.startswith(theirs):
            return ours
    return first[0].lower() + first[1:].rstrip("."), FIX_LINE
