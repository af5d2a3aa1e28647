"""Problems in the records: each finding where it is due, and not where rounding or another month explains it."""

import json

from .books import DAY, HOUR, JOBS, Account, Bookkeeper, Case, hours_of, placement, with_settings, write_rows
from .story import story


def rows_of(account: Account, code: str) -> list[str]:
    """Return the evidence of a finding; empty if there is none."""
    found = account.opened.engine.rows(f"SELECT evidence FROM findings WHERE code = '{code}'")
    return [text for (listed,) in found for text in json.loads(listed)]


@story
def test_six_sixths_of_a_gpu_are_one_gpu():
    """
    machine  n1  1 gpu  6 h  6.00 USD
    attempt  a   0.166666666667 gpu  6 h  from 0 h
    attempt  b   0.166666666667 gpu  6 h  from 0 h
    attempt  c   0.166666666667 gpu  6 h  from 0 h
    attempt  d   0.166666666667 gpu  6 h  from 0 h
    attempt  e   0.166666666667 gpu  6 h  from 0 h
    attempt  f   0.166666666667 gpu  6 h  from 0 h
    =>
    a  1.00
    b  1.00
    c  1.00
    d  1.00
    e  1.00
    f  1.00
    """


def test_an_excess_that_rounding_does_not_explain_is_beyond_capacity(keeper: Bookkeeper) -> None:
    """Each fraction may be rounded up by half of a millionth: three of them by one and a half, and not by two."""
    for gpus, is_beyond in (
        (("0.333333", "0.333334", "0.333334"), False),
        (("0.333334", "0.333334", "0.333334"), True),
        (("1", "0.000001"), True),
        (("0.5", "0.500001"), False),
        (("0.5", "0.500002"), True),
    ):
        held = [placement(f"job-{n}", "n1", (0, HOUR), gpus=amount) for n, amount in enumerate(gpus)]
        account = keeper.book(Case([hours_of("n1", (0, HOUR), "1")], held, [{"machine_id": "n1", "gpus": 1}]))
        assert ("HELD_BEYOND_CAPACITY" in account.findings) == is_beyond, gpus


def test_a_job_on_a_machine_without_a_bill_is_shown_with_what_it_pays_otherwise(keeper: Bookkeeper) -> None:
    lines = [hours_of("n1", (0, 7 * HOUR), "7")]
    held = [placement("a", "n1", (0, 7 * HOUR)), placement("a", "n9", (0, 7 * HOUR)), placement("b", "n9", (0, HOUR))]
    account = keeper.book(Case(lines, held))
    assert rows_of(account, "JOB_WITHOUT_MACHINE") == [
        "job a on n9, which pays 7.00 USD for other charges",
        "job b on n9",
    ]
    (what,) = account.opened.engine.row("SELECT what FROM findings WHERE code = 'JOB_WITHOUT_MACHINE'")
    assert what.endswith("no machine cost is known for these hours")


def result(job: str) -> dict[str, object]:
    return {"job_id": job, "metric": "accuracy", "value": "0.9", "better": "higher"}


def test_results_of_an_unknown_job_are_found_and_those_of_another_month_are_not(keeper: Bookkeeper) -> None:
    """The job `old` is in the log of another time, `typo` in none."""
    held = [placement("a", "n1", (0, HOUR))]
    case = Case([hours_of("n1", (0, HOUR), "1")], held, quality=[result("a"), result("old"), result("typo")])
    folder = keeper.write(case)
    write_rows(folder / "september.csv", JOBS, [placement("old", "n1", (-9 * DAY, -8 * DAY))])
    account = keeper.account(with_settings(folder, ["bill.csv", "jobs.csv", "september.csv", "quality.csv"]))
    assert rows_of(account, "RESULT_JOB_UNKNOWN") == ["job typo, 1 result"]


def test_a_file_with_results_of_unknown_jobs_only_is_found(keeper: Bookkeeper) -> None:
    case = Case([hours_of("n1", (0, HOUR), "1")], [placement("a", "n1", (0, HOUR))], quality=[result("A"), result("A")])
    assert rows_of(keeper.book(case), "RESULT_JOB_UNKNOWN") == ["job A, 2 results"]


