"""`kueuectl completion`: the script that a shell loads to complete our command lines."""

import os
from typing import Any, ClassVar

import click
from click.shell_completion import (
    CompletionItem,
    ShellComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

PROGRAM = "kueuectl"
VARIABLE = "_KUEUECTL_COMPLETE"
SHELLS = ("bash", "zsh", "fish", "powershell")
_POWERSHELL = """\
Register-ArgumentCompleter -Native -CommandName %(prog_name)s -ScriptBlock {
    param($word, $tree, $position)
    $env:COMP_WORDS = $tree.ToString()
    $env:COMP_WORD = $word
    $env:%(complete_var)s = "powershell_complete"
    try {
        %(prog_name)s | ForEach-Object {
            $value, $help = $_ -split "`t", 2
            if (-not $help) { $help = $value }
            [System.Management.Automation.CompletionResult]::new(
                $value, $value, "ParameterValue", $help)
        }
    } finally {
        Remove-Item Env:COMP_WORDS, Env:COMP_WORD, Env:%(complete_var)s
    }
}
"""


class PowerShell(ShellComplete):
    """Takes the line from two variables, and prints a value with its help on each line."""

    name: ClassVar[str] = "powershell"
    source_template: ClassVar[str] = _POWERSHELL

    def get_completion_args(self) -> tuple[list[str], str]:
        words = split_arg_string(os.environ.get("COMP_WORDS", ""))
        begun = os.environ.get("COMP_WORD", "")
        before = words[1:-1] if begun and words[-1:] == [begun] else words[1:]
        return before, begun

    def format_completion(self, item: CompletionItem) -> str:
        return f"{item.value}\t{item.help}" if item.help else str(item.value)


add_completion_class(PowerShell)


@click.command(
    "completion",
    help="Print the completion script of a shell.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    click.echo(script(context.find_root().command, shell), nl=False)


def script(command: click.Command, shell: str) -> str:
    found: Any = get_completion_class(shell)
    made = found(command, {}, PROGRAM, VARIABLE)
    return str(found.source_template % made.source_vars()).lstrip("\n").rstrip("\n") + "\n"
