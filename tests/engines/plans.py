"""The plans that a Spark session executed, as it keeps them for its own pages."""

import re
from collections.abc import Iterator

from pyspark.sql import SparkSession

CROSS_JOIN_OPERATORS = ("CartesianProduct", "BroadcastNestedLoopJoin")
"""Joins of every row of one side with every row of the other."""
IN_PYTHON = ("BatchEvalPython", "ArrowEvalPython", "MapInPandas", "FlatMapGroups")
"""Operators that pass rows to Python."""


def executed_plans(session: SparkSession) -> Iterator[tuple[str, str]]:
    """Return every plan of the session with the table it wrote, which is empty for a query."""
    found = session._jsparkSession.sharedState().statusStore().executionsList().iterator()  # type: ignore[attr-defined]
    while found.hasNext():
        plan = str(found.next().physicalPlanDescription())
        written = re.search(r"Execute InsertIntoHadoopFsRelationCommand\n.*\nArguments: \S*/(?:\d+-)?(\w+)", plan)
        yield (written[1] if written else ""), plan


def has(plan: str, *operators: str) -> bool:
    """Return whether any of these operators is in the plan."""
    return bool(re.search(rf"^\(\d+\) (?:{'|'.join(operators)})\b", plan, re.MULTILINE))
