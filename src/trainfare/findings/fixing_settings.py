"""Settings that would allocate unallocated cost: one text, valid as it is, to add to trainfare.toml.

Tags come first: they say whose cost it is. Rules are suggested for the rest only, so the amounts add up.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from trainfare.engine.protocol import Engine
from trainfare.engine.sql import quoted, step_text
from trainfare.settings.config import DEFAULT_TAGS

PACKAGE = "trainfare.findings.modes"

Rows = Sequence[Mapping[str, Any]]


def settings(engine: Engine, labels: Mapping[str, Sequence[str]]) -> str:
    """Return settings as TOML that would allocate most of the unallocated cost; empty if there is nothing to suggest.

    Tags that are mapped already, by these settings or by default, stay mapped.
    """
    found = [
        row
        for row in engine.records(step_text(PACKAGE, "label_fixes"))
        if row["key"] not in labels.get(row["label"], DEFAULT_TAGS[row["label"]])
    ]
    rules = engine.records(step_text(PACKAGE, "rule_fixes", {"is_labeled": _is_labeled(found)}))
    return "\n\n".join([*_labels(found, labels), *_rules(rules)])


def _is_labeled(found: Rows) -> str:
    """Return a SQL condition: a kind of charge has a tag that the suggested settings map to a label of a job."""
    names = {(row["label"], row["key"]) for row in found}
    tagged = [
        f"coalesce(lower(json_value(k.tags, {quoted(key)})), '') IN "
        f"(SELECT lower({column}) FROM attempts WHERE {column} IS NOT NULL)"
        for label, key in sorted(names)
        for column in ["job_id" if label == "job" else label]
    ]
    return f"(coalesce(json_valid(k.tags), false) AND ({' OR '.join(tagged)}))" if tagged else "false"


def _labels(found: Rows, labels: Mapping[str, Sequence[str]]) -> list[str]:
    """Return one section [labels], which has what the settings map today, too."""
    if not found:
        return []
    lines = ["[labels]"]
    if labels:
        lines.insert(0, "# Replaces the section [labels] that the settings have.")
    for label in dict.fromkeys((*labels, *(row["label"] for row in found))):
        own = [row for row in found if row["label"] == label]
        keys = dict.fromkeys((*labels.get(label, DEFAULT_TAGS[label]), *(row["key"] for row in own)))
        lines += [_allocated(own)] if own else []
        lines.append(f"{label} = {_toml(list(keys))}")
    return ["\n".join(lines)]


def _rules(found: Rows) -> list[str]:
    """Return one [[rule]] per service and account."""
    groups: dict[tuple[str, str | None], list[Mapping[str, Any]]] = {}
    for row in found:
        groups.setdefault((row["service"], row["account"]), []).append(row)
    texts = []
    for (service, account), rows in groups.items():
        of_account = f", account = {_toml(account)}" if account else ""
        among = "account" if account and any(row["has_jobs"] for row in rows) else "all"
        name = f"{service} of {account or 'all'}"
        texts.append(
            f"{_allocated(rows)}\n[[rule]]\nname = {_toml(name)}\n"
            f'match = {{ service = {_toml(service)}{of_account} }}\namong = "{among}"\nby = "gpu_seconds"'
        )
    return texts


def _allocated(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return a comment: how much the next setting would allocate, in each currency."""
    sums: dict[str, Decimal] = {}
    for row in rows:
        sums[row["currency"]] = sums.get(row["currency"], Decimal(0)) + row["fixed"]
    amounts = (f"{amount:,.2f} {currency}" for currency, amount in sorted(sums.items()))
    return f"# would allocate {' and '.join(amounts)}"


def _toml(value: str | list[str]) -> str:
    """Return text, or a list of it, as TOML: JSON, except that TOML escapes the character DEL as well."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
