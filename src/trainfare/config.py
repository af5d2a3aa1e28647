"""The settings: one frozen value, refused whole if wrong, with everything that is wrong at once."""

import difflib
import os
import re
import tomllib
import zoneinfo
from pathlib import Path
from typing import Any

import msgspec

from trainfare.errors import Faults, TrainfareError
from trainfare.tables import CATEGORIES, LABELS

FILE_NAME = "trainfare.toml"
AMONG = ("machine", "cluster", "account", "region", "job", "all")
BY = (
    "gpu_seconds",
    "cpu_seconds",
    "memory",
    "dominant",
    "bytes_sent",
    "requests",
    "wall_seconds",
    "spend",
    "evenly",
)
IDLE = ("keep", "spread", "owner")
TO = ("__idle__", "__unallocated__", "__outside__")
TEXT_KEYS = (
    "category",
    "charge_category",
    "charge_class",
    "service",
    "service_category",
    "provider",
    "account",
    "billing_account",
    "region",
    "resource_id",
    "resource_name",
    "resource_type",
    "sku",
    "pricing",
    "commitment_id",
    "commitment_status",
    "reservation_status",
    "instance_type",
    "description",
    "source",
    "currency",
)
MATCH_KEYS = (*TEXT_KEYS, "machine", "tag")
PAYER = re.compile(r"(__idle__|__unallocated__|__outside__|[a-z_]+:.+)")


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where files come from: a bill, a job log or a list of machines."""

    path: str
    name: str = ""
    zone: str = "UTC"


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which charges, shared among whom, by what weight."""

    name: str
    match: dict[str, Any] = msgspec.field(default_factory=dict)
    among: str = ""
    by: str = ""
    idle: str = ""
    to: str = ""
    parts: dict[str, int] = msgspec.field(default_factory=dict)
    reason: str = ""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything a user can hold an opinion on."""

    currency: str | None = None
    catalog: str | None = None
    source: tuple[Source, ...] = ()
    labels: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    rule: tuple[Rule, ...] = ()
    default_rules: bool = True
    where: str = FILE_NAME
    folder: Path = Path()

    def tag_keys(self, label: str) -> tuple[str, ...]:
        """The tag names that mean `label` on the bill, most wanted first."""
        return self.labels.get(label, (label,))


def remembered(config: Config) -> str:
    """What a book keeps of the settings it was made with, as JSON."""
    kept = {name: getattr(config, name) for name in _KEPT}
    return msgspec.json.encode(kept, order="deterministic").decode()


def recalled(text: str) -> Config:
    """The settings a book was made with."""
    return msgspec.convert(msgspec.json.decode(text), Config)


_KEPT = ("currency", "labels", "rule", "default_rules")


def load(path: Path) -> Config:
    """Read a settings file; whatever is wrong with it is said at once, and nothing of it is used."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise TrainfareError(
            str(path), "there is no such settings file", "Make a workspace with: trainfare init"
        ) from None
    except UnicodeDecodeError:
        raise TrainfareError(str(path), "this is not UTF-8 text", "Save the settings as UTF-8 TOML.") from None
    except OSError as error:
        raise TrainfareError(str(path), f"cannot be read ({error.strerror})", "Check the name and its rights.") from None
    return parse(text, path)


def parse(text: str, path: Path) -> Config:
    """Read settings from TOML text that stands in `path`."""
    where = path.name
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TrainfareError(where, f"not valid TOML: {error}", "Mend the line it names.") from None
    for name in ("where", "folder"):
        if name in raw:
            raise TrainfareError(where, f"unknown setting '{name}'", "Take it out.")
    for name in ("currency", "catalog"):
        if told := os.environ.get(f"TRAINFARE_{name.upper()}"):
            raw[name] = told
    faults = Faults()
    _check_shape(raw, where, faults)
    faults.refuse()
    try:
        config = msgspec.convert(raw, Config)
    except msgspec.ValidationError as error:
        raise TrainfareError(where, _place(str(error)), "See docs/reference/settings.md for each setting.") from None
    _check(config, where, faults)
    faults.refuse()
    return msgspec.structs.replace(config, where=where, folder=path.parent)


def _place(message: str) -> str:
    """Turn msgspec's `... - at `$.source[0].zone`` into words a user's file has."""
    what, _, place = message.partition(" - at ")
    return f"{place.strip('`').removeprefix('$').lstrip('.') or 'settings'}: {what[0].lower()}{what[1:]}"


def _check_shape(raw: dict[str, Any], where: str, faults: Faults) -> None:
    """Unknown names are refused with the nearest known one."""
    for name in raw:
        _known(name, [f for f in Config.__struct_fields__ if f not in ("where", "folder")], f"{where}", faults)
    for table, shape in (("source", Source), ("rule", Rule)):
        entries = raw.get(table, [])
        for number, entry in enumerate(entries if isinstance(entries, list) else [], 1):
            for name in entry if isinstance(entry, dict) else ():
                _known(name, list(shape.__struct_fields__), f"{where} [[{table}]] #{number}", faults)


