"""The settings: one frozen value, refused whole if wrong, with everything that is wrong at once."""

import os
import re
import tomllib
import zoneinfo
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec

from trainfare.errors import Faults, TrainfareError
from trainfare.sections import (
    SECTIONS,
    Budget,
    Check,
    Convert,
    EngineChoice,
    Oidc,
    Serve,
    check_address,
    check_budget_currency,
    check_lake,
)
from trainfare.setting_words import BUILT_IN, LAST_RULE, are_texts, check_words, known, plain, shown_type
from trainfare.tables import CATEGORIES, CHARGE_CATEGORIES, LABELS, ORIGINS

FILE_NAME = "trainfare.toml"
FROM_ENVIRONMENT = ("currency", "catalog", "lake")
"""Settings that TRAINFARE_CURRENCY, TRAINFARE_CATALOG and TRAINFARE_LAKE overrule."""
AMONG = ("machine", "cluster", "account", "region", "job", "all")
BY = (
    *("gpu_seconds", "cpu_seconds", "memory", "dominant", "bytes_sent", "requests"),
    *("wall_seconds", "spend", "evenly"),
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
    "origin",
    "currency",
)
MATCH_KEYS = (*TEXT_KEYS, "machine", "tag")
WORDS = {
    "category": ("category", CATEGORIES),
    "charge_category": ("charge category", CHARGE_CATEGORIES),
    "origin": ("origin", ORIGINS),
}
"""Match keys that have one of a few words, and what such a word is called."""
LARGEST_PART = 1_000_000_000
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
    lake: str | None = None
    s3_endpoint: str | None = None
    source: tuple[Source, ...] = ()
    labels: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    rule: tuple[Rule, ...] = ()
    default_rules: bool = True
    estimate: bool = False
    convert: Convert = Convert()
    budget: Budget | None = None
    check: Check = Check()
    serve: Serve = Serve()
    oidc: Oidc = Oidc()
    engine: EngineChoice = EngineChoice()
    where: str = FILE_NAME
    folder: Path = Path()

    def tag_keys(self, label: str) -> tuple[str, ...]:
        """The tag names that mean `label` on the bill, most wanted first."""
        return self.labels.get(label, (label,))

    @property
    def budget_currency(self) -> str | None:
        return (self.budget.currency or self.convert.to or self.currency) if self.budget else None

    def budgets(self, currency: str) -> dict[str, Decimal]:
        """How much may be spent in a month, by whose budget it is; none in any currency but the budget's own."""
        return self.budget.amounts if self.budget and self.budget_currency == currency else {}


def remembered(config: Config) -> str:
    """What a book keeps of the settings it was made with, as JSON."""
    kept = {name: getattr(config, name) for name in _KEPT}
    return msgspec.json.encode(kept, order="deterministic").decode()


def recalled(text: str) -> Config:
    """The settings a book was made with."""
    return msgspec.convert(msgspec.json.decode(text), Config)


_KEPT = ("currency", "labels", "rule", "default_rules", "estimate", "convert")


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
        do = "Check the name and its rights."
        raise TrainfareError(str(path), f"cannot be read ({error.strerror})", do) from None
    return parse(text, path)


def parse(text: str, path: Path) -> Config:
    """Read settings from TOML text that stands in `path`."""
    where = path.name
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(where, str(error)) from None
    for name in FROM_ENVIRONMENT:
        if overruled := os.environ.get(f"TRAINFARE_{name.upper()}"):
            raw[name] = overruled
    faults = Faults()
    _check_raw(raw, where, faults)
    faults.refuse()
    config = msgspec.structs.replace(msgspec.convert(raw, Config), where=where, folder=path.parent)
    if config.budget:
        check_budget_currency(config.budget, config.currency, config.convert.to, f"{where} [budget]", faults)
        faults.refuse()
    return config


