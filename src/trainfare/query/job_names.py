"""Which job a name stands for: its full id, or any end of it that only one job has. See `job_ids.py`."""

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import TrainfareError
from trainfare.job_ids import TIME
from trainfare.query.open_books import OpenBooks
from trainfare.query.selection import Filters

MOST_LISTED = 10
"""How many ids an error about an ambiguous name lists."""


class AmbiguousJobError(TrainfareError):
    """A name stands for several jobs."""

    def __init__(self, name: str, ids: list[str], count: int) -> None:
        more = f" and {count - len(ids)} more" if count > len(ids) else ""
        super().__init__("job", f"'{name}' stands for {count} jobs", f"Use one of {', '.join(ids)}{more}.")


def find(opened: OpenBooks, name: str) -> str | None:
    """Return the id of the job that is called `name`; None if there is none. An ambiguous name is an error."""
    return find_in(opened.engine, opened.grains.table("jobs"), name)


def find_in(engine: DuckDB, jobs: str, name: str) -> str | None:
    """Return the id of the job that is called `name` among the `job_id` of a FROM item. A full id comes first."""
    if engine.rows(f"SELECT 1 FROM {jobs} j WHERE j.job_id = {quoted(name)} LIMIT 1"):
        return name
    plain = f"regexp_replace(job_id, {quoted(TIME)}, '')"
    is_called = " OR ".join(
        f"{written} = {quoted(name)} OR ends_with({written}, {quoted('/' + name)})" for written in ("job_id", plain)
    )
    ids = f"SELECT DISTINCT j.job_id FROM {jobs} j WHERE contains(j.job_id, {quoted(name)})"
    found = engine.rows(
        f"SELECT job_id, count(*) OVER () FROM ({ids}) WHERE {is_called} ORDER BY job_id LIMIT {MOST_LISTED}"
    )
    if found and found[0][1] > 1:
        raise AmbiguousJobError(name[:100], [job for job, _ in found], found[0][1])
    return str(found[0][0]) if found and name else None


def with_full_ids(opened: OpenBooks, filters: Filters) -> Filters:
    """Return filters whose jobs and attempts have full ids. A name that no job has stays as it is."""
    return tuple((key, tuple(_full(opened, key, value) for value in values)) for key, values in filters)


def _full(opened: OpenBooks, key: str, value: str) -> str:
    if key == "job":
        return find(opened, value) or value
    name, mark, attempt = value.rpartition("#")
    if key == "attempt" and mark:
        return f"{find(opened, name) or name}#{attempt}"
    return value
