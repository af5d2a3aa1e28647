"""Our list of machines: CSV, JSON lines or Parquet.

Only `machine_id` is required. If a machine's name is reused for another instance later, it has one row per instance,
each with its `resource_id`, `existed_from` and `existed_to`.
"""

from trainfare.sources.fields import Name, Number, OrderedTimes, Time, type_of
from trainfare.sources.head import Head
from trainfare.sources.kinds import Kind
from trainfare.sources.rows import columns_among
from trainfare.sources.table_file import TableFile
from trainfare.tables import MACHINES

NAME = "machines"
KIND = Kind.MACHINES
VERSION = "2"
DESCRIPTION = "Trainfare machine file: CSV, JSON lines or Parquet with machine_id, resource_id, gpus ..."

AMOUNTS = ("gpus", "cpus", "memory_gb")
MOST = 10**6
"""No machine has a million GPUs, CPUs or GB, and products with seconds fit 64 bits."""
_WRITE_TIME = "Write it as 2026-10-01T00:00:00Z, or leave it empty."


def recognize(head: Head) -> bool:
    hardware = ("price", "life_months", "in_service")
    found = columns_among(head, ("machine_id", "job_id", "started", "kw", *hardware))
    is_other = bool({"job_id", "started", "kw"} & found) or len(found & set(hardware)) > 1
    return "machine_id" in found and not is_other


FILE = TableFile(
    MACHINES,
    fields=(
        Name("machine_id", "Every machine needs a name."),
        *(
            Number(
                name,
                type_of(MACHINES, name),
                MOST,
                "Write how many it has, such as 8, or leave it empty.",
                least=0,
                do_least="Write 0 or more, or leave it empty.",
            )
            for name in AMOUNTS
        ),
        Time("existed_from", _WRITE_TIME, any_year=True),
        Time("existed_to", _WRITE_TIME, any_year=True),
    ),
    checks=(OrderedTimes("existed_from", "existed_to", "Check existed_from and existed_to."),),
    computed={"resource_id": lambda raw, zone: f"coalesce({raw.text('resource_id')}, {raw.text('machine_id')})"},
)
archive, rows = FILE.archive, FILE.rows
