#!/usr/bin/env python3
"""Proves that the search sees: plants wrong constants and leaves out checks, one at a time, and searches.

    plant_mutants.py build/release [--seed 1] [--only NAME ...] [--check]

A mutant of mutants.json is one replacement in one source of a provider, made in a scratch copy; only what it touches is
compiled, with the build's own commands, and linked into a scratch copy of the build's lib folder. A mutant counts as found when
the search has a finding in it that the unchanged build has not. Prints the case at which each was found; exit code 1 when one was not
or no longer applies to its source. With --check nothing is compiled: each replacement must occur once in its source.
"""

import argparse
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CASES = 80


def source_of(mutant: dict) -> Path:
    return ROOT / "plugins" / mutant["provider"] / mutant["file"]


def astray(mutant: dict) -> str:
    """Why the mutant cannot be planted; "" when its text occurs once in its source."""
    source = source_of(mutant)
    if not source.is_file():
        return f"{mutant['name']}: there is no {source}"
    count = source.read_text().count(mutant["old"])
    return "" if count == 1 else f"{mutant['name']}: the text to replace occurs {count} times in {source}"


class Planter:
    def __init__(self, build: Path, scratch: Path, seed: int):
        self.build, self.scratch, self.seed = build, scratch, seed
        entries = json.loads((build / "compile_commands.json").read_text())
        self.compilers = {Path(e["file"]).resolve(): e for e in entries}

    def is_built(self, provider: str) -> bool:
        return ROOT / "plugins" / provider / "plugin.cc" in self.compilers

    def mutated(self, mutant: dict) -> Path:
        """The changed source, in a folder that comes first among the folders of includes."""
        copy = self.scratch / "sources" / mutant["name"] / mutant["file"]
        copy.parent.mkdir(parents=True)
        copy.write_text(source_of(mutant).read_text().replace(mutant["old"], mutant["new"]))
        return copy

    def objects(self, mutant: dict, copy: Path) -> dict[str, Path]:
        """Objects compiled anew, by the name that the build gives them."""
        folder = self.scratch / "sources" / mutant["name"]
        made = {}
        for unit in mutant.get("units", [mutant["file"]]):
            source = ROOT / "plugins" / mutant["provider"] / unit
            entry = self.compilers[source.resolve()]
            words = shlex.split(entry["command"])
            out = words.index("-o") + 1
            name, made_at = words[out], folder / (Path(unit).name + ".o")
            words[out] = str(made_at)
            if unit == mutant["file"]:
                words = [str(copy) if word == entry["file"] else word for word in words]
            words[1:1] = [f"-I{folder}"] if Path(words[0]).name != "ccache" else []
            subprocess.run(words, cwd=entry["directory"], check=True)
            made[name] = made_at
        return made

    def link(self, provider: str, objects: dict[str, Path]) -> Path:
        """A copy of the build's lib folder whose provider has these objects."""
        place = self.scratch / "build"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.build / "lib", place / "lib")
        manifest_path = place / "lib" / "tenon" / "providers.d" / f"{provider}.tenon.json"
        manifest = json.loads(manifest_path.read_text())
        library = manifest_path.parent / manifest["library"]["path"]
        target = str(library.relative_to(place))
        commands = subprocess.run(["ninja", "-t", "commands", target], cwd=self.build, capture_output=True, text=True, check=True)
        words = shlex.split(commands.stdout.splitlines()[-1].removeprefix(": && ").split(" && ")[0])
        words = [str(objects[word]) if word in objects else str(library) if word == target else word for word in words]
        subprocess.run(words, cwd=self.build, check=True)
        manifest["library"] |= {"sha256": hashlib.sha256(library.read_bytes()).hexdigest(), "size": library.stat().st_size}
        manifest_path.write_text(json.dumps(manifest))
        return place

    def findings(self, build: Path, mutant: dict) -> set[int]:
        """Numbers of the cases in which the search finds something."""
        order = mutant["provider"] if mutant["provider"] == "cpu" else f"{mutant['provider']},cpu"
        results = self.scratch / "results"
        shutil.rmtree(results, ignore_errors=True)
        command = [sys.executable, "-B", HERE / "search.py", build, "--seed", str(self.seed), "--cases", str(mutant.get("cases", CASES)), "--shrink", "0",
                   "--rarely", "1", "--providers", order, "--save", results, "--operators", *mutant["operators"]]
        own = {"LD_LIBRARY_PATH": str(self.build / "fakes/cuda")} if mutant["provider"] == "cuda" else {}  # what stands in for a GPU
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=os.environ | own)
        if not (results / "findings.json").is_file():
            raise SystemExit(f"plant_mutants.py: {mutant['name']}: the search failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return {finding["request"]["case"] for finding in json.loads((results / "findings.json").read_text())}

    def run(self, mutant: dict) -> bool:
        objects = self.objects(mutant, self.mutated(mutant))
        place = self.link(mutant["provider"], objects)
        new = sorted(self.findings(place, mutant) - self.findings(self.build, mutant))
        print(f"{'found' if new else 'NOT FOUND'} {mutant['name']} ({mutant['provider']}): seed {self.seed}, "
              + (f"case {new[0] + 1} of {mutant.get('cases', CASES)}, {len(new)} findings" if new else f"{mutant.get('cases', CASES)} cases"), flush=True)
        return bool(new)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--check", action="store_true", help="compile nothing; look whether each replacement applies to its source")
    args = parser.parse_args()
    mutants = [m for m in json.loads((HERE / "mutants.json").read_text()) if not args.only or m["name"] in args.only]
    stray = [text for text in map(astray, mutants) if text]
    for text in stray:
        print(f"plant_mutants.py: {text}")
    if args.check or stray:
        print(f"{len(mutants) - len(stray)} passed, {len(stray)} failed")
        return 1 if stray else 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        planter = Planter(args.build.resolve(), Path(name), args.seed)
        built = [mutant for mutant in mutants if planter.is_built(mutant["provider"])]
        found = sum([planter.run(mutant) for mutant in built])
    left = len(mutants) - len(built)
    print(f"{found} passed, {len(built) - found} failed" + (f", {left} not run" if left else ""))
    return 0 if found == len(built) > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
