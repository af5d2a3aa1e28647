"""What is wrong with a setting, in the words of a settings file."""

import difflib
import re
from collections.abc import Sequence

from trainfare.errors import Faults

TYPES = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
    "datetime": "a time",
    "date": "a date",
    "time": "a time of day",
}

BUILT_IN = (
    *("named job", "unused commitment", "unused reservation", "commitment purchase", "machine"),
    *("tagged project", "tagged team", "tagged cost_center", "tagged owner", "tagged experiment"),
    *("tagged model_version", "labour", "licence per core", "licence", "tax, credit, adjustment", "support"),
    *("other service", "other machine"),
)
"""The names of the rules that come built in."""
LAST_RULE = "no rule"
"""The name of the rule that takes what is left, also where the built-in ones are not wanted."""


def plain(message: str) -> str:
    """Say "Expected `str`, got `int` - at `$.x`" in the words of a settings file."""
    found = re.match(r"Expected `([a-z]+)(?: \| null)?`, got `([a-z]+)`", message)
    if not found:
        return message[0].lower() + message[1:]
    wanted, got = (TYPES.get(name, name) for name in found.groups())
    return f"{got} where {wanted} belongs"


def shown_type(value: object) -> str:
    """What a value is, in words."""
    names: dict[type, str] = {str: "str", bool: "bool", int: "int", float: "float", list: "array", dict: "object"}
    if value == []:
        return "an empty list"
    return TYPES[names.get(type(value), "datetime")]


def known(name: str, names: list[str], where: str, faults: Faults) -> None:
    """Tell a name that is none of these, with the one that was probably meant."""
    if name not in names:
        near = difflib.get_close_matches(name, names, 1)
        do = f"Did you mean '{near[0]}'?" if near else f"Known are: {', '.join(sorted(names))}."
        faults.add(where, f"unknown setting '{name}'", do)


def check_words(texts: Sequence[str], called: str, words: Sequence[str], at: str, faults: Faults) -> None:
    """Text that fits no charge at all is a slip: nothing, or none of the few words there are. Case does not count."""
    for text in texts:
        if not text.strip():
            faults.add(at, "is empty, which fits no charge", 'Write "text", with * for anything, or take it out.')
        elif words and "*" not in text and text.lower() not in (word.lower() for word in words):
            article = "an" if called[0] in "aeiou" else "a"
            faults.add(at, f"'{text}' is not {article} {called}", f"Use {', '.join(words)}.")


def are_texts(value: object) -> bool:
    """Whether this is text, or a list of it."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(text, str) for text in value)
    return isinstance(value, str)
