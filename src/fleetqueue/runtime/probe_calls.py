"""The probes over the network: an HTTP request, a TCP connection, a gRPC health check."""

import asyncio
import ssl
from collections.abc import Iterable

from fleetqueue.api.field_errors import quoted
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.probes import Answer, CannotAsk

BODY_BYTES_MAX = 10 * 1024
_FRAME_HEAD = 9
_DATA, _HEADERS, _SETTINGS, _PING, _GOAWAY = 0, 1, 4, 6, 7
_ACK = 1
_END_HEADERS, _END_STREAM = 4, 1


async def http_get(probe: Object, address: str, ports: Object) -> Answer:
    """`ports`: the named ports of the container. Raises CannotAsk, as all of these do."""
    host, port = _place(probe, address, ports)
    is_secure, path = _scheme(probe) == "https", str(probe.get("path") or "/")
    try:
        status, body = await _get(is_secure, host, port, path, _headers(probe))
    except (OSError, ValueError, asyncio.IncompleteReadError) as error:
        return Answer(False, f'Get "{_url(probe, host, port)}": {_why(error, host, port)}')
    if 200 <= status < 400:
        return Answer(True, body)
    return Answer(False, f"HTTP probe failed with statuscode: {status}")


def http_late(probe: Object, address: str, ports: Object) -> str:
    url = _url(probe, *_place(probe, address, ports))
    said = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
    return f'Get "{url}": {said}'


def _scheme(probe: Object) -> str:
    return str(probe.get("scheme") or "HTTP").lower()


def _url(probe: Object, host: str, port: int) -> str:
    path = str(probe.get("path") or "/")
    return f"{_scheme(probe)}://{host}:{port}{path if path.startswith('/') else '/' + path}"


def _place(probe: Object, address: str, ports: Object) -> tuple[str, int]:
    return str(probe.get("host") or address), _port(probe.get("port"), ports)


def _headers(probe: Object) -> list[tuple[str, str]]:
    given = [(str(h["name"]), str(h.get("value", ""))) for h in probe.get("httpHeaders") or ()]
    names = {name.lower() for name, _ in given}
    defaults = [("User-Agent", "kube-probe/1.34"), ("Accept", "*/*"), ("Connection", "close")]
    return [*given, *(pair for pair in defaults if pair[0].lower() not in names)]


async def _get(
    secure: bool, host: str, port: int, path: str, headers: Iterable[tuple[str, str]]
) -> tuple[int, str]:
    reader, writer = await asyncio.open_connection(host, port, ssl=_unchecked() if secure else None)
    try:
        names = {name.lower() for name, _ in headers}
        lines = [f"GET {path} HTTP/1.1"]
        if "host" not in names:
            lines.append(f"Host: {host}:{port}")
        lines += [f"{name}: {value}" for name, value in headers]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        first = await reader.readline()
        words = first.split(None, 2)
        if len(words) < 2 or not words[0].startswith(b"HTTP/"):
            raise ValueError(f"malformed HTTP response {first[:40]!r}")
        return int(words[1]), (await reader.read(BODY_BYTES_MAX)).decode(errors="replace")
    finally:
        writer.close()


def _unchecked() -> ssl.SSLContext:
    """Probes ask whether somebody answers, not who."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def tcp_socket(probe: Object, address: str, ports: Object) -> Answer:
    host, port = _place(probe, address, ports)
    try:
        _, writer = await asyncio.open_connection(host, port)
    except OSError as error:
        return Answer(False, _why(error, host, port))
    writer.close()
    return Answer(True)


def tcp_late(probe: Object, address: str, ports: Object) -> str:
    host, port = _place(probe, address, ports)
    return f"dial tcp {host}:{port}: i/o timeout"


async def grpc_health(probe: Object, address: str, span: str) -> Answer:
    """One call of grpc.health.v1.Health/Check, with as little of HTTP/2 as that needs; `span`: how
    long it may take.
    """
    port, service = int(probe["port"]), str(probe.get("service") or "")
    try:
        reader, writer = await asyncio.open_connection(address, port)
    except OSError:
        # A kubelet would try until the time is over; the outcome is the same.
        why = f"within {span}: context deadline exceeded"
        return Answer(False, f'timeout: failed to connect service "{address}:{port}" {why}')
    try:
        writer.write(_grpc_request(f"{address}:{port}", service))
        return await _grpc_answer(reader, writer)
    except (OSError, asyncio.IncompleteReadError) as error:
        return Answer(False, f"error: health rpc probe failed: {error}")
    finally:
        writer.close()


def grpc_late(span: str) -> str:
    return f"timeout: health rpc did not complete within {span}"


def _grpc_request(authority: str, service: str) -> bytes:
    message = b"\x0a" + bytes([len(service)]) + service.encode() if service else b""
    fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/grpc.health.v1.Health/Check"),
        (":authority", authority),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ]
    # Literal fields without indexing: no table has to be kept.
    head = b"".join(b"\x00" + _text(name) + _text(value) for name, value in fields)
    body = b"\x00" + len(message).to_bytes(4, "big") + message
    return (
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        + _frame(_SETTINGS, 0, 0, b"")
        + _frame(_HEADERS, _END_HEADERS, 1, head)
        + _frame(_DATA, _END_STREAM, 1, body)
    )


def _text(value: str) -> bytes:
    data = value.encode()
    assert len(data) < 127
    return bytes([len(data)]) + data


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return (
        len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
    )


async def _grpc_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Answer:
    answer = Answer(False, "service unhealthy (responded without a status)")
    while True:
        head = await reader.readexactly(_FRAME_HEAD)
        payload = await reader.readexactly(int.from_bytes(head[:3], "big"))
        kind, flags = head[3], head[4]
        if kind == _SETTINGS and not flags & _ACK:
            writer.write(_frame(_SETTINGS, _ACK, 0, b""))
        elif kind == _PING and not flags & _ACK:
            writer.write(_frame(_PING, _ACK, 0, payload))
        elif kind == _DATA and len(payload) >= 7:
            # HealthCheckResponse.status: 1 is SERVING.
            is_serving = payload[5:7] == b"\x08\x01"
            word = "" if is_serving else 'service unhealthy (responded with "NOT_SERVING")'
            answer = Answer(is_serving, word)
        if kind == _GOAWAY or (kind in (_DATA, _HEADERS) and flags & _END_STREAM):
            return answer


def _port(port: object, named: Object) -> int:
    text = str(port)
    if isinstance(port, str) and text in named:
        text = str(named[text])
    try:
        number = int(text)
    except ValueError:
        raise CannotAsk(f"strconv.Atoi: parsing {quoted(text)}: invalid syntax") from None
    if not 0 < number < 65536:
        raise CannotAsk(f"invalid port number: {number}")
    return number


def _why(error: Exception, host: str, port: int) -> str:
    if isinstance(error, ConnectionRefusedError):
        return f"dial tcp {host}:{port}: connect: connection refused"
    return str(error) or type(error).__name__
