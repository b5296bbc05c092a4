#!/usr/bin/env python3
"""provider_files.py COMMAND FAKES KILL_AT_LIBRARY: tenon providers install, rollback, restore, remove and pin.

Each command is also killed before every call that changes the file system: what sessions see then is the state before or the
state after, and the same command, given again, ends as if nothing had happened.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COMMAND, FAKES, KILL_AT = Path(), Path(), Path()
OLD, NEW = "1.0.0", "1.1.0"


class ProviderFiles(unittest.TestCase):
    def setUp(self):
        # Beside the build: a provider in a folder that others may write to, such as one beneath /tmp, is refused.
        self.folder = tempfile.TemporaryDirectory(dir=COMMAND.parent.parent, prefix="provider_files.")
        self.addCleanup(self.folder.cleanup)
        self.home = Path(self.folder.name)
        self.place = self.home / "data/tenon/providers.d"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("TENON_")}
        self.environment |= {"HOME": str(self.home), "XDG_DATA_HOME": str(self.home / "data"), "TENON_DISCOVERY_USER": "true"}

    def providers(self, *words: object, kill_at: int | None = None) -> subprocess.CompletedProcess:
        environment = dict(self.environment)
        if kill_at is not None:
            environment |= {"LD_PRELOAD": str(KILL_AT), "KILL_AT": str(kill_at)}
        return subprocess.run([str(word) for word in (COMMAND, "providers", *words)], capture_output=True, text=True,
                              check=False, env=environment)

    def done(self, *words: object) -> str:
        ended = self.providers(*words)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout

    def refused(self, *words: object) -> str:
        ended = self.providers(*words)
        self.assertGreater(ended.returncode, 0, ended.stdout)
        return ended.stderr

    def source(self, version: str) -> Path:
        return FAKES / ("good.tenon.json" if version == OLD else "good-next.tenon.json")

    def install(self, version: str) -> str:
        return self.done("install", self.source(version), "--to", self.place)

    def taken(self) -> str | None:
        """The version that a session would take. Whatever is found of it is usable, or not chosen."""
        ended = self.providers("list", "--format", "json")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        entries = [entry for entry in json.loads(ended.stdout) if entry["id"] == "good"]
        self.assertEqual([entry["refusal"] for entry in entries], [""] * len(entries), entries)
        chosen = [entry["version"] for entry in entries if entry["chosen"]]
        return chosen[0] if chosen else None

    def files(self) -> list[str]:
        return sorted(str(path.relative_to(self.home)) for path in self.home.rglob("*")
                      if path.is_file() and "state" not in path.parts and "cache" not in "".join(path.parts[-4:]))

    # ---- What they do ----

    def test_install_is_taken_and_twice_is_once(self):
        self.assertIn(f"the next session uses good {OLD}", self.install(OLD))
        before = self.files()
        self.assertIn("is installed already", self.install(OLD))
        self.assertEqual(self.files(), before)
        self.assertIn(f"uses good {NEW}", self.install(NEW))
        self.assertEqual(self.taken(), NEW)

    def test_rollback_and_restore(self):
        self.install(OLD)
        self.assertIn("no other version to go back to", self.refused("rollback", "good"))
        self.install(NEW)
        self.assertIn(f"uses good {OLD}", self.done("rollback", "good"))
        self.assertEqual(self.taken(), OLD)
        self.assertIn("is set aside", self.refused("install", self.source(NEW), "--to", self.place))
        self.assertIn(f"uses good {NEW}", self.done("restore", "good"))
        self.assertIn("no such version is set aside", self.refused("restore", "good"))

    def test_remove_and_purge(self):
        self.install(OLD)
        self.install(NEW)
        self.done("remove", "good", NEW)
        self.assertEqual(self.taken(), OLD)
        self.done("remove", "good", NEW, "--purge")
        self.assertEqual([name for name in self.files() if NEW in name], [])
        self.assertIn("is not installed", self.refused("remove", "good", NEW))
        self.done("remove", "good", OLD, "--purge")
        self.assertEqual(self.files(), [])

    def test_pin_keeps_what_the_file_says_else(self):
        self.install(OLD)
        self.install(NEW)
        config = self.home / "own.toml"
        config.write_text('schema = 1  # mine\n[provider.good]\n# a remark\nversion = "<9"\n[threads]\ncount = 1\n')
        self.done("pin", "good", OLD, "--config", config)
        self.assertEqual(config.read_text(), f'schema = 1  # mine\n[provider.good]\nversion = "={OLD}"\n# a remark\n[threads]\n'
                                             "count = 1\n")
        before = config.read_text()
        self.assertIn("would not be used", self.refused("pin", "good", "7.0.0", "--config", config))
        self.assertEqual(config.read_text(), before)
        self.done("pin", "good", OLD)  # the user's file, which was not there
        self.assertEqual(self.taken(), OLD)

    def test_installed_manifests_have_the_version_in_their_names(self):
        self.install(OLD)
        self.install(NEW)
        self.assertEqual(sorted(path.name for path in self.place.glob("*.json")), [f"good-{OLD}.tenon.json", f"good-{NEW}.tenon.json"])

    def test_no_command_writes_into_a_library_that_a_session_may_use(self):
        def libraries() -> dict[int, bytes]:
            return {path.stat().st_ino: path.read_bytes() for path in self.place.rglob("*.so")}

        self.install(OLD)
        with next(self.place.rglob("*.so")).open("rb") as in_use:
            known, content = libraries(), in_use.read()
            for words in (["install", self.source(NEW), "--to", self.place], ["rollback", "good"], ["restore", "good"],
                          ["remove", "good", NEW], ["install", self.source(OLD), "--to", self.place]):
                self.done(*words)
                now = libraries()
                self.assertEqual({number: now.get(number) for number in known}, known, words)
                known = now
            self.done("remove", "good", OLD, "--purge")
            in_use.seek(0)
            self.assertEqual(in_use.read(), content)

    def test_a_library_overwritten_in_place_is_refused_as_the_upgrade_page_warns(self):
        self.install(OLD)
        self.install(NEW)
        old, new = (next((self.place / "good" / version).glob("*.so")) for version in (OLD, NEW))
        shutil.copyfile(old, new)  # like cp, into the file that is there
        listed = json.loads(self.done("list", "--format", "json"))
        refusals = {entry["version"]: entry["refusal"] for entry in listed if entry["id"] == "good"}
        self.assertEqual(refusals, {OLD: "", NEW: "E_SHA_MISMATCH"})
        page = (Path(__file__).resolve().parents[2] / "docs/upgrade.md").read_text()
        warning = page[page.index("## Never write into a library that is in use"):].split("\n## ")[0]
        for words in ("`cp new.so old.so`", "SIGSEGV", "SIGBUS", "`E_SHA_MISMATCH`"):
            self.assertIn(words, warning)

    def test_what_the_host_refuses_is_not_installed(self):
        said = self.refused("install", FAKES / "negotiate_crashes.tenon.json", "--to", self.place)
        self.assertIn("E_SCAN_CRASH", said)
        self.assertIn("nothing was installed", said)
        self.assertEqual(self.files(), [])

    def test_a_library_that_changed_is_not_installed(self):
        copy = self.home / "copy"
        shutil.copytree(FAKES / "good", copy / "good")
        shutil.copy(self.source(OLD), copy)
        library = next(copy.rglob("*.so"))
        library.write_bytes(library.read_bytes() + b"\0")
        self.assertIn("E_SHA_MISMATCH", self.refused("install", copy, "--to", self.place))
        self.assertFalse(list(self.place.rglob("*")) if self.place.exists() else [])

    def test_another_build_of_a_version_is_not_written_over_it(self):
        self.install(OLD)
        manifest = next(self.place.glob("*.json"))
        text = json.loads(manifest.read_text())
        text["library"]["sha256"] = "0" * 64
        manifest.write_text(json.dumps(text))
        self.assertIn("another build", self.refused("install", self.source(OLD), "--to", self.place))

    def test_a_folder_that_is_not_searched_is_told(self):
        self.environment.pop("TENON_DISCOVERY_USER")
        said = self.install(OLD)
        self.assertIn("is not searched", said)
        self.assertIn("discovery.user = true", said)

    def test_mistakes(self):
        self.assertIn("name the one to install", self.refused("install", FAKES))
        self.assertIn("cannot be read", self.refused("install", self.home / "absent.tenon.json"))
        other = self.home / "other.tenon.json"
        other.write_text("{}")
        self.assertIn("is not a manifest", self.refused("install", other))
        other.write_text('{"provider": {"id": "../x", "version": "1.0.0"}, "library": {"path": "x.so"}}')
        self.assertIn("is not a manifest", self.refused("install", other))
        self.assertIn("sessions use no version", self.refused("rollback", "nobody"))

    # ---- Killed at every step ----

    def killed_everywhere(self, prepare, words: list[object], before: str | None, after: str | None):
        steps = 0
        while True:
            shutil.rmtree(self.home / "data", ignore_errors=True)
            shutil.rmtree(self.home / ".config", ignore_errors=True)
            prepare()
            self.assertEqual(self.taken(), before)
            ended = self.providers(*words, kill_at=steps)
            if ended.returncode == 0:
                break
            self.assertEqual(ended.returncode, -9, ended.stderr)
            seen = self.taken()
            self.assertIn(seen, (before, after), f"killed before call {steps}")
            if seen == before:
                self.done(*words)
            self.assertEqual(self.taken(), after, f"killed before call {steps}, then done again")
            steps += 1
        self.assertEqual(self.taken(), after)
        self.assertGreater(steps, 0, "the commands change files by calls that are not counted")

    def test_killed_installation(self):
        self.killed_everywhere(lambda: self.install(OLD), ["install", self.source(NEW), "--to", self.place], OLD, NEW)

    def both(self):
        self.install(OLD)
        self.install(NEW)

    def test_killed_rollback(self):
        self.killed_everywhere(self.both, ["rollback", "good"], NEW, OLD)

    def test_killed_purge(self):
        self.killed_everywhere(self.both, ["remove", "good", NEW, "--purge"], NEW, OLD)

    def test_killed_pin(self):
        self.killed_everywhere(self.both, ["pin", "good", OLD], NEW, OLD)

    def test_killed_restore(self):
        def set_aside():
            self.both()
            self.done("rollback", "good")
        self.killed_everywhere(set_aside, ["restore", "good"], OLD, NEW)


if __name__ == "__main__":
    KILL_AT = Path(sys.argv.pop(3)).resolve()
    FAKES = Path(sys.argv.pop(2)).resolve()
    COMMAND = Path(sys.argv.pop(1)).resolve()
    unittest.main()
