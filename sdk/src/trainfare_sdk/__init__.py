"""Report a training run: start, end, steps and checkpoints become files that Trainfare turns into cost and lost work.

    import trainfare_sdk

    with trainfare_sdk.job("resnet-50", project="vision", team="cv") as job:
        for step, batch in enumerate(data):
            train(batch)
            job.step(step)
            if step % 1000 == 0:
                with job.checkpoint():
                    save()

No call raises, waits for a disk flush or a network, or does anything in a forked child. `TRAINFARE_MODE=disabled` turns
everything off.
"""

from __future__ import annotations

from typing import Any

from trainfare_sdk.running import Checkpoint, Job, __version__, current
from trainfare_sdk.settings import Settings

__all__ = ("Checkpoint", "Job", "Settings", "__version__", "checkpoint", "current", "job", "label", "log", "step")


def job(
    name: str | None = None,
    *,
    attempt: int | None = None,
    machine: str | None = None,
    gpus: float | None = None,
    signals: bool = False,
    settings: Settings | None = None,
    **labels: Any,
) -> Job:
    """Return a job to use in a `with` statement or as a decorator. Every other argument is a label.

    Under Slurm, the job's id is Slurm's, and `name` becomes the label job_name; elsewhere the id is `name`, and running
    it again is the next attempt. `gpus` None means the whole machine unless the environment limits it. With `signals`,
    SIGTERM is recorded before it takes its usual effect.
    """
    return Job(name, attempt, machine, gpus, signals, settings, labels)


def step(number: int) -> None:
    """Record that the current job reached this step."""
    running = current()
    if running is not None:
        running.step(number)


def checkpoint(step: int | None = None, path: str | None = None) -> Checkpoint:
    """Return a context manager around saving a checkpoint of the current job."""
    return Checkpoint(current() or Job(), step, path)


def log(seconds: float | None = None, **values: float) -> None:
    """Record measured values of the current job."""
    running = current()
    if running is not None:
        running.log(seconds, **values)


def label(**labels: Any) -> None:
    """Add labels to the current job."""
    running = current()
    if running is not None:
        running.label(**labels)
