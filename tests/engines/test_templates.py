"""A step and the fragments passed to it match exactly; anything else is an error that names the step."""

from pathlib import Path

import pytest

import trainfare
from trainfare.engine.duckdb import DuckDB
from trainfare.engine.sql import TemplateError, no_rows_of, pick, placeholders, step_text

SOURCE = Path(trainfare.__file__).parent
STEPS = sorted(
    (".".join(("trainfare", *path.relative_to(SOURCE).parent.parts)), path.stem) for path in SOURCE.rglob("*.sql")
)
STEP = ("trainfare.allocate", "job_spend")


@pytest.mark.parametrize("render", [step_text, no_rows_of])
def test_an_unfilled_placeholder_is_an_error(render):
    with pytest.raises(TemplateError, match=r"trainfare\.allocate/job_spend\.sql: no fragment for job"):
        render(*STEP)


@pytest.mark.parametrize("render", [step_text, no_rows_of])
def test_an_unused_fragment_is_an_error(render):
    with pytest.raises(TemplateError, match=r"job_spend\.sql: does not use the fragment month, year"):
        render(*STEP, {"job": "'a'", "year": "2026", "month": "10"})


def test_the_engine_runs_no_step_with_the_wrong_fragments():
    engine = DuckDB()
    try:
        with pytest.raises(TemplateError):
            engine.step(*STEP, "job_spend")
    finally:
        engine.close()


def test_a_placeholder_inside_a_fragment_is_text():
    """A tag or a job may contain braces; they are never replaced."""
    assert "WHERE a.job_id = '{{job}}'" in step_text(*STEP, {"job": "'{{job}}'"})


def test_a_step_picks_its_fragments_from_a_shared_pool():
    assert pick(*STEP, {"job": "'a'", "month": "10"}) == {"job": "'a'"}


def test_all_steps_are_inspected():
    assert len(STEPS) > 150


@pytest.mark.parametrize(("package", "name"), STEPS, ids=[f"{package}/{name}" for package, name in STEPS])
def test_every_step_renders_with_its_own_placeholders(package: str, name: str):
    fragments = {one: f"<{one}>" for one in placeholders(package, name)}
    text = step_text(package, name, fragments)
    assert "{{" not in text
    assert all(fragment in text for fragment in fragments.values())
