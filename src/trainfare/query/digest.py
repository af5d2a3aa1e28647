"""A digest of a book: small tables made once from a version, so that a question need not read every share again.

What a digest says is what the book says, digit for digit; it is only quicker to read. Losing one loses nothing.
"""

import secrets
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import date
from functools import cache
from hashlib import sha256
from pathlib import Path

import duckdb

from trainfare.engine.duckdb import DuckDB, quoted, step_text
from trainfare.engine.sql import pick
from trainfare.errors import TrainfareError
from trainfare.query import machine_groups
from trainfare.query.keys import MACHINE_GROUP_KEYS
from trainfare.query.open_books import QUEUE_COLUMNS, OpenBooks, common_tables, select_of, stored_table
from trainfare.query.selection import LOST_STATES
from trainfare.query.visibility import attempt_is_visible, label_payer_is_visible
from trainfare.store import book_views
from trainfare.store.records import BookFiles
from trainfare.tables import BASES, LABELS, MONEY, NOT_INFRASTRUCTURE

PACKAGE = "trainfare.query"
KEPT = {"digest_share_kinds": "share_kinds", "digest_payers": "payers", "digest_machines": "book_machines"}
"""Tables of the book that a digest has as they are, so that numbers can be given their names."""
_OF_ATTEMPT = {
    "job_id": "VARCHAR",
    "attempt": "INTEGER",
    "day": "DATE",
    "from_region": "VARCHAR",
    "to_region": "VARCHAR",
}
MEASURED = {
    "book_usage": _OF_ATTEMPT | {"resource_id": "VARCHAR", "measure": "VARCHAR", "value": "DECIMAL(38,6)"},
    "egress": _OF_ATTEMPT | {"currency": "VARCHAR"} | dict.fromkeys(BASES, MONEY),
    "book_work": {"job_id": "VARCHAR", "attempt": "INTEGER", "starts": "BIGINT", "ends": "BIGINT"}
    | {"part": "VARCHAR", "how": "VARCHAR", "phase": "VARCHAR"},
}
"""Tables that a book may have been built without; then nothing was measured."""
STEPS = (
    "digest_sets",
    "digest_sites",
    "digest_attempts",
    "digest_shares",
    "digest_placements",
    "digest_costs",
    "digest_spent",
    "digest_site_spent",
    "digest_job_costs",
    "digest_hours",
    "digest_jobs",
    "digest_job_sites",
    "digest_set_hours",
    "digest_tries",
    "digest_machine_costs",
    "digest_machine_hours",
    "digest_parts",
    "digest_part_hours",
    "digest_usage",
    "digest_egress",
    "digest_uses",
    "digest_work",
)
"""In the order they are made."""
TABLES = (*KEPT, *STEPS)
LABEL_COLUMNS = (*LABELS, "labels")


def path_of(folder: Path, book: BookFiles) -> Path:
    """Where the digest of a book is, or will be. The name is a hash of the files and the steps it was made from, so it
    is never stale.
    """
    made_from = [*sorted(path.name for path in book.files.values()), *_steps()]
    fingerprint = sha256("|".join(made_from).encode()).hexdigest()[:16]
    return folder / f"{book.month}-v{book.version}-{fingerprint}.duckdb"


def kept_in(workspace: Path) -> Path:
    """The folder of digests, and of what else is made once from a version. All of it can be deleted at any time."""
    return workspace / "cache"


def quickened(opened: OpenBooks, folder: Path) -> OpenBooks:
    """One opened book with its digest, if somebody has made that before: the same answers, sooner. A digest that cannot
    be read is left alone.
    """
    (book,) = opened.books
    path = path_of(folder, book)
    if not path.exists():
        return opened
    try:
        opened.engine.run(f'ATTACH {quoted(path)} AS "{path.stem}" (READ_ONLY)')
        if not is_uniform(opened.engine, path.stem):
            return opened
        attach(opened.engine, [path.stem], None)
        return replace(opened, by_digest=True, by_machine=True, days=days(opened.engine, path.stem))
    except (duckdb.Error, TrainfareError):
        return opened