def _not_toml(where: str, message: str) -> TrainfareError:
    what, _, place = message.rstrip(")").partition(" (at ")
    line = re.fullmatch(r"line (\d+), (column \d+)", place)
    told = f"not valid TOML: {what[0].lower()}{what[1:]} ({line[2] if line else place or 'somewhere'})"
    do = 'Mend it; text stands in quotes, as in path = "bills/*.csv".'
    return TrainfareError(f"{where}:{line[1]}" if line else where, told, do)


def is_zone(name: str) -> bool:
    """Whether this names a time zone."""
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _check_raw(raw: dict[str, Any], where: str, faults: Faults) -> None:
    """Tell everything that is wrong: of each part first whether it has the right shape, then what it says."""
    top = {name: value for name, value in raw.items() if name not in ("source", "rule", "check", *SECTIONS)}
    sound = _sound(top, Config, where, faults)
    _check_top(msgspec.convert(sound, Config), where, faults)
    _check_limits(raw.get("check", {}), f"{where} [check]", faults)
    for name, (shape, check) in SECTIONS.items():
        if name not in raw:
            continue
        section, place = raw[name], f"{where} [{name}]"
        if not isinstance(section, dict):
            do = f"Write [{name}] and its settings below."
            faults.add(f"{where} {name}", f"{shown_type(section)} where a table belongs", do)
        elif _sound(section, shape, place, faults) == section:
            check(msgspec.convert(section, shape), place, faults)
    for number, entry in _entries(raw, "source", where, faults):
        place = f"{where} [[source]] #{number}"
        if _sound(entry, Source, place, faults) == entry and "path" in entry:
            _check_source(msgspec.convert(entry, Source), place, faults)
    built_in = {LAST_RULE, *(BUILT_IN if raw.get("default_rules", True) else ())}
    names: set[str] = set()
    for number, entry in _entries(raw, "rule", where, faults):
        place = f"{where} [[rule]] #{number}"
        if (named := entry.get("name")) and isinstance(named, str):
            if named in names:
                faults.add(f"{place} name", f"'{named}' is the name of another rule", "Give each rule its own name.")
            elif named in built_in:
                do = "Give it another name: the name stands beside every share it makes, and tells it from the built-in one."
                faults.add(f"{place} name", f"'{named}' is the name of a built-in rule", do)
            names.add(named)
        if _sound(entry, Rule, place, faults) == entry and "name" in entry:
            _check_rule(msgspec.convert(entry, Rule), place, faults)


def _entries(raw: dict[str, Any], table: str, where: str, faults: Faults) -> list[tuple[int, dict[str, Any]]]:
    """The [[source]] or [[rule]] tables with their numbers; what is no such table is a fault."""
    entries = raw.get(table, [])
    if not isinstance(entries, list):
        do = f"Write [[{table}]] with two brackets: there can be several."
        faults.add(f"{where} {table}", f"{shown_type(entries)} where a list belongs", do)
        return []
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            do = f"Write [[{table}]] and its settings below."
            faults.add(f"{where} [[{table}]] #{number}", f"{shown_type(entry)} where a table belongs", do)
    return [(number, entry) for number, entry in enumerate(entries, 1) if isinstance(entry, dict)]


def _sound(entry: dict[str, Any], shape: type[msgspec.Struct], place: str, faults: Faults) -> dict[str, Any]:
    """The settings that are known and of the right type; the others are faults, and so is a needed one that lacks."""
    fields = {field.name: field for field in msgspec.structs.fields(shape) if field.name not in _NOT_SET}
    sound = {}
    for name, value in entry.items():
        before = len(faults.found)
        if name not in fields:
            known(name, list(fields), place, faults)
        elif get_origin(fields[name].type) is dict and isinstance(value, dict):
            for key, inner in value.items():
                _check_type(inner, get_args(fields[name].type)[1], f"{place} {name}.{key}", name, faults)
        else:
            _check_type(value, fields[name].type, f"{place} {name}", name, faults)
        if len(faults.found) == before:
            sound[name] = value
    for name, field in fields.items():
        if field.required and name not in entry:
            faults.add(place, f"has no {name}", _EXAMPLES[name])
    return sound


