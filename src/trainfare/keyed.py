"""Books keep numbers instead of names, each name once in a table beside; here the names are put back.

A month has millions of shares and only thousands of machines, rules and accounts: numbers take a fifth of the time to write.
"""

FIRST_SPECIAL = 2147000000
"""Payers from here on are not attempts."""
NUMBERED = {"work": "work_parts", "egress": "egress_parts", "book_usage": "used"}
"""Tables that books keep with numbers under a name of their own; older books have the table itself, with names."""


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


def work(kept: str, attempts: str) -> str:
    """A SELECT of the lost and overhead money as tables.WORK says."""
    return f"""
SELECT a.job_id, a.attempt, DATE '1970-01-01' + w.day AS day, w.category, w.currency, w.part, w.how,
  w.effective, w.billed, w.list, w.contracted
FROM {kept} w
JOIN {attempts} a ON a.attempt_key = w.attempt_key"""


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
