"""A [[collector]]: a running system that `trainfare collect` queries."""

import re
from datetime import date

import msgspec

from trainfare.errors import Problems

SECRET = re.compile(r"(env:[A-Za-z_][A-Za-z0-9_]*|file:.+)")
"""A secret is named, never written: an environment variable or a file."""


class CollectorSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A [[collector]]: what is queried, since when, and where its token is."""

    name: str
    system: str
    since: str = ""
    token: str = ""
    options: dict[str, str] = msgspec.field(default_factory=dict)


def check_collector(one: CollectorSettings, names: set[str], where: str, problems: Problems) -> None:
    """Report what is wrong with a well-typed [[collector]]. A token is never repeated: it may be the secret itself."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", one.name):
        do = 'Use letters, digits, dots and dashes, as in name = "cluster-a".'
        problems.add(f"{where} name", f"'{one.name}' cannot name a recording", do)
    elif one.name in names:
        do = "Give each collector its own name: its recordings are stored under it."
        problems.add(f"{where} name", f"'{one.name}' is the name of another collector", do)
    if one.since and not _is_date(one.since):
        do = 'Write the first day to collect, as in since = "2026-10-01".'
        problems.add(f"{where} since", f"'{one.since}' is not a date", do)
    if one.token and not SECRET.fullmatch(one.token):
        do = 'Name where it is, as in token = "env:CLUSTER_TOKEN" or "file:/run/secrets/token". If this is the token '
        do += "itself, replace it: settings are no place for secrets."
        problems.add(f"{where} token", "is not env:NAME or file:PATH", do)


def usable_name(text: str) -> str:
    """Return a name for a recording that is as close as possible to what a system calls itself.

    >>> usable_name("arn:eks:us-east-1:1234:cluster/lab")
    'arn-eks-us-east-1-1234-cluster-lab'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._") or "cluster"


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return bool(re.fullmatch(r"\d{4}-\d{2}-\d{2}", text))
