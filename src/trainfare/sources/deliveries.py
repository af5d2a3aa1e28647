"""Ingestion of files: recognize each one, check every row, and archive a copy that never changes. All or nothing."""

import hashlib
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import BadInputError, Problem, Problems, TrainfareError, UnreachableError
from trainfare.files.locations import (
    Location,
    ObjectLocation,
    files_below,
    locate,
    matching_files,
    modification_stamp,
)
from trainfare.period import Month
from trainfare.settings.config import Config, SourceSettings, is_zone
from trainfare.sources import counts, near_misses, registry
from trainfare.sources.bills import manifests, mapping
from trainfare.sources.bills.mapping import MappedBill
from trainfare.sources.bills.native import NativeBill
from trainfare.sources.head import CHANGED, measure
from trainfare.sources.kinds import Kind
from trainfare.sources.protocol import ArchivedFile, ReadOptions, Source
from trainfare.sources.raw import parquet_rows
from trainfare.sources.recordings import recording
from trainfare.sources.schedulers import kubernetes
from trainfare.sources.telemetry.event_format import DECLARED
from trainfare.tables import CHARGES, PLACEMENTS, Table

BILLING_MONTH = "billing_month(billing_start, billing_end)"
ADJUSTING = " adjusting "
"""Joins a source's name and a closed month, for charges of that month that are booked later."""


