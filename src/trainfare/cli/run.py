"""`trainfare run`: run a training program and record its start, end, signals and GPU use as events."""

import contextlib
import os
import re
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import click

from trainfare.cli import terminal
from trainfare.cli.gpu_use import GpuUse
from trainfare.errors import TrainfareError

FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
HEARTBEAT_SECONDS = 30.0
WAIT_SECONDS = 0.5
SENT_BY_A_PROCESS = 0
"""The si_code of a signal that a process sent. The terminal sends its signals to the program, too."""
FAILED_BY = {signal.SIGTERM: "canceled", signal.SIGINT: "canceled", signal.SIGHUP: "canceled"}
_PRICE = re.compile(r"\s*(\d{1,12}(?:\.\d{1,12})?)\s*([A-Za-z]{3})\s*")


@dataclass(frozen=True)
class Price:
    """What an hour of the machine costs, as the user states it."""

    amount: Decimal
    currency: str

    def cost(self, nanoseconds: int) -> str:
        """Return the cost of a time to the cent."""
        cost = self.amount * nanoseconds / (3600 * 10**9)
        return f"{cost.quantize(Decimal('0.01'), ROUND_HALF_UP)} {self.currency}"


@dataclass(frozen=True)
class Attempt:
    """What is recorded about the run as a whole."""

    job: str
    number: int
    machine: str
    folder: Path
    run: str

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which the SDK in the program knows which attempt it is part of."""
        return {
            "TRAINFARE_JOB": self.job,
            "TRAINFARE_ATTEMPT": str(self.number),
            "TRAINFARE_MACHINE": self.machine,
            "TRAINFARE_SPOOL": str(self.folder),
            "TRAINFARE_RUN": self.run,
        }


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--job", help="Id of the job; running it again is its next attempt. Default: the scheduler's, or a new one."
)
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="Label of the job, such as team=vision.")
@click.option("--machine", help="Name of this machine on the bill, if it is not the host name.")
@click.option("--gpus", type=click.IntRange(0, 10**6 - 1), help="GPUs of this machine that are used. Default: all.")
@click.option("--spool", type=click.Path(path_type=Path), help="Folder for the events.  [default: trainfare-events]")
@click.option("--price", metavar="PRICE", help="Price of an hour of this machine, such as '32.77 USD'.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(
    job: str | None,
    labels: tuple[str, ...],
    machine: str | None,
    gpus: int | None,
    spool: Path | None,
    price: str | None,
    command: tuple[str, ...],
) -> int:
    """Run COMMAND and record its start, end, exit code, signals and GPU use.

    Write -- before the command. Events go to files in the spool folder; give them to Trainfare as a source. Exits with
    the exit code of the command, or 128 plus the number of the signal that ended it.
    """
    stated = _price(price)
    given = _labels(labels)
    program = shutil.which(command[0])
    if program is None:
        do = "Check the name and the folder, and that the file is executable."
        raise TrainfareError(command[0], "there is no such program", do)
    attempt = _attempt(
        job, machine, (spool or Path(os.environ.get("TRAINFARE_SPOOL") or "trainfare-events")).absolute(), command
    )
    return _run(program, command, attempt, _start_data(attempt, given, gpus), stated)


def _run(program: str, command: tuple[str, ...], attempt: Attempt, start: dict[str, Any], price: Price | None) -> int:
    """Run the program to its end, record it, and return the exit code."""
    from trainfare.sources.telemetry import event_format, spool

    events = spool.Spool(
        attempt.folder,
        {"v": event_format.VERSION, "job": attempt.job, "attempt": attempt.number, "machine": attempt.machine},
    )
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {*FORWARDED, signal.SIGCHLD})
    began = time.monotonic_ns()
    events.write(event_format.START, **start)
    try:
        child = os.posix_spawn(program, list(command), os.environ | attempt.environment, setsigmask=mask)
    except OSError as error:
        events.write(event_format.END, state="failed", reason="not started")
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        raise TrainfareError(program, f"cannot be started ({error.strerror})", "Check the program.") from None
    use = GpuUse(
        lambda busy, seconds: events.write(
            event_format.USAGE, values={"gpu_busy_seconds": round(busy, 3)}, started=spool.span_start(seconds)
        )
    )
    use.start()
    status = _wait(child, events)
    lasted = time.monotonic_ns() - began
    use.stop()
    ending = _ending(status)
    events.write(event_format.END, **ending)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    _say(_closing(attempt, ending, lasted, price, events))
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _wait(child: int, events: Any) -> int:
    """Wait for the program and return its wait status; forward signals and record that it lives."""
    from trainfare.sources.telemetry import event_format

    beat = time.monotonic() + HEARTBEAT_SECONDS
    while True:
        received = signal.sigtimedwait({*FORWARDED, signal.SIGCHLD}, WAIT_SECONDS)
        if received is not None and received.si_signo != signal.SIGCHLD:
            events.write(event_format.SIGNAL, signal=signal.Signals(received.si_signo).name)
            if received.si_code <= SENT_BY_A_PROCESS:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, received.si_signo)
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        if time.monotonic() >= beat:
            beat = time.monotonic() + HEARTBEAT_SECONDS
            events.write(event_format.RUNNING)


def _attempt(job: str | None, machine: str | None, folder: Path, command: tuple[str, ...]) -> Attempt:
    """Return the attempt that this run is, by the environment or by the claims in the spool folder."""
    from trainfare.sources.telemetry import environment, spool

    key = environment.run_key(os.environ) or os.urandom(8).hex()
    name = environment.job_id(os.environ, job) or _new_job(command)
    number = environment.attempt(os.environ)
    if number is None:
        try:
            number = spool.claim_attempt(folder, name, key)
        except OSError as error:
            do = "Name a folder that this user may write with --spool, or give the number as TRAINFARE_ATTEMPT."
            raise TrainfareError(str(folder), f"attempts cannot be counted ({error.strerror})", do) from None
    return Attempt(name, number, machine or environment.machine(os.environ), folder, key)


def _start_data(attempt: Attempt, labels: dict[str, str], gpus: int | None) -> dict[str, Any]:
    from trainfare.sources.telemetry import environment

    held = gpus if gpus is not None else environment.gpus(os.environ)
    owner = environment.owner(os.environ)
    known = ({"owner": owner} if owner else {}) | labels
    data = {"run": attempt.run, "gpus": held, "cluster": environment.cluster(os.environ), "labels": known}
    data["native"] = environment.ids(os.environ)
    return {name: value for name, value in data.items() if value not in (None, {})}


def _new_job(command: tuple[str, ...]) -> str:
    """Return an id for a job that nobody named: the script, and the time."""
    scripts = [Path(word).stem for word in command if word.endswith((".py", ".sh"))]
    script = scripts[0] if scripts else Path(command[0]).name
    return f"{script}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.urandom(2).hex()}"


def _labels(given: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        key, is_there, value = text.partition("=")
        if not (is_there and key.strip() and value.strip()):
            raise TrainfareError("--label", f"'{text}' is not a label", "Write KEY=VALUE, such as team=vision.")
        found[key.strip()] = value.strip()
    return found


def _price(text: str | None) -> Price | None:
    """Return the stated price. One of 0 is none: nothing that is on a bill costs nothing."""
    if text is None:
        return None
    found = _PRICE.fullmatch(text)
    try:
        amount = Decimal(found[1]) if found else Decimal(0)
    except InvalidOperation:
        amount = Decimal(0)
    if not found or amount <= 0:
        do = "Write what an hour of this machine costs, such as '32.77 USD', or leave it out."
        raise TrainfareError("--price", f"'{text}' is not a price", do)
    return Price(amount, found[2].upper())


def _ending(status: int) -> dict[str, Any]:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = signal.Signals(number).name if number in {*signal.Signals} else str(number)
        return {
            "state": FAILED_BY.get(signal.Signals(number), "failed") if number in FAILED_BY else "failed",
            "signal": name,
        }
    code = os.WEXITSTATUS(status)
    return {"state": "failed" if code else "completed", "exit_code": code}


def _closing(attempt: Attempt, ending: dict[str, Any], lasted: int, price: Price | None, events: Any) -> str:
    """Return what is known in one line."""
    how = f"exit {ending['exit_code']}" if "exit_code" in ending else ending["signal"]
    cost = (
        f"about {price.cost(lasted)} at {price.amount} {price.currency}/h" if price else "cost unknown without a price"
    )
    where = f"events in {events.path}" if events.path else f"no events were written ({events.reason})"
    missing = f", {events.lost} lost ({events.reason})" if events.lost and events.path else ""
    return (
        f"trainfare: {attempt.job} attempt {attempt.number} {ending['state']} after {_duration(lasted)} ({how}); "
        f"{cost}; {where}{missing}"
    )


def _duration(nanoseconds: int) -> str:
    seconds = nanoseconds // 10**9
    hours, minutes = seconds // 3600, seconds // 60 % 60
    parts = [f"{hours} h"] * bool(hours) + [f"{minutes} min"] * bool(hours or minutes) + [f"{seconds % 60} s"]
    return " ".join(parts)


def _say(line: str) -> None:
    """Print to standard error, which the program may have left closed."""
    with contextlib.suppress(OSError, ValueError):
        terminal.message(line)
        sys.stderr.flush()
