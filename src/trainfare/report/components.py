"""The software that an installation consists of: Python distributions and what the pages bundle, with licenses.

A distribution is required, part of an extra, or neither (a tool of those who develop it), by what the installed
metadata says it depends on.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path
from typing import Any

PRODUCT = "trainfare"
REQUIRED, DEVELOPMENT = "required", "development"
UNKNOWN = "unknown"
BUNDLED = "serve/static/components.json"
"""What the scripts of the pages contain, written when they are built."""
SPDX = {
    "0bsd": "0BSD",
    "2-clause bsd": "BSD-2-Clause",
    "3-clause bsd license": "BSD-3-Clause",
    "apache 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "apache software license 2.0": "Apache-2.0",
    "apache-2.0": "Apache-2.0",
    "bsd-0-clause": "0BSD",
    "bsd-2-clause": "BSD-2-Clause",
    "bsd-3-clause": "BSD-3-Clause",
    "isc": "ISC",
    "isc license (iscl)": "ISC",
    "mit": "MIT",
    "mit license": "MIT",
    "mit or apache-2.0": "MIT OR Apache-2.0",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "mpl-2.0": "MPL-2.0",
    "mpl-2.0 and mit": "MPL-2.0 AND MIT",
    "psf-2.0": "PSF-2.0",
    "python software foundation license": "PSF-2.0",
}
"""SPDX expressions, by what distributions write instead."""
LICENSE_TEXTS = {
    "GNU LESSER GENERAL PUBLIC LICENSE": "LGPL-3.0-or-later",
    "GNU GENERAL PUBLIC LICENSE": "GPL-3.0-or-later",
    "Apache License": "Apache-2.0",
    "Mozilla Public License": "MPL-2.0",
    "Permission is hereby granted, free of charge": "MIT",
    "Redistribution and use in source and binary forms": "BSD-2-Clause",
}
"""Licenses by a phrase of their text, for distributions that name none. The one that comes first in a text counts:
after their own license, some list those of what they include.
"""
THIRD_CLAUSE = re.compile(r"Neither the name|names? of (?:the|its) .{0,60}contributors", re.DOTALL)
BSD_LENGTH = 1500
_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?")
_EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")


@dataclass(frozen=True)
class Component:
    """`part` is `required`, `extra NAME` or `development`; `kind` is that of package URLs, such as pypi."""

    kind: str
    name: str
    version: str
    license: str
    part: str
    depends_on: tuple[str, ...] = ()
    sha512: str | None = None

    @property
    def url(self) -> str:
        """Return the package URL, which identifies it everywhere."""
        return f"pkg:{self.kind}/{self.name}@{self.version}"

    def record(self) -> dict[str, Any]:
        return {"name": self.name, "version": self.version, "license": self.license, "part": self.part, "url": self.url}


@dataclass(frozen=True)
class Requirement:
    name: str
    extras: tuple[str, ...]
    of_extra: str | None
    """The extra that has this requirement; None if it is always required."""


def components(distributions: Iterable[metadata.Distribution] | None = None) -> list[Component]:
    """Return everything that is installed, the product first, then by name."""
    installed = {_normal(one.metadata["Name"]): one for one in distributions or metadata.distributions()}
    parts = _parts(installed)
    found = [_python_component(one, parts.get(name, DEVELOPMENT), installed) for name, one in installed.items()]
    found += bundled()
    return sorted(found, key=lambda one: (one.name != PRODUCT, one.name.lower(), one.kind))


def bundled() -> list[Component]:
    """Return the packages in the scripts of the pages; none if they are not built."""
    listed = resources.files(PRODUCT).joinpath(BUNDLED)
    if not listed.is_file():
        return []
    return [
        Component("npm", one["name"], one["version"], _spdx(one["license"]) or UNKNOWN, REQUIRED, (), one["sha512"])
        for one in json.loads(listed.read_text(encoding="utf-8"))
    ]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _requirements(distribution: metadata.Distribution) -> Iterator[Requirement]:
    for text in distribution.requires or ():
        if not (named := _REQUIREMENT.match(text)):
            continue
        extra = _EXTRA.search(text.partition(";")[2])
        extras = tuple(_normal(one.strip()) for one in (named[2] or "").split(",") if one.strip())
        yield Requirement(_normal(named[1]), extras, _normal(extra[1]) if extra else None)


def _parts(installed: Mapping[str, metadata.Distribution]) -> dict[str, str]:
    """Return the part of each distribution that the product depends on."""
    if PRODUCT not in installed:
        return {}
    parts = dict.fromkeys(_reachable(installed, frozenset({None})), REQUIRED)
    extras = sorted({one.of_extra for one in _requirements(installed[PRODUCT]) if one.of_extra})
    for extra in extras:
        for name in _reachable(installed, frozenset({None, extra})):
            parts.setdefault(name, f"extra {extra}")
    return parts


def _reachable(installed: Mapping[str, metadata.Distribution], extras: frozenset[str | None]) -> set[str]:
    """Return the distributions that the product needs with these extras, directly or not."""
    seen: set[tuple[str, frozenset[str | None]]] = set()
    waiting = [(PRODUCT, extras)]
    while waiting:
        name, chosen = waiting.pop()
        if name not in installed or (name, chosen) in seen:
            continue
        seen.add((name, chosen))
        needed = [one for one in _requirements(installed[name]) if one.of_extra in chosen]
        waiting += [(one.name, frozenset({None, *one.extras})) for one in needed]
    return {name for name, _ in seen}


def _python_component(
    distribution: metadata.Distribution, part: str, installed: Mapping[str, metadata.Distribution]
) -> Component:
    needed = {one.name for one in _requirements(distribution) if one.of_extra is None and one.name in installed}
    urls = tuple(sorted(f"pkg:pypi/{name}@{installed[name].version}" for name in needed))
    name = _normal(distribution.metadata["Name"])
    return Component("pypi", name, distribution.version, _license(distribution), part, urls)


def _license(distribution: metadata.Distribution) -> str:
    """Return the license as an SPDX expression: what it declares, or else what the text of its license is."""
    declared = distribution.metadata
    if expression := _first(declared, "License-Expression"):
        return expression
    classifiers = [
        one.split(" :: ")[-1] for one in declared.get_all("Classifier") or () if one.startswith("License ::")
    ]
    named = [_spdx(_first(declared, "License")), *(_spdx(one) for one in classifiers)]
    return next((one for one in named if one), None) or _license_of_text(distribution) or UNKNOWN


def _first(declared: metadata.PackageMetadata, field: str) -> str:
    return next((str(value) for value in declared.get_all(field) or ()), "")


def _spdx(name: str) -> str | None:
    return SPDX.get(name.strip().lower())


def _license_of_text(distribution: metadata.Distribution) -> str | None:
    texts = [_first(distribution.metadata, "License")]
    for file in distribution.files or ():
        if re.search(r"licen[cs]e|copying", file.name, re.IGNORECASE):
            path = Path(str(distribution.locate_file(file)))
            texts.append(path.read_text(encoding="utf-8", errors="replace") if path.is_file() else "")
    return next((spdx for text in texts if (spdx := identified(text))), None)


def identified(text: str) -> str | None:
    """Return the license that a text starts with, as SPDX; None if it is not known."""
    at = {text.find(phrase): spdx for phrase, spdx in LICENSE_TEXTS.items() if phrase in text}
    if not at:
        return None
    first = min(at)
    is_bsd_3 = at[first] == "BSD-2-Clause" and THIRD_CLAUSE.search(text[first : first + BSD_LENGTH])
    return "BSD-3-Clause" if is_bsd_3 else at[first]


def cyclonedx(found: Iterable[Component]) -> dict[str, Any]:
    """Return a bill of materials as CycloneDX 1.6. The same installation gives the same document."""
    listed = list(found)
    product = [_cyclonedx(one) for one in listed if one.name == PRODUCT]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": product[0] | {"type": "application"}} if product else {},
        "components": [_cyclonedx(one) for one in listed if one.name != PRODUCT],
        "dependencies": [{"ref": one.url, "dependsOn": list(one.depends_on)} for one in listed],
    }


def _cyclonedx(one: Component) -> dict[str, Any]:
    scope = {REQUIRED: "required", DEVELOPMENT: "excluded"}.get(one.part, "optional")
    record: dict[str, Any] = {
        "type": "library",
        "bom-ref": one.url,
        "name": one.name,
        "version": one.version,
        "scope": scope,
        "purl": one.url,
    }
    if one.license != UNKNOWN:
        record["licenses"] = [{"expression": one.license}]
    if one.sha512:
        digest = base64.b64decode(one.sha512.removeprefix("sha512-")).hex()
        record["hashes"] = [{"alg": "SHA-512", "content": digest}]
    return record
