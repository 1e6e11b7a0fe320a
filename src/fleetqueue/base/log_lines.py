"""How our processes log: a line per record."""

import logging


class LogLines(logging.Formatter):
    """A line per record: when, how grave, where, what, and the record's own keys and values."""

    _STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        extra = {name: vars(record)[name] for name in vars(record) if name not in self._STANDARD}
        values = "".join(f" {name}={value!r}" for name, value in extra.items())
        return super().formatMessage(record) + values


def begin(level: int) -> None:
    """On standard error, wherever that leads."""
    handler = logging.StreamHandler()
    handler.setFormatter(LogLines())
    logging.basicConfig(level=level, handlers=[handler])