def _check_type(value: object, type_: Any, place: str, name: str, faults: Faults) -> None:
    try:
        msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        faults.add(place, plain(str(error)), _EXAMPLES.get(name, f'Write {name} = "...".'))


_NOT_SET = ("where", "folder")
_EXAMPLES = {
    "path": 'Name a file, or a pattern, as in path = "bills/*.csv".',
    "name": 'Give it one, as in name = "shared storage".',
    "zone": 'Write zone = "Europe/Berlin".',
    "match": 'Write match = { category = "storage" }.',
    "parts": 'Write whole numbers, as in parts = { "team:nlp" = 60, "team:vision" = 40 }.',
    "labels": 'Write a list of tag names below [labels], as in team = ["team", "Team"].',
    "default_rules": "Write default_rules = true or false.",
    "estimate": "Write estimate = true or false.",
    "currency": 'Write currency = "USD".',
    "days": "Write days = 7.",
    "team": "Write a table of teams, as in team = { nlp = 200000 }.",
    "cost_center": 'Write a table of cost centres, as in cost_center = { "4711" = 200000 }.',
    "settings": 'Write text, as in settings = { "spark.executor.memory" = "4g" }.',
}


def _check_top(config: Config, where: str, faults: Faults) -> None:
    if config.currency is not None and not re.fullmatch(r"[A-Z]{3}", config.currency):
        told = "TRAINFARE_CURRENCY" if os.environ.get("TRAINFARE_CURRENCY") else f"{where} currency"
        faults.add(told, f"'{config.currency}' is not a currency code", "Use an ISO 4217 code such as USD.")
    check_lake(config.lake, config.s3_endpoint, where, faults)
    for label, tags in config.labels.items():
        known(label, [*LABELS, "job"], f"{where} [labels]", faults)
        if not all(tags) or not tags:
            faults.add(f"{where} labels.{label}", "names no tag", _EXAMPLES["labels"])


def _check_limits(limits: object, place: str, faults: Faults) -> None:
    """Limits are percentages; each that is none is told."""
    if not isinstance(limits, dict):
        do = "Write [check] and its settings below, as in unallocated = 5."
        faults.add(place, f"{shown_type(limits)} where a table belongs", do)
        return
    for name, value in limits.items():
        do = f"Write a number from 0 to 100, as in {name} = {getattr(Check(), name, '5')}."
        if name not in Check.__struct_fields__:
            known(name, list(Check.__struct_fields__), place, faults)
        elif isinstance(value, bool) or not isinstance(value, int | float):
            faults.add(f"{place} {name}", f"{shown_type(value)} where a number belongs", do)
        elif not 0 <= value <= 100:
            faults.add(f"{place} {name}", f"{value} is not a percentage", do)


def _check_source(source: Source, place: str, faults: Faults) -> None:
    if not source.path.strip():
        faults.add(f"{place} path", "is empty", "Name a file, or a pattern such as bills/*.csv.")
    check_address(source.path, f"{place} path", faults)
    if not is_zone(source.zone):
        faults.add(f"{place} zone", f"'{source.zone}' is not a time zone", "Use an IANA name such as Europe/Berlin.")


