"""How text that comes from data is written, so that no output can be mistaken for anything but text.

Labels, job names and descriptions are written by anybody. A terminal would execute their escape sequences, a
spreadsheet their formulas, Markdown their links, and a bidirectional override shows another text than is there. Every
output passes its text through one of these functions. JSON and Parquet carry data as it is; JSON has its own escapes.
"""

import re
import unicodedata
from collections.abc import Callable
from hashlib import sha256

HIDDEN = (
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f"
)
"""Characters that are not shown but have an effect, as a class of a regular expression: C0 except tab and newline, DEL,
C1, bidirectional controls, line separators, halves of characters, tags. Joiners stay: scripts and emoji need them.
"""
_HIDDEN = re.compile(f"[{HIDDEN}]")
_HIDDEN_OR_BREAK = re.compile(f"[{HIDDEN}\t\n]")
_CODE = r"(?:u[0-9a-f]{4}|U[0-9a-f]{8})"
_BACKSLASHES_BEFORE_CODE = re.compile(rf"(\\+)(?={_CODE}|[{HIDDEN}])")
FORMULA = "=+@\t\uff1d\uff0b\uff0d\uff20-"
"""What a formula starts with in spreadsheets, full-width forms included, as the content of a character class."""
_FORMULA = re.compile(f"'*[{FORMULA}]")
NUMBER = r"[+-]?(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_NUMBER = re.compile(NUMBER)
_MARKDOWN = re.compile(r"[\\`*\[\]<>|&~!]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.|@|#(?=#*\s*$)")
FILE_NAME_BYTES = 80


def _code(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def visible(text: str) -> str:
    """Return the text with hidden characters as their codes, such as \\u001b. Tabs and newlines stay.

    >>> visible("red\\x1b[31m")
    'red\\\\u001b[31m'
    """
    return _HIDDEN.sub(_code, text)


def coded(text: str, is_coded: Callable[[str], bool]) -> str:
    """Return the text with these characters as their codes, for example those that a font lacks."""
    return re.sub(r"(?s).", lambda found: _code(found) if is_coded(found[0]) else found[0], text)


def visible_value(value: object) -> object:
    """Return text with hidden characters as their codes, and any other value as it is; for every value of a template.

    Markup that a template made itself is not text from data, and stays.
    """
    return visible(value) if type(value) is str else value


def one_line(text: str) -> str:
    """Return the text with hidden characters, tabs and newlines as their codes, for a cell of a table."""
    return _HIDDEN_OR_BREAK.sub(_code, text)


def csv_text(text: str) -> str:
    """Return the text for a CSV cell, in which nothing is executed and from which the text can be restored.

    Hidden characters are codes; backslashes before one, or before what looks like a code, are doubled. What a
    spreadsheet would take for a formula gets an apostrophe, and so does what already looks like that. Numbers stay
    numbers.

    >>> csv_text("=1+1"), csv_text("-8.00"), csv_text("it's")
    ("'=1+1", '-8.00', "it's")
    """
    if text.isalnum():
        return text
    quoted = _HIDDEN.sub(_code, _BACKSLASHES_BEFORE_CODE.sub(r"\1\1", text))
    if _FORMULA.match(quoted) and quoted != "-" and not _NUMBER.fullmatch(quoted):
        return f"'{quoted}"
    return quoted


def from_csv_text(quoted: str) -> str:
    """Return the text that `csv_text` wrote."""
    text = quoted[1:] if quoted.startswith("'") and _FORMULA.match(quoted) else quoted

    def restored(found: re.Match[str]) -> str:
        count, code = len(found[1]), found[2]
        return "\\" * (count // 2) + (chr(int(code[1:], 16)) if count % 2 else code)

    return re.sub(rf"(\\+)({_CODE})", restored, text)


CSV_MACROS = f"""
CREATE OR REPLACE TEMP MACRO csv_code(c) AS CASE WHEN unicode(c) < 65536 THEN format('\\u{{:04x}}', unicode(c))
  ELSE format('\\U{{:08x}}', unicode(c)) END;
CREATE OR REPLACE TEMP MACRO csv_coded(t) AS CASE WHEN regexp_matches(t, '\\\\{_CODE}|[{{hidden}}]')
  THEN array_to_string(list_transform(string_split(regexp_replace(t, '(\\\\+)({_CODE}|[{{hidden}}])',
    '\\1\\1\\2', 'g'), ''),
    lambda c: CASE WHEN regexp_matches(c, '[{{hidden}}]') THEN csv_code(c) ELSE c END), '') ELSE t END;
CREATE OR REPLACE TEMP MACRO csv_text(t) AS CASE
  WHEN regexp_matches(csv_coded(t), '^''*[{FORMULA}]') AND csv_coded(t) <> '-'
    AND NOT regexp_full_match(csv_coded(t), '{NUMBER}')
  THEN chr(39) || csv_coded(t) ELSE csv_coded(t) END;
""".replace("{hidden}", HIDDEN.replace("\\x00", "\\x01").replace("\ud800-\udfff", ""))
"""`csv_text` as SQL, for files that the engine writes. Text in a database has neither NUL nor halves of characters."""


def json_document(content: bytes) -> bytes:
    """Return a JSON document with hidden characters as JSON's own escapes: the same data, safe to look at."""
    text = content.decode()
    if not _HIDDEN.search(text):
        return content

    def escaped(found: re.Match[str]) -> str:
        pairs = found[0].encode("utf-16-be").hex()
        return "".join(f"\\u{pairs[at : at + 4]}" for at in range(0, len(pairs), 4))

    return _HIDDEN.sub(escaped, text).encode()


def markdown(text: str) -> str:
    """Return the text for a table cell or a heading of Markdown, where it has no effect: no link, emphasis or HTML.

    >>> markdown("a|b [x](http://y) __init__ gpu_seconds")
    'a\\\\|b \\\\[x\\\\](http\\\\://y) \\\\_\\\\_init\\\\_\\\\_ gpu_seconds'
    """
    return _MARKDOWN.sub(lambda found: found[0][:-1] + "\\" + found[0][-1], one_line(text))


def file_name(text: str, is_ambiguous: bool = False) -> str:
    """Return a part of a file name: letters, digits, `-`, `_` and `.`, at most 80 bytes and never another text's name.

    Where that changes the text, or if another text differs by case only, it ends with digits of the text's fingerprint.
    """
    normal = unicodedata.normalize("NFC", text)
    kept = "".join(mark if mark.isalnum() or mark in "-_." else "-" for mark in normal)
    if kept == text and kept.strip(".") and len(kept.encode()) <= FILE_NAME_BYTES and not is_ambiguous:
        return kept
    fingerprint = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    short = kept.encode()[: FILE_NAME_BYTES - len(fingerprint) - 1].decode(errors="ignore").strip("-.")
    return f"{short}-{fingerprint}" if short else fingerprint
