"""What a file with a wrong header probably is, and which of its columns are missing or not read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from trainfare.sources.bills import charges
from trainfare.sources.head import Head
from trainfare.sources.inventories import machines
from trainfare.sources.ledgers import commitment, hardware, invoice, labor, licenses, power, prices, rates, tariff
from trainfare.sources.protocol import Source
from trainfare.sources.rows import header_names, missing_columns, simplified
from trainfare.sources.schedulers import jobs
from trainfare.sources.telemetry import measurements, quality

FEWEST_COLUMNS = 2
"""How many columns of a format a file must have to resemble it."""
ALL_FORMATS = "All formats are in docs/reference/files.md."


@dataclass(frozen=True)
class Format:
    """The columns of a format, and what other tools call them."""

    noun: str
    required: tuple[str, ...]
    known: tuple[str, ...]
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def written(self, names: Iterable[str]) -> dict[str, str]:
        """Return the columns of this format that a file has under any name: ours -> as written."""
        given = {simplified(name): name.strip() for name in names}
        found: dict[str, str] = {}
        for column in dict.fromkeys((*self.required, *self.known)):
            spellings = (simplified(column), *self.synonyms.get(column, ()))
            if written := next((given[name] for name in spellings if name in given), None):
                found[column] = written
        return found


_MACHINE_ID = {"machine_id": jobs.SYNONYMS["machine_id"]}
_MACHINE = {
    "machine_id": ("machineid", "machine", "node", "nodename", "host", "hostname", "server", "name"),
    "resource_id": ("instanceid", "instance", "resource", "arn", "providerid"),
    "gpus": ("gpu", "gpucount", "numgpus", "ngpus"),
    "gpu_model": ("gputype", "gpuname"),
    "cpus": ("cpu", "vcpus", "cores"),
}
_OWN_FILES = {
    "measurement file": measurements,
    "results file": quality,
    "price list": prices,
    "time entry file": labor,
    "license file": licenses,
    "vendor invoice file": invoice,
    "power reading file": power,
    "power tariff file": tariff,
    "exchange rate file": rates,
    "commitment file": commitment,
    "hardware file": hardware,
}
FORMATS = (
    Format("job file", jobs.REQUIRED, jobs.COLUMNS, jobs.SYNONYMS),
    Format("machine file", machines.FILE.required, machines.FILE.table.names, _MACHINE),
    *(Format(noun, own.FILE.required, own.FILE.table.names, _MACHINE_ID) for noun, own in _OWN_FILES.items()),
    Format("FOCUS bill", charges.REQUIRED, charges.USED),
)


def near_miss(head: Head) -> tuple[str, str] | None:
    """Return what is missing from a file that resembles a format, and what to do; None if it resembles none.

    Of several formats the one counts of which the file has most columns, then the one of which fewest are missing.
    """
    names = head.parquet_columns or ([] if head.is_json else header_names(head))
    found = [(one, one.written(names)) for one in FORMATS]
    near = [(one, written) for one, written in found if len(written) >= FEWEST_COLUMNS]
    if not near:
        return None
    format_, written = max(near, key=lambda one: (len(one[1]), -len(_missing(*one))))
    missing = _missing(format_, written)
    if not missing:
        return None
    renames = [f"{name} to {column}" for column, name in written.items() if name.lower() != column.lower()]
    added = [name for name in missing if name not in written]
    do = [f"Rename {', '.join(renames)}."] if renames else []
    do += [f"Add {', '.join(added)}."] if added else []
    do.append(f"See docs/reference/files.md for the columns of a {format_.noun}.")
    return f"looks like a {format_.noun}; {missing_columns(missing)}", " ".join(do)


def _missing(format_: Format, written: Mapping[str, str]) -> list[str]:
    return [name for name in format_.required if written.get(name, "").lower() != name.lower()]


def needed_columns() -> str:
    """Return the columns that the three most important files need."""
    bill, log, listed = (", ".join(names) for names in (charges.REQUIRED, jobs.REQUIRED, machines.FILE.required))
    return f"A bill needs the columns {bill}; a job file {log}; a machine file {listed}. {ALL_FORMATS}"


def unread_columns(head: Head, source: Source) -> list[str]:
    """Return the columns of a machine file that are not read, as written. Those of a job file become labels."""
    if source is not machines or head.is_json:
        return []
    known = {*machines.FILE.table.names} - {"line"}
    names = sorted(head.parquet_columns) or [name.strip() for name in header_names(head)]
    return [name for name in names if name.lower() not in known]


def label_columns(head: Head, source: Source) -> list[str]:
    """Return the columns of a job file that become labels because they are none of its own, as written."""
    if source is not jobs or head.is_json:
        return []
    names = sorted(head.parquet_columns) or [name.strip() for name in header_names(head)]
    return [name for name in names if name.lower() not in jobs.COLUMNS]
