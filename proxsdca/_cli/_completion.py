"""`proxsdca completion`: scripts for shells, made of the parsers."""

from __future__ import annotations

import argparse
from typing import Any

EXAMPLES = """
examples:
  eval "$(proxsdca completion bash)"                                  in ~/.bashrc
  eval "$(proxsdca completion zsh)"                                   in ~/.zshrc
  proxsdca completion fish > ~/.config/fish/completions/proxsdca.fish
"""

BASH = """\
_proxsdca() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=""
    COMPREPLY=()
    case "${{COMP_WORDS[1]}} $before" in
{values}
    esac
    if [ -z "$words" ]; then
        if [ "$COMP_CWORD" -eq 1 ]; then
            words="{commands}"
        elif [ "${{word#-}}" != "$word" ]; then
            case "${{COMP_WORDS[1]}}" in
{options}
            esac
        fi
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    [ -n "$words" ] || COMPREPLY=($(compgen -f -- "$word"))
}}
complete -o filenames -F _proxsdca proxsdca
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def completion(arguments: argparse.Namespace) -> int:
    """Print a script that lets a shell complete commands, options and their values."""
    commands = arguments.commands
    print(_fish(commands) if arguments.shell == "fish" else _bash(commands, arguments.shell))
    return 0


def _options(parser: argparse.ArgumentParser) -> list[tuple[list[str], list[str], str]]:
    """Names, values and help of each option; the values of losses and regularisers too."""
    found = []
    for action in parser._actions:
        choices: Any = action.choices or getattr(action.type, "names", lambda: ())()
        found.append((list(action.option_strings), list(map(str, choices)), action.help or ""))
    return found


def _bash(commands: dict[str, argparse.ArgumentParser], shell: str) -> str:
    values, options = [], []
    for command, parser in commands.items():
        names = []
        for strings, choices, _ in _options(parser):
            names += strings
            if choices:
                # what has no name is the first argument
                before = [f"'{command} {name}'" for name in strings or [command]]
                values.append(f'        {"|".join(before)}) words="{" ".join(choices)}" ;;')
        options.append(f'                {command}) words="{" ".join(names)}" ;;')
    script = BASH.format(
        values="\n".join(values), options="\n".join(options), commands=" ".join(commands)
    )
    return ("autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else "") + script


def _fish(commands: dict[str, argparse.ArgumentParser]) -> str:
    lines = []
    for command, parser in commands.items():
        what = _quoted(parser.description)
        lines.append(f"complete -c proxsdca -n __fish_use_subcommand -f -a {command} -d {what}")
        for strings, choices, help in _options(parser):
            line = f"complete -c proxsdca -n '__fish_seen_subcommand_from {command}'"
            for name in strings:
                line += f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}"
            if choices:
                line += f" -x -a '{' '.join(choices)}'"
            if strings or choices:
                lines.append(f"{line} -d {_quoted(help % {'default': 'the usual'})}")
    return "\n".join(lines)


def _quoted(text: str | None) -> str:
    return "'" + (text or "").replace("\\", "").replace("'", "") + "'"