def _known(name: str, names: list[str], where: str, faults: Faults) -> None:
    if name not in names:
        near = difflib.get_close_matches(name, names, 1)
        do = f"Did you mean '{near[0]}'?" if near else f"Known are: {', '.join(sorted(names))}."
        faults.add(where, f"unknown setting '{name}'", do)


def _check(config: Config, where: str, faults: Faults) -> None:
    if config.currency is not None and not re.fullmatch(r"[A-Z]{3}", config.currency):
        faults.add(f"{where} currency", f"'{config.currency}' is not a currency code", "Use an ISO 4217 code such as USD.")
    for label in config.labels:
        if label not in (*LABELS, "job"):
            _known(label, [*LABELS, "job"], f"{where} [labels]", faults)
    for number, source in enumerate(config.source, 1):
        _check_source(source, f"{where} [[source]] #{number}", faults)
    seen: set[str] = set()
    for number, rule in enumerate(config.rule, 1):
        place = f"{where} [[rule]] #{number}"
        if rule.name in seen:
            faults.add(f"{place} name", f"'{rule.name}' is the name of another rule", "Give each rule its own name.")
        seen.add(rule.name)
        _check_rule(rule, place, faults)


def _check_source(source: Source, place: str, faults: Faults) -> None:
    if not source.path:
        faults.add(f"{place} path", "is empty", "Name a file, or a pattern such as bills/*.csv.")
    try:
        zoneinfo.ZoneInfo(source.zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        faults.add(f"{place} zone", f"'{source.zone}' is not a time zone", "Use an IANA name such as Europe/Berlin.")


def _check_rule(rule: Rule, place: str, faults: Faults) -> None:
    if not rule.name:
        faults.add(f"{place} name", "is empty", "Name the rule: the name stands beside every share it makes.")
    ways = [name for name in ("among", "to", "parts") if getattr(rule, name)]
    if len(ways) != 1:
        told = " and ".join(ways) if ways else "none of them"
        faults.add(place, f"has {told}", "Give exactly one of among, to or parts: who gets the charges.")
    if rule.among and rule.among not in AMONG and not re.fullmatch(r"tag:.+", rule.among):
        faults.add(f"{place} among", f"'{rule.among}' is not known", f"Use one of {', '.join(AMONG)}, tag:KEY.")
    if rule.by and rule.by not in BY:
        faults.add(f"{place} by", f"'{rule.by}' is not known", f"Use one of {', '.join(BY)}.")
    if rule.idle and rule.idle not in IDLE:
        faults.add(f"{place} idle", f"'{rule.idle}' is not known", f"Use one of {', '.join(IDLE)}.")
    if not rule.among and (rule.by or rule.idle):
        faults.add(place, "has by or idle without among", "Take them out, or say among whom the charges are shared.")
    if rule.idle and rule.by == "spend":
        faults.add(f"{place} idle", "does not go with by = \"spend\"", "Take idle out: spend is shared over all payers.")
    if rule.to and rule.to not in TO:
        faults.add(f"{place} to", f"'{rule.to}' is not known", f"Use one of {', '.join(TO)}; for a team use parts.")
    for payer, part in rule.parts.items():
        if not PAYER.fullmatch(payer):
            faults.add(f"{place} parts", f"'{payer}' is not a payer", 'Write a label and its value, as in "team:nlp".')
        if part <= 0:
            faults.add(f"{place} parts", f"the part of '{payer}' is {part}", "Parts are whole numbers above zero.")
    _check_match(rule.match, place, faults)


def _check_match(match: dict[str, Any], place: str, faults: Faults) -> None:
    for key, wanted in match.items():
        if key not in MATCH_KEYS:
            _known(key, list(MATCH_KEYS), f"{place} match", faults)
        elif key == "machine":
            if not isinstance(wanted, bool):
                faults.add(f"{place} match.machine", f"{wanted!r} is not true or false", "Write machine = true.")
        elif key == "tag":
            if not isinstance(wanted, dict) or not wanted:
                faults.add(f"{place} match.tag", f"{wanted!r} names no tag", 'Write tag = { team = "nlp" } or { team = true }.')
            elif any(not isinstance(value, bool) and not _texts(value) for value in wanted.values()):
                faults.add(f"{place} match.tag", "a value is neither text nor true", 'Write tag = { team = "nlp" }.')
        elif not _texts(wanted):
            faults.add(f"{place} match.{key}", f"{wanted!r} is not text", 'Write "text", with * for anything, or a list.')
        elif key == "category":
            for name in [wanted] if isinstance(wanted, str) else wanted:
                if "*" not in name and name not in CATEGORIES:
                    faults.add(f"{place} match.category", f"'{name}' is not a category", f"Use {', '.join(CATEGORIES)}.")


def _texts(value: object) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(text, str) for text in value)
    return isinstance(value, str)
