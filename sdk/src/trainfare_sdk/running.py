"""A job while it runs: what training code calls. Nothing here raises, waits, or does anything in a forked child."""

from __future__ import annotations

import atexit
import functools
import os
import signal
import sys
import threading
import time
from typing import Any, Callable, TypeVar

from trainfare_sdk import environment, event
from trainfare_sdk.settings import DISABLED, ONLINE, Settings, warn_once
from trainfare_sdk.spool import Spool

__version__ = "0.1.0"

SEND_SECONDS = 5.0
COROUTINE = 0x80
"""The flag of a function defined with `async def`; the module `inspect` takes long to import."""
STATES = ("completed", "failed", "preempted", "canceled", "timeout", "node_failed", "unknown")
Function = TypeVar("Function", bound=Callable[..., Any])


def harmless(function: Function) -> Function:
    """Make a method swallow its errors: a mistake here must not end a training run. Ctrl-C still goes through."""

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except Exception as error:
            warn_once(function.__name__, f"{function.__name__} was not recorded ({type(error).__name__}: {error})")
            return None

    return call  # type: ignore[return-value]


class Checkpoint:
    """The time in which a checkpoint is written: `with job.checkpoint(step): save()`. If saving fails, none counts."""

    def __init__(self, job: Job, step: int | None, path: str | None) -> None:
        self._job, self._step, self._path = job, step, path
        self._began = 0

    def __enter__(self) -> Checkpoint:
        self._begin()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._end(kind is not None)

    @harmless
    def _begin(self) -> None:
        self._step = self._job._checkpoint_step(self._step)
        self._began = time.monotonic_ns()
        self._job._report(event.CHECKPOINT_BEGIN, self._data())

    @harmless
    def _end(self, has_failed: bool) -> None:
        started = event.timestamp(time.time_ns() - (time.monotonic_ns() - self._began))
        failed = {"failed": True} if has_failed else {}
        self._job._report(event.CHECKPOINT_END, {**self._data(), "started": started, **failed})

    def _data(self) -> dict[str, Any]:
        return {"step": self._step, **({"path": str(self._path)} if self._path else {})}


