"""Hashes of contents: the same for the same, in the alphabet of generated names."""

from fleetqueue.runtime.hashing import ALPHABET, LENGTH, content_hash


def test_the_order_of_keys_does_not_matter() -> None:
    assert content_hash({"a": 1, "b": {"c": 2, "d": 3}}) == content_hash(
        {"b": {"d": 3, "c": 2}, "a": 1}
    )


def test_content_and_collisions_do_matter() -> None:
    made = {content_hash({"a": 1}), content_hash({"a": 2}), content_hash({"a": 1}, 1)}
    assert len(made) == 3


def test_a_hash_is_safe_in_names() -> None:
    made = content_hash({"image": "x"})
    assert len(made) == LENGTH
    assert set(made) <= set(ALPHABET)


def test_a_hash_stays_what_it_was_in_other_versions() -> None:
    assert content_hash({"spec": {"containers": []}}) == "765rj522ww"