def _check_rule(rule: Rule, place: str, faults: Faults) -> None:
    if not rule.name:
        faults.add(f"{place} name", "is empty", "Name the rule: the name stands beside every share it makes.")
    ways = [name for name in ("among", "to", "parts") if getattr(rule, name)]
    if len(ways) != 1:
        what = f"has {' and '.join(ways)}" if ways else "does not say who gets the charges"
        faults.add(place, what, "Give exactly one of among, to or parts.")
    if rule.among and rule.among not in AMONG and not re.fullmatch(r"tag:.+", rule.among):
        faults.add(f"{place} among", f"'{rule.among}' is not known", f"Use one of {', '.join(AMONG)}, tag:KEY.")
    if rule.by and rule.by not in BY:
        faults.add(f"{place} by", f"'{rule.by}' is not known", f"Use one of {', '.join(BY)}.")
    if rule.idle and rule.idle not in IDLE:
        faults.add(f"{place} idle", f"'{rule.idle}' is not known", f"Use one of {', '.join(IDLE)}.")
    if not rule.among and (rule.by or rule.idle):
        faults.add(place, "has by or idle without among", "Take them out, or say among whom the charges are shared.")
    if rule.among and rule.idle in IDLE:
        _check_idle(rule, f"{place} idle", faults)
    if rule.to and rule.to not in TO:
        faults.add(f"{place} to", f"'{rule.to}' is not known", f"Use one of {', '.join(TO)}; for a team use parts.")
    for payer, part in rule.parts.items():
        label = payer.partition(":")[0]
        if not PAYER.fullmatch(payer):
            faults.add(f"{place} parts", f"'{payer}' is not a payer", 'Write a label and its value, as in "team:nlp".')
        elif payer not in TO and label not in LABELS:
            do = f"Use one of {', '.join(LABELS)} before the colon."
            faults.add(f"{place} parts", f"'{label}' of '{payer}' is no label", do)
        if not 0 < part <= LARGEST_PART:
            do = f"Parts are whole numbers from 1 to {LARGEST_PART}."
            faults.add(f"{place} parts", f"the part of '{payer}' is {part}", do)
    _check_match(rule.match, place, faults)


def _check_idle(rule: Rule, place: str, faults: Faults) -> None:
    """Only what can stand unused has idle time: a machine, or the machines of a cluster."""
    if rule.by == "spend":
        faults.add(place, 'does not go with by = "spend"', "Take idle out: spend is shared over all payers.")
    elif rule.idle != "spread" and rule.by == "evenly":
        faults.add(place, f"'{rule.idle}' does not go with by = \"evenly\"", "Take idle out, or weigh by gpu_seconds.")
    elif rule.idle == "keep" and rule.among not in ("machine", "cluster"):
        do = 'Take idle out, or share among = "machine" or "cluster": nothing else can stand idle.'
        faults.add(place, f"'keep' does not go with among = \"{rule.among}\"", do)
    elif rule.idle == "owner" and rule.among != "machine":
        do = 'Take idle out, or share among = "machine": only a machine has an owner.'
        faults.add(place, f"'owner' does not go with among = \"{rule.among}\"", do)


def _check_match(match: dict[str, Any], place: str, faults: Faults) -> None:
    for key, wanted in match.items():
        at = f"{place} match.{key}"
        if key not in MATCH_KEYS:
            known(key, list(MATCH_KEYS), f"{place} match", faults)
        elif key == "machine":
            if not isinstance(wanted, bool):
                faults.add(at, f"{shown_type(wanted)} where true or false belongs", "Write machine = true.")
        elif key == "tag":
            _check_tags(wanted, at, faults)
        elif not are_texts(wanted):
            do = 'Write "text", with * for anything, or a list such as ["one", "two"].'
            faults.add(at, f"{shown_type(wanted)} where text belongs", do)
        else:
            called, words = WORDS.get(key, ("", ()))
            check_words([wanted] if isinstance(wanted, str) else wanted, called, words, at, faults)


def _check_tags(wanted: object, at: str, faults: Faults) -> None:
    do = 'Write tag = { team = "nlp" }, or { team = true } for any value.'
    if not isinstance(wanted, dict):
        faults.add(at, f"{shown_type(wanted)} where a table belongs", do)
    elif not wanted:
        faults.add(at, "names no tag", do)
    else:
        for name, value in wanted.items():
            if not isinstance(value, bool) and not are_texts(value):
                faults.add(f"{at}.{name}", f"{shown_type(value)} where text, true or false belongs", do)
