"""Objects in the server's inner form, for messages that print one."""

from fleetqueue.apiserver.builtin.internal_form import diff_internal, show_internal


def test_every_field_is_shown_with_its_zero_value() -> None:
    assert show_internal("ContainerPort", {"containerPort": 80}) == {
        "Name": "",
        "HostPort": 0,
        "ContainerPort": 80,
        "Protocol": "",
        "HostIP": "",
    }


def test_fields_of_a_volume_source_are_the_volumes_own() -> None:
    shown = show_internal("Volume", {"name": "v", "emptyDir": {"medium": "Memory"}})
    assert shown["EmptyDir"] == {"Medium": "Memory", "SizeLimit": None}
    assert shown["HostPath"] is None


def test_what_clients_see_on_the_pod_is_inside_its_security_context() -> None:
    shown = show_internal("PodSpec", {"hostNetwork": True, "securityContext": {}})
    assert shown["SecurityContext"]["HostNetwork"] is True
    assert "HostNetwork" not in shown


def test_no_object_is_shown_as_none() -> None:
    assert show_internal("SecurityContext", None) is None


def test_a_difference_shows_three_lines_around_each_change() -> None:
    old = {"name": "a", "containerPort": 1, "protocol": "TCP"}
    assert diff_internal("ContainerPort", old, old | {"protocol": "UDP"}) == (
        "@@ -2,6 +2,6 @@\n"
        '  "Name": "a",\n'
        '  "HostPort": 0,\n'
        '  "ContainerPort": 1,\n'
        '- "Protocol": "TCP",\n'
        '+ "Protocol": "UDP",\n'
        '  "HostIP": ""\n'
        " }\n"
    )
