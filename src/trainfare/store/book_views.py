"""Views that replace the numbers in a book's tables by names.

A month has millions of shares but only thousands of machines, rules and accounts. A book therefore stores each name
once and numbers elsewhere, which takes a fifth of the time to write.
"""

FIRST_SPECIAL = 2147000000
"""Payers with this number or a higher one are not attempts."""
NUMBERED = {"work": "work_costs", "egress": "egress_costs", "book_usage": "attempt_usage"}
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


def work(stored: str, share_kinds: str, attempts: str, machines: str) -> str:
    """Return a SELECT of the lost and overhead cost with the columns of `tables.WORK`."""
    return f"""
SELECT 'attempt' AS payer_kind, a.job_id || '#' || a.attempt AS payer, a.job_id, a.attempt, m.machine_id, m.resource_id,
  DATE '1970-01-01' + l.day AS day, w.category, w.rule, w.source, w.origin, w.origin = 'estimate' AS estimated,
  w.account, w.currency, w.converted_from, l.effective, l.billed, l.list, l.contracted,
  l.part, l.phase, CASE WHEN l.bounded THEN 'at most' ELSE 'measured' END AS how
FROM {stored} l
JOIN {share_kinds} w ON w.share_kind = l.share_kind
JOIN {attempts} a ON a.attempt_key = l.attempt_key
LEFT JOIN {machines} m ON m.machine = l.machine"""


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