class Job:
    """One attempt of a training job, from `start` to `end`. Use it as a context manager or as a decorator."""

    def __init__(
        self,
        name: str | None = None,
        attempt: int | None = None,
        machine: str | None = None,
        gpus: float | None = None,
        signals: bool = False,
        settings: Settings | None = None,
        labels: dict[str, Any] | None = None,
    ) -> None:
        self._given: dict[str, Any] = {
            "name": name,
            "attempt": attempt,
            "machine": machine,
            "gpus": gpus,
            "signals": signals,
        }
        self._settings, self._labels = settings, dict(labels or {})
        self._spool: Spool | None = None
        self._is_reporting = False
        self._is_over = True
        self._threads: list[threading.Thread] = []
        self._stopped = threading.Event()
        self._started_at, self._training_at = 0, 0
        self._step: int | None = None
        self._has_unwritten_step = False
        self._step_seconds, self._next_step = 10.0, 0.0
        self._counted = 0
        self._signaled: dict[int, Any] = {}
        self.id: str | None = None
        """The job's id in the account, once started."""
        self.attempt: int | None = None

    # What training code calls

    def start(self) -> Job:
        """Record the start, and from now on that the process lives. Only the first process on a machine does."""
        self._start()
        return self

    @harmless
    def step(self, number: int) -> None:
        """Record that this step was reached. Most calls only remember the number: one event in ten seconds will do."""
        if not self._is_reporting:
            return
        self._step, self._has_unwritten_step = number, True
        if time.monotonic() >= self._next_step:
            self._write_step()

    @harmless
    def training_started(self) -> None:
        """Record that loading is over. Without this call, training counts from the end of the first step."""
        self._training_at = time.time_ns()

    def checkpoint(self, step: int | None = None, path: str | None = None) -> Checkpoint:
        """Return a context manager around saving a checkpoint; `step` is the last one given to `step` by default."""
        return Checkpoint(self, step, path)

    @harmless
    def log(self, seconds: float | None = None, **values: float) -> None:
        """Record measured values of the last `seconds`, such as gpu_busy_seconds, bytes_sent or storage_requests.

        Values with other names are kept with the events, and are no part of the account.
        """
        span = {"started": event.timestamp(time.time_ns() - int(seconds * 1e9))} if seconds else {}
        numbers = {name: value if isinstance(value, int) else float(value) for name, value in values.items()}
        self._report(event.USAGE, {"values": numbers, **span})

    @harmless
    def label(self, **labels: Any) -> None:
        """Add labels that were not known at the start, such as model_version."""
        self._report(event.LABEL, {"labels": _texts(labels)})

    @harmless
    def end(self, state: str = "completed", **data: Any) -> None:
        """Record the end. Sending goes on for at most `flush_seconds`."""
        if self._is_over or self._spool is None or not self._spool.is_own:
            return
        self._is_over = True
        self._write_step()
        self._is_reporting = False
        self._spool.write(event.END, {"state": state if state in STATES else "unknown", **data})
        self._restore_signals()
        self._stopped.set()
        for thread in self._threads:
            if thread.name == "trainfare-sender":
                thread.join(self._settings.flush_seconds if self._settings else 0)
        _forget(self)

    def __enter__(self) -> Job:
        return self.start()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.end(**_ending(kind, error))

    def __call__(self, function: Function) -> Function:
        """Return the function such that every call of it is an attempt of this job."""
        if getattr(getattr(function, "__code__", None), "co_flags", 0) & COROUTINE:

            @functools.wraps(function)
            async def waited(*arguments: Any, **options: Any) -> Any:
                with self._again():
                    return await function(*arguments, **options)

            return waited  # type: ignore[return-value]

        @functools.wraps(function)
        def called(*arguments: Any, **options: Any) -> Any:
            with self._again():
                return function(*arguments, **options)

        return called  # type: ignore[return-value]

    # How it works

    def _again(self) -> Job:
        return Job(**self._given, settings=self._settings, labels=self._labels)

    @harmless
    def _start(self) -> None:
        env = os.environ
        settings = self._settings = self._settings or Settings()
        if not self._is_over or settings.mode == DISABLED or environment.local_rank(env):
            return
        key = environment.run_key(env) or os.urandom(8).hex()
        self.id = environment.job_id(env, self._given["name"]) or _generated_name(environment.run_key(env))
        self.attempt = environment.attempt(env) or self._given["attempt"] or _claimed(settings.spool, self.id, key)
        machine = env.get("TRAINFARE_MACHINE") or self._given["machine"] or environment.machine(env)
        rank = environment.rank(env)
        common = {"v": event.VERSION, "job": self.id, "attempt": self.attempt, "machine": machine}
        self._spool = Spool(settings.spool, {**common, **({"rank": rank} if rank else {})})
        self._is_over, self._is_reporting = False, rank == 0
        self._step_seconds, self._started_at = settings.step_seconds, time.time_ns()
        self._spool.write(event.START, self._start_data(env, key))
        self._start_threads(settings)
        if self._given["signals"]:
            self._chain_signals()
        _remember(self)

    def _start_data(self, env: environment.Environment, key: str) -> dict[str, Any]:
        gpus = self._given["gpus"] if self._given["gpus"] is not None else environment.gpus(env)
        labels = {"owner": environment.owner(env), **self._labels}
        if self._given["name"] and self._given["name"] != self.id:
            labels.setdefault("job_name", self._given["name"])
        data: dict[str, Any] = {
            "name": self._given["name"],
            "run": key,
            "gpus": gpus,
            "cluster": environment.cluster(env),
        }
        data.update(labels=_texts(labels), native=environment.ids(env), sdk=__version__)
        return {name: value for name, value in data.items() if value not in (None, {})}

    def _start_threads(self, settings: Settings) -> None:
        sender = None
        if settings.mode == ONLINE and self._spool is not None:
            from trainfare_sdk import sender as sending  # takes a few milliseconds that nobody else needs to pay

            sender = sending.Sender(self._spool, settings)
            given = (sender, self._stopped, min(SEND_SECONDS, settings.heartbeat_seconds))
            self._threads.append(threading.Thread(target=sending.run, args=given, name="trainfare-sender", daemon=True))
        beats = (self._spool, self._stopped, settings.heartbeat_seconds, sender)
        self._threads.append(threading.Thread(target=_beat, args=beats, name="trainfare-heartbeat", daemon=True))
        for thread in self._threads:
            thread.start()

    def _report(self, type_: str, data: dict[str, Any]) -> None:
        if self._is_reporting and self._spool is not None:
            self._spool.write(type_, data)

    def _write_step(self) -> None:
        """Write the newest step, unless it was written."""
        if not (self._is_reporting and self._has_unwritten_step and self._spool is not None and self._step is not None):
            return
        self._has_unwritten_step, self._next_step = False, time.monotonic() + self._step_seconds
        started = {"started": event.timestamp(self._training_at)} if self._training_at else {}
        self._training_at = 0
        self._spool.write(event.STEP, {"step": int(self._step), **started})

    def _checkpoint_step(self, given: int | None) -> int:
        """Return the step of a checkpoint. Code that counts no steps has its checkpoints counted instead."""
        if given is not None or self._step is not None:
            self._write_step()
            return int(given if given is not None else self._step or 0)
        if not self._counted and self._spool is not None:
            at = self._training_at or self._started_at
            self._report(event.STEP, {"step": 0, "started": event.timestamp(at)})
        self._counted += 1
        return self._counted

    def _chain_signals(self) -> None:
        """Record SIGTERM before whatever would happen on it; previous handlers are called, never replaced."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTERM,):
            self._signaled[number] = signal.getsignal(number)
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: Any) -> None:
        previous = self._signaled.get(number)
        if self._spool is not None and self._spool.is_own:
            self._record_signal(number, previous == signal.SIG_DFL)
        if callable(previous):
            previous(number, frame)
        elif previous == signal.SIG_DFL:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    @harmless
    def _record_signal(self, number: int, is_fatal: bool) -> None:
        assert self._spool is not None
        name = signal.Signals(number).name
        self._spool.write(event.SIGNAL, {"signal": name})
        if is_fatal and not self._is_over:
            self._is_over = True
            self._write_step()
            self._spool.write(event.END, {"state": "canceled", "signal": name})

    def _restore_signals(self) -> None:
        for number, previous in self._signaled.items():
            if signal.getsignal(number) == self._on_signal and previous is not None:
                signal.signal(number, previous)


_running: list[Job] = []


def current() -> Job | None:
    """Return the job that was started last in this process and has not ended."""
    return _running[-1] if _running else None


def _remember(job: Job) -> None:
    if not _running:
        atexit.register(_end_all)
    _running.append(job)


def _forget(job: Job) -> None:
    if job in _running:
        _running.remove(job)


def _end_all() -> None:
    """End jobs that the program did not end. Whether it succeeded is known only if an exception says no."""
    has_failed = getattr(sys, "last_type", None) is not None
    for job in _running:
        job.end("failed" if has_failed else "unknown")


def _drop_in_child() -> None:
    """Forget all jobs in a forked child, which has neither their threads nor any part in them."""
    _running.clear()


os.register_at_fork(after_in_child=_drop_in_child)


def _beat(spool: Spool, stopped: threading.Event, seconds: float, sender: Any) -> None:
    """Record every `seconds` that the process lives, so that the end of one that is killed is known."""
    while not stopped.wait(seconds):
        try:
            spool.write(event.RUNNING, {})
            spool.synchronize()
            if sender is not None:
                sender.cut_off()
        except Exception as error:
            warn_once("heartbeat", f"a heartbeat was not recorded ({type(error).__name__})")
    try:
        spool.synchronize()
        spool.close()
    except OSError:
        pass


def _claimed(spool: str, job: str, run: str) -> int:
    from trainfare_sdk import attempts

    try:
        return attempts.claim(spool, job, run)
    except OSError as error:
        warn_once(
            "attempts", "attempts cannot be counted in {} ({}): this is 1".format(spool, (error.strerror or "").lower())
        )
        return 1


def _generated_name(run: str | None) -> str:
    """Return an id for a job without a name: the script, and the run or the time."""
    script = os.path.splitext(os.path.basename(sys.argv[0] if sys.argv else ""))[0] or "python"
    return "{}-{}".format(script, run or time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()) + "-" + os.urandom(2).hex())


def _texts(labels: dict[str, Any]) -> dict[str, str]:
    """Return labels as text. One that cannot be written is left out, and the others are kept."""
    found = {}
    for name, value in labels.items():
        try:
            text = "" if value is None else str(value)
        except Exception:
            warn_once("label", f"the label {name} cannot be written as text and is left out")
            continue
        if text:
            found[str(name)] = text
    return found


def _ending(kind: Any, error: Any) -> dict[str, Any]:
    """Return how a block ended. Only the type of an error is recorded: its message may contain anything."""
    if kind is None:
        return {"state": "completed"}
    if issubclass(kind, SystemExit):
        code = getattr(error, "code", None)
        is_good = code is None or code == 0
        return {"state": "completed" if is_good else "failed", "reason": "SystemExit"}
    return {"state": "canceled" if issubclass(kind, KeyboardInterrupt) else "failed", "reason": kind.__name__}
