"""What is installed is pinned by hash, names no registry, and has a license that we allow."""

import importlib.metadata as metadata
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from trainfare.cli.main import main
from trainfare.report import components
from trainfare.report.components import Component

ROOT = Path(__file__).parents[2]
PINNED = {
    "requirements.txt": (),
    "requirements-dev.txt": ("dev",),
    "requirements-bench.txt": ("bench",),
    "requirements-build.txt": ("build",),
    "requirements-assets.txt": ("assets",),
    "requirements-focus.txt": ("focus",),
    "requirements-pins.txt": ("pins",),
}
"""Each file of pins and the groups of pyproject.toml that it is of."""
FILES_THAT_INSTALL = ("Makefile", "src/trainfare/serve/assets/build.sh", "tests/services/install.sh")
PERMISSIVE = {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "Zlib"}
WEAK_COPYLEFT = {"MPL-2.0", "PSF-2.0"}
IN_EXTRAS_ONLY = {"LGPL-3.0-only", "LGPL-3.0-or-later"}
PIN = re.compile(r"([a-z0-9-]+)==(\S+)(?: ; (.+?))? \\((?:\n    --hash=sha256:[0-9a-f]{64}(?: \\)?)+)\n")


def pins(text: str) -> dict[str, str]:
    """The pinned versions by name. Anything in the file that is neither a pin with hashes nor a comment is an error."""
    rest = PIN.sub("", "".join(line for line in text.splitlines(keepends=True) if not line.lstrip().startswith("#")))
    assert not rest.strip(), rest.strip()[:200]
    return {found[1]: found[2] for found in PIN.finditer(text)}


def project() -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return found


def name_of(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=~! ;]", requirement)[0]).lower()


def test_every_file_of_requirements_is_known() -> None:
    assert {path.name for path in ROOT.glob("requirements*")} == {*PINNED}


@pytest.mark.parametrize("name", PINNED)
def test_every_requirement_has_a_version_and_hashes(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    found = pins(text)
    listed = [one for group in PINNED[name] for one in project()["dependency-groups"][group]]
    assert {name_of(one) for one in listed} <= {*found}
    assert found
    assert not re.search(r"https?:|index-url|find-links|file:", text)


@pytest.mark.parametrize(
    "text",
    [
        "six==1.17.0\n",
        "six>=1.17.0 \\\n    --hash=sha256:" + "0" * 64 + "\n",
        "six==1.17.0 \\\n    --hash=md5:" + "0" * 32 + "\n",
        "--extra-index-url https://registry.example\n",
    ],
)
def test_a_requirement_without_hashes_is_noticed(text: str) -> None:
    with pytest.raises(AssertionError):
        pins(text)


def test_the_pins_cover_every_dependency_and_build_requirement_and_agree() -> None:
    files = {name: pins((ROOT / name).read_text(encoding="utf-8")) for name in PINNED}
    declared = project()["project"]
    assert {name_of(one) for one in declared["dependencies"]} <= {*files["requirements.txt"]}
    extras = [one for extra in declared["optional-dependencies"].values() for one in extra]  # type: ignore[attr-defined]
    assert {name_of(one) for one in extras} <= {*files["requirements-dev.txt"]}
    assert {name_of(one) for one in project()["build-system"]["requires"]} <= {*files["requirements-build.txt"]}
    together = [files[name] for name in PINNED if name not in ("requirements-focus.txt",)]
    for one in together:
        assert {name: version for name, version in one.items() if name in files["requirements-dev.txt"]}.items() <= (
            files["requirements-dev.txt"].items()
        )


def test_nothing_is_installed_without_its_hash() -> None:
    """Except the project itself, of which nothing else is installed."""
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in FILES_THAT_INSTALL]
    installing = [
        line for text in texts for line in text.splitlines() if re.search(r"pip install|\$\((PIP|PINNED)\)", line)
    ]
    assert len(installing) > 7
    for line in installing:
        is_definition = line.startswith(("PIP :=", "PINNED :="))
        assert is_definition or "$(PINNED)" in line or "--require-hashes" in line or line == "\t$(PIP) -e .", line
    assert "--require-hashes" in texts[0].partition("PINNED :=")[2].splitlines()[0]
    assert "--no-deps" in texts[0].partition("PIP :=")[2].splitlines()[0]
    assert all("npm ci" in text and "npm install" not in text for text in texts[1:])


