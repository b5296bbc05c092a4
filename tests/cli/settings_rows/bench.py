"""What a row gets: a folder, the command, and who ran what."""

import json
import re
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np

import command
from settings_rows.models import MODELS

NEXT = "select.fallback = 'next'"


class Bench:
    """A folder with models, and the command in a clean environment. `name` is the key in question: `value` gives it from a
    file, or from `variable` where that is not empty."""

    def __init__(self, tenon: Path, folder: Path, name: str, variable: str):
        self.tenon, self.root, self.name, self.variable = tenon, folder, name, variable
        self.folder = folder / "work"
        self.folder.mkdir()
        self.fakes = tenon.parents[1] / "fakes"
        np.save(self.folder / "x.npy", np.array([1.7, -2.3, 3.1, -4.9], np.float32))

    def config(self, value: str | None, *lines: str) -> list[str]:
        """A file with these lines, and the key of the row at `value`, TOML; the accelerator is found, and asked before cpu."""
        given = list(lines)
        if value is not None and not self.variable:
            given.append(f"{self.name.replace('*', 'accelerator')} = {value}")
        for line in (f"discovery.search = ['{self.fakes}/accelerator']", "select.order = ['accelerator', 'cpu']"):
            name = line.split(" ")[0]
            if not any(each.startswith(name) for each in given) and not (self.variable and self.name == name):
                given.append(line)
        (self.folder / "c.toml").write_text("schema = 1\n" + "\n".join(given) + "\n")
        return ["--config", "c.toml"]

    def environment(self, value: str | None, extra: dict | None = None) -> dict[str, str]:
        own = {self.variable: value} if self.variable and value is not None else {}
        return command.clean_environment(self.root, own | (extra or {}))

    def start(self, value: str | None, args: list, *lines: str, env: dict | None = None) -> subprocess.CompletedProcess:
        return subprocess.run([self.tenon, *args, *self.config(value, *lines)], cwd=self.folder,
                              env=self.environment(value, env), capture_output=True, text=True, timeout=120, check=False)

    def run(self, value: str | None, model: str, *lines: str, env: dict | None = None, args=()) -> subprocess.CompletedProcess:
        source = "x.npy" if model in ("chain", "relu") else "random"
        extra = ["--input", source] if model != "strings" else []
        return self.start(value, ["run", self.model(model), *extra, *args], *lines, env=env)

    def who(self, value: str | None, model: str = "chain", *lines: str, env: dict | None = None) -> str:
        """Who ran the model, from the last line of `tenon run`."""
        done = self.run(value, model, *lines, env=env)
        assert done.returncode == 0, done.stderr
        return re.search(r"^ran (.*) in ", done.stdout, re.MULTILINE).group(1)

    def exit(self, value: str | None, model: str = "chain", *lines: str, env: dict | None = None) -> int:
        return self.run(value, model, *lines, env=env).returncode

    def outputs(self, value: str | None, model: str, *lines: str) -> bytes:
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        done = self.run(value, model, *lines, args=("--output", "out"))
        assert done.returncode == 0, done.stderr
        return b"".join(path.read_bytes() for path in sorted((self.folder / "out").iterdir()))

    def while_running(self, value: str | None, model: str, look, *lines: str):
        """What `look(process id)` sees last while `tenon bench` runs the model."""
        words = [self.tenon, "bench", self.model(model), "--seconds", "1", *self.config(value, *lines)]
        process = subprocess.Popen(words, cwd=self.folder, env=self.environment(value), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        seen = []
        while process.poll() is None:
            try:
                seen.append(look(process.pid))
            except (FileNotFoundError, ProcessLookupError):
                pass
            time.sleep(0.05)
        assert process.returncode == 0, process.stderr.read()
        return max(seen)

    def copied(self, name: str, change=lambda manifest: None, append: bytes = b"") -> str:
        """The accelerator in a folder of this bench, its manifest changed."""
        target = self.folder / name
        shutil.copytree(self.fakes / "accelerator", target)
        path = target / "accelerator.tenon.json"
        manifest = json.loads(path.read_text())
        change(manifest)
        path.write_text(json.dumps(manifest))
        if append:
            with (target / manifest["library"]["path"]).open("ab") as library:
                library.write(append)
        return str(target)

    def unit_test(self, name: str) -> None:
        """The effect is one of host_tests, which sees more of a process."""
        done = subprocess.run([self.tenon.parent / "host_tests", f"--gtest_filter={name}"], capture_output=True, text=True,
                              env=self.environment(None), timeout=300, check=False)
        assert done.returncode == 0 and "[  PASSED  ] 1 test." in done.stdout, done.stdout[-2000:]

    def is_built(self, provider: str) -> bool:
        return (self.tenon.parents[1] / "lib/tenon/providers.d" / f"{provider}.tenon.json").is_file()

    def model(self, name: str) -> str:
        path = self.folder / f"{name}.onnx"
        if not path.exists():
            MODELS[name](path)
        return path.name
