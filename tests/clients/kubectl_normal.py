"""What kubectl prints, made comparable: what differs between any two runs becomes a word."""

import json
import re
from collections.abc import Mapping

from clients.kubectl_scenarios import Step

_REPLACED = [
    (re.compile(pattern), word)
    for pattern, word in (
        (r"[EIW]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", "<log> "),
        (r"eyJ[\w-]+\.[\w-]+\.[\w-]+", "<jwt>"),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z", "<time>"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? \+0000(?: UTC)?", "<time>"),
        (r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000", "<time>"),
        (r'(\\?"?resourceVersion\\?"?: ?\\?"?)\d+', r"\1<revision>"),
        (r"(Resource Version: +)\d+", r"\1<revision>"),
        # A patched object in an error: the order of its fields means nothing.
        (r'Invalid value: "\{\\"(?:apiVersion|kind)\\".*[^\\]": ', 'Invalid value: "<patched>": '),
        (r"/(?:LIVE|MERGED)-\d+/", "/<folder>/"),
        (r"(?:/\S+)?/kubectl-edit-\d+\.yaml", "<edited file>"),
        (r"\b10\.\d+\.\d+\.\d+\b", "<address>"),
        (r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b", "-<suffix>"),
        (r"(?<![\w.-])(?:\d+m)?\d+s\b|<invalid>", "<age>"),
        (r"([: ])3\d{4}/", r"\1<port>/"),
        (r"nodePort: 3\d{4}", "nodePort: <port>"),
        (r"(?<=  )\d+(?:m|h|d|h\d+m|d\d+h)(?= *\n)", "<age>"),
        (r"(?<=\S)  +", "  "),
        (r" +\n", "\n"),
        # kube-apiserver repairs its allocations in rounds; one that meets a new Service says so.
        (r"(?m)^.*\b\w+(?:IP|Port)NotAllocated\b.*\n", ""),
        (r"Events:\n +Type  Reason .*\n(?: +----.*\n)(?!  )", "Events:  <none>\n"),
    )
]


def normal(text: str, step: Step, names: Mapping[str, str]) -> str:
    """`names`: what is called differently on each server, and the word for it."""
    if step.facts:
        return ""
    for name, word in names.items():
        text = text.replace(name, word)
    for pattern, word in _REPLACED:
        text = pattern.sub(word, text)
    lines = _sorted_managers([_sorted_json(line) for line in text.splitlines()])
    # How a watch ends at the deadline of a wait depends on when it began.
    lines = [line for line in lines if not line.startswith("<log> reflector.go")]
    if step.ignore:
        lines = [line for line in lines if not re.search(step.ignore, line)]
    return "\n".join(sorted(lines) if step.unordered else lines)


def _sorted_managers(lines: list[str]) -> list[str]:
    """Managers are listed by the second of their last write, which differs on a slow machine."""
    done: list[str] = []
    rest = iter(lines)
    for line in rest:
        done.append(line)
        if not line.endswith(" managedFields:"):
            continue
        margin = line.removesuffix("managedFields:")
        entries: list[list[str]] = []
        for below in rest:
            if below.startswith(f"{margin}- "):
                entries.append([])
            elif not below.startswith(f"{margin}  "):
                break
            entries[-1].append(below)
        else:
            below = ""
        done += [text for entry in sorted(entries) for text in entry] + [below]
    return done


def _sorted_json(line: str) -> str:
    """An answer that kubectl passes on as it came; the order of its fields means nothing."""
    if not line.startswith('{"'):
        return line
    try:
        return json.dumps(json.loads(line), indent=1, sort_keys=True)
    except ValueError:
        return line
