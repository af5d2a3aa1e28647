"""The fold against an independent model: random histories with repeats, late news and gaps."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trainfare.sources.recordings.fold import History, ended_between, fold
from trainfare.store.recordings.values import Observation, Op

START = datetime(2026, 10, 1, tzinfo=UTC)


def at(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


def observed(seq: int, uid: str, op: Op, seen: int, valid: int | None, phase: str = "") -> Observation:
    valid_at = None if valid is None else at(valid)
    return Observation(seq, "simulated", "lab", "pod", uid, at(seen), valid_at, op, "", {"phase": phase})


events = st.lists(
    st.tuples(
        st.sampled_from(["a", "b"]),
        st.sampled_from([Op.SEEN, Op.SEEN, Op.ENDED, Op.DELETED, Op.GONE]),
        st.none() | st.integers(0, 9),
        st.sampled_from(["Pending", "Running"]),
    ),
    max_size=12,
)


def make(given_events: list[tuple[str, Op, int | None, str]]) -> list[Observation]:
    return [
        observed(seq, uid, op, 10 + seq, (seq if op is Op.GONE else valid), phase)
        for seq, (uid, op, valid, phase) in enumerate(given_events, 1)
    ]


def model(observations: list[Observation]) -> dict[str, dict[str, Any]]:
    """What each object is, decided by looking at all of its observations at once, last one first."""
    answer: dict[str, dict[str, Any]] = {}
    for uid in dict.fromkeys(one.uid for one in observations):
        mine = [one for one in observations if one.uid == uid]
        first = next((index for index, one in enumerate(mine) if one.op is not Op.GONE), None)
        if first is None:
            continue
        mine = mine[first:]
        deleted = [one for one in mine if one.op is Op.DELETED]
        for wanted in (Op.ENDED, Op.DELETED, Op.SEEN):
            states = [one for one in mine if one.op is wanted]
            if states:
                break
        # Of several states the last one counts, unless it is dated before the one that counted until then. The first
        # report of a removal counts.
        current = states[0]
        for one in states[1:] if wanted is not Op.DELETED else []:
            if not (one.valid_at and current.valid_at and one.valid_at < current.valid_at):
                current = one
        gone = None
        if wanted is Op.SEEN:
            gone = _gone(mine)
        answer[uid] = {
            "phase": current.fields["phase"],
            "op": Op.GONE if gone else wanted,
            "seq": current.seq,
            "deleted": bool(deleted),
            "gone": gone,
        }
    return answer


def _gone(mine: list[Observation]) -> tuple[datetime, datetime] | None:
    """The first absence after the last state that was no late news."""
    newest: datetime | None = None
    gone: Observation | None = None
    for one in mine:
        if one.op is Op.GONE:
            gone = gone or one
        elif not (newest and one.valid_at and one.valid_at < newest):
            newest, gone = one.valid_at, None
    if gone is None:
        return None
    assert gone.valid_at
    return gone.valid_at, gone.seen_at


def plain(histories: list[History]) -> dict[str, dict[str, Any]]:
    return {
        one.uid: {
            "phase": one.fields["phase"],
            "op": one.op,
            "seq": one.seq,
            "deleted": one.deleted_at is not None,
            "gone": one.gone,
        }
        for one in histories
    }


@given(events)
def test_the_fold_gives_what_the_model_gives(given_events: list[tuple[str, Op, int | None, str]]) -> None:
    observations = make(given_events)
    assert plain(fold(observations)) == model(observations)


@given(events, st.data())
def test_repeating_an_observation_right_away_changes_nothing(
    given_events: list[tuple[str, Op, int | None, str]], data: st.DataObject
) -> None:
    observations = make(given_events)
    repeats = data.draw(st.lists(st.booleans(), min_size=len(observations), max_size=len(observations)))
    repeated = [one for one, twice in zip(observations, repeats, strict=True) for _ in range(1 + twice)]
    assert fold(repeated) == fold(observations)


@given(st.permutations(range(6)))
def test_states_that_arrive_in_any_order_give_the_newest(order: list[int]) -> None:
    states = [observed(n + 1, "a", Op.SEEN, 20, n, f"phase {n}") for n in range(6)]
    (found,) = fold([states[n] for n in order])
    assert found.fields == {"phase": "phase 5"}


@given(st.permutations([Op.SEEN, Op.ENDED, Op.DELETED]))
def test_what_is_over_is_over_in_whatever_order_it_is_heard(order: list[Op]) -> None:
    times = {Op.SEEN: 1, Op.ENDED: 2, Op.DELETED: 3}
    (found,) = fold(observed(n, "a", op, 10 + n, times[op], op) for n, op in enumerate(order, 1))
    assert (found.op, found.fields, found.deleted_at) == (Op.ENDED, {"phase": "ended"}, at(3))


def test_an_object_that_disappeared_ended_between_two_known_times() -> None:
    (found,) = fold([observed(1, "a", Op.SEEN, 0, 0), observed(2, "a", Op.GONE, 60, 45)])
    assert (found.op, found.gone) == (Op.GONE, (at(45), at(60)))
    assert ended_between(found) == "2026-10-01T00:45:00Z and 2026-10-01T01:00:00Z"


def test_an_object_that_is_seen_again_never_ended() -> None:
    (found,) = fold(
        [observed(1, "a", Op.SEEN, 0, 0), observed(2, "a", Op.GONE, 60, 45), observed(3, "a", Op.SEEN, 70, 70)]
    )
    assert (found.op, found.gone, found.first_seen) == (Op.SEEN, None, at(0))


def test_a_clock_that_was_set_back_gives_the_same_two_times() -> None:
    (found,) = fold([observed(1, "a", Op.SEEN, 50, 0), observed(2, "a", Op.GONE, 30, 50)])
    assert found.gone == (at(30), at(50))
