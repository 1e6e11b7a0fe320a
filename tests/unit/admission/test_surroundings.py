"""What namespaces add to pods is remembered as long as there is something to remember."""

from tests.support.held import entries

from fleetqueue.admission.surroundings import Namespaces
from fleetqueue.api.meta import Key

LIMITS = {"spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}}


def test_namespaces_that_went_leave_nothing_behind() -> None:
    names = Namespaces()
    names.around("first")
    before = entries(names)
    for number in range(3):
        name = f"run-{number}"
        names.put({"metadata": {"name": name}})
        names.put_limits(Key(name, "limits"), LIMITS)
        names.around(name)
        names.put_limits(Key(name, "limits"), None)
        names.around(name)
        names.remove(name)
        names.around(name)

    assert entries(names) == before


def test_limits_that_are_new_outlive_a_namespace_that_is_told_late_to_have_gone() -> None:
    names = Namespaces()
    names.put_limits(Key("team", "limits"), LIMITS)
    names.remove("team")

    assert names.around("team") is names.around("team")
    assert names.around("team") != names.around("elsewhere")
    assert names.around("elsewhere") is names.around("anywhere")
