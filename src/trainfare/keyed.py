"""Books keep numbers instead of names, each name once in a table beside; here the names are put back.

A month has millions of shares and only thousands of machines, rules and accounts: numbers take a fifth of the time to write.
"""

from trainfare.tables import BASES

FIRST_SPECIAL = 2147000000
"""Payers from here on are not attempts."""
NUMBERED = {"work": "work_seconds", "egress": "egress_parts", "book_usage": "used"}
"""Tables that books keep with numbers, under a name of their own, or by what they are made of; older books have the table, with names."""


def shares(kept: str, ways: str, payers: str, attempts: str, machines: str) -> str:
    """A SELECT of the shares as tables.SHARES says, from the FROM items of what a book keeps."""
    return f"""
SELECT coalesce(p.payer_kind, 'attempt') AS payer_kind, coalesce(p.payer, a.job_id || '#' || a.attempt) AS payer,
  a.job_id, a.attempt, m.machine_id, m.resource_id, DATE '1970-01-01' + s.day AS day, w.category, w.rule, p.reason,
  w.source, w.origin, w.origin = 'estimate' AS estimated, w.account, w.currency, w.converted_from,
  s.effective, s.billed, s.list, s.contracted
FROM {kept} s
JOIN {ways} w ON w.way = s.way
LEFT JOIN {payers} p ON p.payer_key = s.payer_key
LEFT JOIN {attempts} a ON a.attempt_key = s.payer_key
LEFT JOIN {machines} m ON m.machine = s.machine"""


def placements(kept: str, attempts: str, machines: str) -> str:
    """A SELECT of what was held in the month, with its names. A machine that is not on record keeps the name the job log gave it."""
    return f"""
SELECT a.job_id, a.attempt, coalesce(m.machine_id, h.unknown_machine) AS machine_id, m.resource_id, h.starts, h.ends, h.running,
  h.gpu_micros, h.billed_starts, h.billed_ends
FROM {kept} h
JOIN {attempts} a ON a.attempt_key = h.attempt_key
LEFT JOIN {machines} m ON m.machine = h.machine"""


def lost_money(shares: str, seconds: str) -> str:
    """A SELECT of the money of attempts that was lost or overhead, with numbers: every share cut by the seconds of its day.

    What remains was kept, and takes what does not divide; where nothing was kept, the lost part takes it. Money of a day on which the
    attempt did not run is cut as its whole time.
    """
    lost = ", ".join(
        f"CASE WHEN lost + overhead < whole THEN {_cut(basis, 'lost')} ELSE {basis} - {_cut(basis, 'overhead')} END AS {basis}"
        for basis in BASES
    )
    overhead = ", ".join(f"{_cut(basis, 'overhead')} AS {basis}" for basis in BASES)
    said = ", ".join(f"coalesce(d.{name}, t.{name}) AS {name}" for name in ("whole", "lost", "overhead", "bounded"))
    return f"""
WITH together AS (
  SELECT attempt_key, CAST(sum(whole) AS BIGINT) AS whole, CAST(sum(lost) AS BIGINT) AS lost,
    CAST(sum(overhead) AS BIGINT) AS overhead, bool_or(bounded) AS bounded
  FROM {seconds} GROUP BY attempt_key
),
weighed AS (
  SELECT s.payer_key AS attempt_key, s.way, s.day, {", ".join(f"s.{basis}" for basis in BASES)}, {said}
  FROM {shares} s
  JOIN together t ON t.attempt_key = s.payer_key
  LEFT JOIN {seconds} d ON d.attempt_key = s.payer_key AND d.day = s.day
)
SELECT attempt_key, way, day, 'lost' AS part, bounded, {lost} FROM weighed WHERE lost > 0
UNION ALL
SELECT attempt_key, way, day, 'overhead' AS part, bounded, {overhead} FROM weighed WHERE overhead > 0"""


def _cut(basis: str, seconds: str) -> str:
    return f"as_money(whole_part(in_units({basis}), {seconds}, whole))"


def work(shares: str, seconds: str, ways: str, attempts: str) -> str:
    """A SELECT of the lost and overhead money as tables.WORK says."""
    return f"""
SELECT a.job_id, a.attempt, DATE '1970-01-01' + l.day AS day, w.category, w.currency, l.part,
  CASE WHEN l.bounded THEN 'at most' ELSE 'measured' END AS how, l.effective, l.billed, l.list, l.contracted
FROM ({lost_money(shares, seconds)}) l
JOIN {ways} w ON w.way = l.way
JOIN {attempts} a ON a.attempt_key = l.attempt_key"""


def egress(kept: str, attempts: str) -> str:
    """A SELECT of network cost by the regions its bytes went between, with names."""
    return f"""
SELECT a.job_id, a.attempt, DATE '1970-01-01' + e.day AS day, e.currency, e.from_region, e.to_region,
  e.effective, e.billed, e.list, e.contracted
FROM {kept} e
JOIN {attempts} a ON a.attempt_key = e.attempt_key"""


def usage(kept: str, attempts: str, machines: str) -> str:
    """A SELECT of what was measured in the month, with names; no job where the attempt neither held nor paid anything in it."""
    return f"""
SELECT a.job_id, a.attempt, m.machine_id, m.resource_id, DATE '1970-01-01' + u.day AS day, u.measure, u.from_region, u.to_region, u.value
FROM {kept} u
LEFT JOIN {attempts} a ON a.attempt_key = u.attempt_key
LEFT JOIN {machines} m ON m.machine = u.machine"""
