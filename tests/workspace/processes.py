"""Builds in separate processes. A server imports everything once and forks for each, so that they start quickly."""

import multiprocessing
import os
import tempfile
import time
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path

from .folder import Ran, Workspace

ANSWER_SECONDS = 60

_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload(["trainfare.books.build", "trainfare.cli.workspace", "sqlalchemy.dialects.sqlite"])


def start_build(workspace: Workspace) -> BaseProcess:
    """Start a build without waiting for it."""
    process = _FORKING.Process(target=_build, args=(workspace.folder,))
    process.start()
    return process


def seconds_of_build(workspace: Workspace) -> float:
    started = time.monotonic()
    process = start_build(workspace)
    process.join(ANSWER_SECONDS)
    assert process.exitcode == 0
    return time.monotonic() - started


def build_together(workspace: Workspace, count: int) -> list[Ran]:
    """Start several builds at the same instant; return how each ended."""
    barrier = _FORKING.Barrier(count)
    pipes, processes = [], []
    for _ in range(count):
        here, there = _FORKING.Pipe()
        process = _FORKING.Process(target=_build_with_others, args=(there, barrier, workspace.folder))
        process.start()
        there.close()
        pipes.append(here)
        processes.append(process)
    try:
        assert all(pipe.poll(ANSWER_SECONDS) for pipe in pipes), "a build sent nothing"
        return [pipe.recv() for pipe in pipes]
    finally:
        for process in processes:
            process.kill()
            process.join()


def _build(folder: Path) -> None:
    # A killed build cannot remove its temporary folder, so it is inside the test's folder.
    tempfile.tempdir = str(folder.parent)
    ran = Workspace(folder).run("build")
    os._exit(ran.code)


def _build_with_others(pipe: Connection, barrier: Barrier, folder: Path) -> None:
    barrier.wait(ANSWER_SECONDS)
    pipe.send(Workspace(folder).run("build"))
