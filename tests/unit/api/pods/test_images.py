"""Image references decide how often an image is pulled."""

import pytest

from fleetqueue.api.pods.images import default_pull_policy

DIGEST = "sha256:" + "a" * 64

# fmt: off
CASES = {
    "nginx":                        "Always",
    "nginx:latest":                 "Always",
    "nginx:1.2":                    "IfNotPresent",
    "reg.example:5000/a/b":         "Always",
    "reg.example:5000/a/b:v1":      "IfNotPresent",
    "localhost/x":                  "Always",
    "UPPER/x":                      "Always",
    f"nginx@{DIGEST}":              "IfNotPresent",
    f"nginx:latest@{DIGEST}":       "Always",
    "Nginx":                        "IfNotPresent",
    "":                             "IfNotPresent",
    " nginx":                       "IfNotPresent",
    "a" * 64:                       "IfNotPresent",
    "b" * 300:                      "IfNotPresent",
}
# fmt: on


@pytest.mark.parametrize(("image", "policy"), CASES.items())
def test_pull_policy_follows_the_tag(image: str, policy: str) -> None:
    assert default_pull_policy(image) == policy
