"""Lost work compared with the truth: the simulator knows what every job lost and shares no code with the account."""

import json
from decimal import Decimal
from pathlib import Path

from trainfare.books.build import build_books
from trainfare.engine.choice import embedded
from trainfare.job_ids import native_id
from trainfare.query.open_books import open_books
from trainfare.settings.config import load
from trainfare.simulate.cluster import simulate_game_day
from trainfare.store import Store


def test_exactly_the_jobs_that_lost_work_are_found_with_its_cost(tmp_path: Path) -> None:
    """The clock of the measurements is up to half a minute off, and steps are ten seconds long. So a job may deviate
    by a few percent plus half a minute per attempt, and all jobs together by less than one percent.
    """
    game_day = simulate_game_day(tmp_path, 3, 16, {})
    lost = json.loads((tmp_path / "truth.json").read_text(encoding="utf-8"))["lost"]
    true = {job: Decimal(money) for job, money in lost.items() if Decimal(money)}
    config = load(tmp_path / "trainfare.toml")
    with Store.open(tmp_path, config.catalog) as store, embedded() as engine:
        (built,) = build_books(config, store, game_day.month)
        open_books(engine, [store.files(built.book)])
        found = dict(
            engine.rows(
                "SELECT job_id, sum(effective) FROM work WHERE part = 'lost' AND category = 'compute' "
                "GROUP BY job_id HAVING sum(effective) <> 0"
            )
        )
        half_minutes = dict(
            engine.rows(
                "WITH ran AS (SELECT job_id, sum(ends - starts) AS seconds, count(DISTINCT attempt) AS attempts FROM ("
                "SELECT DISTINCT job_id, attempt, starts, ends FROM book_placements) GROUP BY job_id) "
                "SELECT job_id, 30 * max(attempts) * sum(effective) / max(seconds) FROM shares JOIN ran USING (job_id) "
                "WHERE category = 'compute' GROUP BY job_id"
            )
        )
    found, half_minutes = ({native_id(job): one for job, one in rows.items()} for rows in (found, half_minutes))
    assert len(true) > 50
    assert found.keys() == true.keys()
    far = {job for job in true if abs(found[job] - true[job]) > true[job] / 20 + Decimal(half_minutes[job])}
    assert far == set()
    assert abs(sum(found.values()) - sum(true.values())) < sum(true.values()) / 100
