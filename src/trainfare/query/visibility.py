"""What a viewer may see of the open books: decided here, for every view, total, export and explanation."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.tables import BASES, LABELS, MONEY

PUBLIC_TABLES = ("rules_in_force", "settings")
"""Tables of a book that every viewer may read in full."""
UNRESTRICTED_PREFIX = "unrestricted_"
"""Prefix of the names of the full tables behind restricted views."""


def restrict_tables(engine: DuckDB, tables: Iterable[str], seen: Mapping[str, str], shares: str) -> None:
    """Replace these tables of open books by views that contain only what the viewer may see.

    `seen` has a SELECT for the tables whose rows are visible by themselves, `shares` is a FROM item with the sums of
    the visible shares. The bill becomes these sums; the rest of it is hidden. A table without a view here is empty:
    findings, for example, may name anybody's jobs.
    """
    selects = _selects(seen, shares)
    for name in tables:
        if name not in PUBLIC_TABLES:
            engine.run(f'ALTER VIEW "{name}" RENAME TO "{UNRESTRICTED_PREFIX}{name}"')
            engine.view(name, selects.get(name, f'SELECT * FROM "{UNRESTRICTED_PREFIX}{name}" WHERE false'))


def attempt_is_visible(visibility: Sequence[str], alias: str) -> str:
    """Return a SQL condition: an attempt, or anything else with its labels, is visible."""
    wanted: dict[str, list[str]] = defaultdict(list)
    for label in visibility:
        key, _, value = label.partition(":")
        if key in LABELS:
            wanted[key].append(quoted(value))
    conditions = [f"{alias}.{key} IN ({', '.join(values)})" for key, values in wanted.items()]
    return f"coalesce({' OR '.join(conditions)}, false)" if conditions else "false"


def label_payer_is_visible(visibility: Sequence[str], alias: str) -> str:
    """Return a SQL condition: a payer that is a label, such as team:nlp, is visible."""
    listed = ", ".join(quoted(label) for label in visibility)
    return f"({alias}.payer_kind = 'label' AND {alias}.payer IN ({listed}))" if visibility else "false"


GRAINS_WITH_PAYERS = ("cost_d", "cost_w", "cost_c", "cost_j", "cost_jc", "cost_b", "shares")
"""Grains whose rows belong to a set of labels, or to a payer that is not a job."""
GRAINS_OF_NOBODY = (
    *("machine_groups", "machine_names", "machines", "kinds", "currencies", "ways_1", "ways_2", "ways_3"),
    "incomplete",
)
"""Grains that only give names to numbers, or are only joined to rows that may be seen."""
GRAINS_BY_PATTERN = "fact_"
"""Prefix of the grains that are read through their patterns, which are restricted."""


def grain_condition(name: str, visibility: Sequence[str], sets: str, payers: str) -> str:
    """Return a SQL condition: a row x of a grain is visible, given the tables of sets of labels and of payers."""
    if name in GRAINS_OF_NOBODY or name.startswith(GRAINS_BY_PATTERN):
        return "true"
    if name == "sets":
        return attempt_is_visible(visibility, "x")
    if name == "payers":
        return label_payer_is_visible(visibility, "x")
    if name == "cost_m":
        return "false"
    visible = f'SELECT a."set" FROM {sets} a WHERE {attempt_is_visible(visibility, "a")}'
    condition = f'x."set" IN ({visible})'
    if name in GRAINS_WITH_PAYERS:
        listed = f"SELECT p.payer_number FROM {payers} p WHERE {label_payer_is_visible(visibility, 'p')}"
        condition = f"(({condition}) OR x.payer_number IN ({listed}))"
    return condition


def _selects(seen: Mapping[str, str], shares: str) -> dict[str, str]:
    visible = "SELECT 1 FROM book_attempts a WHERE a.job_id = {0}.job_id AND a.attempt = {0}.attempt"
    sums = ", ".join(f"sum({basis}) AS {basis}" for basis in BASES)
    return {
        **seen,
        "book_machines": (
            "SELECT m.* FROM unrestricted_book_machines m "
            "WHERE EXISTS (SELECT 1 FROM book_placements p WHERE p.resource_id = m.resource_id)"
        ),
        **{
            name: f"SELECT x.* FROM unrestricted_{name} x WHERE EXISTS ({visible.format('x')})"
            for name in ("book_usage", "book_work", "egress", "work")
        },
        "checkpointing": (
            "SELECT c.* FROM unrestricted_checkpointing c "
            "WHERE EXISTS (SELECT 1 FROM book_attempts a WHERE a.job_id = c.job_id)"
        ),
        "bill_totals": (
            "SELECT source, origin, converted_from, CAST(NULL AS VARCHAR) AS billing_account, account, currency, "
            f"category, CAST(NULL AS VARCHAR) AS charge_category, rule, CAST(NULL AS BIGINT) AS lines, {sums} "
            f"FROM {shares} s GROUP BY source, origin, converted_from, account, currency, category, rule"
        ),
        "conversions": (
            "SELECT c.* REPLACE (CAST(NULL AS BIGINT) AS lines, "
            + ", ".join(
                f"CAST(NULL AS {MONEY}) AS original_{basis}, CAST(NULL AS {MONEY}) AS {basis}" for basis in BASES
            )
            + f") FROM unrestricted_conversions c WHERE EXISTS (SELECT 1 FROM {shares} s "
            "WHERE s.converted_from = c.converted_from AND s.currency = c.currency AND s.category = c.category "
            "AND s.day = c.day)"
        ),
    }
