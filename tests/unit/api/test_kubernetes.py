"""The recorded resources and schemas fit together."""

from fleetqueue.api import kubernetes


def _resources() -> dict[tuple[str, str, str], kubernetes.Resource]:
    return {
        (group.name, version.name, resource.name): resource
        for group in kubernetes.resources()
        for version in group.versions
        for resource in version.resources
    }


def test_every_resource_has_a_schema() -> None:
    homes = kubernetes.definition_names()
    kinds = [(group, version, found.kind) for (group, version, _), found in _resources().items()]
    assert [kind for kind in kinds if kind not in homes] == []


def test_the_core_group_comes_first_and_autoscaling_prefers_its_second_version() -> None:
    groups = kubernetes.resources()
    assert groups[0].name == ""
    versions = {group.name: [version.name for version in group.versions] for group in groups}
    assert versions["autoscaling"] == ["v2", "v1"]


def test_a_resource_says_what_it_can_do() -> None:
    jobs = _resources()["batch", "v1", "jobs"]
    assert jobs.kind == "Job"
    assert jobs.namespaced
    assert jobs.categories == ("all",)
    assert [part.name for part in jobs.subresources] == ["status"]


def test_schemas_carry_no_descriptions_but_keep_fields_of_that_name() -> None:
    properties = kubernetes.definitions()[
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    ]["properties"]
    assert properties["description"] == {"type": "string"}
    assert "description" not in kubernetes.definitions()["io.k8s.api.core.v1.PodSpec"]
