"""Words that must not come back: names that only we used, and British spellings."""

import io
import re
import subprocess
import tokenize
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXTS = (".py", ".sql", ".md", ".html", ".js", ".css", ".toml", ".typ", ".sh", ".csv", ".expected", ".txt", "Makefile")
FOLDERS = ("src", "sdk", "tests", "docs", "bench")
UNREAD = (
    "package-lock.json",
    "/migrations/versions/",
    "tests/workspace/previous_version/",
    "docs/howto/upgrade.md",
    "tests/architecture/test_terminology.py",
)
"""Other people's names, the history of the catalog's schema, and the page that lists what was renamed."""
SLURM = re.compile(r"slurm|sacct", re.IGNORECASE)
"""Files about Slurm may use its own spelling, `cancelled`."""

EVERYWHERE = re.compile(
    r"told|dearest|dearer|\w*licence\w*|\w*labour\w*|\w*colour\w*|\w*neighbour\w*|\w*normalis\w*|\w*recognis\w*|\w*amortis\w*"
    r"|\w*utilis\w*|\w*organis\w*|\w*summaris\w*|\w*behaviour\w*|catalogue\w*|centres?|cost_centre|artefact\w*|spoilt|cancell(?:ed|ing)",
    re.IGNORECASE,
)
"""Whole words, in identifiers and in prose."""

IDENTIFIERS = re.compile(
    r"handed_on|\w*gripped|grips?|uneven_\w+|laid_\w+|laying|put_away|Shelf|Desk|Lent|Door|Attention|Life|sight|sites|families"
    r"|\w*told\w*|ways|channels|slots|pieces|stretches|settled"
)
"""Former names, as whole identifiers in Python and SQL."""


def texts(root: Path = ROOT) -> list[Path]:
    """The text files of the project that we write by hand."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "README.md", "Makefile", *FOLDERS],
        cwd=root, capture_output=True, text=True, check=True,
    )  # fmt: skip
    named = [root / name for name in listed.stdout.splitlines() if name.endswith(TEXTS)]
    return [path for path in named if path.exists() and not any(part in path.as_posix() for part in UNREAD)]


def banned(path: Path) -> list[str]:
    """The banned words of a file, in order, with their lines."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    about_slurm = SLURM.search(path.as_posix()) or (path.suffix == ".md" and SLURM.search("\n".join(lines)))
    named = _identifiers(path, lines)
    found = []
    for number, line in enumerate(lines, 1):
        words = set(re.findall(r"[A-Za-z]+", line)) | {
            part for word in re.findall(r"\w+", line) for part in word.split("_")
        }
        hits = {word for word in words if EVERYWHERE.fullmatch(word)} | named.get(number, set())
        hits = {word for word in hits if not (word.lower().startswith("cancell") and (about_slurm or word.isupper()))}
        found += [f"{number}: {word}" for word in sorted(hits)]
    return found


def _identifiers(path: Path, lines: list[str]) -> dict[int, set[str]]:
    """Former names that are used as identifiers, by line. In prose they are ordinary words."""
    found: dict[int, set[str]] = defaultdict(set)
    if path.suffix == ".sql":
        for number, line in enumerate(lines, 1):
            found[number] |= {word for word in re.findall(r"\w+", line.split("--")[0]) if IDENTIFIERS.fullmatch(word)}
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO("\n".join([*lines, ""])).readline):
            word = token.string.strip("\"'") if token.type == tokenize.STRING else token.string
            if token.type in (tokenize.NAME, tokenize.STRING) and IDENTIFIERS.fullmatch(word):
                found[token.start[0]].add(word)
    return found


def test_the_scan_reads_the_project() -> None:
    assert len(texts()) > 500
    assert ROOT / "README.md" in texts()


def test_no_banned_word_is_used() -> None:
    found = {path.relative_to(ROOT).as_posix(): words for path in texts() if (words := banned(path))}
    assert found == {}


@pytest.mark.parametrize(
    ("name", "line", "word"),
    [
        ("a.py", "told = 1", "told"),
        ("a.py", "rows_told = 1", "told"),
        ("a.sql", "SELECT way FROM ways", "ways"),
        ("a.sql", "-- The dearest first.", "dearest"),
        ("a.md", "The licence of a cost centre", "centre"),
        ("a.html", "<p>Colour</p>", "Colour"),
        ("a.py", "class Shelf:", "Shelf"),
    ],
)
def test_a_planted_word_is_found(tmp_path: Path, name: str, line: str, word: str) -> None:
    (tmp_path / name).write_text(f"{line}\n", encoding="utf-8")
    assert f"1: {word}" in banned(tmp_path / name)


def test_ordinary_words_pass(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("# There are many ways to lay cable; the tolerance was settled.\n", encoding="utf-8")
    (tmp_path / "sacct.py").write_text("state = 'cancelled'\n", encoding="utf-8")
    assert banned(tmp_path / "a.py") == banned(tmp_path / "sacct.py") == []
