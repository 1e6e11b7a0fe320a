"""The Common Expression Language, as Kubernetes uses it in CRDs and policies.

An expression is parsed, checked against the types of its variables, and written as Python.
`compile_rule` is for the rules of CRD schemas, `compile` for any expression with given variables.
"""

from collections.abc import Mapping

from fleetqueue.apiserver.cel.errors import CelError, CompileError, CostExceeded
from fleetqueue.apiserver.cel.program import Program, RuleProgram, compile_rule
from fleetqueue.apiserver.cel.support import Budget
from fleetqueue.apiserver.cel.types import BOOL, DYN, STRING, Type

__all__ = [
    "BOOL",
    "DYN",
    "STRING",
    "Budget",
    "CelError",
    "CompileError",
    "CostExceeded",
    "Program",
    "RuleProgram",
    "Type",
    "compile",
    "compile_rule",
]


def compile(expression: str, variables: Mapping[str, Type]) -> Program:
    """Raises CompileError, whose text is cel-go's."""
    return Program(expression, variables)
