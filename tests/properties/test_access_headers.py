"""Whatever a caller puts into its headers, authentication answers with nobody or a 401."""

from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleetqueue.apiserver.access.authentication import Authenticator
from fleetqueue.apiserver.access.jwt import SigningKey
from fleetqueue.apiserver.access.static_tokens import StaticTokens
from fleetqueue.apiserver.access.tokens import Issuer
from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.problems import ApiError
from fleetqueue.base.clock import SystemClock

KEY = SigningKey.generate()
AUTHENTICATOR = Authenticator(
    SystemClock(),
    StaticTokens([("a rather long token that nobody guesses", User("alice"))]),
    Issuer(KEY, lambda *_: None, Random(1)),
)

words = st.text(max_size=40) | st.binary(max_size=40).map(
    lambda data: data.decode(errors="surrogateescape")
)
signed = st.dictionaries(
    st.sampled_from(["iss", "exp", "sub", "aud", "nbf", "kubernetes.io"]),
    st.none() | st.text(max_size=9) | st.integers() | st.lists(st.integers(), max_size=2),
).map(lambda claims: KEY.sign({"iss": "https://kubernetes.default.svc.cluster.local"} | claims))
tokens = words | signed | st.tuples(words, words, words).map(".".join)
values = (
    words
    | tokens.map("Bearer {}".format)
    | tokens.map("base64url.bearer.authorization.k8s.io.{}, v4".format)
)
headers = st.dictionaries(
    st.sampled_from(["authorization", "sec-websocket-protocol", "Authorization"]), values
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(headers)
def test_garbage_in_headers_is_nobody_or_unauthorized(headers: dict[str, str]) -> None:
    try:
        found = AUTHENTICATOR.authenticate(headers)
    except ApiError as error:
        found = None
        refused = error.code
    else:
        refused = 401
    assert (found, refused) == (None, 401)
