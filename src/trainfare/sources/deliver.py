"""Take in files: recognise, check every row, and keep a copy that nobody changes. All or nothing."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from trainfare.config import Config, Source, is_zone
from trainfare.engine.duckdb import DuckDB, parquet, quoted
from trainfare.errors import BadInputError, Faults, TrainfareError, UnreachableError
from trainfare.period import Month
from trainfare.places import Place, Remote, fitting, place, stamp
from trainfare.sources import recognise as formats
from trainfare.sources.bills import focus
from trainfare.sources.head import Head, digest
from trainfare.sources.raw import told
from trainfare.tables import BASES, CHARGES, MACHINES, PLACEMENTS

BILLING_MONTH = "billing_month(billing_start, billing_end)"
ADJUSTING = " adjusting "
"""Stands between a source's name and a closed month, where charges of that month are booked later."""
READER_VERSIONS = {"sacct": "4", "sacct-json": "4", "jobs": "3", "machines": "2", "measurements": "2"}
"""By format, part of a kept copy's identity, 1 if not told; raise it when a reader starts to read the same file differently."""


class Delivery(Protocol):
    """What a catalog knows of a delivery."""

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
class Delivered:
    """One file that was taken in, and where its copy is."""

    source: str
    path: Place
    format: str
    kind: str
    sha256: str
    settings_sha256: str
    archive: Place
    lines: int
    number: int = 0


def files_of(source: Source, folder: Path) -> list[Place]:
    """The files a source names, in order; a name or pattern that fits nothing is refused.

    A file below the working folder is named from there, as a user would; so it is told in errors.
    """
    named = seen_from_here(place(source.path, folder))
    if not is_zone(source.zone):
        do = "Use an IANA name such as Europe/Berlin."
        raise TrainfareError(f"zone of {named}", f"'{source.zone}' is not a time zone", do)
    found = fitting(named)
    if not found:
        do = "Check the pattern; in settings it starts at the folder of the settings file."
        raise TrainfareError(str(named), "no file fits this pattern", do)
    return found


def seen_from_here(path: Place) -> Place:
    """The path from the working folder, where it is below that. A name that begins with ~ the engine would take for a home folder."""
    if isinstance(path, Remote):
        return path
    try:
        below = path.absolute().relative_to(Path.cwd())
    except (ValueError, OSError):
        return path
    return path.absolute() if str(below).startswith("~") else below


def name_of(source: Source) -> str:
    """The source's name, or one taken from its path."""
    if source.name:
        return source.name
    path = PurePosixPath(source.path)
    if any(mark in path.name for mark in "*?["):
        return path.parent.name or "files"
    return path.name.split(".")[0]


def deliver(
    engine: DuckDB,
    config: Config,
    archive: Callable[[str, str], Place],
    known: Callable[[str, str, str], Delivered | None],
    progress: Callable[[str], None] = lambda told: None,
) -> list[Delivered]:
    """Take in all files of all sources. `archive` says where a copy goes, `known` finds one taken in before."""
    faults = Faults()
    taken: dict[tuple[str, str], Delivered] = {}
    for source in config.source:
        try:
            paths = files_of(source, config.folder)
        except UnreachableError:
            raise
        except TrainfareError as error:
            faults.add(error.where, error.what, error.do)
            continue
        for path in paths:
            progress(path.name)
            delivered = _take(engine, config, source, path, archive, known, faults)
            if delivered:
                taken.setdefault((delivered.kind, delivered.sha256), delivered)
    faults.refuse()
    return list(taken.values())


def _take(
    engine: DuckDB,
    config: Config,
    source: Source,
    path: Place,
    archive: Callable[[str, str], Place],
    known: Callable[[str, str, str], Delivered | None],
    faults: Faults,
) -> Delivered | None:
    try:
        format_, head = formats.recognise(engine, path)
        before_reading = stamp(path)
        sha256 = digest(head)
    except UnreachableError:
        raise
    except TrainfareError as error:
        faults.add(error.where, error.what, error.do)
        return None
    version = READER_VERSIONS.get(format_.NAME, "1")
    settings = hashlib.sha256(f"{version}|{format_.NAME}|{source.zone}|{config.currency}".encode()).hexdigest()
    name = name_of(source)
    if (before := known(name, sha256, settings)) is not None:
        return before
    target = archive(sha256, settings)
    if format_.KIND == "bill":
        lines = focus.archive(engine, head, target, config.currency, faults)
    else:
        lines = _archive_rows(engine, format_, head, source.zone, target, faults)
    if stamp(path) != before_reading:
        faults.add(str(path), "the file changed while it was read", "Run the command again when it is complete.")
    return Delivered(name, path, format_.NAME, format_.KIND, sha256, settings, target, lines)


