"""Quantities, case by case, with what kube-apiserver 1.34's own library answers."""

from typing import Any

import pytest

from fleetqueue.api.quantity import (
    WRONG_FORMAT,
    WRONG_NUMBER,
    WRONG_SUFFIX,
    Quantity,
    QuantityError,
    parse,
)

PRINTED = [
    # text, printed, value, thousandths, format
    ("0", "0", 0, 0, "DecimalSI"),
    ("0Ki", "0", 0, 0, "BinarySI"),
    ("0e5", "0", 0, 0, "DecimalExponent"),
    ("100m", "100m", 1, 100, "DecimalSI"),
    ("1000m", "1", 1, 1000, "DecimalSI"),
    ("1500m", "1500m", 2, 1500, "DecimalSI"),
    ("1.5", "1500m", 2, 1500, "DecimalSI"),
    ("1.500", "1.500", 2, 1500, "DecimalSI"),
    ("0.5", "500m", 1, 500, "DecimalSI"),
    ("0.500", "500m", 1, 500, "DecimalSI"),
    (".5", "500m", 1, 500, "DecimalSI"),
    ("1.", "1.", 1, 1000, "DecimalSI"),
    ("1.G", "1.G", 10**9, 10**12, "DecimalSI"),
    ("+5", "+5", 5, 5000, "DecimalSI"),
    ("0010", "0010", 10, 10000, "DecimalSI"),
    ("1000", "1k", 1000, 10**6, "DecimalSI"),
    ("12000000", "12M", 12 * 10**6, 12 * 10**9, "DecimalSI"),
    ("1024", "1024", 1024, 1024000, "DecimalSI"),
    ("1Ki", "1Ki", 1024, 1024000, "BinarySI"),
    ("1024Ki", "1Mi", 2**20, 2**20 * 1000, "BinarySI"),
    ("1025Ki", "1025Ki", 1025 * 1024, 1025 * 1024000, "BinarySI"),
    ("1.5Gi", "1536Mi", 3 * 2**29, 3 * 2**29 * 1000, "BinarySI"),
    ("0.1Ki", "102400m", 103, 102400, "BinarySI"),
    ("0.5Ki", "512", 512, 512000, "BinarySI"),
    ("0.0001Ki", "102400u", 1, 103, "DecimalSI"),
    ("1Ei", "1Ei", 2**60, 2**60 * 1000, "BinarySI"),
    ("8Ei", "9223372036854775807", 2**63 - 1, (2**63 - 1) * 1000, "BinarySI"),
    ("12e6", "12e6", 12 * 10**6, 12 * 10**9, "DecimalExponent"),
    ("1E3", "1E3", 1000, 10**6, "DecimalExponent"),
    ("1e4", "10e3", 10**4, 10**7, "DecimalExponent"),
    ("1e-3", "1e-3", 1, 1, "DecimalExponent"),
    ("1E", "1E", 10**18, 10**21, "DecimalSI"),
    ("1000E", "1", 10**21, 10**24, "DecimalSI"),
    ("1n", "1n", 1, 1, "DecimalSI"),
    ("0.1n", "1n", 1, 1, "DecimalSI"),
    ("1.0000000001", "1000000001n", 2, 1001, "DecimalSI"),
    ("-1", "-1", -1, -1000, "DecimalSI"),
    ("-1.5", "-1500m", -2, -1500, "DecimalSI"),
    ("12345678901234567890", "12345678901234567890", 12345678901234567890, None, "DecimalSI"),
    ("+", "0", 0, 0, "DecimalSI"),
    (".", "0", 0, 0, "DecimalSI"),
    ("Ki", "0", 0, 0, "BinarySI"),
]


@pytest.mark.parametrize(("text", "printed", "value", "milli", "format"), PRINTED)
def test_a_quantity_prints_and_counts(
    text: str, printed: str, value: int, milli: int | None, format: str
) -> None:
    quantity = parse(text)
    assert str(quantity) == printed
    assert quantity.value() == value
    assert quantity.format == format
    if milli is not None:
        assert quantity.milli_value() == milli


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", WRONG_FORMAT),
        ("abc", WRONG_FORMAT),
        ("1 ", WRONG_FORMAT),
        ("1.2.3", WRONG_FORMAT),
        ("1e3.5", WRONG_FORMAT),
        ("1kk", WRONG_SUFFIX),
        ("1e", WRONG_SUFFIX),
        ("1Ki5", WRONG_SUFFIX),
        ("1K", WRONG_SUFFIX),
        ("1e99999999999999999999", WRONG_SUFFIX),
        ("Ei", WRONG_NUMBER),
        ("9" * 5000, WRONG_NUMBER),
        ("१", WRONG_FORMAT),
    ],
)
def test_text_that_is_no_quantity_is_refused_in_upstreams_words(text: str, message: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse(text)
    assert str(caught.value) == message


def test_the_format_error_names_the_expression_that_users_know() -> None:
    assert WRONG_FORMAT == (
        "quantities must match the regular expression "
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )


@pytest.mark.parametrize(
    ("value", "printed"),
    [(5, "5"), (1000, "1k"), (0.1, "100m"), (1.5, "1500m"), (" 2 ", "2"), (0.000001, "1u")],
)
def test_json_numbers_and_padded_text_are_accepted(value: Any, printed: str) -> None:
    assert str(Quantity.of(value)) == printed
    assert Quantity.of(Quantity.of(value)) is Quantity.of(value) or isinstance(value, float)


@pytest.mark.parametrize("value", [True, None, [], float("nan"), float("inf")])
def test_other_json_values_are_refused(value: Any) -> None:
    with pytest.raises(QuantityError):
        Quantity.of(value)


def test_equal_amounts_are_equal_whatever_their_form() -> None:
    assert parse("1Ki") == parse("1024") == parse("1.024e3")
    assert hash(parse("1000m")) == hash(parse("1"))
    assert parse("1") != 1


def test_order_is_by_amount() -> None:
    texts = ["-1e1999999998", "-1", "-1m", "0", "1n", "999m", "1", "1k", "1Ki", "1e1999999998"]
    amounts = [parse(text) for text in texts]
    amounts.reverse()
    assert [str(amount) for amount in sorted(amounts)] == texts


@pytest.mark.parametrize(
    ("left", "right", "total", "difference"),
    [
        ("1", "500m", "1500m", "500m"),
        ("1Gi", "1Gi", "2Gi", "0"),
        ("1Gi", "1", "1073741825", "1073741823"),
        ("0", "1Gi", "1Gi", "-1Gi"),
        ("1500m", "500m", "2", "1"),
        ("100Mi", "1M", "105857600", "103857600"),
        ("1e3", "1", "1001", "999"),
    ],
)
def test_sums_keep_the_form_of_what_is_added_to(
    left: str, right: str, total: str, difference: str
) -> None:
    assert str(parse(left) + parse(right)) == total
    assert str(parse(left) - parse(right)) == difference


def test_a_multiple_and_a_negative_are_exact() -> None:
    assert str(parse("100m") * 3) == "300m"
    assert str(parse("1Gi") * 1024) == "1Ti"
    assert str(-parse("+5")) == "-5"
    assert str(Quantity.from_milli(2500)) == "2500m"


def test_absurd_exponents_cost_nothing() -> None:
    huge, tiny = parse("1e2000000000"), parse("1e-2000000000")
    assert str(huge) == "100e1999999998"
    assert str(tiny) == "1e-9"
    assert huge + parse("1") == huge
    assert len(str(huge.value())) < 3000
