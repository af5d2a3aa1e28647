"""What is wrong with a setting, in the words of a settings file."""

import difflib
import re

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
