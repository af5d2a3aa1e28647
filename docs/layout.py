"""Markdown elements of generated pages."""

from typing import Any


def grid(header: tuple[str, ...], rows: Any) -> str:
    """Return a Markdown table."""
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def code(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)


def sentence(text: str) -> str:
    """Return the text with a capital letter and a period."""
    return text[:1].upper() + text[1:].removesuffix(".") + "."
