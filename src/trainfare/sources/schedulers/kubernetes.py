"""Kubernetes: output of `kubectl get -o json` -> placements and machines.

`kubectl get pods,nodes,resourceclaims --all-namespaces -o json` writes one List with all of them. Without the nodes,
shared GPUs and slices of the single MIG strategy look like whole ones. A pod that was deleted is in no List:
export before pods are cleaned up, and keep every export; a pod in several of them counts once.
"""

import json
from datetime import UTC, datetime
from typing import Any

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Problems
from trainfare.files.locations import Location
from trainfare.sources.head import Head, Unit, open_content
from trainfare.sources.kinds import Kind
from trainfare.sources.protocol import ReadOptions
from trainfare.sources.recordings import recording
from trainfare.sources.recordings.loading import load_rows
from trainfare.sources.schedulers import kubernetes_pods, kubernetes_recorded
from trainfare.sources.table_file import write_archive
from trainfare.store.recordings.sealing import COLUMNS

NAME = "kubernetes"
KIND = Kind.JOBS
VERSION = "1"
DESCRIPTION = "Kubernetes: output of kubectl get pods,nodes,resourceclaims --all-namespaces -o json"

_DO = "Export with: kubectl get pods,nodes --all-namespaces -o json"


def recognize(head: Head) -> bool:
    """Recognize a List by its opening: kubectl writes the keys in order, `apiVersion` first."""
    opening = "".join(head.text[:400].split())
    return opening.startswith('{"apiVersion":"v1","items":[')


def archive(engine: DuckDB, head: Head, target: Location, options: ReadOptions, problems: Problems) -> int:
    before = len(problems.found)
    items = _items(head, problems)
    numbered = [(line, one) for line, one in enumerate(items, 1) if _is_object(head, line, one, problems)]
    if len(problems.found) == before:
        _check_amounts(head, numbered, problems)
    if len(problems.found) > before:
        return 0
    kinds = (*kubernetes_recorded.KINDS, *kubernetes_recorded.OWNERS)
    observed = (_observation(line, one) for line, one in numbered if kubernetes_recorded.kind_of(one) in kinds)
    load_rows(engine, "kubernetes_objects", COLUMNS, observed)
    lines = write_archive(engine, head, "SELECT * FROM kubernetes_objects", target, problems)
    engine.drop("kubernetes_objects")
    return lines


rows = recording.rows


def _observation(line: int, one: Any) -> dict[str, Any]:
    """Return an object as a row of a recording, with the fields that may be kept."""
    kind = kubernetes_recorded.kind_of(one)
    fields = kubernetes_recorded.allowed(one, kind)
    changed = kubernetes_recorded.changed_at(fields)
    return {
        "seq": line,
        "system": kubernetes_recorded.SYSTEM,
        "cluster": "",
        "kind": kind,
        "uid": one["metadata"]["uid"],
        "seen_at": changed or datetime.fromtimestamp(0, UTC),
        "valid_at": changed,
        "op": str(kubernetes_recorded.op_of(one)),
        "resource_version": str(one["metadata"].get("resourceVersion", "")),
        "fields": json.dumps(fields, sort_keys=True),
    }


def _items(head: Head, problems: Problems) -> list[Any]:
    try:
        with open_content(head.path, head.is_gzip) as content:
            document = json.loads(content.read().decode("utf-8-sig"))
        items = document["items"]
    except (OSError, EOFError, ValueError, KeyError):
        problems.add(str(head.path), "not a complete JSON document", f"It may have been cut off. {_DO}")
        return []
    if not isinstance(items, list):
        problems.add(str(head.path), "items is not a list", _DO)
        return []
    head.tally.record(Unit.ENTRIES, len(items))
    return items


def _is_object(head: Head, line: int, one: Any, problems: Problems) -> bool:
    """Return whether this is an object with a name and a uid; anything else is a problem."""
    metadata = one.get("metadata") if isinstance(one, dict) else None
    is_whole = isinstance(metadata, dict) and all(isinstance(metadata.get(key), str) for key in ("name", "uid"))
    if not is_whole or not isinstance(one.get("spec", {}), dict):
        problems.add(f"{head.path} .items[{line - 1}]", "not an object with a name and a uid", _DO)
    return is_whole


def _check_amounts(head: Head, items: list[tuple[int, Any]], problems: Problems) -> None:
    """Report every object that cannot be mapped, so that reading the archive cannot fail."""
    for line, one in items:
        try:
            kind = kubernetes_recorded.kind_of(one)
            fields = kubernetes_recorded.allowed(one, kind)
            kubernetes_recorded.changed_at(fields)
            kubernetes_pods.placements([(line, fields)] if kind == kubernetes_recorded.POD else [], [], [])
            kubernetes_pods.machines([(line, fields)] if kind == kubernetes_recorded.NODE else [])
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            where = f"{head.path} .items[{line - 1}]"
            problems.add(where, f"the {one.get('kind')} {one['metadata']['name']} cannot be read: {error}", _DO)