SACCT = "JobID|Cluster|User|State|Start|End|AllocTRES|NodeList\n"


def test_results_of_a_job_id_that_two_clusters_use_are_found_unless_they_name_the_cluster(keeper: Bookkeeper) -> None:
    case = Case([hours_of("n1", (0, HOUR), "1")], quality=[result("7"), result("beta/7")])
    folder = keeper.write(case)
    for cluster in ("alpha", "beta"):
        row = f"7|{cluster}|ana|COMPLETED|2026-10-01T00:00:00|2026-10-01T01:00:00|gres/gpu=1|n1\n"
        (folder / f"{cluster}.txt").write_text(SACCT + row, encoding="utf-8")
    account = keeper.account(with_settings(folder, ["bill.csv", "alpha.txt", "beta.txt", "quality.csv"]))
    assert rows_of(account, "RESULT_JOB_UNKNOWN") == ["job 7, 1 result"]


def test_a_node_with_two_gpu_models_is_found_and_one_with_slices_of_its_model_is_not(keeper: Bookkeeper) -> None:
    """The parts are by count: 2 of 11 GPUs are 18.18 %, whatever a GPU of each model costs."""
    held = {
        "mixed": ["1|{}|gres/gpu=2,gres/gpu:a100=2|n1", "2|{}|gres/gpu=9,gres/gpu:h100=9|n1"],
        "at once": ["1|{}|gres/gpu=11,gres/gpu:a100=2,gres/gpu:h100=9|n1"],
        "one model": ["1|{}|gres/gpu=2,gres/gpu:a100=2|n1", "2|{}|gres/gpu=9,gres/gpu:a100=9|n1"],
        "slices": ["1|{}|gres/gpu=2,gres/gpu:a100=2|n1", "2|{}|gres/gpu=1,gres/gpu:a100_1g.5gb=1|n1"],
        "untyped": ["1|{}|gres/gpu=2,gres/gpu:a100=2|n1", "2|{}|gres/gpu=9|n1"],
        "two nodes": ["1|{}|gres/gpu=11,gres/gpu:a100=2,gres/gpu:h100=9|n[1-2]"],
    }
    found = {}
    for name, lines in held.items():
        folder = keeper.write(Case([hours_of("n1", (0, HOUR), "100")], machines=[{"machine_id": "n1", "gpus": 11}]))
        times = "ana|COMPLETED|2026-10-01T00:00:00|2026-10-01T01:00:00"
        header = "JobID|User|State|Start|End|AllocTRES|NodeList\n"
        text = header + "".join(line.format(times) + "\n" for line in lines)
        (folder / "log.txt").write_text(text, encoding="utf-8")
        account = keeper.account(with_settings(folder, ["bill.csv", "machines.csv", "log.txt"]))
        found[name] = rows_of(account, "GPU_MODELS_MIXED")
    expected = {"mixed": ["machine n1: a100, h100"], "at once": ["machine n1: a100 and h100"]}
    assert found == {name: [] for name in held} | expected


def test_an_id_of_two_jobs_is_found_and_one_of_two_runs_is_not(keeper: Bookkeeper) -> None:
    for users, evidence in (
        (("ana", "ana"), []),
        (("ana", "ben"), ["job 7@2026-10-01T00:00:00Z of ana", "job 7@2026-10-01T01:00:00Z of ben"]),
    ):
        folder = keeper.write(Case([hours_of("n1", (0, 2 * HOUR), "4")]))
        runs = (
            f"7|lab|{user}|FAILED|2026-10-01T0{n}:00:00|2026-10-01T0{n + 1}:00:00|gres/gpu=1|n1\n"
            for n, user in enumerate(users)
        )
        (folder / "log.txt").write_text(SACCT + "".join(runs).replace("|lab|", "||"), encoding="utf-8")
        account = keeper.account(with_settings(folder, ["bill.csv", "log.txt"]))
        assert rows_of(account, "JOB_ID_REPEATED") == evidence
