"""Makes certificates: an authority of our own, and serving certificates that it signs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from cryptography import x509

from fleetqueue.base import certificates as issuing
from fleetqueue.base.certificates import Holder, KeyKind, Pem, Span

AUTHORITY_LIFE = timedelta(days=3650)
SERVING_LIFE = timedelta(days=365)
CLOCKS_DIFFER_BY = timedelta(hours=1)
RENEW_AT_SHARE = 2 / 3
"""Of a certificate's life: a new one is made when so much of it has passed."""


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, both PEM."""

    certificate: bytes
    key: bytes

    def parsed(self) -> x509.Certificate:
        return issuing.read(self.certificate)


@dataclass(frozen=True)
class Bundle:
    """What a server needs, and what its clients must trust."""

    authority: Pair
    serving: Pair
    former: bytes = b""
    """The authority before this one: while a new one spreads, both are trusted."""

    @property
    def trusted(self) -> bytes:
        return self.authority.certificate + self.former


class Prepared:
    """Has a bundle once it is prepared."""

    def __init__(self) -> None:
        self._bundle: Bundle | None = None

    @property
    def bundle(self) -> Bundle:
        assert self._bundle is not None, "prepare() comes first"
        return self._bundle


def make_bundle(names: Sequence[str], now: datetime, key_kind: KeyKind | None = None) -> Bundle:
    authority = make_authority("fleetqueue webhooks", now)
    return Bundle(authority, make_serving(authority, names, now, key_kind))


def renewed(
    bundle: Bundle, names: Sequence[str], now: datetime, key_kind: KeyKind | None = None
) -> Bundle:
    """The same bundle where it is still good; else with what is old, misses a name, or has a key
    of the wrong kind, replaced.
    """
    if is_due(bundle.authority, now):
        made = make_bundle(names, now, key_kind)
        return replace(made, former=bundle.authority.certificate)
    fits = key_kind in (None, issuing.key_kind_of(bundle.serving.parsed()))
    if fits and not is_due(bundle.serving, now) and set(names) <= names_of(bundle.serving):
        return bundle
    return replace(bundle, serving=make_serving(bundle.authority, names, now, key_kind))


def is_due(pair: Pair, now: datetime) -> bool:
    """Whether it is time for another one; also for one that is not valid yet."""
    certificate = pair.parsed()
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return now < begin or now >= begin + (end - begin) * RENEW_AT_SHARE


def names_of(pair: Pair) -> set[str]:
    return set(issuing.names_of(pair.parsed()))


def make_authority(name: str, now: datetime) -> Pair:
    return Pair(*issuing.make_authority(name, _span(now, AUTHORITY_LIFE), path_length=0))


def make_serving(
    authority: Pair, names: Sequence[str], now: datetime, key_kind: KeyKind | None = None
) -> Pair:
    # A common name has at most 64 characters; the names that count are the alternative ones.
    holder = Holder(names[0][:64], names=names)
    signer = Pem(authority.certificate, authority.key)
    span = _span(now, SERVING_LIFE)
    return Pair(*issuing.sign(signer, holder, span, key_kind or KeyKind.CURVE))


def _span(now: datetime, life: timedelta) -> Span:
    return Span(now - CLOCKS_DIFFER_BY, now + life)
