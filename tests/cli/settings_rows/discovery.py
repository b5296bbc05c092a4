"""Where providers are found."""

import shutil
import time

from settings_rows.bench import NEXT, Bench
from settings_rows.registry import key


def seconds(call) -> float:
    begin = time.monotonic()
    call()
    return time.monotonic() - begin


def state_files(bench: Bench) -> int:
    return sum(1 for path in bench.root.glob("tenon/**/*") if path.is_file())


@key("discovery.search")
def _(b: Bench):
    return b.who("[]", "chain", NEXT), b.who(f"['{b.fakes}/accelerator']", "chain", NEXT)


@key("discovery.allow")
def _(b: Bench):
    return b.who("['*']", "chain", NEXT), b.who("['cpu']", "chain", NEXT)


@key("discovery.deny")
def _(b: Bench):
    return b.who("[]", "chain", NEXT), b.who("['accel*']", "chain", NEXT)


@key("discovery.trust")
def _(b: Bench):
    search = f"discovery.search = ['{b.copied('changed', append=b'more')}']"
    return b.who("'owner'", "chain", NEXT, search), b.who("'hash'", "chain", NEXT, search)


@key("discovery.scan")
def _(b: Bench):
    files = []
    for value in ("'off'", "'on'"):
        b.who(value)
        files.append(state_files(b))
    assert files[0] == 0, "a scan leaves its verdict behind, and there was none"
    return files


@key("discovery.scan_timeout")
def _(b: Bench):
    lines = [f"discovery.search = ['{b.fakes}/defects/enumerate_hangs.tenon.json']", NEXT,
             "select.order = ['enumerate_hangs', 'cpu']"]
    short = seconds(lambda: b.who("0.2", "chain", *lines))
    shutil.rmtree(b.root / "tenon", ignore_errors=True)  # what is known of the library
    long = seconds(lambda: b.who("2.0", "chain", *lines))
    assert long > short + 1, f"{short} and {long} s"


@key("discovery.user")
def _(b: Bench):
    shutil.copytree(b.fakes / "accelerator", b.root / "tenon" / "providers.d")
    return b.who("false", "chain", NEXT, "discovery.search = []"), b.who("true", "chain", NEXT, "discovery.search = []")
