"""What the configuration says about TLS, in Go's words, and what OpenSSL calls the same things."""

from collections.abc import Iterator, Sequence
from typing import Any

from fleetqueue.api.field_errors import FieldError, unsupported, wrong
from fleetqueue.api.kueue.config.manager import TlsOptions

NEWEST = "VersionTLS13"
VERSIONS = ("VersionTLS12", NEWEST)
SUITES = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256": "ECDHE-ECDSA-AES128-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256": "ECDHE-RSA-AES128-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "TLS_RSA_WITH_AES_128_CBC_SHA256": "AES128-SHA256",
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
}
"""Of TLS 1.2."""
ALWAYS = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
"""Of TLS 1.3, where nobody can choose; they may be named."""
CURVES = {
    "CurveP256": "prime256v1",
    "CurveP384": "secp384r1",
    "CurveP521": "secp521r1",
    "X25519": "X25519",
}
NUMBERS = {23: "CurveP256", 24: "CurveP384", 25: "CurveP521", 29: "X25519"}


def check_tls(tls: TlsOptions) -> Iterator[FieldError]:
    if tls.min_version and tls.min_version not in VERSIONS:
        yield unsupported("tls.minVersion", tls.min_version, VERSIONS)
    if tls.min_version == NEWEST and tls.cipher_suites:
        message = "may not be specified when `minVersion` is 'VersionTLS13'"
        yield wrong("tls.cipherSuites", tls.cipher_suites, message)
    else:
        known = [*SUITES, *ALWAYS]
        for index, name in enumerate(tls.cipher_suites):
            if name not in known:
                yield unsupported(f"tls.cipherSuites[{index}]", name, known)
    yield from _check_curves(tls.curve_preferences)


def needs_newest(tls: TlsOptions) -> bool:
    """Whether TLS 1.2 is out: it is not wanted, or none of its suites is."""
    return tls.min_version == NEWEST or (bool(tls.cipher_suites) and not suites(tls))


def suites(tls: TlsOptions) -> list[str]:
    """Those of TLS 1.2, as OpenSSL calls them."""
    found = [SUITES[name] for name in tls.cipher_suites if name in SUITES]
    return list(dict.fromkeys(found))


def curve(tls: TlsOptions) -> str:
    """As OpenSSL calls it; "": whichever both sides know."""
    return CURVES[_named(tls.curve_preferences[0])] if tls.curve_preferences else ""


def fits_ecdsa(tls: TlsOptions) -> bool:
    """Whether somebody whose key is of an elliptic curve can answer in TLS 1.2."""
    return not suites(tls) or any("ECDSA" in name for name in suites(tls))


def fits_rsa(tls: TlsOptions) -> bool:
    return not suites(tls) or any("ECDSA" not in name for name in suites(tls))


def _check_curves(wanted: Sequence[Any]) -> Iterator[FieldError]:
    path = "tls.curvePreferences"
    for index, each in enumerate(wanted):
        if _named(each) not in CURVES:
            yield unsupported(f"{path}[{index}]", each, CURVES)
    if len(wanted) > 1:
        yield wrong(path, list(wanted), "one curve can be demanded, not a choice of several")


def _named(curve: Any) -> str:
    """Go's name of it; some write its number."""
    return NUMBERS.get(curve, "") if isinstance(curve, int) else str(curve)
