"""Scopes: which cost a command or a setting is about, as `key=value[,value]`, joined by `and`."""

import re

from trainfare.errors import TrainfareError

Condition = tuple[str, tuple[str, ...]]
"""A key, and the values of which one must match."""
HOW = 'Write key=value[,value], joined by "and", as in team=nlp,vision and pool=large; quote values with commas.'
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)
_VALUE = re.compile(r'\s*(?:"([^"]*)"|([^",]*?))\s*(?:,|$)')
_QUOTED = re.compile(r'"[^"]*"')


def parse(text: str, where: str) -> tuple[Condition, ...]:
    """Return the conditions of a scope in their order; all must match. Anything else is an error.

    `team=nlp,vision` matches either team. A value with a comma or the word `and` is put in double quotes, as in
    `project="speech and text"`.
    """
    return tuple(_condition(part, text, where) for part in _split(text))


def _split(text: str) -> list[str]:
    """Split at `and`, except within quotes."""
    parts, at = [], 0
    quotes = [found.span() for found in _QUOTED.finditer(text)]
    for found in _AND.finditer(text):
        if not any(start < found.start() < end for start, end in quotes):
            parts.append(text[at : found.start()])
            at = found.end()
    return [*parts, text[at:]]


def _condition(part: str, text: str, where: str) -> Condition:
    key, equals, listed = part.partition("=")
    values, at = [], 0
    while at < len(listed):
        found = _VALUE.match(listed, at)
        if found is None:
            break
        values.append(found[2] if found[1] is None else found[1])
        at = found.end()
    is_complete = at == len(listed) and not listed.rstrip().endswith(",")
    if not (key.strip() and equals and values and all(values) and is_complete):
        raise TrainfareError(where, f"'{text[:60]}' is not a scope", HOW)
    return key.strip(), tuple(dict.fromkeys(values))
