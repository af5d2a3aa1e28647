"""The distribution: a wheel without dependencies, in the language and library of Python 3.9."""

import ast
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import trainfare_sdk

from .programs import SDK

ROOT = SDK.parent
SOURCES = sorted(SDK.rglob("*.py"))
NEWER = {"tomllib", "zoneinfo._common", "asyncio.taskgroups", "asyncio.timeouts"}
NEWER_NAMES = {"batched", "pairwise", "EncodingWarning", "ExceptionGroup", "StrEnum", "TaskGroup", "anext", "aiter"}
"""Modules and names that came after Python 3.9."""


def test_the_code_is_python_3_9() -> None:
    """The tests of processes also run on a real 3.9 where there is one."""
    assert len(SOURCES) >= 8
    for path in SOURCES:
        tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
        assert not any(isinstance(node, ast.Match) for node in ast.walk(tree)), path
        names = {getattr(node, "attr", None) or getattr(node, "id", None) for node in ast.walk(tree)}
        modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert not names & NEWER_NAMES
        assert not modules & NEWER
        calls = [
            node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "zip"
        ]
        assert not [node for node in calls if any(keyword.arg == "strict" for keyword in node.keywords)]


def test_annotations_are_not_evaluated() -> None:
    """`X | None` in an annotation is an error on 3.9 unless annotations are postponed."""
    assert all("from __future__ import annotations" in path.read_text(encoding="utf-8") for path in SOURCES)


def test_the_wheel_has_all_modules_and_needs_nothing(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("trainfare_sdk-*-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
        (metadata,) = [opened.read(name).decode() for name in names if name.endswith("/METADATA")]
    assert {path.relative_to(SDK).as_posix() for path in SOURCES} | {"trainfare_sdk/py.typed"} <= names
    assert "Requires-Dist" not in metadata
    assert "Requires-Python: >=3.9" in metadata
    code = f"import sys; sys.path.insert(0, {str(wheel)!r}); import trainfare_sdk; print(trainfare_sdk.__file__)"
    ran = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    assert str(wheel) in ran.stdout, ran.stderr


def test_the_version_is_the_same_everywhere() -> None:
    declared = tomllib.loads((ROOT.parent / "sdk" / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert declared == trainfare_sdk.__version__
