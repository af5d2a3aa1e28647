"""Follow the links of pages: a link from a figure carries its question, and its page shows the same figure."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal
from html import unescape
from typing import Any

ANCHOR = re.compile(r"<a\b([^>]*)>(.*?)</a>", re.DOTALL)
ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
MARKED = re.compile(r'<\w+\b([^>]*\bdata-answers="[^"]*"[^>]*)>(.*?)</div>', re.DOTALL)
CHART = re.compile(r'<script type="application/json"[^>]*>(.*?)</script>', re.DOTALL)
NUMBER = re.compile(r"[+-]?[\d,]+(\.\d+)?( %)?")
CENT = Decimal("0.01")

Question = dict[str, str]


@dataclass(frozen=True)
class ReadPage:
    """What a page links to and shows. `faults` are links from figures that do not say what they ask."""

    questions: list[Question]
    answers: list[Question]
    faults: list[str]


def read(text: str) -> ReadPage:
    """Read the links and the figures of a page, those in charts included."""
    questions: list[Question] = []
    faults: list[str] = []
    for attributes, content in ANCHOR.findall(text):
        found = _attributes(attributes)
        shown = unescape(re.sub(r"<[^>]+>", "", content)).strip()
        if "data-question" in found:
            question = json.loads(found["data-question"])
            questions.append(question)
            if question["url"] != found["href"]:
                faults.append(f"{shown} leads to {found['href']}, but asks {question['url']}")
            if NUMBER.fullmatch(shown) and not shown.endswith("%") and not _shows(shown, question):
                faults.append(f"{shown} is shown, but {question} is asked")
        elif NUMBER.fullmatch(shown):
            faults.append(f"{shown} leads to {found.get('href')} without a question")
    for spec in CHART.findall(text):
        for part in _objects(json.loads(spec)):
            questions += _chart_questions(part, faults)
    answers = []
    for attributes, content in MARKED.findall(text):
        marked = json.loads(_attributes(attributes)["data-answers"])
        answers += marked
        shown = unescape(re.sub(r"<[^>]+>", " ", content)).split()[0]
        if not _shows(shown, marked[0]):
            faults.append(f"{shown} is shown, but marked as {marked[0]}")
    return ReadPage(questions, answers, faults)


def _attributes(text: str) -> dict[str, str]:
    return {name: unescape(value) for name, value in ATTRIBUTE.findall(text)}


def _shows(text: str, figure: Question) -> bool:
    """Whether a text is a figure, as pages write it: amounts to the cent, numbers of things in full."""
    value = Decimal(figure["value"])
    return text == (f"{value.quantize(CENT, ROUND_HALF_EVEN):,}" if figure["currency"] else f"{value:,}")


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(one)


def _chart_questions(part: dict[str, Any], faults: list[str]) -> list[Question]:
    """The questions of the linked bars, tiles and points of a chart."""
    links, questions = part.get("links") or [], part.get("questions") or []
    if part.get("link") and ("value" in part or "x" in part):
        links, questions = [part["link"]], [part.get("question")]
    for link, question in zip(links, [*questions, *[None] * len(links)], strict=False):
        if link and (not question or question["url"] != link):
            faults.append(f"part of a chart leads to {link}, but asks {question}")
    return [question for question in questions if question]


@dataclass
class Crawl:
    """Pages by URL, read once each, and what was wrong with the links followed so far."""

    ask: Callable[[str], tuple[int, str]]
    followed: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    pages: dict[str, ReadPage | None] = field(default_factory=dict)

    def page(self, url: str) -> ReadPage | None:
        """Read a page; None if it is an error."""
        if url not in self.pages:
            status, text = self.ask(url)
            if status >= 500:
                self.wrong.append(f"{url}: {status}")
            self.pages[url] = read(text) if status == 200 else None
        return self.pages[url]

    def follow_all(self, url: str, choose: Callable[[list[Question]], Sequence[Question]] = lambda all_: all_) -> int:
        """Follow the links from the figures of a page, or those chosen, and compare; return how many there were."""
        found = self.page(url)
        if found is None:
            return 0
        self.wrong += [f"{url}: {fault}" for fault in found.faults]
        for question in choose(found.questions):
            self.followed[url.split("?")[0].split("/")[1]] += 1
            target = self.page(question["url"])
            if target is None:
                self.wrong.append(f"{url} leads to an error: {question}")
                continue
            same = [one for one in target.answers if all(one[name] == question[name] for name in _MEASURED)]
            if question["value"] not in [one["value"] for one in same]:
                self.wrong.append(f"{url} asks {question}, answered: {[one['value'] for one in same]}")
        return len(found.questions)


_MEASURED = ("measure", "currency", "basis")
