"""Request bodies in `application/vnd.kubernetes.protobuf`, which Go controllers send for built-in
kinds, turned into the JSON objects that everything else works with."""

from fleetqueue.apiserver.protobuf.bodies import MEDIA_TYPE, decode
from fleetqueue.apiserver.protobuf.wire import ProtobufError

__all__ = ["MEDIA_TYPE", "ProtobufError", "decode"]
