"""Volumes that work, but not for ever, come with a warning."""

from typing import Any

import pytest

from fleetqueue.apiserver.builtin.volume_warnings import warn_of_volume

Object = dict[str, Any]

TERM = {"matchExpressions": [{"key": "beta.kubernetes.io/os", "operator": "Exists"}]}
WARNINGS: dict[str, tuple[Object, Object, str]] = {
    "an annotation": (
        {"volume.beta.kubernetes.io/storage-class": "x"},
        {},
        "metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "
        '"storageClassName" attribute instead',
    ),
    "recycling": (
        {},
        {"persistentVolumeReclaimPolicy": "Recycle"},
        "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, "
        "the recommended approach is to use dynamic provisioning.",
    ),
    "an old node label": (
        {},
        {"nodeAffinity": {"required": {"nodeSelectorTerms": [TERM]}}},
        "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: "
        'beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead',
    ),
    "a plugin that is gone": (
        {},
        {"storageos": {}},
        "spec.storageOS: deprecated in v1.22, non-functional in v1.25+",
    ),
}


@pytest.mark.parametrize("name", WARNINGS)
def test_what_will_not_last_is_warned_of(name: str) -> None:
    annotations, spec, warning = WARNINGS[name]
    volume = {"metadata": {"annotations": annotations}, "spec": spec}
    assert warn_of_volume(volume, None) == [warning]


def test_a_plain_volume_needs_no_warning() -> None:
    volume = {"metadata": {}, "spec": {"hostPath": {"path": "/tmp"}, "capacity": {"storage": "1"}}}
    assert warn_of_volume(volume, None) == []
