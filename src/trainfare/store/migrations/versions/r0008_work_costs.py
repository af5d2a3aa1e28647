"""The cost of lost work is stored by machine, hour and price at which it was held.

Books in format 2 stored the seconds of each attempt's day instead, and views split the shares of the day by them.
`book_migration.py` stores what these views showed: a closed month keeps its figures.
"""

from alembic import op

from trainfare.tables import BASES

revision = "8"
down_revision = "7"


def upgrade() -> None:
    # A catalog that names no file yet has nothing to migrate.
    op.execute(
        "UPDATE identity SET book_format = 3 WHERE book_format = 2 "
        "AND NOT EXISTS (SELECT 1 FROM deliveries) AND NOT EXISTS (SELECT 1 FROM book_files)"
    )


SECONDS = "work_seconds"
"""The former table with the total, lost and overhead seconds of attempts per day."""


def work_costs(shares: str, seconds: str) -> str:
    """Return a SELECT of the lost and overhead cost as format 2 showed it, with the columns of format 3.

    The cost of a day on which the attempt did not run is split like its total time. What does not divide is kept; if
    nothing was kept, it is lost. The phases are not known.
    """
    lost = ", ".join(
        f"CASE WHEN lost + overhead < total THEN {_part(basis, 'lost')} "
        f"ELSE {basis} - {_part(basis, 'overhead')} END AS {basis}"
        for basis in BASES
    )
    overhead = ", ".join(f"{_part(basis, 'overhead')} AS {basis}" for basis in BASES)
    keys = "attempt_key, share_kind, machine, day"
    seconds_of_day = ", ".join(
        f"coalesce(d.{name}, t.{name}) AS {name}" for name in ("total", "lost", "overhead", "bounded")
    )
    return f"""
WITH attempt_totals AS (
  SELECT attempt_key, CAST(sum(total) AS BIGINT) AS total, CAST(sum(lost) AS BIGINT) AS lost,
    CAST(sum(overhead) AS BIGINT) AS overhead, bool_or(bounded) AS bounded
  FROM {seconds} GROUP BY attempt_key
),
weighted AS (
  SELECT s.payer_key AS attempt_key, s.share_kind, s.machine, s.day, {", ".join(f"s.{basis}" for basis in BASES)},
    {seconds_of_day}
  FROM {shares} s
  JOIN attempt_totals t ON t.attempt_key = s.payer_key
  LEFT JOIN {seconds} d ON d.attempt_key = s.payer_key AND d.day = s.day
)
SELECT {keys}, 'lost' AS part, CAST(NULL AS VARCHAR) AS phase, bounded, {lost} FROM weighted WHERE lost > 0
UNION ALL
SELECT {keys}, 'overhead', NULL, bounded, {overhead} FROM weighted WHERE overhead > 0"""


def _part(basis: str, seconds: str) -> str:
    return f"as_money(integer_part(in_units({basis}), {seconds}, total))"


def book_work(stored: str, month_start: int, month_end: int) -> str:
    """Return a SELECT of the lost and overhead time within the month, with the phases that pages showed."""
    return f"""
SELECT job_id, attempt, greatest(starts, {month_start}) AS starts, least(ends, {month_end}) AS ends, part, how,
  CASE
    WHEN how = 'measured' AND starts = min(starts) OVER (PARTITION BY job_id, attempt)
    THEN CASE part WHEN 'overhead' THEN 'start' ELSE 'restart' END
    WHEN part = 'overhead' THEN 'checkpoint' ELSE 'unsaved'
  END AS phase
FROM {stored}
QUALIFY starts < {month_end} AND ends > {month_start}"""
