"""Addresses of pods: their own, not soon again, and the old one for whoever comes back."""

import pytest

from fleetqueue.runtime.addresses import AddressesExhausted, AddressPool


@pytest.mark.rule("jobs C.6")
def test_each_owner_has_an_address_of_its_own() -> None:
    pool = AddressPool("127.3.0.0/16")
    first, second = pool.take("a"), pool.take("b")
    assert (first, second, pool.take("a")) == ("127.3.0.1", "127.3.0.2", first)
    many = {pool.take(number) for number in range(600)}
    assert len(many) == 600
    assert not any(address.endswith((".0", ".255")) for address in many)


@pytest.mark.rule("jobs C.6")
def test_who_comes_back_under_the_same_name_has_the_same_address() -> None:
    pool = AddressPool("127.3.0.0/16")
    first = pool.take(("ns", "job-0", "job"))
    pool.release(("ns", "job-0", "job"))
    assert pool.take(("ns", "other", "")) != first, "none is given to another soon"
    assert pool.take(("ns", "job-0", "job")) == first


def test_an_address_that_somebody_else_has_by_now_is_not_given_back() -> None:
    pool = AddressPool("127.3.0.0/30")
    assert [pool.take(each) for each in "abc"] == ["127.3.0.1", "127.3.0.2", "127.3.0.3"]
    with pytest.raises(AddressesExhausted):
        pool.take("d")
    pool.release("a")
    assert pool.take("d") == "127.3.0.1"
    pool.release("b")
    assert pool.take("a") == "127.3.0.2"
    assert len(pool) == 3


@pytest.mark.rule("jobs C.6")
def test_an_address_can_be_told_before_its_owner_comes() -> None:
    pool = AddressPool("127.3.0.0/16")
    expected = pool.expect("b")
    assert pool.expect("b") == expected
    assert len(pool) == 0, "nobody has it yet"
    assert pool.take("a") != expected
    assert pool.take("b") == expected
    assert pool.expect("b") == expected
