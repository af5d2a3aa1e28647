"""How a job is named: `cluster/native id`, the same whoever reads it and whatever other clusters there are.

| log | id |
| --- | --- |
| Slurm, and our job file with a column `cluster` | `lab/4711`, an array's task `lab/4711_3` |
| Kubernetes | `prod/NAMESPACE/NAME` |
| no cluster, from a source that the settings give a name | `NAME OF THE SOURCE/4711` |
| no cluster, from any other file | `4711` |

A file's own name is no part of an id: the next export of the same cluster has another one. Where a cluster uses an id
again, each job with it adds the time of its first submission: `lab/4711@2026-10-05T06:00:00Z`.

A job may be called by any end of its id that follows a slash, with or without that time, where only one job is.
"""

import re

TIME = r"@[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z(-[0-9]+)?$"
"""The end of an id that its cluster uses more than once, as a regular expression."""


def job_id(cluster: str | None, native: str) -> str:
    """Return the id of a job that a cluster, or a named source, knows under its native id."""
    return f"{cluster.replace('/', ':')}/{native}" if cluster else native


def job_id_sql(cluster: str, native: str) -> str:
    """Return SQL for `job_id`, given SQL for both parts."""
    return f"CASE WHEN {cluster} IS NULL THEN {native} ELSE replace({cluster}, '/', ':') || '/' || {native} END"


def native_id(job: str) -> str:
    """Return the id that the job's own cluster shows, for a person who knows which cluster it is."""
    return re.sub(TIME, "", job.partition("/")[2] or job)


def cluster_of(job: str) -> str | None:
    """Return the cluster or source in front of a native id; None if there is none."""
    cluster, slash, _ = job.partition("/")
    return cluster if slash else None
