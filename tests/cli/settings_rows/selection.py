"""Who is chosen."""

import re

import command
from settings_rows.bench import NEXT, Bench
from settings_rows.registry import key


@key("select.order")
def _(b: Bench):
    return b.who("['cpu']"), b.who("['accelerator', 'cpu']")


@key("select.fallback")
def _(b: Bench):
    order = "select.order = ['absent', 'cpu']"
    return b.exit("'error'", "chain", order), b.exit("'next'", "chain", order)


@key("select.on_declined")
def _(b: Bench):
    return b.exit("'error'", "absolute"), b.exit("'next'", "absolute")


@key("select.on_compile_failed")
def _(b: Bench):
    fault = "provider.accelerator.options.fault = 'compile'"
    return b.exit("'error'", "chain", fault), b.exit("'next'", "chain", fault)


@key("select.partition")
def _(b: Bench):
    order, cost = b.who("'order'"), b.who("'cost'")  # a few elements are not worth the way to a device
    slow, cache = "provider.accelerator.options.latency_us = 3000", {"XDG_CACHE_HOME": str(b.root / "measured")}
    assert b.who(None, "chain", slow, env=cache) == order, "nothing was measured"
    for _ in range(2):
        b.who(None, "chain", slow, "select.record_times = true", env=cache)
    assert b.who("'order'", "chain", slow, env=cache) == order
    assert b.who("'measured'", "chain", slow, env=cache) == b.who(None, "chain", slow, env=cache) == cost
    return order, cost


@key("select.record_times")
def _(b: Bench):
    def stored(value: str) -> int:
        cache = b.root / f"cache-{value}"
        assert b.exit(value, env={"XDG_CACHE_HOME": str(cache)}) == 0
        return len([path for path in cache.rglob("*.blob") if b"tenon times 1" in path.read_bytes()])
    assert stored("true") == 2, "of the nodes of the accelerator, and of the graph"
    return stored("false"), stored("true")


@key("provider.*.version")
def _(b: Bench):
    return b.who("'>=1'", "chain", NEXT), b.who("'>=2'", "chain", NEXT)


@key("provider.*.devices")
def _(b: Bench):
    assert "accelerator/npu:0" in b.who(None), "the default is the first"
    found = {"TENON_PROVIDER_FILES": str(b.fakes / "accelerator")}  # where "auto" looks
    for order in ("['accelerator']", "'auto'"):
        done = b.run("['gpu:0']", "chain", f"select.order = {order}", env=found)
        assert done.returncode == command.EXIT_CODES["config error"], done
        assert re.search(r"c\.toml:\d: 'provider.accelerator.devices' names 'gpu:0', but .* its devices: npu:0", done.stderr), done
    both = b.who("['npu:1', 'npu:0']", "chain", "placement = [{match = {op = 'Add'}, provider = 'accelerator/npu:0'}]")
    assert "accelerator/npu:0" in both and "accelerator/npu:1" in both, both
    return b.who("['npu:0']"), b.who("['npu:1']")


@key("provider.*.isolation")
def _(b: Bench):
    return b.exit("'inproc'"), b.exit("'process'")


@key("provider.*.on_lost")
def _(b: Bench):
    fault = "provider.accelerator.options.fault = 'lost'"
    return b.exit("'fail'", "chain", fault), b.exit("'next'", "chain", fault)


@key("provider.*.options.ops")
def _(b: Bench):
    return b.who("'Add'"), b.who("'Add,Relu,Mul'")


@key("placement")
def _(b: Bench):
    return b.who("[{match = {op = 'Add'}, provider = 'cpu'}]"), b.who("[{match = {op = 'Relu'}, provider = 'accelerator'}]")
