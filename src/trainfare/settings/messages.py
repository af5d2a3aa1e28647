"""Messages about values in a settings file, in the terms of TOML."""

import difflib
import re
from collections.abc import Sequence

from trainfare.errors import Problems

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


def conversion_error(message: str) -> str:
    """Return "Expected `str`, got `int` - at `$.x`" in the terms of a settings file."""
    found = re.match(r"Expected `([a-z]+)(?: \| null)?`, got `([a-z]+)`", message)
    if not found:
        return message[0].lower() + message[1:]
    wanted, actual = (TYPES.get(name, name) for name in found.groups())
    return f"expected {wanted}, got {actual}"


def unexpected_type(value: object, wanted: str) -> str:
    """Return the message for a value of the wrong type."""
    return f"expected {wanted}, got {describe_type(value)}"


def describe_type(value: object) -> str:
    """Return what a value is, in words."""
    names: dict[type, str] = {str: "str", bool: "bool", int: "int", float: "float", list: "array", dict: "object"}
    if value == []:
        return "an empty list"
    return TYPES[names.get(type(value), "datetime")]


def check_known(name: str, names: Sequence[str], where: str, problems: Problems) -> None:
    """Report a name that is not one of these, with the one that was probably meant."""
    if name not in names:
        near = difflib.get_close_matches(name, names, 1)
        do = f"Did you mean '{near[0]}'?" if near else f"Known settings: {', '.join(sorted(names))}."
        problems.add(where, f"unknown setting '{name}'", do)


def check_match_texts(texts: Sequence[str], noun: str, allowed: Sequence[str], at: str, problems: Problems) -> None:
    """Report texts that cannot match any charge: empty ones, and values that do not exist. Case is ignored."""
    for text in texts:
        if not text.strip():
            problems.add(at, "is empty and matches no charge", 'Write "text", with * for anything, or remove it.')
        elif allowed and "*" not in text and text.lower() not in (value.lower() for value in allowed):
            article = "an" if noun[0] in "aeiou" else "a"
            problems.add(at, f"'{text}' is not {article} {noun}", f"Use one of {', '.join(allowed)}.")


def is_text_or_texts(value: object) -> bool:
    """Return whether this is text, or a list of texts."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(text, str) for text in value)
    return isinstance(value, str)
