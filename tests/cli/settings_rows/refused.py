"""What is refused: (key, value) and what the message must offer."""

import re

import command
from settings_rows.bench import Bench

REFUSED = {("discovery.trust", "signature"): '"hash"', ("provider.*.isolation", "process"): '"inproc"', ("upgrade.mode", "migrate"): '"next-session"'}


def refusal(name: str, word: str, cure: str):
    def row(b: Bench) -> None:
        b.name = name
        for args in (["config", "check"], ["run", b.model("chain"), "--input", "x.npy"]):
            done = b.start(f"'{word}'", args)
            assert done.returncode == command.EXIT_CODES["config error"], done
            place, reason = rf"c\.toml:\d+: '{name.replace('*', 'accelerator')}'", rf"cannot be \"{word}\": .*this version.*"
            assert re.search(place, done.stderr) and re.search(reason, done.stderr) and cure in done.stderr, done.stderr
    return row
