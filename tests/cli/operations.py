#!/usr/bin/env python3
"""operations.py COMMAND: what `tenon` tells those who operate a machine when providers or settings are not as they should be.

Each test makes one fault with the cpu provider or the fake accelerator, and looks at what the command prints and how it ends.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import command
from settings_rows import models

COMMAND, CPU, ACCELERATOR, NEXT = Path(), Path(), Path(), Path()  # the last three are manifests


class Operations(unittest.TestCase):
    def setUp(self):
        # Beside the build: a provider in a folder that others may write to, such as one beneath /tmp, is refused.
        holder = tempfile.TemporaryDirectory(dir=COMMAND.parents[1], prefix="operations.")
        self.addCleanup(holder.cleanup)
        self.home = Path(holder.name)
        self.work = self.home / "work"
        self.work.mkdir()
        models.chain(self.work / "chain.onnx")
        models.absolute(self.work / "absolute.onnx")  # the accelerator has no Abs

    def tenon(self, *words: object, providers: list[Path], **variables: str) -> subprocess.CompletedProcess:
        """The command on a machine that has these providers alone."""
        environment = command.clean_environment(self.home, {"TENON_PROVIDER_FILES": ":".join(map(str, providers))} | variables)
        return subprocess.run([str(word) for word in (COMMAND, *words)], cwd=self.work, env=environment, capture_output=True,
                              text=True, timeout=120, check=False)

    def run_model(self, model: str, *words: object, **keywords) -> subprocess.CompletedProcess:
        return self.tenon("run", f"{model}.onnx", "--input", "random", *words, **keywords)

    def config(self, *lines: str) -> list[str]:
        (self.work / "c.toml").write_text("\n".join(["schema = 1", *lines]) + "\n")
        return ["--config", "c.toml"]

    def copied(self, manifest: Path, folder: str, **changes) -> tuple[Path, Path]:
        """Copies of a provider's manifest, with other values of some keys, and of its library."""
        target, content = self.work / folder, json.loads(manifest.read_text())
        library = target / content["library"]["path"]
        library.parent.mkdir(parents=True)
        shutil.copy(manifest.parent / content["library"]["path"], library)
        (target / manifest.name).write_text(json.dumps(content | changes))
        return target / manifest.name, library

    def corrupt(self, manifest: Path, folder: str) -> Path:
        path, library = self.copied(manifest, folder)
        with library.open("ab") as file:
            file.write(b"more")
        return path

    def assert_ran(self, done: subprocess.CompletedProcess, who: str):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, rf"ran \d+ nodes? on {who}")

    # ---- What another provider or version runs is told ----

    def test_a_corrupt_newer_version_is_told_where_the_older_one_runs(self):
        self.copied(ACCELERATOR, "both")
        both = self.corrupt(NEXT, "both").parent
        told = r"warning: PASSED_OVER: provider accelerator 99\.0\.0 is not used \(E_SHA_MISMATCH\), accelerator 1\.0\.0 is: .*; install "
        done = self.run_model("chain", "--provider", "accelerator,cpu", providers=[both, CPU])
        self.assert_ran(done, "accelerator/npu:0")
        self.assertRegex(done.stderr, told)
        self.assertRegex(self.run_model("chain", providers=[both, CPU]).stderr, told)

    def test_auto_tells_of_a_corrupt_cpu(self):
        done = self.run_model("chain", providers=[self.corrupt(CPU, "cpu"), ACCELERATOR])
        self.assert_ran(done, "accelerator/npu:0")
        self.assertRegex(done.stderr, r"warning: PASSED_OVER: provider cpu [\d.]+ is not used \(E_SHA_MISMATCH\): ")

    def test_auto_tells_of_an_instruction_set_that_cpu_does_not_know(self):
        done = self.run_model("chain", providers=[CPU, ACCELERATOR], TENON_CPU_ISA="no_such")
        self.assert_ran(done, "accelerator/npu:0")
        self.assertRegex(done.stderr, r"warning: PASSED_OVER: provider cpu [\d.]+ is not used .*TENON_CPU_ISA is 'no_such'")

    def test_an_operator_that_nobody_runs_names_the_provider_that_was_refused(self):
        done = self.run_model("absolute", providers=[self.corrupt(CPU, "cpu"), ACCELERATOR])
        self.assertEqual(done.returncode, command.EXIT_CODES["unsupported"], done.stderr)
        self.assertRegex(done.stderr, r"no provider runs operator Abs .*; provider cpu [\d.]+ is not used \(E_SHA_MISMATCH\): ")

    def test_explain_names_the_version_of_each_provider(self):
        done = self.tenon("explain", "chain.onnx", "--provider", "accelerator,cpu", providers=[ACCELERATOR, CPU])
        version = json.loads(CPU.read_text())["provider"]["version"]
        self.assertIn("accelerator/npu:0 is accelerator 1.0.0\n", done.stdout)
        self.assertIn(f"cpu/cpu:0 is cpu {version}\n", done.stdout)

    # ---- Settings ----

    def test_config_check_refuses_what_a_session_would_refuse(self):
        for line, words in (("select.order = ['acelerator']", "unknown provider 'acelerator'"),
                            ("provider.cpu.options.speed = 9", "unknown option 'provider.cpu.options.speed'"),
                            ("provider.cpu.isolation = 'process'", "'provider.cpu.isolation' cannot be \"process\"")):
            with self.subTest(line):
                self.config(line)
                done = self.tenon("config", "check", "c.toml", providers=[ACCELERATOR, CPU])
                self.assertEqual(done.returncode, command.EXIT_CODES["config error"], done.stdout)
                self.assertRegex(done.stderr, r"c\.toml:2: ")
                self.assertIn(words, done.stderr)

    def test_auto_tells_of_a_device_that_is_not_there(self):
        flags = self.config("provider.accelerator.devices = ['gpu:0']")
        # Whether the model needs the provider or not: after cpu it is not even opened.
        for providers in ([ACCELERATOR], [ACCELERATOR, CPU]):
            done = self.run_model("chain", *flags, providers=providers)
            self.assertEqual(done.returncode, command.EXIT_CODES["config error"], done.stdout)
            self.assertRegex(done.stderr, r"c\.toml:2: 'provider.accelerator.devices' names 'gpu:0', .* its devices: npu:0")

    def test_without_devices_a_provider_uses_its_first_as_the_schema_says(self):
        self.assertIn("Default: the provider's first device", self.tenon("config", "schema", providers=[]).stdout)
        self.config("select.order = ['accelerator']")
        done = self.tenon("config", "check", "c.toml", providers=[ACCELERATOR])
        self.assertEqual(re.findall(r"accelerator/\S+", done.stdout), ["accelerator/npu:0"], done.stdout)

    # ---- Doctor ----

    def test_doctor_looks_again_after_a_needed_library_has_gone(self):
        needs = {"sonames": ["libtenon_test_needed.so.1"], "hint": "apt-get install libneeded1"}
        manifest, library = self.copied(ACCELERATOR, "needs", requires=needs)
        needed = self.work / "libraries" / needs["sonames"][0]
        needed.parent.mkdir()
        shutil.copy(library, needed)

        def doctor() -> subprocess.CompletedProcess:
            return self.tenon("providers", "doctor", providers=[manifest], LD_LIBRARY_PATH=str(needed.parent))

        self.assertEqual(doctor().returncode, 0, doctor().stdout)
        needed.unlink()
        ill = doctor()
        self.assertEqual(ill.returncode, command.EXIT_CODES["failed"], ill.stdout)
        self.assertRegex(ill.stdout, r"E_DEP_MISSING(?s:.*)cause +the library 'libtenon_test_needed\.so\.1' is missing(?s:.*)"
                                     r"cure +apt-get install libneeded1")

    def test_doctor_cures_a_file_mode_with_chmod_and_not_with_an_installation(self):
        needs = {"sonames": ["libc.so.6"], "hint": "apt-get install libneeded1"}
        manifest, library = self.copied(ACCELERATOR, "open", requires=needs)
        library.chmod(0o666)
        done = self.tenon("providers", "doctor", providers=[manifest])
        self.assertEqual(done.returncode, command.EXIT_CODES["failed"], done.stdout)
        self.assertRegex(done.stdout, r"E_FILE_MODE(?s:.*)cure +run chmod go-w")
        self.assertNotIn("apt-get", done.stdout)


if __name__ == "__main__":
    COMMAND = Path(sys.argv.pop(1)).resolve()
    built = COMMAND.parents[1]
    CPU = built / "lib/tenon/providers.d/cpu.tenon.json"
    ACCELERATOR = built / "fakes/accelerator/accelerator.tenon.json"
    NEXT = built / "fakes/next/accelerator-next.tenon.json"
    unittest.main()
