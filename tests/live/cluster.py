"""A small cluster with a bill for one day: n1 has 4 GPUs and costs 8.00 an hour, n2 has no known price."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from account.books import BILL, HOUR, START, hours_of, with_settings, write_rows

from trainfare.live.account import LiveAccount
from trainfare.live.window import Window
from trainfare.settings.config import Config, load
from trainfare.store import Store
from trainfare.store.recordings.values import Batch

from .worlds import BASE, Run

SETTINGS = "estimate = true\n"
COLLECTOR = '\n[[collector]]\nname = "{0}"\nsystem = "slurm"\nsince = "2026-10-01"\n'


def at(hour: float) -> datetime:
    return START + timedelta(hours=hour)


def second(hour: float) -> int:
    return BASE + int(hour * HOUR)


class Cluster:
    """A workspace, and what collectors record in it."""

    def __init__(self, folder: Path, *collectors: str, machines: str = "n1,4,\nn2,4,\n") -> None:
        self.folder = folder
        bill = [hours_of("n1", (hour * HOUR, (hour + 1) * HOUR), "8.00") for hour in range(24)]
        write_rows(folder / "bill.csv", BILL, bill)
        (folder / "machines.csv").write_text(f"machine_id,gpus,cluster\n{machines}", encoding="utf-8")
        names = collectors or ("lab",)
        with_settings(folder, ["bill.csv", "machines.csv"], SETTINGS + "".join(map(COLLECTOR.format, names)))
        self.cursors: dict[str, int] = {}

    @property
    def config(self) -> Config:
        return load(self.folder / "trainfare.toml")

    def hears(self, store: Store, through: float, *runs: tuple[Run, bool], collector: str = "lab") -> None:
        """Record runs, each with whether it is over, in one batch that is complete through an hour."""
        before = self.cursors.get(collector, 0)
        self.cursors[collector] = before + 1
        batch = Batch(tuple(run.observed(is_over) for run, is_over in runs), str(before + 1), at(through))
        after = str(before) if before else None
        store.catalog.recordings.commit(collector, "slurm", after, batch, at(through))


def run(job: int, machine: str, gpus: int, starts: float, ends: float | None = None) -> Run:
    return Run(job, 1, (machine,), gpus, int(starts * HOUR), None if ends is None else int(ends * HOUR))


def now(account: LiveAccount, hour: float) -> None:
    account.bring_up_to_date(at(hour))


def costs(found: Window) -> dict[str, str]:
    """What each payer spent, in dollars and cents, without the cluster of its job."""
    sums: dict[str, int] = {}
    for part in found.parts:
        name = "idle" if len(part.payer) == 1 else part.payer[1].rpartition("/")[2]
        sums[name] = sums.get(name, 0) + int(part.units)
    return {name: f"{units / 10**12:.2f}" for name, units in sums.items()}


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
