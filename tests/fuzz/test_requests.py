"""Thousands of bad requests: never a 5xx, a hang or a leak, and all that is stored can be read."""

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fuzz import play


@settings(
    max_examples=max(play.REQUESTS // play.BATCH, 1),
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_request_makes_the_server_fail(seed: int) -> None:
    play.play(seed, play.BATCH)
