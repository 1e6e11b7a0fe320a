"""Which kubeconfigs are taken, and what is said of the others."""

import base64
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from fleetqueue.kube import secure_kubeconfig
from fleetqueue.kube.secure_kubeconfig import NO_OBJECT, NOTHING_SAID, UNPARSED, Unsafe

INVALID = "invalid configuration: "
PLUGINS = "client.authentication.k8s.io"
SECRET = "hunter2"
DATA = base64.b64encode(b"pem").decode()


def config(
    *,
    cluster: dict[str, Any] | None = None,
    user: dict[str, Any] | None = None,
    **more: Any,
) -> bytes:
    whole = {
        "clusters": [
            {"name": "c", "cluster": {"server": "https://worker:6443", **(cluster or {})}},
            *more.pop("clusters", ()),
        ],
        "users": [{"name": "u", "user": user or {"token": "t"}}, *more.pop("users", ())],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
        **more,
    }
    return yaml.safe_dump(whole).encode()


# fmt: off
ALLOWED = {
    "a token":                   (config(), "https://worker:6443"),
    "a certificate and its key": (config(user={"client-certificate-data": DATA,
                                               "client-key-data": DATA}), "https://worker:6443"),
    "an authority":              (config(cluster={"certificate-authority-data": DATA}),
                                  "https://worker:6443"),
    "a user who is not there":   (config(contexts=[{"name": "x", "context": {"cluster": "c",
                                                                      "user": "v"}}]),
                                  "https://worker:6443"),
    "an address":                (config(cluster={"server": "https://10.0.0.1:6443"}),
                                  "https://10.0.0.1:6443"),
    "no port":                   (config(cluster={"server": "https://api.example.com"}),
                                  "https://api.example.com"),
    "capitals":                  (config(cluster={"server": "https://API.Example.com:443"}),
                                  "https://API.Example.com:443"),
    "the newer addresses":       (config(cluster={"server": "https://[fd00::1]:6443"}),
                                  "https://[fd00::1]:6443"),
    "the same without a port":   (config(cluster={"server": "https://[fd00::1]"}),
                                  "https://[fd00::1]"),
    "no scheme":                 (config(cluster={"server": "worker:6443"}), "https://worker:6443"),
}
REFUSED = {
    "no YAML":              (b"this is: [not yaml",
                             "failed to parse kubeconfig(apiconfig): "
                             "yaml: line 1: did not find expected ',' or ']'"),
    "no text":              (b"\xff\xfe", "failed to parse kubeconfig(apiconfig): "),
    "no kubeconfig":        (b"[]", f"{UNPARSED}{NO_OBJECT.format('array')}"),
    "just a word":          (b"invalid", f"{UNPARSED}couldn't get version/kind; json parse error:"
                             " json: cannot unmarshal string into Go value of type struct {"
                             ' APIVersion string "json:\\"apiVersion,omitempty\\"";'
                             ' Kind string "json:\\"kind,omitempty\\"" }'),
    "nothing":              (b"", NOTHING_SAID),
    "no entries":           (b"apiVersion: v1\nkind: Config\n", NOTHING_SAID),
    "no current context":   (config(**{"current-context": ""}), NOTHING_SAID),
    "no such cluster":      (config(contexts=[{"name": "x", "context": {"cluster": "d"}}]),
                             NOTHING_SAID),
    "a token file":         (config(user={"tokenFile": "/token"}), "tokenFile is not allowed"),
    "another's token file": (config(users=[{"name": "o", "user": {"tokenFile": "/token"}}]),
                             "tokenFile is not allowed"),
    "no verification":      (config(cluster={"insecure-skip-tls-verify": True}),
                             "insecure TLS verification is not allowed for cluster c"),
    "an authority's file":  (config(cluster={"certificate-authority": "/ca.crt"}),
                             "certificate-authority file paths are not allowed, "
                             "use certificate-authority-data for cluster c"),
    "another's server":     (config(clusters=[{"name": "d", "cluster": {}}]),
                             "server URL is required for cluster d"),
    "a certificate's file": (config(user={"client-certificate": "/a", "client-key-data": DATA}),
                             "client-certificate file paths are not allowed, "
                             "use client-certificate-data for user u"),
    "a key's file":         (config(user={"client-certificate-data": DATA, "client-key": "/a"}),
                             "client-key file paths are not allowed, "
                             "use client-key-data for user u"),
    "no context":           (config(**{"current-context": "y"}),
                             "context was not found for specified context: y"),
    "not base64":           (config(cluster={"certificate-authority-data": "?"}),
                             f"{UNPARSED}illegal base64 data at input byte 0"),
    "another's is not":     (config(users=[{"name": "o", "user": {"client-key-data": "abc\nd="}}]),
                             f"{UNPARSED}illegal base64 data at input byte 5"),
    "a token and a name":   (config(user={"token": "t", "username": "a"}),
                             f"{INVALID}more than one authentication method found for u;"
                             " found [token basicAuth], only one is allowed"),
    "a certificate alone":  (config(user={"client-certificate-data": DATA}),
                             f"{INVALID}client-key-data or client-key must be specified for u"
                             " to use the clientCert authentication method."),
    "groups of nobody":     (config(user={"token": "t", "as-groups": ["g"]}),
                             f"{INVALID}requesting uid, groups or user-extra for u"
                             " without impersonating a user"),
    "a strange proxy":      (config(cluster={"proxy-url": "nonsense"}),
                             f"{INVALID}invalid 'proxy-url' \"nonsense\" for cluster \"c\":"
                             ' unsupported scheme "", must be http, https, or socks5'),
    "a proxy's password":   (config(cluster={"proxy-url": f"socks5h://bob:{SECRET}@proxy:1080"}),
                             f"{INVALID}invalid 'proxy-url' \"socks5h://proxy:1080\" for cluster"
                             ' "c": unsupported scheme "socks5h", must be http, https, or socks5'),
    "one without a scheme": (config(cluster={"proxy-url": f"bob:{SECRET}@proxy:1080"}),
                             f"{INVALID}invalid 'proxy-url' \"proxy:1080\" for cluster \"c\":"),
    "half a proxy with it": (config(cluster={"proxy-url": f"http://bob:{SECRET}@[fd00::1"}),
                             f"{INVALID}invalid 'proxy-url' \"http://[fd00::1\" for cluster \"c\":"
                             " could not parse: http://[fd00::1"),
    "capitals of a proxy":  (config(cluster={"proxy-url": f"HTTP://bob:{SECRET}@proxy:1080"}),
                             '"HTTP://proxy:1080" is not the address of a proxy'),
    "a server's password":  (config(cluster={"server": f"ftp://bob:{SECRET}@worker:6443"}),
                             '"ftp://worker:6443" is not an http or https address'),
    "half a proxy":         (config(cluster={"proxy-url": "http://[fd00::1"}),
                             f"{INVALID}invalid 'proxy-url' \"http://[fd00::1\" for cluster \"c\":"
                             " could not parse: http://[fd00::1"),
    "a program that asks":  (config(user={"exec": {"command": "x", "apiVersion": f"{PLUGINS}/v1"}}),
                             f"{INVALID}interactiveMode must be specified for u"
                             " to use exec authentication plugin"),
    "a program and more":   (config(user={"exec": {"command": "", "env": [{"name": ""}],
                                                   "interactiveMode": "May"},
                                          "auth-provider": {"name": "gcp"}}),
                             f"{INVALID}[authProvider cannot be provided in combination with an"
                             " exec plugin for u,"
                             " command must be specified for u to use exec authentication plugin,"
                             " apiVersion must be specified for u to use exec authentication"
                             " plugin, env variable name must be specified for u to use exec"
                             ' authentication plugin, invalid interactiveMode for u: "May"]'),
    "an old program":       (config(user={"exec": {"command": "x",
                                                   "apiVersion": f"{PLUGINS}/v1beta1"}}),
                             "exec plugins are not allowed"),
    "a strange host":       (config(cluster={"server": "https://a_b:6443"}),
                             "untrusted server endpoint"),
    "no host":              (config(cluster={"server": "https://:6443"}),
                             "untrusted server endpoint"),
    "no port":              (config(cluster={"server": f"https://worker:{SECRET}"}),
                             "untrusted server endpoint"),
    "half an address":      (config(cluster={"server": "https://[fd00::1"}),
                             "untrusted server endpoint"),
    "plain http":           (config(cluster={"server": "http://worker"}),
                             "plain http is not allowed, use an https server"),
    "a password":           (config(user={"username": "a", "password": "b"}),
                             "basic auth is not allowed"),
    "a password there":     (config(cluster={"server": "https://a:b@worker:6443"}),
                             "basic auth is not allowed"),
    "a program":            (config(user={"exec": {"command": "x", "interactiveMode": "Never",
                                          "apiVersion": "client.authentication.k8s.io/v1"}}),
                             "exec plugins are not allowed"),
    "a provider":           (config(user={"token": "t", "auth-provider": {"name": "gcp"}}),
                             "auth providers are not allowed"),
}
FIRST = {
    "the token file before the server":   (config(user={"tokenFile": "/t"},
                                                  cluster={"insecure-skip-tls-verify": True}),
                                           "tokenFile is not allowed"),
    "verification before the authority":  (config(cluster={"insecure-skip-tls-verify": True,
                                                           "certificate-authority": "/a"}),
                                           "insecure TLS verification is not allowed for "
                                           "cluster c"),
    "the host before the password":       (config(cluster={"server": "https://a_b"},
                                                  user={"username": "a", "password": "b"}),
                                           "untrusted server endpoint"),
    "one cluster before another":         (config(cluster={"certificate-authority": "/a"},
                                                  clusters=[{"name": "d", "cluster": {
                                                      "insecure-skip-tls-verify": True}}]),
                                           "insecure TLS verification is not allowed for "
                                           "cluster d"),
    "an authority before a server":       (config(cluster={"server": ""},
                                                  clusters=[{"name": "d", "cluster": {
                                                      "certificate-authority": "/a"}}]),
                                           "certificate-authority file paths are not allowed, "
                                           "use certificate-authority-data for cluster d"),
    "the password before plain http":     (config(cluster={"server": "http://worker"},
                                                  user={"username": "a", "password": "b"}),
                                           "basic auth is not allowed"),
    "the password before the files":      (config(user={"username": "a", "password": "b",
                                                        "client-certificate": "/c",
                                                        "client-key": "/k"}),
                                           "basic auth is not allowed"),
    "the host before the files":          (config(cluster={"server": "https://a_b"},
                                                  user={"client-certificate": "/c",
                                                        "client-key": "/k"}),
                                           "untrusted server endpoint"),
}
# fmt: on


