#!/usr/bin/env python3
"""run_blocks.py BUILD_DIR [PAGE...]: every `sh` block of README.md and docs/*.md runs as it stands.

A page is one bash session, which ends at the first command that fails: its blocks run in their order, in a folder that is empty
but for the page's FIXTURES and is its HOME too. The product is installed into an empty prefix, which is named where an
installation in /usr would be found by itself. A block that cannot run here is a row of NOT_RUN with the reason; a row that fits no
block is a failure, and so is a fenced block that does not say what it is.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import doc_fixtures

REPO = Path(__file__).resolve().parents[2]
COMPONENTS = ("runtime", "tools", "devel", "sdk", "cts")
LANGUAGES = {"sh", "text", "toml", "json", "c", "cpp", "cmake", "python"}  # tests/python/test_docs.py runs those of Python
LONGEST = 500  # seconds that a page may take
TIMED = {"docs/first-provider.md"}  # pages whose reader is told how long each step takes
STEP = re.compile(r"^@step (\d+) (\d+)[.,](\d{6})$", re.M)

# (page, words of the block): why it is not run.
NOT_RUN = {
    ("README.md", "tools/demo"): "installs Debian packages as root, and builds everything",
    ("docs/contributing.md", "tools/setup"): "installs Debian packages as root, and is the gate itself",
    ("docs/cts.md", "cmake -S ep-sdk"): "needs compilers of tools/setup --cross; tests/portable/run.py does it",
    ("docs/cts.md", "wine64 build"): "needs Wine and programs for other systems; tests/portable/run.py does it",
    ("docs/provider-guide.md", "build-windows"): "needs compilers of tools/setup --cross; tests/portable/run.py does it",
    ("docs/performance.md", "bench/export_models.py"): "installs 7 GB of packages, and measures for minutes",
    ("docs/debugging.md", "tests/differential/search.py"): "takes hours; ctest has short runs of the same programs",
    ("docs/cuda-hardware.md", "tools/test-cuda"): "builds everything; the test test_cuda runs its parts",
    ("docs/install.md", "apt-get install"): "changes the machine; tests/install/packages.py has dpkg install the packages into a folder",
    ("docs/install.md", "cmake --preset release"): "builds everything; this test begins with the same installation",
}
# (page, words of the block): a provider without which the block is left out, as where its library is not installed.
NEEDS = {
    ("docs/command-line.md", "--providers onednn,cpu"): "onednn",
}


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int  # of its first command, in the page


def blocks(text: str) -> list[Block]:
    return [Block(match[1], match[2], text[: match.start(2)].count("\n") + 1)
            for match in re.finditer(r"^```([^\n]*)\n(.*?)^```", text, re.S | re.M)]


def rows_for(table: dict, page: str, block: Block) -> list[tuple[str, str]]:
    return [row for row in table if row[0] == page and row[1] in block.text]


def script_of(page: str, found: list[Block], left_out: set[Block]) -> str:
    """The page's commands, each on the line where the page has it, so that bash names the page's own lines."""
    lines = [f"set -eEuo pipefail; trap 'echo \"{page}:$LINENO: $BASH_COMMAND: exit code $?\" >&2' ERR"]
    steps = [block for block in found if block.language == "sh" and block not in left_out]
    for block in steps:
        # The mark stands on the line of the fence.
        mark = f"echo; echo @step {block.line} $EPOCHREALTIME" if page in TIMED else ""
        lines += [""] * (block.line - 2 - len(lines)) + [mark] + block.text.splitlines()
    if page in TIMED:
        lines += ["echo; echo @step 0 $EPOCHREALTIME"]
    return "\n".join(lines) + "\n"


def step_times(page: str, found: list[Block], output: str) -> list[str]:
    """A line for each block of a timed page: its place, how long it took, its first command."""
    marks = [(int(line), int(seconds) + int(millionths) / 1e6) for line, seconds, millionths in STEP.findall(output)]
    first = {block.line: block.text.splitlines()[0] for block in found}
    return [f"  {page}:{line}: {after - begin:6.1f} s  {first[line]}" for (line, begin), (_, after) in zip(marks, marks[1:])]


class Runner:
    def __init__(self, build: Path, work: Path):
        self.work, self.prefix = work, work / "prefix"
        manifests = (build / "lib/tenon/providers.d").glob("*.tenon.json")
        self.providers = sorted(path.name.removesuffix(".tenon.json") for path in manifests)
        for component in COMPONENTS + tuple(f"tenon_ep_{id}" for id in self.providers):
            subprocess.run(["cmake", "--install", build, "--prefix", self.prefix, "--component", component], check=True,
                           capture_output=True)
        self.lib = next(self.prefix.rglob("libtenon.so.0")).parent
        self.fixtures = doc_fixtures.Fixtures(self.environment(work), work / "made")
        self.used: set[tuple[str, str]] = set()

    def environment(self, home: Path) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TENON_", "XDG_"))}
        return kept | {"HOME": str(home), "LC_ALL": "C.UTF-8", "PATH": f"{self.prefix / 'bin'}:{os.environ['PATH']}",
                       "LD_LIBRARY_PATH": str(self.lib), "PKG_CONFIG_PATH": str(self.lib / "pkgconfig"),
                       "CMAKE_PREFIX_PATH": str(self.prefix)}

    def left_out(self, page: str, block: Block) -> str:
        """Why a block is not run; empty: it is."""
        for table in (NOT_RUN, NEEDS):
            self.used.update(rows_for(table, page, block))
        reasons = [NOT_RUN[row] for row in rows_for(NOT_RUN, page, block)]
        reasons += [f"provider {NEEDS[row]} is not built" for row in rows_for(NEEDS, page, block)
                    if NEEDS[row] not in self.providers]
        return reasons[0] if reasons else ""

    def run(self, path: Path) -> tuple[int, int, list[str]]:
        """How many blocks ran, how many were left out, and what is wrong."""
        page = str(path.relative_to(REPO))
        found = blocks(path.read_text())
        problems = [f"{page}:{block.line - 1}: a block that says '{block.language}', which is none of {', '.join(sorted(LANGUAGES))}"
                    for block in found if block.language not in LANGUAGES]
        shell = [block for block in found if block.language == "sh"]
        skipped = {block for block in shell if self.left_out(page, block)}
        if len(skipped) == len(shell):
            return 0, len(skipped), problems
        folder = self.work / page.replace("/", ".")
        folder.mkdir()
        self.fixtures.put(page, folder)
        script = self.work / f"{page.replace('/', '.')}.sh"
        script.write_text(script_of(page, found, skipped))
        start = time.monotonic()
        # `timeout` ends what a command started, too.
        done = subprocess.run(["timeout", str(LONGEST), "bash", script], cwd=folder, env=self.environment(folder),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False)
        if done.returncode != 0:
            problems.append(f"{page}: exit code {done.returncode}\n{done.stdout[-4000:]}")
            return 0, len(skipped), problems
        times = step_times(page, found, done.stdout)
        print("\n".join([f"{page}: {len(shell) - len(skipped)} blocks in {time.monotonic() - start:.1f} s", *times]))
        if page in TIMED and len(times) != len(shell) - len(skipped):
            problems.append(f"{page}: {len(times)} of {len(shell) - len(skipped)} steps were timed")
        return len(shell) - len(skipped), len(skipped), problems


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("pages", nargs="*", type=Path, help="default: all")
    options = parser.parse_args()
    every = [REPO / "README.md", *sorted((REPO / "docs").glob("*.md")), REPO / "ep-sdk/examples/minimal-provider/README.md"]
    pages = [path.resolve() for path in options.pages] or every
    ran = absent = 0
    problems: list[str] = []
    # Beside the build: a provider in a folder that others may write to, such as one beneath /tmp, is refused.
    with tempfile.TemporaryDirectory(dir=options.build.resolve(), prefix="docs.") as folder:
        runner = Runner(options.build.resolve(), Path(folder))
        with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            for more_ran, more_absent, more_problems in pool.map(runner.run, pages):
                ran, absent, problems = ran + more_ran, absent + more_absent, problems + more_problems
    if not options.pages:
        problems += [f"{page}: no sh block has '{words}': take the row out of {Path(__file__).name}"
                     for page, words in sorted((NOT_RUN.keys() | NEEDS.keys()) - runner.used)]
        problems += doc_fixtures.unused(every)
    for problem in problems:
        print(f"failed {problem}")
    print(f"{ran} passed, {len(problems)} failed")
    sys.exit(1 if problems or not ran else 0)


if __name__ == "__main__":
    main()
