"""The official FOCUS validator in an environment of its own: it needs Python 3.12 and older libraries than ours."""

import os
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PINNED = PROJECT / "requirements-focus.txt"
FIRST = (3, 12)
VERSION = "1.2"
"""The version whose rules come with it; those of others would have to be fetched."""
SUPPORTED = (
    *("ACCOUNT_NAMING", "CAPACITY_RESERVATION", "COMMITMENT_DISCOUNT", "MULTIPLE_PRICING_CATEGORIES", "SUB_ACCOUNT"),
    *("MULTIPLE_SUB_ACCOUNT_TYPES", "MULTIPLE_BILLING_ACCOUNT_TYPES", "NEGOTIATED_PRICING", "PUBLIC_PRICE_LIST"),
    *("USAGE_MEASUREMENT", "UNIT_PRICING", "BILLING_BASED_ON_PROVISIONED_RESOURCES", "RESOURCE_TYPE_ASSIGNMENT"),
    *("REGION", "TAGGING"),
)
"""What the provider of the demo's bill supports: all there is but availability zones and prices in another currency
than the bill's.
"""


def _pythons() -> list[Path]:
    """Where a newer Python may be."""
    named = [Path(found) for found in map(shutil.which, ("python3.12", "python3.13", "python3.14", "python3")) if found]
    managed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    return [*named, *sorted(managed.glob("3.1[2-9]*/bin/python"))]


def _new_enough() -> Path | None:
    asked = f"import sys; sys.exit(sys.version_info < {FIRST} or sys.version_info >= (4,))"
    for python in _pythons():
        if not subprocess.run([python, "-c", asked], capture_output=True, check=False).returncode:
            return python
    return None


def installed() -> Path:
    """The environment of the validator, made if it is not there yet."""
    made = PROJECT / ".venv-focus"
    ready = made / ".ready"
    if not ready.exists() or ready.read_text(encoding="utf-8") != PINNED.read_text(encoding="utf-8"):
        python = _new_enough() or pytest.skip("the official FOCUS validator needs Python 3.12, and none was found")
        subprocess.run([python, "-m", "venv", "--clear", made], check=True)
        pip = [made / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--require-hashes", "--no-deps", "-r", PINNED], check=True, stderr=subprocess.DEVNULL)
        shutil.copyfile(PINNED, ready)
    return made


def failing(made: Path, export: Path, report: Path) -> set[str]:
    """The rules that this export breaks, without those that only say that one of several others is broken."""
    packages = next((made / "lib").glob("python3*/site-packages"))
    criteria = ",".join(f"{name}_SUPPORTED" for name in SUPPORTED)
    asked = ["--validate-version", VERSION, "--focus-dataset", "CostAndUsage", "--block-download"]
    asked += ["--applicability-criteria", criteria, "--output-type", "unittest", "--output-destination", str(report)]
    # It looks for its list of currencies below the folder it is run in.
    command = [made / "bin" / "focus-validator", "--data-file", export, *asked]
    ran = subprocess.run(command, cwd=packages, capture_output=True, text=True, check=False)
    assert report.exists(), ran.stdout + ran.stderr
    cases = list(ElementTree.parse(report).iter("testcase"))
    assert len(cases) > 300, "it has looked at the rules"
    broken = [case.get("name", "") for case in cases if case.find("failure") is not None]
    return {name.split(" ")[0] for name in broken if not name.endswith("Composite")}
