"""Scopes such as `team=nlp,vision and pool=large`: one grammar, the same cost wherever they are accepted."""

import random

import pytest

from trainfare.errors import TrainfareError
from trainfare.settings.scope import parse

WORDS = ("nlp", "a b", "x,y", "this and that", "k=v", "(none)", "2026-10-05", "é", " and ")


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("team=nlp", (("team", ("nlp",)),)),
        ("team=nlp,vision", (("team", ("nlp", "vision")),)),
        (" team = nlp , vision AND pool=large ", (("team", ("nlp", "vision")), ("pool", ("large",)))),
        ('project="speech and text",other', (("project", ("speech and text", "other")),)),
        ('project="a,b"', (("project", ("a,b",)),)),
        ("label=k=v", (("label", ("k=v",)),)),
        ("team=band and owner=andy", (("team", ("band",)), ("owner", ("andy",)))),
        ("team=nlp,nlp", (("team", ("nlp",)),)),
    ],
)
def test_a_scope_is_keys_with_alternatives_joined_by_and(text: str, conditions: object) -> None:
    assert parse(text, "--where") == conditions


@pytest.mark.parametrize(
    "text", ["", "team", "=nlp", "team=", "team=nlp,", "team=,nlp", 'team="nlp', 'team="a"b', "team=nlp and ", "and"]
)
def test_anything_else_is_an_error_that_shows_how_to_write_it(text: str) -> None:
    with pytest.raises(TrainfareError, match="is not a scope") as caught:
        parse(text, "--where")
    assert "key=value[,value]" in caught.value.do


def test_every_value_can_be_written_in_quotes() -> None:
    chance = random.Random(3)
    for _ in range(300):
        conditions = tuple(
            (f"key{number}", tuple(dict.fromkeys(chance.choices(WORDS, k=chance.randrange(1, 4)))))
            for number in range(chance.randrange(1, 4))
        )
        written = " and ".join(f"{key}=" + ",".join(f'"{value}"' for value in values) for key, values in conditions)
        assert parse(written, "--where") == conditions
