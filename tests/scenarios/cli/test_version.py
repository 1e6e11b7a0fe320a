"""Who we are, and which image the controller runs, where that may be known."""

import pytest

from fleetqueue import __version__
from fleetqueue.testing import namespace
from support.ctl import Ctl, Ran
from support.kueue import Kueue

pytestmark = pytest.mark.rule("kueue 11.4")
OURS = f"Client Version: v{__version__}\n"


async def test_the_image_is_told_where_the_deployment_is_readable(cluster: Kueue, ctl: Ctl) -> None:
    assert await ctl("version") == Ran(OURS, "")
    await cluster.client.create(namespace("kueue-system"))
    labels = {"control-plane": "controller-manager"}
    containers = [{"name": "proxy", "image": "p:1"}, {"name": "manager", "image": "kueue:v9"}]
    await cluster.client.create(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "kueue-controller-manager", "namespace": "kueue-system"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
            },
        }
    )
    told = f"{OURS}Kueue Controller Manager Image: kueue:v9\n"
    assert await ctl("version") == Ran(told, "")
    done = await ctl("version", "of", "what")
    assert done == Ran("", 'Error: unknown command "of" for "kueuectl version"\n', 1)
