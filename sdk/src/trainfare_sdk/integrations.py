"""Callbacks for training frameworks. A framework is imported when its function is called, never before.

Each takes a job that is not started yet: `lightning_callback(trainfare_sdk.job("resnet-50", team="vision"))`.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any, Callable

from trainfare_sdk.running import Job, _ending, harmless


def lightning_callback(job: Job) -> Any:
    """Return a callback for Lightning's Trainer.

    Lightning has no hook after a checkpoint is written, so the strategy's `CheckpointIO` is wrapped while training
    runs: every save counts, whoever asks for it.
    """
    base: Any = _first_module("lightning.pytorch.callbacks", "pytorch_lightning.callbacks").Callback

    class TrainfareCallback(base):  # type: ignore[misc]
        @harmless
        def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
            if stage == "fit":
                job.start()

        @harmless
        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            job.training_started()
            _wrap(trainer.strategy.checkpoint_io, "save_checkpoint", job, lambda: trainer.global_step)

        @harmless
        def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
            job.step(trainer.global_step)

        @harmless
        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
            job.end(**_ending(type(exception), exception))

        @harmless
        def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
            _unwrap(trainer.strategy.checkpoint_io, "save_checkpoint")
            job.end()

    return TrainfareCallback()


def transformers_callback(job: Job) -> Any:
    """Return a callback for the Trainer of Transformers, for its argument `callbacks`.

    `on_save` comes after a checkpoint is written, so its duration is unknown and counts as 0 overhead. Saves of
    `enable_jit_checkpoint` do not call it.
    """
    base: Any = importlib.import_module("transformers").TrainerCallback

    class TrainfareCallback(base):  # type: ignore[misc]
        @harmless
        def on_train_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
            job.start()
            job.training_started()

        @harmless
        def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
            job.step(state.global_step)

        @harmless
        def on_save(self, args: Any, state: Any, control: Any, **others: Any) -> None:
            with job.checkpoint(state.global_step):
                pass

        @harmless
        def on_train_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
            job.end()

    return TrainfareCallback()


def watch_accelerator(accelerator: Any, job: Job) -> Any:
    """Record every `save_state` of an Accelerate accelerator as a checkpoint of a started job, and return it."""
    _wrap(accelerator, "save_state", job, lambda: None)
    return accelerator


def ray_report(job: Job) -> Callable[..., Any]:
    """Return a replacement for `ray.train.report`, to be called in the training function of each worker.

    A metric `step` is the step that was reached. Reporting a checkpoint persists it before it returns, so the call is
    the time that saving took.
    """
    report = importlib.import_module("ray.train").report

    @functools.wraps(report)
    def reported(metrics: Any, *arguments: Any, **options: Any) -> Any:
        step = _step_of(metrics)
        if step is not None:
            job.step(step)
        has_checkpoint = bool(arguments and arguments[0] is not None) or options.get("checkpoint") is not None
        if not has_checkpoint:
            return report(metrics, *arguments, **options)
        with job.checkpoint(step):
            return report(metrics, *arguments, **options)

    return reported


@harmless
def _step_of(metrics: Any) -> Any:
    return metrics.get("step") if metrics else None


def _wrap(owner: Any, name: str, job: Job, step: Callable[[], Any]) -> None:
    """Replace a method of one object by one that also records a checkpoint, and returns and raises the same."""
    original = getattr(owner, name)
    if hasattr(original, "trainfare_original"):
        return

    @functools.wraps(original)
    def saving(*arguments: Any, **options: Any) -> Any:
        with job.checkpoint(_number(step)):
            return original(*arguments, **options)

    saving.trainfare_original = original  # type: ignore[attr-defined]
    setattr(owner, name, saving)


def _unwrap(owner: Any, name: str) -> None:
    if hasattr(getattr(owner, name, None), "trainfare_original"):
        delattr(owner, name)


@harmless
def _number(step: Callable[[], Any]) -> Any:
    return step()


def _first_module(*names: str) -> Any:
    for name in names[:-1]:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return importlib.import_module(names[-1])
