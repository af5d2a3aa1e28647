"""Slurm: `sacct`, paged by time, and the GPUs of running jobs from `scontrol -d show job`.

- Everything is queried with TZ=UTC, so that no local time is ever read. "Now" is the controller's clock: a wrong clock
  here does not skip anything.
- sacct is asked again for the day before the cursor, because the controller may send records late, and by number for
  every run that was seen running and is in no page: its end may be older than that. A run that the database no longer
  has, such as after a purge, is gone.
- While the controller still holds back records for the database (`sdiag`), nothing counts as complete.
- `--duplicates` shows every run of a requeued job. Columns are separated by a byte that no text has; a job name or
  comment may contain line breaks. If one contains even that byte, the page is read without names and comments.
- GPU indexes are known only while a job runs: whatever starts and ends between two runs of the collector has none.
- 22.05, 24.11 and 26.05 all have the columns that are read. The query fails as a whole for a column that a version
  lacks, so no others are asked for.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from trainfare.collect.protocol import Batch, Observed, Op, Query
from trainfare.collect.slurm_setup import prepare as prepare
from trainfare.errors import TrainfareError, UnreachableError
from trainfare.sources.schedulers.slurm_recorded import COLUMNS, DEVICES, RUN
from trainfare.sources.schedulers.slurm_recorded import SYSTEM as SYSTEM

OPTIONS: tuple[str, ...] = ("cluster", "config", "programs")
DESCRIPTION = "Slurm: sacct, and the GPU indexes of running jobs from scontrol"

FREE_TEXT = ("JobName", "Comment")
SEPARATOR = "\x1f"
PAGE = timedelta(days=1)
OVERLAP = timedelta(days=1)
FIRST = timedelta(days=31)
"""How far back the first query reaches if the settings do not say."""
TIMEOUT_SECONDS = 900
JOBS_PER_QUERY = 500
NO_TIME = ("Unknown", "None", "N/A", "")
_VARIABLES = ("SLURM_TIME_FORMAT", "SACCT_FORMAT", "SACCT_FEDERATION", "SACCT_LOCAL", "SLURM_CLUSTERS", "SLURM_JSON")
"""Variables of the environment that change what the commands print."""


class _BrokenError(Exception):
    """The output cannot be divided into records."""


def collect(query: Query) -> Iterator[Batch]:
    """Yield one batch per day, then one for GPU indexes and runs that no page had."""
    cluster, now = _controller(query)
    is_complete = _held_back(query) == 0
    base = min(datetime.fromisoformat(query.cursor) if query.cursor else _first(query, now), now)
    start, seen = base - (OVERLAP if query.cursor else timedelta()), set[str]()
    while start < now:
        end = min(start + PAGE, now)
        runs = _runs(query, f"--starttime={start:%Y-%m-%dT%H:%M:%S}", f"--endtime={end:%Y-%m-%dT%H:%M:%S}")
        seen |= {one.uid for one in runs}
        start, reached = end, max(end, base)
        yield Batch(tuple(runs), reached.isoformat(), reached if is_complete else None)
    missing = [uid for uid in query.open_uids(RUN) if uid not in seen]
    found = (*_again(query, missing), *_devices(query, cluster))
    yield Batch(found, now.isoformat(), now if is_complete else None)


def _first(query: Query, now: datetime) -> datetime:
    since = query.since
    return datetime(since.year, since.month, since.day, tzinfo=UTC) if since else now - FIRST


def _controller(query: Query) -> tuple[str, datetime]:
    """Return the name of the cluster, and the time by the clock of its controller."""
    shown = call(query, "scontrol", "show", "config")
    now = re.search(r"^Configuration data as of (\S+)", shown, re.MULTILINE)
    name = re.search(r"^ClusterName\s*=\s*(\S+)", shown, re.MULTILINE)
    if not now or not name:
        do = "Check that `scontrol show config` prints the settings of the cluster."
        raise UnreachableError(f"collector {query.name}", "scontrol reports no time or no cluster", do)
    return name[1], datetime.fromisoformat(now[1]).replace(tzinfo=UTC)


def _held_back(query: Query) -> int:
    """Return the number of records that the controller has not sent to the database yet."""
    found = re.search(r"^DBD Agent queue size:\s*(\d+)", call(query, "sdiag"), re.MULTILINE)
    return int(found[1]) if found else 0


def _runs(query: Query, *options: str) -> list[Observed]:
    """Return the runs that sacct reports, each as an observation."""
    try:
        return _parsed(query, COLUMNS, options)
    except _BrokenError:
        pass
    try:
        return _parsed(query, tuple(name for name in COLUMNS if name not in FREE_TEXT), options)
    except _BrokenError:
        do = "Check that `sacct --parsable2` prints one line per job."
        raise UnreachableError(f"collector {query.name}", "sacct prints something other than records", do) from None


def _parsed(query: Query, columns: tuple[str, ...], options: tuple[str, ...]) -> list[Observed]:
    printed = call(
        query,
        "sacct",
        *("--allusers", "--duplicates", "--allocations", "--noheader", "--parsable2"),
        f"--delimiter={SEPARATOR}",
        f"--format={','.join(columns)}",
        *options,
    )
    return [one for record in _records(printed, len(columns)) if (one := _run(dict(zip(columns, record, strict=True))))]


def _records(printed: str, width: int) -> Iterator[list[str]]:
    """Yield the cells of each record; a record ends with the line on which it has all its cells."""
    lines = printed.split("\n")
    record = ""
    for number, line in enumerate(lines):
        record = f"{record}\n{line}" if record else line
        cells = record.split(SEPARATOR)
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if len(cells) > width:
            raise _BrokenError
        # The last column is free text, so the record goes on until a line that starts another one.
        if len(cells) == width and (not following or re.match(rf"\d+{SEPARATOR}", following)):
            yield cells
            record = ""
    if record.strip():
        raise _BrokenError


def _run(fields: dict[str, str]) -> Observed | None:
    """Return the observation of a run; None if it has not started."""
    if fields["Start"] in NO_TIME:
        return None
    ended = None if fields["End"] in NO_TIME else datetime.fromisoformat(fields["End"]).replace(tzinfo=UTC)
    uid = f"{fields['JobIDRaw']}@{fields['Submit']}"
    return Observed(fields["Cluster"], RUN, uid, Op.ENDED if ended else Op.SEEN, fields, ended)


def _again(query: Query, uids: list[str]) -> list[Observed]:
    """Return the runs that were seen running and are in no page; those that the database no longer has are gone."""
    found: list[Observed] = []
    for start in range(0, len(uids), JOBS_PER_QUERY):
        asked = uids[start : start + JOBS_PER_QUERY]
        jobs = ",".join(sorted({uid.split("@")[0] for uid in asked}))
        runs = _runs(query, f"--jobs={jobs}", "--starttime=1970-01-02T00:00:00", "--endtime=now")
        known = {one.uid for one in runs}
        found += [one for one in runs if one.uid in asked]
        found += [Observed("", RUN, uid, Op.GONE, {}) for uid in asked if uid not in known]
    return found


def _devices(query: Query, cluster: str) -> list[Observed]:
    """Return which GPUs each running job holds, as in `gpu01:0-1 gpu02:0-3`."""
    found = []
    for block in re.split(r"\n(?=JobId=)", call(query, "scontrol", "--details", "show", "job")):
        job = re.match(r"JobId=(\d+)", block)
        start = re.search(r"^ +StartTime=(\d\S+)", block, re.MULTILINE)
        state = re.search(r"^ +JobState=(\w+)", block, re.MULTILINE)
        held = re.findall(r"^ +Nodes=(\S+) CPU_IDs=\S* Mem=\S* GRES=\S*\(IDX:([0-9,-]+)\)", block, re.MULTILINE)
        if job and start and state and state[1] in ("RUNNING", "SUSPENDED", "COMPLETING") and held:
            fields = {"JobIDRaw": job[1], "Start": start[1], "gpu_indexes": " ".join(f"{n}:{i}" for n, i in held)}
            found.append(Observed(cluster, DEVICES, f"{job[1]}@{start[1]}", Op.ENDED, fields))
    return found


def call(query: Query, program: str, *arguments: str) -> str:
    """Run a command of Slurm and return what it prints."""
    where = f"collector {query.name}"
    environment = {name: value for name, value in os.environ.items() if name not in _VARIABLES}
    environment |= {"TZ": "UTC", "LC_ALL": "C.UTF-8"}
    if "config" in query.options:
        environment["SLURM_CONF"] = str(query.folder / query.options["config"])
    if query.token:
        environment["SLURM_JWT"] = query.token
    path = str(query.folder / query.options["programs"] / program) if "programs" in query.options else program
    if "cluster" in query.options:
        arguments = (f"--clusters={query.options['cluster']}", *arguments)
    try:
        done = subprocess.run(
            [path, *arguments], env=environment, capture_output=True, timeout=TIMEOUT_SECONDS, stdin=subprocess.DEVNULL
        )
    except (FileNotFoundError, PermissionError):
        do = 'Install the commands of Slurm here, or name their folder: options = { programs = "/opt/slurm/bin" }.'
        raise TrainfareError(where, f"there is no program {path}", do) from None
    except subprocess.TimeoutExpired:
        do = "Check the controller and the accounting database."
        raise UnreachableError(where, f"{program} did not answer within {TIMEOUT_SECONDS} seconds", do) from None
    if done.returncode:
        printed = done.stderr.decode(errors="replace").strip().splitlines()
        reason = (printed[0] if printed else f"exit code {done.returncode}").replace(query.token or "\0", "***")
        do = f"Run `{program}` as the user who collects, and check its access to the accounting database."
        raise UnreachableError(where, f"{program} failed: {reason}", do)
    return done.stdout.decode(errors="replace")
