"""Names that KubeFleet gives to objects."""

import hashlib

import pytest

from fleetqueue.api.fleet import naming

LONG = "p" * 40


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (naming.member_namespace("east"), "fleet-member-east"),
        (naming.member_role("east"), "fleet-role-east"),
        (naming.member_role_binding("east"), "fleet-rolebinding-east"),
        (naming.policy_snapshot("crp", 0), "crp-0"),
        (naming.master_resource_snapshot("crp", 3), "crp-3-snapshot"),
        (naming.resource_snapshot_shard("crp", 3, 1), "crp-3-1"),
        (naming.override_snapshot("cro-1", 0), "cro-1-0"),
        (naming.work_base("crp"), "crp"),
        (naming.work_base("rp", "team"), "team.rp"),
        (naming.first_work("crp"), "crp-work"),
        (naming.shard_work("team.rp", 0), "team.rp-0"),
        (naming.approval_before("run", "canary"), "run-before-canary"),
        (naming.approval_after("run", "canary"), "run-after-canary"),
    ],
)
def test_names(name, expected):
    assert name == expected


def test_a_binding_name_fits_a_label_however_long_its_parts_are():
    assert naming.binding("crp", "east", "01234567") == "crp-east-01234567"
    name = naming.binding(LONG, "c" * 40, "01234567")
    assert name == f"{'p' * 26}-{'c' * 27}-01234567"
    assert len(name) == 63
    dotted = naming.binding(f"{'p' * 25}.x", f"{'c' * 26}.y", "01234567")
    assert dotted == f"{'p' * 25}--{'c' * 26}--01234567"


def test_the_work_of_an_envelope_is_named_by_the_identity_of_the_envelope():
    one = naming.envelope_work("crp-work", "ResourceEnvelope", "team", "a")
    assert one == "crp-work-envelope-c55e3b1a15ea8aaa"
    assert one != naming.envelope_work("crp-work", "ResourceEnvelope", "team", "b")


@pytest.mark.parametrize(
    ("name", "is_reserved", "is_selectable"),
    [
        ("fleet-system", True, False),
        ("kube-public", True, False),
        ("default", False, False),
        ("fleet", False, True),
        ("team", False, True),
    ],
)
def test_reserved_namespaces(name, is_reserved, is_selectable):
    assert naming.is_reserved_namespace(name) is is_reserved
    assert naming.is_selectable_namespace(name) is is_selectable


def test_a_hash_does_not_depend_on_the_order_of_keys():
    assert naming.content_hash({"a": 1, "b": [2]}) == naming.content_hash({"b": [2], "a": 1})
    assert naming.content_hash([1, 2]) != naming.content_hash([2, 1])
    assert naming.content_hash({}) == (
        "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    )


@pytest.mark.rule("SNAP-5")
def test_letters_of_html_are_escaped_in_what_is_hashed():
    escaped = r'{"a":"x \u0026\u0026 y \u003e 1"}'
    expected = hashlib.sha256(escaped.encode()).hexdigest()
    assert naming.content_hash({"a": "x && y > 1"}) == expected
