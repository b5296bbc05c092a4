#!/usr/bin/env python3
"""write_man.py PROGRAM OUT_DIR: writes man pages of a program and of each of its commands, from their --help.

PROGRAM is `tenon` or `tenon-cts`. The exit codes of `tenon` come from docs/command-line.md.
"""

import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
COLUMN = 30  # the column at which --help begins the text of an entry


@dataclass
class Help:
    about: list[str] = field(default_factory=list)
    usage: str = ""
    sections: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # "Options" -> (words, text)
    notes: list[str] = field(default_factory=list)  # below the sections


def read_help(text: str) -> Help:
    out, entries = Help(), None
    for line in text.splitlines():
        if line.startswith("Usage: "):
            out.usage = line.removeprefix("Usage: ")
        elif not out.usage:
            out.about.append(line)
        elif re.fullmatch(r"[A-Z]\w*:", line):
            entries = out.sections.setdefault(line[:-1], [])
        elif entries is not None and line.startswith(" " * COLUMN):
            words, said = entries[-1]
            entries[-1] = (words, f"{said} {line.strip()}".strip())
        elif entries is not None and re.match(r"  \S", line):
            words, _, said = line.strip().partition("  ") if len(line) > COLUMN else (line.strip(), "", "")
            entries.append((words, said.strip()))
        elif line:
            out.notes.append(line)
    return out


def escaped(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def entry(words: str, said: str) -> list[str]:
    """The entry for `-o,--output TEXT`: the names are bold, the argument is not."""
    names, _, takes = words.partition(" ")
    bold = ", ".join(f"\\fB{escaped(name)}\\fR" for name in names.split(","))
    return [".TP", f"{bold} {escaped(takes)}".rstrip(), escaped(said)]


def split_notes(lines: list[str]) -> tuple[list[str], list[str]]:
    examples = [line.removeprefix("Example: ") for line in lines if line.startswith("Example: ")]
    return [line for line in lines if not line.startswith("Example: ")], examples


def exit_codes() -> list[str]:
    table = (REPO / "docs/command-line.md").read_text().split("## Exit codes")[1]
    rows = re.findall(r"^\| (\d+) \| (.*?) \|$", table, re.M)
    return [".SH EXIT STATUS"] + [line for code, meaning in rows
                                  for line in (".TP", code, escaped(meaning.replace("`", "")))]


def page(path: list[str], help_: Help, version: str, commands: list[str]) -> str:
    name = "-".join(path)
    about, examples = split_notes(help_.about)
    notes, more_examples = split_notes(help_.notes)
    said = " ".join(about).removeprefix(name + " ")
    first = re.split(r"[.:](?: |$)", said)[0]
    out = [f'.TH {name.upper()} 1 "" "{version}" "Tenon"', ".SH NAME",
           f"{escaped(name)} \\- {escaped(first)}", ".SH SYNOPSIS", escaped(help_.usage)]
    if first != said.rstrip(".") or notes:
        out += [".SH DESCRIPTION"] + [escaped(line) for line in [said, *notes]]
    for title, entries in help_.sections.items():
        out += [f".SH {'ARGUMENTS' if title == 'Positionals' else title.upper()}"]
        out += [line for words, said in entries for line in entry(words, said)]
    if path == ["tenon"]:
        out += exit_codes()
    if examples or more_examples:
        out += [".SH EXAMPLES", ".nf"] + [escaped(line) for line in examples + more_examples] + [".fi"]
    others = [" ".join(path[:-1]).replace(" ", "-")] if len(path) > 1 else []
    others += [f"{name}-{command}" for command in commands]
    if others:
        out += [".SH SEE ALSO", ", ".join(f"\\fB{escaped(other)}\\fR(1)" for other in others)]
    return "\n".join(out) + "\n"


def write_pages(program: Path, path: list[str], version: str, out: Path) -> None:
    done = subprocess.run([program, *path[1:], "--help"], check=True, capture_output=True, text=True)
    help_ = read_help(done.stdout)
    if not help_.about or not help_.usage or "Options" not in help_.sections:
        sys.exit(f"write_man: the help of '{' '.join(path)}' has no description, usage or options:\n{done.stdout}")
    commands = [words for words, _ in help_.sections.get("Subcommands", [])]
    (out / f"{'-'.join(path)}.1").write_text(page(path, help_, version, commands))
    for command in commands:
        write_pages(program, [*path, command], version, out)


def main() -> None:
    program, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("*.1"):
        old.unlink()
    version = subprocess.run([program.with_name("tenon"), "--version"], check=True, capture_output=True, text=True).stdout
    write_pages(program, [program.name], version.strip(), out)


if __name__ == "__main__":
    main()
