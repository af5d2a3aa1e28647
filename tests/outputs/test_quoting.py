"""Text from data has no effect in any output, and machine-readable outputs lose none of it."""

import csv
import io
import json
import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from trainfare import quoting
from trainfare.engine.duckdb import DuckDB

PIECES = st.sampled_from(
    [
        *"ab=+-@'\\|*_`[]()<>&!~#.,: \t\n\r\x00\x1b\x7f\x85\x9b\u202e\u2066\u200f\ufeff\u200d\ud83d",
        *("日本", "🙂", "é", "\\u001b", "\\U000e0041", "\U000e0041", "'=", "u001b"),
        *("http://x.example", "www.x.example", "0", "12.5", "e3"),
    ]
)
texts = st.lists(PIECES, max_size=8).map("".join)
stored_texts = texts.map(lambda text: text.replace("\x00", "").replace("\ud83d", ""))


def is_hidden(mark: str) -> bool:
    """What a reader cannot see, by Unicode's own categories: controls, halves of characters and formats."""
    if mark in "\t\n\u00ad\u200c\u200d\u2060" or 0x2061 <= ord(mark) <= 0x2064 or ord(mark) in range(0x206A, 0x2070):
        return False
    script_marks = {0x110BD, 0x110CD, 0x180E, 0x08E2, 0x06DD, 0x070F, 0x0890, 0x0891}
    if ord(mark) in script_marks or 0x600 <= ord(mark) <= 0x605 or 0x13430 <= ord(mark) <= 0x1D17A:
        return False
    return unicodedata.category(mark) in ("Cc", "Cf", "Cs", "Zl", "Zp") or mark == "\u200b"


def test_every_hidden_character_of_unicode_is_shown_as_its_code() -> None:
    shown = quoting.visible("".join(map(chr, range(0x110000))))
    left = {mark for mark in shown if is_hidden(mark)}
    assert not left, sorted(hex(ord(mark)) for mark in left)
    assert quoting.visible("Größe 日本語 🙂\u200d🙂 \t\n") == "Größe 日本語 🙂\u200d🙂 \t\n"
    assert quoting.visible("\x1b[31m\x9b\x7f\u202e") == r"\u001b[31m\u009b\u007f\u202e"
    assert "\n" not in quoting.one_line("a\nb\tc")


@given(texts)
@example("\\\x1b")
@example("\\\\u001b")
@example("''=1")
def test_csv_text_can_be_restored(text: str) -> None:
    assert quoting.from_csv_text(quoting.csv_text(text)) == text


@given(texts)
def test_csv_text_has_no_hidden_character_and_no_formula(text: str) -> None:
    quoted = quoting.csv_text(text)
    assert not any(is_hidden(mark) for mark in quoted)
    assert (
        quoted == "-"
        or re.fullmatch(r"[+-]?[\d.,]+([eE][+-]?\d+)?", quoted)
        or quoted[:1] not in tuple("=+-@\t\r＝＋－＠")
    )


@pytest.mark.parametrize("number", ["-8.00", "+3", "1e-7", "-.5", "1,000.25", "0"])
def test_a_number_stays_a_number(number: str) -> None:
    assert quoting.csv_text(number) == number


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-1+1", "'-1+1"),
        ("+49 30", "'+49 30"),
        ("\t=1", "'\t=1"),
        ("＝1", "'＝1"),
        ("a=1", "a=1"),
        ("-", "-"),
        ("'quoted'", "'quoted'"),
        ("C:\\users", "C:\\users"),
        ("two\nlines", "two\nlines"),
    ],
)
def test_formulas_and_their_near_misses(text: str, quoted: str) -> None:
    assert quoting.csv_text(text) == quoted


@given(st.lists(stored_texts, min_size=1, max_size=20))
@settings(max_examples=60, deadline=None)
def test_the_engine_writes_the_same_csv_text(values: list[str]) -> None:
    engine = _engine()
    listed = ", ".join("'" + value.replace("'", "''") + "'" for value in values)
    (found,) = engine.row(f"SELECT list_transform([{listed}], lambda t: csv_text(t))")
    assert found == [quoting.csv_text(value) for value in values]


_ENGINES: list[DuckDB] = []


def _engine() -> DuckDB:
    if not _ENGINES:
        _ENGINES.append(DuckDB())
        _ENGINES[0].run(quoting.CSV_MACROS)
    return _ENGINES[0]


@given(texts)
@example("[x](javascript:alert(1))")
@example("<b onclick=x>&lt;")
@example("closed #")
def test_markdown_shows_the_text_and_nothing_else(text: str) -> None:
    for source in (f"| a |\n| --- |\n| {quoting.markdown(text)} |", f"### {quoting.markdown(text)}"):
        tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(source)
        inner = [child for token in tokens for child in token.children or ()]
        assert {child.type for child in inner} <= {"text", "text_special"}
        assert {token.type for token in tokens} <= {
            *(f"{name}_{side}" for name in ("table", "thead", "tbody", "tr", "th", "td") for side in ("open", "close")),
            *("heading_open", "heading_close", "inline"),
        }
    shown = "".join(child.content for token in tokens for child in token.children or ())
    assert shown == quoting.one_line(text).strip()


@given(st.lists(texts.filter(lambda text: "\ud83d" not in text), max_size=4))
def test_json_keeps_the_data_and_shows_nothing_hidden(values: list[str]) -> None:
    written = quoting.json_document(json.dumps(values, ensure_ascii=False).encode())
    assert json.loads(written) == values
    assert not any(is_hidden(mark) for mark in written.decode())


@given(st.lists(texts, unique=True, max_size=30))
@example(["a" * 400, "a" * 401, "", "a/b", "a-b", "..", "🙂", "日" * 100])
def test_file_names_are_safe_and_unique(values: list[str]) -> None:
    names = [quoting.file_name(value) for value in values]
    assert len(set(names)) == len(values)
    for name in names:
        assert 0 < len(name.encode()) <= quoting.FILE_NAME_BYTES
        assert re.fullmatch(r"[\w.-]+", name)
        assert name not in (".", "..")


def test_an_ordinary_name_is_its_own_file_name() -> None:
    assert quoting.file_name("team-1_nlp.de") == "team-1_nlp.de"
    assert quoting.file_name("Größe") == "Größe"
    assert quoting.file_name("NLP", is_ambiguous=True) != quoting.file_name("nlp", is_ambiguous=True).upper()


def test_csv_cells_survive_a_csv_reader() -> None:
    hostile = ["=1+1", "a\nb", 'say "hi"', "x\x1b[2J", "-5", "a,b"]
    out = io.StringIO()
    csv.writer(out).writerow([quoting.csv_text(value) for value in hostile])
    (row,) = csv.reader(io.StringIO(out.getvalue()))
    assert [quoting.from_csv_text(cell) for cell in row] == hostile
