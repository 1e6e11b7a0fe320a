"""Both control planes, once for each module of stories."""

from collections.abc import Iterator

import pytest

from differential.harness import Planes, start_planes


@pytest.fixture(scope="module")
def planes(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Planes]:
    """With the controllers that the module names in CONTROLLERS and OPERATORS."""
    directory = tmp_path_factory.mktemp("planes")
    controllers, operators = request.module.CONTROLLERS, request.module.OPERATORS
    with start_planes(directory, controllers=controllers, operators=operators) as started:
        yield started