@pytest.mark.rule("SEC-1")
@pytest.mark.rule("IMP-9")
@pytest.mark.parametrize(("content", "server"), ALLOWED.values(), ids=ALLOWED.keys())
def test_what_is_taken(content: bytes, server: str) -> None:
    assert secure_kubeconfig.read(content).server == server


@pytest.mark.rule("multikueue 1.5")
@pytest.mark.rule("IMP-9")
@pytest.mark.rule("LIM-20")
@pytest.mark.rule("CRED-9")
@pytest.mark.parametrize(
    ("content", "text"),
    [*REFUSED.values(), *FIRST.values()],
    ids=[*REFUSED.keys(), *FIRST.keys()],
)
def test_what_is_refused(content: bytes, text: str) -> None:
    with pytest.raises(Unsafe) as refused:
        secure_kubeconfig.read(content)

    assert str(refused.value).startswith(text)
    assert SECRET not in str(refused.value)


def bomb(levels: int = 40) -> Iterator[str]:
    """Each is twice the one before: to write it out would take longer than anybody has."""
    yield "&x0 [a]"
    for level in range(1, levels):
        yield f"&x{level} [*x{level - 1}, *x{level - 1}]"


# fmt: off
UNREADABLE = {
    "a tag":            f"!{SECRET}",
    "an alias":         f"*{SECRET}",
    "no number":        f"!!int {SECRET}",
    "no fraction":      f"!!float {SECRET}",
    "no truth":         f"!!bool {SECRET}",
    "no base64":        f"!!binary {SECRET}\u00e9",
    "an empty number":  "!!int ''",
    "no binary number": "0b_",
    "a long number":    "9" * 5000,
    "no map to merge":  f"\n      <<: {SECRET}",
    "deep nesting":     "[" * 500_000,
    "itself":           "&a [*a]",
    "many aliases":     f"[{', '.join(bomb())}]",
}
# fmt: on


@pytest.mark.parametrize("token", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_cannot_be_read_is_refused_and_not_repeated(token: str) -> None:
    with pytest.raises(Unsafe) as refused:
        secure_kubeconfig.read(config(user={"token": "TOKEN"}).replace(b"TOKEN", token.encode()))

    assert str(refused.value).startswith(UNPARSED)
    assert SECRET not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize("token", ["2001-01-01", "2001-99-99", "2001-01-01T00:00:00Z"])
def test_what_looks_like_a_time_is_text(token: str) -> None:
    content = config(user={"token": "TOKEN"}).replace(b"TOKEN", token.encode())

    assert secure_kubeconfig.read(content).token == token