def write(book: BookFiles, path: Path, memory_limit: str | None = None) -> None:
    """Make the digest of a book under this name, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.draft")
    try:
        with closing(DuckDB(spill=path.parent / ".spill", memory_limit=memory_limit)) as engine:
            _open_numbers(engine, book)
            for name in STEPS:
                engine.step(PACKAGE, name, name, pick(PACKAGE, name, _fragments()))
            engine.run(f"ATTACH {quoted(draft)} AS digest")
            for name in TABLES:
                engine.run(f"CREATE TABLE digest.{name} AS SELECT * FROM {name}")
            engine.run("DETACH digest")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _open_numbers(engine: DuckDB, book: BookFiles) -> None:
    """The tables of a book as it keeps them, with numbers instead of names."""
    kept = {"stored_shares": "shares", "stored_placements": "book_placements", **KEPT}
    for name, file in (*kept.items(), ("book_attempts", "book_attempts"), ("bill_totals", "bill_totals")):
        engine.view(name, f"SELECT * FROM {stored_table(book, file)}")
    for name, columns in MEASURED.items():
        nothing = (
            f"SELECT {', '.join(f'CAST(NULL AS {type_}) AS {column}' for column, type_ in columns.items())} WHERE false"
        )
        engine.view(name, select_of(book, name) if name in common_tables([book]) else nothing)


def open_job(engine: DuckDB, aliases: Sequence[str], job_id: str, prefix: str = "") -> None:
    """Put one job's shares, placements, attempts and lost time, under names with this prefix, before those of the books
    that these attached digests are of, or before those of another job; and make `gpu_usage` of what was measured of it.

    A question about that job has the same answer from these, and need not read everybody's.
    """
    parts: dict[str, list[str]] = {"shares": [], "book_placements": [], "book_attempts": [], "book_work": []}
    measured = []
    for alias in aliases:
        found = engine.rows(f'SELECT job FROM "{alias}".digest_attempts WHERE job_id = {quoted(job_id)} LIMIT 1')
        where = f"WHERE job = {found[0][0] if found else -1}"
        own = {
            name: f'(SELECT * FROM "{alias}".digest_{name} {where})' for name in ("shares", "placements", "attempts")
        }
        whole = {name: f'"{alias}".digest_{name}' for name in ("share_kinds", "payers", "machines")}
        parts["shares"].append(
            book_views.shares(own["shares"], whole["share_kinds"], whole["payers"], own["attempts"], whole["machines"])
        )
        parts["book_placements"].append(book_views.placements(own["placements"], own["attempts"], whole["machines"]))
        columns = [f"a.{name}" for name in ("job_id", "attempt", "state", *QUEUE_COLUMNS)] + [
            f"s.{name}" for name in LABEL_COLUMNS
        ]
        parts["book_attempts"].append(
            f'SELECT {", ".join(columns)} FROM {own["attempts"]} a JOIN "{alias}".digest_sets s ON s."set" = a."set"'
        )
        parts["book_work"].append(f'SELECT * EXCLUDE (job) FROM "{alias}".digest_work {where}')
        measured.append(f'SELECT * EXCLUDE (job, "set") FROM "{alias}".digest_uses {where}')
    for name, selects in parts.items():
        engine.drop(f"{prefix}{name}")
        engine.table(f"{prefix}{name}", " UNION ALL ".join(selects))
    same = "a.job_id = u.job_id AND a.attempt = u.attempt"
    engine.table("gpu_usage", f"SELECT u.* FROM ({' UNION ALL '.join(measured)}) u SEMI JOIN book_attempts a ON {same}")


def attach(engine: DuckDB, aliases: Sequence[str], visibility: Sequence[str] | None) -> None:
    """Make the digests that are attached under these names readable, with only what may be seen of them.

    A job is seen whole or not at all, so this is for books whose jobs each have one set of labels.
    """
    for name in TABLES:
        selects = [f'SELECT {number} AS book, * FROM "{alias}".{name}' for number, alias in enumerate(aliases)]
        engine.view(f"unrestricted_{name}" if visibility is not None else name, " UNION ALL ".join(selects))
    if visibility is None:
        return
    seen = 'EXISTS (SELECT 1 FROM digest_sets a WHERE a.book = x.book AND a."set" = x."set")'
    job = "EXISTS (SELECT 1 FROM digest_jobs j WHERE j.book = x.book AND j.job = x.job)"
    wheres = {
        "digest_sets": attempt_is_visible(visibility, "x"),
        "digest_attempts": seen,
        "digest_jobs": seen,
        "digest_shares": seen,
        "digest_placements": seen,
        "digest_share_kinds": "EXISTS (SELECT 1 FROM digest_shares s WHERE s.book = x.book AND s.share_kind = x.share_kind)",
        "digest_costs": f"{label_payer_is_visible(visibility, 'x')} OR {seen}",
        "digest_spent": f"{label_payer_is_visible(visibility, 'x')} OR {seen}",
        "digest_job_costs": job,
        "digest_hours": job,
        "digest_set_hours": seen,
        "digest_tries": seen,
        "digest_parts": f"{label_payer_is_visible(visibility, 'x')} OR {seen}",
        "digest_part_hours": seen,
        "digest_usage": seen,
        "digest_egress": seen,
        "digest_uses": seen,
    }
    # Tables without a condition here are empty. Jobs come before the tables that refer to them.
    for name in (*wheres, *(name for name in TABLES if name not in wheres)):
        engine.view(name, f"SELECT x.* FROM unrestricted_{name} x WHERE {wheres.get(name, 'false')}")


def is_uniform(engine: DuckDB, alias: str) -> bool:
    """Whether each job of an attached digest has one set of labels, whatever attempt it is about."""
    several = f'SELECT job FROM "{alias}".digest_attempts GROUP BY job HAVING min("set") <> max("set")'
    return not engine.rows(f"{several} LIMIT 1")


def days(engine: DuckDB, alias: str) -> tuple[date, date] | None:
    """The first day that an attached digest has money or time of, and the one after the last; None if it has none."""
    first, last = engine.row(
        f'SELECT min(day), max(day) + 1 FROM (SELECT day FROM "{alias}".digest_costs UNION ALL SELECT day FROM "{alias}".digest_hours)'
    )
    return (first, last) if first else None


@cache
def _steps() -> tuple[str, ...]:
    return tuple(step_text(PACKAGE, name, pick(PACKAGE, name, _fragments())) for name in STEPS)


def _fragments() -> dict[str, str]:
    kept = ", ".join(quoted(name) for name in NOT_INFRASTRUCTURE)
    spent = {
        "wall": "t.billed_wall * CAST(1000000 AS HUGEINT)",
        "gpu": "CASE WHEN NOT t.gpu_unknown THEN t.billed_gpu END",
    }
    same_site = " AND ".join(f"s.{name} IS NOT DISTINCT FROM m.{name}" for name in MACHINE_GROUP_KEYS)
    several = "(SELECT *, job AS job_id FROM digest_placements WHERE job IN (SELECT job FROM several))"
    placements = book_views.placements("stored_placements", "book_attempts", "digest_machines")
    return {
        "uses": step_text(PACKAGE, "gpu_usage", {"placements": f"({placements})", "usage": "book_usage"}),
        "site_keys": ", ".join(MACHINE_GROUP_KEYS),
        "places": ", ".join(f"{name} NULLS FIRST" for name in MACHINE_GROUP_KEYS),
        "no_site": ", ".join("NULL" for _ in MACHINE_GROUP_KEYS),
        "machine_sites": f"(SELECT m.machine, s.site FROM digest_machines m JOIN digest_sites s ON {same_site})",
        "site_hours": machine_groups.hours_select(several),
        "labels": ", ".join(LABEL_COLUMNS),
        "same_labels": " AND ".join(f"s.{name} IS NOT DISTINCT FROM a.{name}" for name in LABEL_COLUMNS),
        "bases": ", ".join(BASES),
        "lost": ", ".join(quoted(state) for state in LOST_STATES),
        "sums": ", ".join(f"sum({basis}) AS {basis}" for basis in BASES),
        "infra_sums": ", ".join(f"sum({basis}) FILTER (category NOT IN ({kept})) AS infra_{basis}" for basis in BASES),
        "costs": ", ".join(
            f"CAST(c.{part}{basis} AS DECIMAL(38,12)) AS {part}{basis}" for part in ("", "infra_") for basis in BASES
        ),
        "estimated": ", ".join(
            f"CAST(coalesce(e.{basis}, 0) AS DECIMAL(38,12)) AS estimated_{basis}" for basis in BASES
        ),
        "estimated_sums": ", ".join(
            f"sum({basis}) FILTER (origin = 'estimate') AS estimated_{basis}" for basis in BASES
        ),
        "estimated_of_costs": ", ".join(f"c.estimated_{basis}" for basis in BASES),
        "rates": ", ".join(
            f"per_hour(CAST(c.{basis} AS DECIMAL(38,12)), {time}) AS {per}_rate_{basis}"
            for per, time in spent.items()
            for basis in BASES
        ),
    }