class Delivery(Protocol):
    """What a catalog stores about a delivery."""

    @property
    def id(self) -> int: ...
    @property
    def source(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def content_sha256(self) -> str: ...
    @property
    def settings_sha256(self) -> str: ...
    @property
    def lines(self) -> int: ...


@dataclass(frozen=True)
class DeliveredFile:
    """One ingested file and the location of its copy."""

    source: str
    path: Location
    format: str
    kind: Kind
    sha256: str
    settings_sha256: str
    archive: Location
    lines: int
    number: int = 0

    @property
    def is_bill(self) -> bool:
        return self.kind.is_bill

    @property
    def is_job_log(self) -> bool:
        return self.kind.is_job_log

    @property
    def is_recording(self) -> bool:
        """Whether it has observations, which are folded with those of other files."""
        return self.format in (recording.NAME, kubernetes.NAME)

    @property
    def recorder(self) -> str:
        """What it is folded with: other segments of its collector, or all files with objects, whose uids are unique."""
        return self.source if self.format == recording.NAME else self.format

    @property
    def lists_machines(self) -> bool:
        """Whether it may list machines, so that it concerns every month."""
        return self.kind is Kind.MACHINES or self.format == kubernetes.NAME

    @property
    def is_rate_table(self) -> bool:
        return self.kind.is_rate_table

    @property
    def is_ledger(self) -> bool:
        return self.kind.is_ledger

    @property
    def header_lines(self) -> int:
        """How much larger a row's line in the file is than its position: 1 with a header, 0 for Parquet and JSON."""
        name = self.path.name.removesuffix(".gz").removesuffix(".zip")
        return 1 if name.endswith((".csv", ".txt", ".tsv")) else 0

    @property
    def native(self) -> NativeBill | MappedBill | None:
        """The reader with the mapping of this file, if it is a bill in a provider's own format."""
        source = registry.by_name(self.format)
        return source if isinstance(source, NativeBill | MappedBill) else None

    @property
    def archived(self) -> ArchivedFile:
        return ArchivedFile(self.archive, self.number, self.source)

    def focus_rows(self, engine: DuckDB) -> str:
        """Return a SELECT of a bill's lines with FOCUS columns, and `line`."""
        return self.native.focus_rows(engine, self.archived) if self.native else parquet_rows(self.archive)

    def select(self, engine: DuckDB) -> str:
        """Return a SELECT of the file's rows of the table for its kind."""
        select = self.rows(engine, self.kind.table)
        if select is None:
            raise LookupError(f"{self.format} has no rows of {self.kind.table.name}")
        return select

    def rows(self, engine: DuckDB, table: Table, currency: str | None = None) -> str | None:
        """Return a SELECT of the file's rows of `table`, or None if such files have none."""
        return registry.by_name(self.format).rows(engine, self.archived, ReadOptions(currency=currency), table)


def source_files(source: SourceSettings, folder: Path) -> list[Location]:
    """Return the files that a source names, in order; a name or pattern without a match is an error.

    A folder stands for all files below it, unless it holds the settings or is worked in: then it is no folder of
    exports. A file below the working folder is named relative to it, as a user would write it.
    """
    named = relative_to_cwd(locate(source.path, folder))
    if not is_zone(source.zone):
        do = "Use an IANA name such as Europe/Berlin."
        raise TrainfareError(f"zone of {named}", f"'{source.zone}' is not a time zone", do)
    found = matching_files(named)
    if found == [named] and named.is_dir() and not _holds(named, folder):
        found = [one for one in files_below(named) if one.name != "manifest.json"]
        if not found:
            do = "Copy the export into it, or name the files."
            raise TrainfareError(str(named), "there are no files below this folder", do)
    if not found:
        do = "Check the pattern; in the settings it is relative to the folder of the settings file."
        raise TrainfareError(str(named), "no file matches this pattern", do)
    return manifests.select(found)


def _holds(named: Location, folder: Path) -> bool:
    """Return whether a folder is that of the settings or the working folder, or one above it."""
    if isinstance(named, ObjectLocation):
        return False
    return any(one.resolve().is_relative_to(named.resolve()) for one in (folder, Path.cwd()))


def unread_columns(engine: DuckDB, config: Config) -> dict[Location, list[str]]:
    """Return the columns of machine files that nothing reads, by file. Files that cannot be read have none."""
    found: dict[Location, list[str]] = {}
    for source in config.source:
        with suppress(TrainfareError):
            for path in source_files(source, config.folder):
                recognized, head = registry.recognize(engine, path)
                if names := near_misses.unread_columns(head, recognized):
                    found[path] = names
    return found


def relative_to_cwd(path: Location) -> Location:
    """Return the path relative to the working folder if it is below it.

    A relative name that starts with ~ stays absolute, because the engine would expand it to a home folder.
    """
    if isinstance(path, ObjectLocation):
        return path
    try:
        below = path.absolute().relative_to(Path.cwd())
    except (ValueError, OSError):
        return path
    return path.absolute() if str(below).startswith("~") else below


def source_name(source: SourceSettings) -> str:
    """Return the source's name, or one derived from its path."""
    if source.name:
        return source.name
    path = PurePosixPath(source.path)
    if any(mark in path.name for mark in "*?["):
        return path.parent.name or "files"
    return path.name.split(".")[0]


def ingest(
    engine: DuckDB,
    config: Config,
    archive: Callable[[str, str], Location],
    known: Callable[[str, str, str], DeliveredFile | None],
    progress: Callable[[str], None] = lambda message: None,
) -> list[DeliveredFile]:
    """Ingest all files of all sources.

    `archive` returns where to write a copy, `known` finds a file that was ingested before.
    """
    problems = Problems()
    ingested: dict[tuple[str, str], DeliveredFile] = {}
    for source in config.source:
        try:
            paths, reader = source_files(source, config.folder), _mapping(source, config.folder)
        except UnreachableError:
            raise
        except TrainfareError as error:
            problems.found += _problems_of(error)
            continue
        for path in paths:
            progress(path.name)
            file = _ingest_file(engine, config, source, (path, reader), archive, known, problems)
            if file:
                ingested.setdefault((file.kind, file.sha256), file)
    problems.raise_if_any()
    return list(ingested.values())


def _ingest_file(
    engine: DuckDB,
    config: Config,
    settings: SourceSettings,
    named: tuple[Location, Source | None],
    archive: Callable[[str, str], Location],
    known: Callable[[str, str, str], DeliveredFile | None],
    problems: Problems,
) -> DeliveredFile | None:
    """Read a file, with the named reader or the one that recognizes it."""
    path, reader = named
    try:
        stamp = modification_stamp(path)
        source, head = (reader, registry.open_head(engine, path)) if reader else registry.recognize(engine, path)
        content = measure(head)
    except UnreachableError:
        raise
    except TrainfareError as error:
        problems.add(error.where, error.what, error.do)
        return None
    options = ReadOptions(settings.zone, config.currency)
    settings_sha256 = _settings_digest(source, options)
    name = source_name(settings)
    if (before := known(name, content.sha256, settings_sha256)) is not None:
        return before
    target = archive(content.sha256, settings_sha256)
    found_before = len(problems.found)
    lines = source.archive(engine, head, target, options, problems)
    if len(problems.found) == found_before:
        counts.require_all_read(engine, head, content, (target, lines), problems)
    if modification_stamp(path) != stamp:
        problems.add(str(path), *CHANGED)
    return DeliveredFile(name, path, source.NAME, source.KIND, content.sha256, settings_sha256, target, lines)


def _problems_of(error: TrainfareError) -> list[Problem]:
    return error.problems if isinstance(error, BadInputError) else [Problem(error.where, error.what, error.do)]


def _mapping(source: SourceSettings, folder: Path) -> Source | None:
    """Return the reader that the source names, if it has a mapping."""
    if not source.mapping:
        return None
    is_shipped = source.mapping in {one.NAME for one in mapping.SHIPPED}
    return mapping.load(None if is_shipped else folder / source.mapping, source.mapping)


def _settings_digest(source: Source, options: ReadOptions) -> str:
    """Return a fingerprint of everything but the content that decides what an archived copy looks like."""
    return hashlib.sha256(f"{source.VERSION}|{source.NAME}|{options.zone}|{options.currency}".encode()).hexdigest()


def from_catalog(row: Delivery, archive: Location) -> DeliveredFile:
    """Return the delivered file that a row of the catalog describes."""
    return DeliveredFile(
        row.source,
        locate(row.path),
        row.format,
        registry.by_name(row.format).KIND,
        row.content_sha256,
        row.settings_sha256,
        archive,
        row.lines,
        row.id,
    )


def prepare_recordings(
    engine: DuckDB, files: Iterable[DeliveredFile], notice: Callable[[str], None] = lambda message: None
) -> None:
    """Fold the recordings among these files together, so that the rows of each can be selected."""
    if segments := [file for file in files if file.is_recording]:
        recording.prepare(engine, segments, notice)


def table_selects(
    engine: DuckDB,
    files: Iterable[DeliveredFile],
    table: Table,
    currency: str | None = None,
    names: Collection[str] = (),
) -> list[str]:
    """Return a SELECT for each file that has rows of `table`.

    Placements also have a column `log_name`: the name of the file's source if it is one of `names`, else null.
    """
    found = ((file, file.rows(engine, table, currency)) for file in files)
    selects = [(file, select) for file, select in found if select is not None]
    if table not in (PLACEMENTS, DECLARED):
        return [select for _, select in selects]
    return [f"SELECT *, {log_name(file.source, names)} AS log_name FROM ({select})" for file, select in selects]


def log_name(source: str, names: Collection[str]) -> str:
    """Return SQL for what takes the place of a cluster in the ids of a source's jobs: its name, or null."""
    return f"CAST({quoted(source) if source in names else 'NULL'} AS VARCHAR)"


def charge_selects(engine: DuckDB, config: Config, files: Iterable[DeliveredFile], is_kept: bool = False) -> list[str]:
    """Return the archived bills, each as a SELECT of charges. Files that repeat what others have are taken together.

    If `is_kept`, native bills are converted once, here: a build reads the charges a dozen times.
    """
    selects, all_files = [], list(files)
    for file in all_files:
        select = file.rows(engine, CHARGES, config.currency)
        beside = file.native.beside if isinstance(file.native, NativeBill) else None
        if select is not None and beside:
            others = [other for other in all_files if other.format == file.format and other is not file]
            select = beside(engine, file, others, select) if others else select
        if select is not None and file.native and is_kept:
            select = engine.spool(f"charges-{file.number}", select)
        selects += [select] if select is not None else []
    return selects


def billed_months(engine: DuckDB, config: Config, bill: DeliveredFile) -> set[Month]:
    """Return the months of an archived bill's charges."""
    (select,) = charge_selects(engine, config, [bill])
    return {Month.of(day) for (day,) in engine.rows(f"SELECT DISTINCT {BILLING_MONTH} FROM ({select})")}


def month_digests(engine: DuckDB, config: Config, bill: DeliveredFile) -> dict[Month, str]:
    """Return a fingerprint of an archived bill's charges by month, regardless of the order of lines."""
    (select,) = charge_selects(engine, config, [bill])
    columns = ", ".join(name for name in CHARGES.names if name not in ("delivery", "line", "source"))
    checksum = f"CAST(sum(CAST(hash({columns}) AS HUGEINT)) AS VARCHAR)"
    found = engine.rows(f"SELECT {BILLING_MONTH}, count(*), {checksum}, sum(effective) FROM ({select}) GROUP BY 1")
    return {Month.of(day): f"{lines}|{hashed}|{total}" for day, lines, hashed, total in found}
