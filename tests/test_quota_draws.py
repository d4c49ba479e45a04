"""What nodes draw on a quota, as arithmetic; and which quota it is."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from spotrain import contract
from spotrain.clouds.project import Quota
from spotrain.quotas import draws, gcp
from spotrain.quotas.draws import Draw, same


@st.composite
def _draws(draw: st.DrawFn) -> Draw:
    smallest = draw(st.integers(1, 192))
    nodes = draw(st.integers(1, 100))
    return Draw(
        name=draw(st.sampled_from("abc")),
        smallest=smallest,
        largest=smallest + draw(st.integers(0, 192)),
        nodes=nodes,
        first=draw(st.integers(1, nodes)),
        trains=draw(st.booleans()),
    )


SOME = st.lists(_draws(), min_size=1, max_size=6)


@given(SOME)
def test_the_least_is_never_above_what_it_takes_to_begin_nor_that_above_the_most(
    some: Sequence[Draw],
) -> None:
    assert draws.least(some) <= draws.at_first(some) <= draws.most(some)


@given(SOME)
def test_the_order_of_pools_changes_no_number(some: list[Draw]) -> None:
    other = some[::-1]
    for sum_of in (draws.least, draws.at_first, draws.most):
        assert sum_of(other) == sum_of(some)


@given(SOME, st.integers(1, 50))
def test_more_nodes_of_a_pool_take_their_size_each(some: list[Draw], more: int) -> None:
    grown = [replace(some[0], nodes=some[0].nodes + more), *some[1:]]
    assert draws.most(grown) - draws.most(some) == more * some[0].largest
    assert draws.at_first(grown) == draws.at_first(some)


@given(SOME, st.integers(1, 100))
def test_a_pool_in_two_halves_takes_as_much_as_the_whole(some: list[Draw], nodes: int) -> None:
    whole = [*some, same("whole", 8, 2 * nodes)]
    halves = [*some, same("one", 8, nodes), same("other", 8, nodes)]
    assert draws.most(whole) == draws.most(halves)
    assert draws.least(whole) == draws.least(halves)


@given(SOME)
def test_managers_do_not_lower_what_a_node_that_trains_takes(some: list[Draw]) -> None:
    trained = [replace(each, trains=True) for each in some]
    assert draws.least([*trained, same("managers", 1, 3, trains=False)]) == draws.least(trained)


LIMITS = st.dictionaries(
    st.sampled_from(["CPUS", "PREEMPTIBLE_CPUS", "E2_CPUS", "PREEMPTIBLE_E2_CPUS"]),
    st.integers(0, 3),
)


@given(LIMITS, st.sampled_from([contract.CAPACITY_SPOT, contract.CAPACITY_ON_DEMAND]))
def test_the_quota_that_counts_is_one_of_those_that_are_told_beforehand(
    limits: dict[str, int], capacity: str
) -> None:
    listed = {name: Quota(name, limit, 0) for name, limit in limits.items()}
    told = [name for each in gcp.vcpus_of("e2-standard-2") for name in gcp.names_of(each, capacity)]
    found = gcp.find_vcpus(listed, "e2-standard-2", capacity)
    if found is None:
        assert listed.keys().isdisjoint(gcp.names_of("CPUS", capacity))
    else:
        assert found.metric in told
        if found.metric.startswith(gcp.SPOT):
            assert found.limit or found.metric.removeprefix(gcp.SPOT) not in listed
