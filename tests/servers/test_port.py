"""A server that chose its port itself tells everybody the right one."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.request import Request
from fleetqueue.app import ServeOptions, serving
from fleetqueue.base import codec

ADMIN = User("admin", groups=("system:masters", "system:authenticated"))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", "::1"])
async def test_the_port_that_the_system_chose_is_told_everywhere(tmp_path: Path, host: str) -> None:
    async with serving(ServeOptions(tmp_path, host=host, durability="memory")) as running:
        address = urlsplit(running.url)
        assert address.port == running.door.port
        service = running.instance.core.get("services", "default/kubernetes")
        assert service is not None
        assert service["spec"]["ports"][0]["targetPort"] == address.port
        answer = await running.instance.handle(Request("GET", "/api", {}, {}, b"", user=ADMIN))
        (told,) = codec.decode(answer.encoded())["serverAddressByClientCIDRs"]
        assert told["serverAddress"] == address.netloc
