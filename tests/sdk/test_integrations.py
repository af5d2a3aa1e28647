"""Callbacks, on stand-ins with the hooks of the frameworks, which are too large to install here."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import trainfare_sdk
from trainfare_sdk import integrations

from .programs import events, of_type, types
from .test_calls import spool

__all__ = ("spool",)


def installed(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> None:
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        monkeypatch.setitem(sys.modules, ".".join(parts[:end]), ModuleType(".".join(parts[:end])))
    vars(sys.modules[name]).update(members)


class CheckpointIO:
    def save_checkpoint(self, checkpoint: object, path: str) -> str:
        if path == "full":
            raise OSError("disk")
        return path


def test_no_framework_is_imported_before_it_is_used() -> None:
    frameworks = {"lightning", "pytorch_lightning", "transformers", "accelerate", "ray", "torch"}
    assert not frameworks & set(sys.modules)


@pytest.mark.parametrize("package", ["lightning.pytorch.callbacks", "pytorch_lightning.callbacks"])
def test_lightning_saves_count_whoever_asks_for_them(
    spool: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    installed(monkeypatch, package, Callback=object)
    callback = integrations.lightning_callback(trainfare_sdk.job("a"))
    io = CheckpointIO()
    trainer = SimpleNamespace(global_step=0, strategy=SimpleNamespace(checkpoint_io=io))
    callback.setup(trainer, None, "fit")
    callback.on_train_start(trainer, None)
    for trainer.global_step in (1, 2, 3):
        callback.on_train_batch_end(trainer, None, None, None, 0)
    assert io.save_checkpoint({}, "a.ckpt") == "a.ckpt"
    with pytest.raises(OSError):
        io.save_checkpoint({}, "full")
    callback.teardown(trainer, None, "fit")
    assert io.save_checkpoint.__func__ is CheckpointIO.save_checkpoint  # type: ignore[attr-defined]
    found = events(spool)
    assert [(one["step"], one.get("failed")) for one in of_type(found, "checkpoint_end")] == [(3, None), (3, True)]
    assert types(found)[-1] == "end"


def test_an_exception_in_lightning_fails_the_job(spool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "lightning.pytorch.callbacks", Callback=object)
    callback = integrations.lightning_callback(trainfare_sdk.job("a"))
    callback.setup(None, None, "fit")
    callback.on_exception(None, None, ValueError())
    callback.teardown(None, None, "fit")
    assert [one["state"] for one in of_type(events(spool), "end")] == ["failed"]


def test_transformers_steps_and_saves_are_recorded(spool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "transformers", TrainerCallback=object)
    callback = integrations.transformers_callback(trainfare_sdk.job("a"))
    state = SimpleNamespace(global_step=5)
    for hook in ("on_train_begin", "on_step_end", "on_save", "on_train_end"):
        assert getattr(callback, hook)(None, state, None, model=None) is None
    found = events(spool)
    assert types(found) == ["start", "step", "checkpoint_begin", "checkpoint_end", "end"]
    assert of_type(found, "checkpoint_end")[0]["step"] == 5


def test_accelerate_states_are_checkpoints(spool: Path) -> None:
    accelerator = SimpleNamespace(save_state=lambda folder: f"saved {folder}")
    with trainfare_sdk.job("a") as job:
        job.step(9)
        assert integrations.watch_accelerator(accelerator, job).save_state("here") == "saved here"
    assert of_type(events(spool), "checkpoint_end")[0]["step"] == 9


def test_ray_reports_are_passed_on_and_recorded(spool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    installed(monkeypatch, "ray.train", report=lambda metrics, checkpoint=None: calls.append((metrics, checkpoint)))
    with trainfare_sdk.job("a") as job:
        report = integrations.ray_report(job)
        report({"step": 3, "loss": 0.1})
        report({"step": 4}, checkpoint="c")
        report(None)
    assert calls == [({"step": 3, "loss": 0.1}, None), ({"step": 4}, "c"), (None, None)]
    assert [one["step"] for one in of_type(events(spool), "checkpoint_end")] == [4]
