"""The settings: one frozen value, rejected as a whole if invalid, with all problems at once."""

import os
import re
import tomllib
import zoneinfo
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec

from trainfare.errors import Problems, TrainfareError
from trainfare.settings.collectors import CollectorSettings, check_collector
from trainfare.settings.messages import check_known, conversion_error, unexpected_type
from trainfare.settings.rules import Rule, check_rule, check_rule_name
from trainfare.settings.sections import (
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
from trainfare.tables import LABELS

FILE_NAME = "trainfare.toml"
FROM_ENVIRONMENT = ("currency", "catalog", "lake")
"""Settings that TRAINFARE_CURRENCY, TRAINFARE_CATALOG and TRAINFARE_LAKE override."""


def spellings(label: str) -> tuple[str, ...]:
    """Return a label as tags write it, itself first: cost_center, cost-center, CostCenter, Cost Center ..."""
    words = label.split("_")
    titles = [word.capitalize() for word in words]
    camel = words[0] + "".join(titles[1:])
    joined = [mark.join(names) for names in (words, titles) for mark in ("_", "-", "", " ")]
    return tuple(dict.fromkeys((label, *joined, camel, label.upper())))


DEFAULT_TAGS = {label: spellings(label) for label in LABELS} | {"job": (*spellings("job_id"), "trainfare_job")}
"""The tags that mean a label of a job, unless [labels] lists others."""


class SourceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A [[source]]: where files come from, such as bills or job logs."""

    path: str
    name: str = ""
    zone: str = "UTC"
    mapping: str | None = None


class GivenLabel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A label that somebody gave to a job afterwards, or to one attempt of it."""

    job: str
    attempt: int | None
    key: str
    value: str


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings."""

    currency: str | None = None
    catalog: str | None = None
    lake: str | None = None
    s3_endpoint: str | None = None
    source: tuple[SourceSettings, ...] = ()
    collector: tuple[CollectorSettings, ...] = ()
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
    named_sources: tuple[str, ...] = ()
    """The names of sources when a book was built; the settings of today have them in `source`."""
    given_labels: tuple[GivenLabel, ...] = ()
    """The labels that people gave to the jobs of a month, stored with its book. The catalog has all of them."""
    where: str = FILE_NAME
    folder: Path = Path()

    def tag_keys(self, label: str) -> tuple[str, ...]:
        """Return the tag names that mean `label` on the bill, most preferred first.

        Without a setting, these are the common spellings of a known label; any other name means itself.
        """
        return self.labels.get(label) or DEFAULT_TAGS.get(label, (label,))

    @property
    def source_names(self) -> tuple[str, ...]:
        """The names that the settings give to sources. They are part of the ids of jobs without a cluster."""
        return tuple(sorted({*self.named_sources, *(source.name for source in self.source if source.name)}))

    @property
    def budget_currency(self) -> str | None:
        return (self.budget.currency or self.convert.to or self.currency) if self.budget else None

    def budgets(self, currency: str) -> dict[str, Decimal]:
        """Return the monthly budgets by payer; none in a currency other than that of the budgets."""
        return self.budget.amounts if self.budget and self.budget_currency == currency else {}


def dump_settings(config: Config) -> str:
    """Return the settings that a book stores, as JSON."""
    stored = {name: getattr(config, name) for name in _STORED}
    if config.source_names:
        stored["named_sources"] = config.source_names
    if config.given_labels:
        stored["given_labels"] = config.given_labels
    return msgspec.json.encode(stored, order="deterministic").decode()


def restore_settings(text: str) -> Config:
    """Return the settings that a book was built with."""
    return msgspec.convert(msgspec.json.decode(text), Config)


_STORED = ("currency", "labels", "rule", "default_rules", "estimate", "convert")


def load(path: Path) -> Config:
    """Read a settings file; all problems are reported at once, and nothing of an invalid file is used."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise TrainfareError(str(path), "no such settings file", "Create a workspace with: trainfare init") from None
    except UnicodeDecodeError:
        raise TrainfareError(str(path), "not UTF-8 text", "Save the settings as UTF-8 TOML.") from None
    except OSError as error:
        do = "Check the name and its permissions."
        raise TrainfareError(str(path), f"cannot be read ({error.strerror})", do) from None
    return parse(text, path)


def parse(text: str, path: Path) -> Config:
    """Read settings from the TOML text of the file `path`."""
    where = path.name
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(where, str(error)) from None
    for name in FROM_ENVIRONMENT:
        if override := os.environ.get(f"TRAINFARE_{name.upper()}"):
            raw[name] = override
    problems = Problems()
    _check_raw(raw, where, problems)
    problems.raise_if_any()
    config = msgspec.structs.replace(msgspec.convert(raw, Config), where=where, folder=path.parent)
    if config.budget:
        check_budget_currency(config.budget, config.currency, config.convert.to, f"{where} [budget]", problems)
        problems.raise_if_any()
    return config


def _not_toml(where: str, message: str) -> TrainfareError:
    what, _, position = message.rstrip(")").partition(" (at ")
    line = re.fullmatch(r"line (\d+), (column \d+)", position)
    shown = f" ({line[2] if line else position})" if position else ""
    do = 'Fix the TOML; strings need quotes, as in path = "bills/*.csv".'
    return TrainfareError(
        f"{where}:{line[1]}" if line else where, f"not valid TOML: {what[0].lower()}{what[1:]}{shown}", do
    )


def is_zone(name: str) -> bool:
    """Return whether this is the name of a time zone."""
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _check_raw(raw: dict[str, Any], where: str, problems: Problems) -> None:
    """Report everything that is wrong: in each part first the types, then the values."""
    top = {name: value for name, value in raw.items() if name not in (*_LISTS, "check", *SECTIONS)}
    _check_top(msgspec.convert(_well_typed(top, Config, where, problems), Config), where, problems)
    _check_thresholds(raw.get("check", {}), f"{where} [check]", problems)
    for name, (shape, check) in SECTIONS.items():
        if name not in raw:
            continue
        section, at = raw[name], f"{where} [{name}]"
        if not isinstance(section, dict):
            do = f"Write [{name}] and its settings below."
            problems.add(f"{where} {name}", unexpected_type(section, "a table"), do)
        elif _well_typed(section, shape, at, problems) == section:
            check(msgspec.convert(section, shape), at, problems)
    for number, entry in _entries(raw, "source", where, problems):
        at = f"{where} [[source]] #{number}"
        if _well_typed(entry, SourceSettings, at, problems) == entry and "path" in entry:
            _check_source(msgspec.convert(entry, SourceSettings), at, problems)
    _check_collectors(raw, where, problems)
    names: set[str] = set()
    for number, entry in _entries(raw, "rule", where, problems):
        at, rule_name = f"{where} [[rule]] #{number}", entry.get("name")
        check_rule_name(rule_name, names, bool(raw.get("default_rules", True)), at, problems)
        names |= {rule_name} if isinstance(rule_name, str) else set()
        if _well_typed(entry, Rule, at, problems) == entry and "name" in entry:
            check_rule(msgspec.convert(entry, Rule), at, problems)


_LISTS = ("source", "collector", "rule")


def _check_collectors(raw: dict[str, Any], where: str, problems: Problems) -> None:
    names: set[str] = set()
    for number, entry in _entries(raw, "collector", where, problems):
        at = f"{where} [[collector]] #{number}"
        if _well_typed(entry, CollectorSettings, at, problems) == entry and {"name", "system"} <= entry.keys():
            check_collector(msgspec.convert(entry, CollectorSettings), names, at, problems)
            names.add(entry["name"])


def _entries(raw: dict[str, Any], table: str, where: str, problems: Problems) -> list[tuple[int, dict[str, Any]]]:
    """Return the [[source]], [[collector]] or [[rule]] tables with their numbers; anything else is a problem."""
    entries = raw.get(table, [])
    if not isinstance(entries, list):
        do = f"Write [[{table}]] with two brackets, because there can be several."
        problems.add(f"{where} {table}", unexpected_type(entries, "a list"), do)
        return []
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            do = f"Write [[{table}]] and its settings below."
            problems.add(f"{where} [[{table}]] #{number}", unexpected_type(entry, "a table"), do)
    return [(number, entry) for number, entry in enumerate(entries, 1) if isinstance(entry, dict)]


def _well_typed(entry: dict[str, Any], shape: type[msgspec.Struct], where: str, problems: Problems) -> dict[str, Any]:
    """Return the settings that are known and of the right type; all others, and missing ones, are problems."""
    fields = {field.name: field for field in msgspec.structs.fields(shape) if field.name not in _NOT_IN_FILE}
    valid = {}
    for name, value in entry.items():
        before = len(problems.found)
        if name not in fields:
            check_known(name, list(fields), where, problems)
        elif get_origin(fields[name].type) is dict and isinstance(value, dict):
            for key, inner in value.items():
                _check_type(inner, get_args(fields[name].type)[1], f"{where} {name}.{key}", name, problems)
        else:
            _check_type(value, fields[name].type, f"{where} {name}", name, problems)
        if len(problems.found) == before:
            valid[name] = value
    for name, field in fields.items():
        if field.required and name not in entry:
            problems.add(where, f"has no {name}", _EXAMPLES[name])
    return valid


def _check_type(value: object, type_: Any, where: str, name: str, problems: Problems) -> None:
    try:
        msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        problems.add(where, conversion_error(str(error)), _EXAMPLES.get(name, f'Write {name} = "...".'))


_NOT_IN_FILE = ("named_sources", "given_labels", "where", "folder")
_EXAMPLES = {
    "path": 'Name a file, or a pattern, as in path = "bills/*.csv".',
    "name": 'Give it one, as in name = "shared storage".',
    "system": 'Name the system that is queried, as in system = "slurm".',
    "options": 'Write text, as in options = { cluster = "lab" }.',
    "zone": 'Write zone = "Europe/Berlin".',
    "mapping": 'Name a mapping, as in mapping = "invoice.toml".',
    "match": 'Write match = { category = "storage" }.',
    "parts": 'Write whole numbers, as in parts = { "team:nlp" = 60, "team:vision" = 40 }.',
    "weights": "Write numbers, as in weights = { gpu = 9, cpu = 0.9, memory_gb = 0.1 }.",
    "labels": 'Write a list of tag names below [labels], as in team = ["team", "Team"].',
    "default_rules": "Write default_rules = true or false.",
    "estimate": "Write estimate = true or false.",
    "currency": 'Write currency = "USD".',
    "days": "Write days = 7.",
    "team": "Write a table of teams, as in team = { nlp = 200000 }.",
    "cost_center": 'Write a table of cost centers, as in cost_center = { "4711" = 200000 }.',
    "settings": 'Write text, as in settings = { "spark.executor.memory" = "4g" }.',
}


def _check_top(config: Config, where: str, problems: Problems) -> None:
    if config.currency is not None and not re.fullmatch(r"[A-Z]{3}", config.currency):
        at = "TRAINFARE_CURRENCY" if os.environ.get("TRAINFARE_CURRENCY") else f"{where} currency"
        problems.add(at, f"'{config.currency}' is not a currency code", "Use an ISO 4217 code such as USD.")
    check_lake(config.lake, config.s3_endpoint, where, problems)
    for label, tags in config.labels.items():
        check_known(label, [*LABELS, "job"], f"{where} [labels]", problems)
        if not all(tags) or not tags:
            problems.add(f"{where} labels.{label}", "lists no tag", _EXAMPLES["labels"])


def _check_thresholds(thresholds: object, where: str, problems: Problems) -> None:
    """Report thresholds that are not percentages."""
    if not isinstance(thresholds, dict):
        do = "Write [check] and its settings below, as in unallocated = 5."
        problems.add(where, unexpected_type(thresholds, "a table"), do)
        return
    for name, value in thresholds.items():
        do = f"Write a number from 0 to 100, as in {name} = {getattr(Check(), name, '5')}."
        if name not in Check.__struct_fields__:
            check_known(name, Check.__struct_fields__, where, problems)
        elif isinstance(value, bool) or not isinstance(value, int | float):
            problems.add(f"{where} {name}", unexpected_type(value, "a number"), do)
        elif not 0 <= value <= 100:
            problems.add(f"{where} {name}", f"{value} is not a percentage", do)


def _check_source(source: SourceSettings, where: str, problems: Problems) -> None:
    if not source.path.strip():
        problems.add(f"{where} path", "is empty", "Name a file, or a pattern such as bills/*.csv.")
    check_address(source.path, f"{where} path", problems)
    if not is_zone(source.zone):
        problems.add(f"{where} zone", f"'{source.zone}' is not a time zone", "Use an IANA name such as Europe/Berlin.")
