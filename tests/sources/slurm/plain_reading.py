"""What `sacct --json` says that each run held, read with Python's json module alone: a model for the readers."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

NOT_SET = (0, 2**32 - 2, 2**32 - 1)


class Held(NamedTuple):
    job: str
    node: str
    start: int
    end: int
    gpus: int


def _number(value: Any) -> int | None:
    """A plain number, or one in an object that says whether it is set."""
    if isinstance(value, dict):
        value = value["number"] if value["set"] and not value["infinite"] else None
    return None if value in (None, *NOT_SET) else int(value)


def _words(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


def _nodes(text: str) -> list[str]:
    """Node names; a range in brackets stands for several."""
    match = re.fullmatch(r"(.*)\[(\d+)-(\d+)\]", text)
    return [f"{match[1]}{n}" for n in range(int(match[2]), int(match[3]) + 1)] if match else [text]


def _name(job: dict[str, Any]) -> str:
    """The job's number; a task of an array has its array's, and a part of a heterogeneous job the job's."""
    array, offset = job["array"], job["het"]["job_offset"]
    if array["job_id"]:
        task = array["task_id"]
        return f"{array['job_id']}_{task['number'] if isinstance(task, dict) else task}"
    is_part = offset["set"] if isinstance(offset, dict) else offset is not None
    return str(job["het"]["job_id"] if job["het"]["job_id"] and is_part else job["job_id"])


def held(path: Path) -> Iterator[Held]:
    """Yield what each run held of each node; all samples spread GPUs evenly."""
    resized: dict[str, int] = {}
    jobs = json.loads(path.read_text(encoding="utf-8"))["jobs"]
    for job in sorted(jobs, key=lambda job: (_number(job["time"]["start"]) or 0, _number(job["time"]["end"]) or 0)):
        start, end = (_number(job["time"][name]) for name in ("start", "end"))
        if start is None or end is None or job["nodes"] in ("None assigned", ""):
            continue
        name, nodes = _name(job), _nodes(job["nodes"])
        gpus = sum(t["count"] for t in job["tres"]["allocated"] if (t["type"], t["name"]) == ("gres", "gpu"))
        start = max(start, resized.pop(name, start))
        if "RESIZING" in _words(job["state"]["current"]):
            resized[name] = end
        for node in nodes:
            if end > start:
                yield Held(name, node, start, end, gpus // len(nodes))
