"""Our file of results: the quality of what a job trained. CSV, JSON lines or Parquet.

`job_id, metric, value, better` are required. `better` is `higher` or `lower`, and is the same in all rows of a
metric. If a job has a metric in several rows, the best one counts.
"""

from trainfare.errors import Problems
from trainfare.sources.fields import EVERY_ROW, Choice, Name, Number
from trainfare.sources.head import Head
from trainfare.sources.kinds import Kind
from trainfare.sources.raw import RawTable
from trainfare.sources.rows import columns_among
from trainfare.sources.table_file import TableFile
from trainfare.tables import BETTER, QUALITY

NAME = "quality"
KIND = Kind.QUALITY
VERSION = "1"
DESCRIPTION = "Trainfare results: CSV, JSON lines or Parquet with job_id, metric, value, better"

MOST = 10**18
_ONE_METRIC = "Every row is for one metric of one job."


def recognize(head: Head) -> bool:
    found = columns_among(head, ("job_id", "metric", "value", "better", "measure", "machine_id"))
    return not {"measure", "machine_id"} & found and len(found) >= 2 and bool({"metric", "better"} & found)


def _check_direction(raw: RawTable, zone: str, problems: Problems) -> None:
    """All rows of a metric must agree on which values are better."""
    metric, better = raw.text("metric"), f"lower({raw.text('better')})"
    first = f"(SELECT {metric} AS metric_name, arg_min({better}, line) AS direction FROM {raw.relation} GROUP BY ALL)"
    bad = f"EXISTS (SELECT 1 FROM {first} f WHERE f.metric_name = {metric} AND f.direction <> {better})"
    message = f"{raw.described('better')} || ' contradicts earlier rows of ' || {metric}"
    raw.check(problems, bad, message, "Use the same value in all rows of a metric.")


FILE = TableFile(
    QUALITY,
    fields=(
        Name("job_id", _ONE_METRIC),
        Name("metric", _ONE_METRIC),
        Number("value", "DECIMAL(38,12)", MOST, "Write the metric's value, such as 76.4.", required=EVERY_ROW),
        Choice("better", BETTER, required=EVERY_ROW),
    ),
    checks=(_check_direction,),
)
archive, rows = FILE.archive, FILE.rows
