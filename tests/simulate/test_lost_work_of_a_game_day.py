"""Lost work against the truth: the simulator knows what every job lost, hour by hour, and shares no code with the account."""

import json
from decimal import Decimal
from pathlib import Path

from trainfare import pipeline
from trainfare.config import load
from trainfare.report.opened import open_books
from trainfare.simulate.cluster import play
from trainfare.store import Store


def test_the_jobs_that_lost_work_are_found_with_what_it_cost(tmp_path: Path) -> None:
    """Exactly the jobs that did. The account cuts a day's money by time and the truth has a spot price for every hour; and the clock of
    who measures is up to half a minute off. So a job may be off by a few percent and half a minute of each attempt; all together by
    less than one percent.
    """
    played = play(tmp_path, 3, 16, {})
    told = json.loads((tmp_path / "truth.json").read_text(encoding="utf-8"))["lost"]
    true = {job: Decimal(money) for job, money in told.items() if Decimal(money)}
    config = load(tmp_path / "trainfare.toml")
    with Store.open(tmp_path, config.catalog) as store, pipeline.fresh_engine() as engine:
        (built,) = pipeline.build(config, store, played.month)
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
    assert len(true) > 50
    assert found.keys() == true.keys()
    far = {job for job in true if abs(found[job] - true[job]) > true[job] / 20 + Decimal(half_minutes[job])}
    assert far == set()
    assert abs(sum(found.values()) - sum(true.values())) < sum(true.values()) / 100