def _archive_rows(engine: DuckDB, format_: object, head: Head, zone: str, target: Place, faults: Faults) -> int:
    before = len(faults.found)
    engine.drop("taken")
    try:
        format_.read(engine, head.path, "taken", zone, faults)  # type: ignore[attr-defined]
    except BadInputError as error:
        faults.found.extend(error.faults)
    if len(faults.found) > before:
        return 0
    with told(head, faults):  # columns that no check looked at are read here first
        engine.write_parquet("SELECT * FROM taken", target)
        lines: int = engine.row(f"SELECT count(*) FROM {parquet(target)}")[0]
        return lines
    return 0


def charge_selects(engine: DuckDB, config: Config, delivered: Iterable[Delivered]) -> list[str]:
    """The archived bills, each as a SELECT of charges."""
    return [
        focus.charges(engine, file.archive, file.number, file.source, config.currency)
        for file in delivered
        if file.kind == "bill"
    ]


def billed_months(engine: DuckDB, config: Config, bill: Delivered) -> set[Month]:
    """The months an archived bill has charges of."""
    (select,) = charge_selects(engine, config, [bill])
    return {Month.of(day) for (day,) in engine.rows(f"SELECT DISTINCT {BILLING_MONTH} FROM ({select})")}


def digests(engine: DuckDB, config: Config, bill: Delivered) -> dict[Month, str]:
    """What an archived bill says of each month, as a fingerprint: where a line stands means nothing to it."""
    (select,) = charge_selects(engine, config, [bill])
    columns = ", ".join(name for name in CHARGES.names if name not in ("delivery", "line", "source"))
    told = f"CAST(sum(CAST(hash({columns}) AS HUGEINT)) AS VARCHAR)"
    found = engine.rows(f"SELECT {BILLING_MONTH}, count(*), {told}, sum(effective) FROM ({select}) GROUP BY 1")
    return {Month.of(day): f"{lines}|{told}|{total}" for day, lines, told, total in found}


def adjusting_selects(
    engine: DuckDB, config: Config, bills: Iterable[Delivered], closed: Month, into: Month, sign: int
) -> list[str]:
    """The charges of a closed month in these bills, to be booked in `into`; with sign -1 they are taken back."""
    return [adjusting(select, closed, into, sign) for select in charge_selects(engine, config, bills)]


def adjusting(charges: str, closed: Month, into: Month, sign: int) -> str:
    """What a SELECT of charges has of a closed month, booked in `into`. What is taken back has lines below zero."""
    own = {"billing_start": f"TIMESTAMP '{into}-01'", "billing_end": f"TIMESTAMP '{into}-01'"}
    own |= {name: f"{sign} * {name}" for name in BASES}
    own |= {
        "source": f"source || {quoted(f'{ADJUSTING}{closed}')}",
        "line": f"CASE origin WHEN 'bill' THEN line ELSE {sign} * line END",
    }
    columns = ", ".join(f"{own.get(name, name)} AS {name}" for name in CHARGES.names)
    return f"SELECT {columns} FROM ({charges}) WHERE {BILLING_MONTH} = DATE '{closed}-01'"


def from_catalog(row: Delivery, archive: Place) -> Delivered:
    """A delivery that the catalog has, as the readers know it."""
    kind = next(format_.KIND for format_ in formats.FORMATS if row.format == format_.NAME)
    return Delivered(
        row.source,
        place(row.path),
        row.format,
        kind,
        row.content_sha256,
        row.settings_sha256,
        archive,
        row.lines,
        row.id,
    )


def row_selects(engine: DuckDB, delivered: Iterable[Delivered], kind: str) -> list[str]:
    """The archived files of a kind that is no bill, each as a SELECT. Owned hardware lists its machines by its price."""
    files = list(delivered)
    columns_of = _placements_of if kind == "jobs" else _all_of
    selects = [f"SELECT {columns_of(engine, file)} FROM {parquet(file.archive)}" for file in files if file.kind == kind]
    if kind == "machines":
        told = ("machine_id", "resource_id", "line")
        columns = ", ".join(
            c.name if c.name in told else f"CAST(NULL AS {c.type}) AS {c.name}" for c in MACHINES.columns
        )
        selects += [f"SELECT {columns} FROM {parquet(file.archive)}" for file in files if file.kind == "hardware"]
    return selects


def _all_of(engine: DuckDB, file: Delivered) -> str:
    return "*"


def _placements_of(engine: DuckDB, file: Delivered) -> str:
    """The columns of placements; those that came after the file was taken in are not known of it."""
    kept = engine.columns(parquet(file.archive))
    return ", ".join(c.name if c.name in kept else f"CAST(NULL AS {c.type}) AS {c.name}" for c in PLACEMENTS.columns)


def header_lines(file: Delivered) -> int:
    """How far a line's number in its file is ahead of its position: one for a header, none for Parquet and JSON."""
    return 1 if file.path.name.removesuffix(".gz").endswith((".csv", ".txt", ".tsv")) else 0
