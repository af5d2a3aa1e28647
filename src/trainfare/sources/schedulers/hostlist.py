"""Slurm's shorthand for many nodes: `gpu[001-004,7],cpu-0,rack[1-2]n[01-03]`.

Leading zeros follow the first number of a range, and a name may contain several brackets.
"""

import re
from itertools import product

MOST_NODES = 65536
"""Slurm's own limit: a longer list is damaged."""

_NAME = re.compile(r"(?:[^\[\],\s]+|\[[^\[\]\s]+\])+")
_SEGMENT = re.compile(r"[^\[\]]+|\[[^\[\]]+\]")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def expand(text: str) -> list[str]:
    """List every node once, in the order written; a ValueError says what cannot be read."""
    names: dict[str, None] = {}
    position = 0
    while True:
        found = _NAME.match(text, position)
        if not found:
            raise ValueError(f"no node name at '{text[position : position + 20]}'")
        for name in _expanded(found[0], MOST_NODES - len(names)):
            names[name] = None
        position = found.end()
        if position == len(text):
            return list(names)
        if text[position] != ",":
            raise ValueError(f"no node name at '{text[position : position + 20]}'")
        position += 1


def _expanded(name: str, room: int) -> list[str]:
    """Expand one comma-separated part: each bracket is replaced by each of its numbers."""
    segments: list[list[str]] = []
    for segment in _SEGMENT.findall(name):
        segments.append(_numbers(segment[1:-1], room) if segment.startswith("[") else [segment])
        room //= len(segments[-1])
    return ["".join(chosen) for chosen in product(*segments)]


def _numbers(inside: str, room: int) -> list[str]:
    numbers: list[str] = []
    for part in inside.split(","):
        found = _RANGE.fullmatch(part)
        if not found:
            raise ValueError(f"'{part}' is not a range of numbers")
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first:
            raise ValueError(f"the range {part} runs backwards")
        if last - first >= room - len(numbers):
            raise ValueError(f"more than {MOST_NODES} nodes")
        numbers += [str(number).zfill(len(found[1])) for number in range(first, last + 1)]
    return numbers
