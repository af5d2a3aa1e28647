"""Workspaces that are built once per test run, whichever process asks first, and copied by everyone else."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def copy_of(kind: str, build: Callable[[Path], object], factory: pytest.TempPathFactory) -> Path:
    """A fresh copy of the workspace named `kind`, which `build` creates in the folder it is given."""
    return shutil.copytree(_built(kind, build, factory), factory.mktemp(kind) / "workspace")


def _built(kind: str, build: Callable[[Path], object], factory: pytest.TempPathFactory) -> Path:
    run = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        run = run.parent  # the folder that all worker processes of this run share
    folder = run / "prebuilt" / kind
    folder.parent.mkdir(exist_ok=True)
    with (folder.parent / f"{kind}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            draft = folder.with_name(f"{kind}.draft")
            shutil.rmtree(draft, ignore_errors=True)
            build(draft)
            draft.rename(folder)
    return folder
