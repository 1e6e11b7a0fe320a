"""What can go wrong with an expression: when it is compiled, and when it is evaluated."""

from dataclasses import dataclass


class CelError(Exception):
    """An evaluation failed; the message is cel-go's."""

    @property
    def message(self) -> str:
        return str(self)


class CostExceeded(CelError):
    """The expression would take too long; nothing absorbs this error."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


@dataclass(frozen=True, slots=True)
class Issue:
    """What is wrong at one place of the source."""

    position: int
    message: str

    def show(self, source: str) -> str:
        """With the line of the source and a caret below the place."""
        if not source:
            return f"ERROR: <input>:1:0: {self.message}"
        before = source[: self.position]
        line = before.count("\n")
        column = self.position - (before.rfind("\n") + 1)
        text = source.split("\n")[line].replace("\t", " ")
        dots = "".join("." if char.isascii() else "．" for char in text[:column])
        dots = dots.ljust(column, ".")
        return f"ERROR: <input>:{line + 1}:{column + 1}: {self.message}\n | {text}\n | {dots}^"


class CompileError(CelError):
    """The expression is refused; the text lists every issue as cel-go prints it."""

    def __init__(self, source: str, issues: list[Issue]) -> None:
        super().__init__("\n".join(issue.show(source) for issue in issues))
        self.issues = issues
