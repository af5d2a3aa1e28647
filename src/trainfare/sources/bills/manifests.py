"""AWS manifests: which files are one delivery of a report.

AWS writes the whole month again several times a day, each time as an assembly of one or more files with a manifest that
names them. Two assemblies of a month would count it twice, and half of one would lose a part of it: only the files that
one manifest names are a delivery. The manifest next to the assemblies is that of the newest one; each assembly may have
a copy of its own. The keys in it are those of the bucket; a copy of the bucket has them below any folder.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from trainfare.errors import Problems, TrainfareError
from trainfare.files.locations import Location, ObjectLocation

SUFFIX = "Manifest.json"
PERIOD = re.compile(r"\d{8}-\d{8}|BILLING_PERIOD=\d{4}-\d{2}", re.IGNORECASE)
"""The folder of one billing period."""


@dataclass(frozen=True)
class Manifest:
    """One delivery of a report."""

    location: Location
    report: str
    period: str
    assembly: str
    keys: tuple[str, ...]

    @property
    def is_of_assembly(self) -> bool:
        """Whether this is the copy in the folder of its assembly."""
        return self.location.parent.name == self.assembly

    def files(self) -> list[Location]:
        """Return the files that it names; a missing one is an error."""
        found = {key: self._located(key) for key in self.keys}
        if missing := [key for key, location in found.items() if location is None]:
            what = f"{len(missing)} of the {len(self.keys)} files it names are missing: {', '.join(missing[:3])}"
            raise TrainfareError(str(self.location), what, "Copy the whole delivery, with the folders of the bucket.")
        return [location for location in found.values() if location is not None]

    def _located(self, key: str) -> Location | None:
        """Return where a key of the bucket is: below the nearest folder that has the longest part of its path."""
        if isinstance(self.location, ObjectLocation):
            bucket = "/".join(self.location.address.split("/")[:3])
            location = ObjectLocation(f"{bucket}/{key}")
            return location if location.exists() else None
        parts = PurePosixPath(key).parts
        for start in range(len(parts)):
            for folder in self.location.absolute().parents:
                candidate = folder.joinpath(*parts[start:])
                if candidate.is_file() and (start < len(parts) - 1 or folder == self.location.absolute().parent):
                    return candidate
        return None


def select(paths: Sequence[Location]) -> list[Location]:
    """Return the data files among these: those that their manifests name, and files that no manifest is about."""
    problems = Problems()
    manifests = [_read(path) for path in paths if path.name.endswith(SUFFIX)]
    others = [path for path in paths if not path.name.endswith(SUFFIX)]
    chosen = _newest(manifests, problems)
    about = {(_period(one.location), one.report) for one in manifests}
    periods = {period for period, _ in about if period}
    if not manifests:
        _check_assemblies(others, problems)
    problems.raise_if_any()
    named = [file for one in chosen for file in one.files()]
    rest = [path for path in others if _period(path) not in periods and path not in named]
    return [*dict.fromkeys([*named, *rest])]


def _read(location: Location) -> Manifest:
    do = "Copy or export it again, or name the files of one assembly instead."
    try:
        with location.open("rb") as content:
            read = json.loads(content.read())
        keys = [str(key) for key in read.get("reportKeys") or read.get("dataFiles") or []]
        period = read.get("billingPeriod") or {}
        name = read.get("reportName") or read.get("exportName") or location.name.removesuffix(SUFFIX).rstrip("-")
        starts = period.get("start", "") if isinstance(period, dict) else str(period)
        assembly = str(read.get("assemblyId") or read.get("executionId") or "")
    except (ValueError, AttributeError):
        raise TrainfareError(str(location), "the manifest is damaged or truncated", do) from None
    if not keys:
        raise TrainfareError(str(location), "the manifest names no files (reportKeys or dataFiles)", do)
    # Data Exports names addresses, the legacy report keys of the bucket.
    keys = [key.split("/", 3)[3] if key.startswith("s3://") and key.count("/") > 2 else key for key in keys]
    return Manifest(location, str(name), str(starts) or str(_period(location)), assembly, tuple(keys))


def _newest(manifests: Iterable[Manifest], problems: Problems) -> list[Manifest]:
    """Return one manifest per report and period: the one that is not in an assembly's own folder."""
    groups: dict[tuple[str, str], list[Manifest]] = {}
    for one in manifests:
        groups.setdefault((one.report, one.period), []).append(one)
    chosen = []
    for (report, _), group in groups.items():
        top = [one for one in group if not one.is_of_assembly] or group
        if len({one.keys for one in top}) > 1:
            what = f"two deliveries of one month of {report}: {', '.join(str(one.location) for one in top)}"
            do = "Name only one of these manifests: each is the whole month, and both would count it twice."
            problems.add(str(top[0].location), what, do)
        chosen.append(top[0])
    return chosen


def _check_assemblies(paths: Iterable[Location], problems: Problems) -> None:
    """Without a manifest, the files of one period must be of one assembly."""
    found: dict[str, dict[str, Location]] = {}
    for path in paths:
        parts = PurePosixPath(str(path)).parts
        at = next((n for n, part in enumerate(parts[:-1]) if PERIOD.fullmatch(part)), None)
        if at is not None:
            folder = "/".join(parts[: at + 1])
            found.setdefault(folder, {}).setdefault("/".join(parts[at + 1 : -1]), path)
    for folder, assemblies in found.items():
        if len(assemblies) > 1:
            what = f"files of {len(assemblies)} deliveries of one month: {', '.join(sorted(assemblies))}"
            do = f'Each is the whole month. Name the manifest too, as in path = "{folder}/**", or only one of the folders.'
            problems.add(folder, what, do)


def _period(location: Location) -> str | None:
    """Return the folder of the billing period that a file is in."""
    return next((part for part in PurePosixPath(str(location)).parts if PERIOD.fullmatch(part)), None)
