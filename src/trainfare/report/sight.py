"""What of the opened books somebody may see: decided here, for every view, total, export and explanation."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.tables import BASES, LABELS, MONEY

OPEN = ("rules_in_force", "settings")
"""Tables of a book that are nobody's."""
EVERY = "every_"
"""Before the names of tables of which only a part is seen."""


def restrict(engine: DuckDB, tables: Iterable[str], sees: Sequence[str]) -> None:
    """Put views of the same names before these tables of opened books, with only what belongs to these labels (KEY:VALUE).

    The bill is then the sum of what is seen: the rest of it is not told. A table that nothing is said of here is empty:
    findings, for one, name anybody's jobs.
    """
    selects = _selects(sees)
    for name in tables:
        if name not in OPEN:
            engine.run(f'ALTER VIEW "{name}" RENAME TO "{EVERY}{name}"')
            engine.view(name, selects.get(name, f'SELECT * FROM "{EVERY}{name}" WHERE false'))


def of_attempt(sees: Sequence[str], alias: str) -> str:
    """SQL for whether an attempt, or anything with its labels, may be seen."""
    wanted: dict[str, list[str]] = defaultdict(list)
    for one in sees:
        key, _, value = one.partition(":")
        if key in LABELS:
            wanted[key].append(quoted(value))
    told = [f"{alias}.{key} IN ({', '.join(values)})" for key, values in wanted.items()]
    return f"coalesce({' OR '.join(told)}, false)" if told else "false"


def of_label_payer(sees: Sequence[str], alias: str) -> str:
    """SQL for whether a payer that is a label, such as team:nlp, may be seen."""
    listed = ", ".join(quoted(one) for one in sees)
    return f"({alias}.payer_kind = 'label' AND {alias}.payer IN ({listed}))" if sees else "false"


def _selects(sees: Sequence[str]) -> dict[str, str]:
    seen = "SELECT 1 FROM book_attempts a WHERE a.job_id = {0}.job_id AND a.attempt = {0}.attempt"
    sums = ", ".join(f"sum({basis}) AS {basis}" for basis in BASES)
    return {
        "book_attempts": f"SELECT a.* FROM every_book_attempts a WHERE {of_attempt(sees, 'a')}",
        "shares": (f"SELECT s.* FROM every_shares s WHERE {of_label_payer(sees, 's')} OR EXISTS ({seen.format('s')})"),
        "book_placements": f"SELECT p.* FROM every_book_placements p WHERE EXISTS ({seen.format('p')})",
        "book_machines": (
            "SELECT m.* FROM every_book_machines m "
            "WHERE EXISTS (SELECT 1 FROM book_placements p WHERE p.resource_id = m.resource_id)"
        ),
        **{
            name: f"SELECT x.* FROM every_{name} x WHERE EXISTS ({seen.format('x')})"
            for name in ("book_usage", "book_work", "egress", "work")
        },
        "checkpointing": (
            "SELECT c.* FROM every_checkpointing c WHERE EXISTS (SELECT 1 FROM book_attempts a WHERE a.job_id = c.job_id)"
        ),
        "bill_totals": (
            "SELECT source, origin, converted_from, CAST(NULL AS VARCHAR) AS billing_account, account, currency, category, "
            f"CAST(NULL AS VARCHAR) AS charge_category, rule, CAST(NULL AS BIGINT) AS lines, {sums} "
            "FROM shares GROUP BY source, origin, converted_from, account, currency, category, rule"
        ),
        "conversions": (
            "SELECT c.* REPLACE (CAST(NULL AS BIGINT) AS lines, "
            + ", ".join(
                f"CAST(NULL AS {MONEY}) AS original_{basis}, CAST(NULL AS {MONEY}) AS {basis}" for basis in BASES
            )
            + ") FROM every_conversions c WHERE c.converted_from IN (SELECT s.converted_from FROM shares s)"
        ),
    }