@pytest.mark.parametrize("folder", ["src/trainfare/serve/assets", "tests/services/openid_provider"])
def test_the_locks_of_npm_packages_have_digests_and_no_host(folder: str) -> None:
    text = (ROOT / folder / "package-lock.json").read_text(encoding="utf-8")
    packages = {name: one for name, one in json.loads(text)["packages"].items() if name}
    assert len(packages) > 5
    assert all(one["integrity"].startswith("sha512-") for one in packages.values())
    assert "resolved" not in text
    assert {one["license"] for one in packages.values()} <= {*PERMISSIVE, *WEAK_COPYLEFT, "BSD-0-Clause"}


def test_a_file_with_another_hash_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "harmless-1.0-py3-none-any.whl"
    wheel.write_bytes(b"not what was pinned")
    (tmp_path / "pins.txt").write_text(f"harmless==1.0 \\\n    --hash=sha256:{'0' * 64}\n", encoding="utf-8")
    install = [sys.executable, "-m", "pip", "install", "--no-index", "--find-links", tmp_path, "--dry-run"]
    ran = subprocess.run(
        [*install, "--require-hashes", "--no-deps", "-r", tmp_path / "pins.txt"], capture_output=True, text=True
    )
    assert ran.returncode != 0
    assert "DO NOT MATCH THE HASHES" in ran.stderr


def is_allowed(one: Component) -> bool:
    """Whether its license is one that we allow for what it is needed for; of alternatives, one is enough."""
    allowed = PERMISSIVE | WEAK_COPYLEFT | (IN_EXTRAS_ONLY if one.part.startswith("extra ") else set())
    return any(set(choice.split(" AND ")) <= allowed for choice in one.license.split(" OR "))


def test_every_installed_distribution_has_an_allowed_license() -> None:
    found = components.components()
    assert len([one for one in found if one.kind == "pypi"]) > 60
    assert [one.record() for one in found if not is_allowed(one)] == []
    assert {one.name for one in found if one.license.startswith("LGPL")} == {"psycopg", "psycopg-binary"}


@pytest.mark.parametrize(
    ("license_", "part", "allowed"),
    [
        ("GPL-3.0-or-later", "extra x", False),
        ("LGPL-3.0-only", "required", False),
        ("LGPL-3.0-only", "extra postgres", True),
        ("MIT AND GPL-3.0-only", "required", False),
        ("MIT OR GPL-3.0-only", "required", True),
        ("unknown", "development", False),
    ],
)
def test_licenses_and_where_they_are_allowed(license_: str, part: str, allowed: bool) -> None:
    assert is_allowed(Component("pypi", "x", "1", license_, part)) is allowed


def test_parts_follow_the_installed_requirements() -> None:
    part = {one.name: one.part for one in components.components()}
    assert part["trainfare"] == part["duckdb"] == part["jinja2"] == part["markupsafe"] == "required"
    assert part["psycopg"] == part["psycopg-binary"] == "extra postgres"
    assert part["typst"] == "extra statements"
    assert part["pytest"] == "development"


def test_every_distribution_is_listed_once() -> None:
    listed = [one.name for one in components.components() if one.kind == "pypi"]
    assert len(listed) == len(set(listed))
    assert {*listed} == {re.sub(r"[-_.]+", "-", one.metadata["Name"]).lower() for one in metadata.distributions()}


def test_a_license_is_identified_by_the_start_of_its_text() -> None:
    bsd = "Redistribution and use in source and binary forms ... Neither the name of X ..."
    assert components.identified(f"{bsd} This wheel includes: GNU GENERAL PUBLIC LICENSE") == "BSD-3-Clause"
    assert components.identified(f"GNU GENERAL PUBLIC LICENSE {bsd}") == "GPL-3.0-or-later"
    assert components.identified("Redistribution and use in source and binary forms") == "BSD-2-Clause"
    assert components.identified("all rights reserved") is None


def test_the_bill_of_materials_is_cyclonedx(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["sbom", "--format", "cyclonedx"])
    document = json.loads(capsys.readouterr().out)
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert document["metadata"]["component"]["name"] == "trainfare"
    references = [one["bom-ref"] for one in document["components"]]
    assert len(references) == len(set(references)) > 60
    known = {*references, document["metadata"]["component"]["bom-ref"]}
    for one in document["dependencies"]:
        assert {one["ref"], *one["dependsOn"]} <= known
    for one in document["components"]:
        assert one["licenses"][0]["expression"]
        assert one["purl"].startswith(("pkg:pypi/", "pkg:npm/"))
        assert one["scope"] in ("required", "optional", "excluded")
    bundled = {one["name"]: one for one in document["components"] if one["purl"].startswith("pkg:npm/")}
    if bundled:
        assert {"echarts", "htmx.org"} <= {*bundled}
        assert all(len(one["hashes"][0]["content"]) == 128 for one in bundled.values())
