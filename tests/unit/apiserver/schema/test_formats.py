"""Which strings the formats of CRD schemas accept. Recorded from upstream."""

import pytest

from fleetqueue.apiserver.schema import formats

FORMATS: dict[str, tuple[list[str], list[str]]] = {
    "date-time": (
        ["2020-01-01T00:00:00Z"],
        ["x", "2020-01-01", "2020-01-01T25:00:00Z", "2020-01-01T00:00:00"],
    ),
    "date": (["2020-01-01"], ["2020-1-1", "x"]),
    "uuid": (["123e4567-e89b-12d3-a456-426614174000"], ["x"]),
    "ipv4": (["1.2.3.4"], ["1.2.3", "::1"]),
    "ipv6": (["::1"], ["1.2.3.4"]),
    "cidr": (["10.0.0.0/8"], ["10.0.0.0", "10.0.0.0/33"]),
    "duration": (["1h", "1 day"], ["x", "1"]),
    "byte": (["YWJj"], ["!!"]),
    "hostname": (["a.example.com"], ["-a", "a_b"]),
    "email": (["a@b.com"], ["a"]),
    "uri": (["http://x/y"], ["x", " "]),
    "mac": (["01:23:45:67:89:ab"], ["x"]),
    "hexcolor": (["#fff"], ["#ff"]),
    "rgbcolor": (["rgb(1,2,3)"], ["rgb(1,2)"]),
    "isbn": (["0321751043"], ["1"]),
    "creditcard": (["4111111111111111"], ["1"]),
    "ssn": (["123-45-6789"], ["1"]),
    "password": (["x"], []),
    "bsonobjectid": (["507f1f77bcf86cd799439011"], ["x"]),
}

GOOD = [(name, text) for name, (good, _) in FORMATS.items() for text in good]
BAD = [(name, text) for name, (_, bad) in FORMATS.items() for text in bad]


@pytest.mark.parametrize(("name", "text"), GOOD)
def test_a_format_accepts(name: str, text: str) -> None:
    accepts = formats.find(name)
    assert accepts is not None
    assert accepts(text)


@pytest.mark.parametrize(("name", "text"), BAD)
def test_a_format_refuses(name: str, text: str) -> None:
    accepts = formats.find(name)
    assert accepts is not None
    assert not accepts(text)


@pytest.mark.parametrize("name", ["", "int32", "int64", "no-such-format"])
def test_other_formats_are_not_checked(name: str) -> None:
    assert formats.find(name) is None
