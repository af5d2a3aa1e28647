"""Slurm's shorthand for many nodes is written out as Slurm would."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainfare.sources.schedulers.hostlist import MOST_NODES, expand


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("cpu-0", "cpu-0"),
        ("gpu[001-004,7],cpu-0", "gpu001 gpu002 gpu003 gpu004 gpu7 cpu-0"),
        ("rack[1-2]n[01-03]", "rack1n01 rack1n02 rack1n03 rack2n01 rack2n02 rack2n03"),
        ("n[8-11]", "n8 n9 n10 n11"),
        ("n[098-101]", "n098 n099 n100 n101"),
        ("n[1-2]-ib.site.org", "n1-ib.site.org n2-ib.site.org"),
        ("[1-2]", "1 2"),
        ("b,a,b", "b a"),
    ],
)
def test_a_list_is_written_out(text, nodes):
    assert expand(text) == nodes.split()


DAMAGED = """
    , a, ,a a,,b n[ n[1-4 n1] n[] n[1-] n[-1] n[a-b] n[4-1] n[1,,2] n[1[2]] n[000x133] n[1-300]m[1-300]
    n[1-65537] n[1-99999999999999999999]
"""


@pytest.mark.parametrize("text", ["", "a b", *DAMAGED.split()])
def test_a_damaged_list_is_refused(text):
    with pytest.raises(ValueError):
        expand(text)


def squeezed(prefix: str, width: int, numbers: set[int]) -> str:
    """Write nodes the short way: neighbors of one width become a range."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    parts = [f"{a:0{width}}" if a == b else f"{a:0{width}}-{b:0{width}}" for a, b in ranges]
    return f"{prefix}[{','.join(parts)}]"


groups = st.dictionaries(
    st.tuples(st.sampled_from(["gpu", "cpu-", "r1n", "a.b-"]), st.integers(1, 5)),
    st.sets(st.integers(0, 120), min_size=1, max_size=30),
    min_size=1,
    max_size=4,
)


@given(groups)
def test_what_was_squeezed_comes_out_again(groups):
    """Each node once, however the widths and prefixes mix."""
    text = ",".join(squeezed(prefix, width, numbers) for (prefix, width), numbers in groups.items())
    nodes = {f"{prefix}{number:0{width}}" for (prefix, width), numbers in groups.items() for number in numbers}
    assert sorted(expand(text)) == sorted(nodes)


@given(st.text(alphabet="n0123[]-,x", max_size=12))
def test_any_text_is_a_list_or_a_value_error(text):
    try:
        nodes = expand(text)
    except ValueError:
        return
    assert nodes
    assert len(nodes) == len(set(nodes)) <= MOST_NODES
