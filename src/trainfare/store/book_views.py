"""Views that replace the numbers in a book's tables by names.

A month has millions of shares but only thousands of machines, rules and accounts. A book therefore stores each name
once and numbers elsewhere, which takes a fifth of the time to write.
"""

from trainfare.tables import BASES

FIRST_SPECIAL = 2147000000
"""Payers with this number or a higher one are not attempts."""
NUMBERED = {"work": "work_seconds", "egress": "egress_costs", "book_usage": "attempt_usage"}
"""Tables that books store with numbers, or as what they are computed from, and the names they are stored under."""


def shares(stored: str, share_kinds: str, payers: str, attempts: str, machines: str) -> str:
    """Return a SELECT with the columns of `tables.SHARES`, given FROM items of a book's tables."""
    return f"""
SELECT coalesce(p.payer_kind, 'attempt') AS payer_kind, coalesce(p.payer, a.job_id || '#' || a.attempt) AS payer,
  a.job_id, a.attempt, m.machine_id, m.resource_id, DATE '1970-01-01' + s.day AS day, w.category, w.rule, p.reason,
  w.source, w.origin, w.origin = 'estimate' AS estimated, w.account, w.currency, w.converted_from,
  s.effective, s.billed, s.list, s.contracted
FROM {stored} s
JOIN {share_kinds} w ON w.share_kind = s.share_kind
LEFT JOIN {payers} p ON p.payer_key = s.payer_key
LEFT JOIN {attempts} a ON a.attempt_key = s.payer_key
LEFT JOIN {machines} m ON m.machine = s.machine"""


def placements(stored: str, attempts: str, machines: str) -> str:
    """Return a SELECT of the month's placements with names. An unknown machine has the name from the job log."""
    return f"""
SELECT a.job_id, a.attempt, coalesce(m.machine_id, h.unknown_machine) AS machine_id, m.resource_id,
  h.starts, h.ends, h.running, h.gpu_micros, h.billed_starts, h.billed_ends
FROM {stored} h
JOIN {attempts} a ON a.attempt_key = h.attempt_key
LEFT JOIN {machines} m ON m.machine = h.machine"""


def lost_work_costs(shares: str, seconds: str) -> str:
    """Return a SELECT of the lost and overhead cost of attempts: shares split by the seconds of their day.

    The rest was productive and gets what does not divide; if nothing was productive, the lost part gets it. The cost of
    a day on which the attempt did not run is split like its total time.
    """
    lost = ", ".join(
        f"CASE WHEN lost + overhead < total THEN {_part(basis, 'lost')} "
        f"ELSE {basis} - {_part(basis, 'overhead')} END AS {basis}"
        for basis in BASES
    )
    overhead = ", ".join(f"{_part(basis, 'overhead')} AS {basis}" for basis in BASES)
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
  SELECT s.payer_key AS attempt_key, s.share_kind, s.day, {", ".join(f"s.{basis}" for basis in BASES)}, {seconds_of_day}
  FROM {shares} s
  JOIN attempt_totals t ON t.attempt_key = s.payer_key
  LEFT JOIN {seconds} d ON d.attempt_key = s.payer_key AND d.day = s.day
)
SELECT attempt_key, share_kind, day, 'lost' AS part, bounded, {lost} FROM weighted WHERE lost > 0
UNION ALL
SELECT attempt_key, share_kind, day, 'overhead' AS part, bounded, {overhead} FROM weighted WHERE overhead > 0"""


def _part(basis: str, seconds: str) -> str:
    return f"as_money(integer_part(in_units({basis}), {seconds}, total))"


def work(shares: str, seconds: str, share_kinds: str, attempts: str) -> str:
    """Return a SELECT of the lost and overhead cost with the columns of `tables.WORK`."""
    return f"""
SELECT a.job_id, a.attempt, DATE '1970-01-01' + l.day AS day, w.category, w.currency, l.part,
  CASE WHEN l.bounded THEN 'at most' ELSE 'measured' END AS how, l.effective, l.billed, l.list, l.contracted
FROM ({lost_work_costs(shares, seconds)}) l
JOIN {share_kinds} w ON w.share_kind = l.share_kind
JOIN {attempts} a ON a.attempt_key = l.attempt_key"""


def egress(stored: str, attempts: str) -> str:
    """Return a SELECT of network cost by the regions between which its bytes were sent, with names."""
    return f"""
SELECT a.job_id, a.attempt, DATE '1970-01-01' + e.day AS day, e.currency, e.from_region, e.to_region,
  e.effective, e.billed, e.list, e.contracted
FROM {stored} e
JOIN {attempts} a ON a.attempt_key = e.attempt_key"""


def usage(stored: str, attempts: str, machines: str) -> str:
    """Return a SELECT of the month's measurements with names. The job is null if the attempt held and paid nothing."""
    return f"""
SELECT a.job_id, a.attempt, m.machine_id, m.resource_id, DATE '1970-01-01' + u.day AS day,
  u.measure, u.from_region, u.to_region, u.value
FROM {stored} u
LEFT JOIN {attempts} a ON a.attempt_key = u.attempt_key
LEFT JOIN {machines} m ON m.machine = u.machine"""
