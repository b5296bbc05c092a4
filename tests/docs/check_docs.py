#!/usr/bin/env python3
"""check_docs.py TENON CXX CC: what the documents show is true.

Code blocks compile (cpp, c), config blocks pass `tenon config check` (toml), JSON parses, every subcommand and flag in sh blocks
exists, and links lead somewhere. docs/errors.md has each status, kind and flag of the headers with its number, and the headers cite pages
that exist. docs/files-and-variables.md has each environment variable that the sources read. run_blocks.py runs the sh blocks.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

REPO = pathlib.Path(__file__).resolve().parents[2]
INCLUDES = ["-I", REPO / "host/include", "-I", REPO / "ep-sdk/include"]
FLAGS = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-fvisibility=hidden", "-Wno-unused-function", "-Wno-unused-const-variable"]


def blocks(text):
    for match in re.finditer(r"^```(\w+)\n(.*?)^```", text, re.S | re.M):
        yield match[1], match[2], text[: match.start()].count("\n") + 1


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    return None if done.returncode == 0 else (done.stdout + done.stderr).strip()


class Checker:
    def __init__(self, tenon, cxx, cc, work):
        self.tenon, self.cxx, self.cc, self.work = tenon, cxx, cc, work
        self.helps = {}
        self.plugin = REPO / "plugins/cpu"  # whose headers blocks may include

    def file(self, name, text):
        path = self.work / name
        path.write_text(text)
        return path

    def cpp(self, text):
        return run([self.cxx, "-std=c++20", *FLAGS, *INCLUDES, "-I", self.plugin, self.file("block.cc", text)])

    def c(self, text):
        return run([self.cc, "-std=c11", *FLAGS, *INCLUDES, self.file("block.c", text)])

    def toml(self, text):
        # Examples name providers that are not built here.
        return run([self.tenon, "config", "check", self.file("block.toml", text), "--set", "select.fallback=next"])

    def json(self, text):
        try:
            json.loads(text)
        except ValueError as error:
            return str(error)
        return None

    def help(self, words):
        if words not in self.helps:
            program = pathlib.Path(self.tenon).with_name(words[0])
            done = subprocess.run([program, *words[1:], "--help"], capture_output=True, text=True)
            self.helps[words] = done.stdout if done.returncode == 0 else None
        return self.helps[words]

    def sh(self, text):
        for line in text.splitlines():
            words = re.sub(r"\s#.*", "", line).split()
            while words and "=" in words[0]:
                words.pop(0)
            name = pathlib.Path(words[0]).name if words else ""
            if name not in ("tenon", "tenon-cts"):
                continue
            subcommands = 0 if name == "tenon-cts" else 2 if words[1:2] in (["providers"], ["config"]) else 1
            command = (name, *words[1 : 1 + subcommands])
            help_text = self.help(command)
            if help_text is None:
                return f"there is no '{' '.join(command)}'"
            for flag in re.findall(r"\s(--?[a-z][\w-]*)", " ".join(words)):
                if not re.search(rf"(^|[\s,]){re.escape(flag)}($|[\s,=\[])", help_text, re.M):
                    return f"'{' '.join(command)}' has no {flag}"
        return None


def broken_links(page, text):
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.S | re.M)
    for target in re.findall(r"\]\(([^)#]+)(?:#[\w-]+)?\)", prose):
        if "://" not in target and not (page.parent / target).exists():
            yield f"links to {target}, which does not exist"


ENUM = re.compile(r"\benum \{(.*?)\}", re.S)
CONSTANT = re.compile(r"\b(TENON_\w+) = (\d+)u?")
ROW = re.compile(r"^\| `(TENON_\w+)` \| (\d+) \|", re.M)


def constants(header):
    """One dict for each enum of a header."""
    text = re.sub(r"/\*.*?\*/", "", (REPO / header).read_text(), flags=re.S)
    return [{name: int(number) for name, number in CONSTANT.findall(body)} for body in ENUM.findall(text)]


def error_codes():
    """What docs/errors.md and the headers say of each other that is not so."""
    enums = constants("ep-sdk/include/tenon/ep.h") + constants("host/include/tenon/tenon.h")
    wanted = {}
    for first in ("TENON_OK", "TENON_FAILURE_NONE", "TENON_ERROR_RETRYABLE"):
        wanted |= next(enum for enum in enums if first in enum)
    written = {name: int(number) for name, number in ROW.findall((REPO / "docs/errors.md").read_text())}
    for name in sorted(wanted.keys() | written.keys()):
        if wanted.get(name) != written.get(name):
            yield f"{name} is {written.get(name, 'missing')} here, {wanted.get(name, 'missing')} in the headers"
    for folder in ("host/include", "ep-sdk/include"):
        for header in sorted((REPO / folder).rglob("*.h*")):
            for page in re.findall(r"\bdocs/[\w-]+\.md", header.read_text()):
                if not (REPO / page).is_file():
                    yield f"{header.relative_to(REPO)} cites {page}, which does not exist"


VARIABLE_PAGE = "docs/files-and-variables.md"
SOURCES = ("core", "host", "plugins", "ep-sdk", "tools/tenon")


def variables():
    """What the page of environment variables and the sources say that is not so of the other."""
    read = set()
    for folder in SOURCES:
        for path in (REPO / folder).rglob("*"):
            if path.suffix in (".cc", ".h", ".hpp"):
                text = re.sub(r"//.*", "", path.read_text())
                read |= set(re.findall(r'"((?:TENON|XDG|OCL)_[A-Z_]+[A-Z]|VK_(?:DRIVER_FILES|ICD_FILENAMES)|HOME)"', text))
                read |= set(re.findall(r"\bCUDA_VISIBLE_DEVICES\b", text))  # which the driver reads, and a message names
                read |= {f"XDG_{kind}_HOME" for kind in re.findall(r'user_directory\("([A-Z]+)"', text)}
    table = re.findall(r"^\| (`[A-Z].*?) \|", (REPO / VARIABLE_PAGE).read_text(), re.M)
    written = {name for cell in table for name in re.findall(r"`([A-Z_]+)`", cell)}
    for name in sorted(read ^ written):
        yield f"{name} is {'read by the sources and not here' if name in read else 'here, and nothing reads it'}"


def main():
    failed = passed = 0
    for page, problems in (("docs/errors.md", error_codes()), (VARIABLE_PAGE, variables())):
        for problem in problems:
            failed += 1
            print(f"failed {page}: {problem}")
    pages = [REPO / "README.md", *sorted((REPO / "docs").rglob("*.md")), *sorted((REPO / "ep-sdk").rglob("*.md")),
             *sorted((REPO / "plugins").rglob("*.md"))]
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(*sys.argv[1:4], pathlib.Path(folder))
        for page in pages:
            text = page.read_text()
            checker.plugin = page.parent if page.parent.parent.name == "plugins" else REPO / "plugins/cpu"
            problems = [(1, problem) for problem in broken_links(page, text)]
            for language, code, line in blocks(text):
                check = getattr(checker, language, None)
                if check is None:
                    continue
                problem = check(code)
                passed += problem is None
                if problem:
                    problems.append((line, f"{language} block: {problem}"))
            for line, problem in problems:
                failed += 1
                print(f"{page.relative_to(REPO)}:{line}: {problem}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
