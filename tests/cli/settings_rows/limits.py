"""Limits on what a model may do, and the small tables: transforms, upgrade, profiling."""

import shutil
from pathlib import Path

from settings_rows.bench import NEXT, Bench
from settings_rows.registry import key


def maps_model(pid: int) -> bool:
    return "large.onnx" in Path(f"/proc/{pid}/maps").read_text()


@key("limits.model_bytes")
def _(b: Bench):
    return b.exit("100"), b.exit("100000")


@key("limits.graph_depth")
def _(b: Bench):
    return b.exit("1", "nested"), b.exit("2", "nested")


@key("limits.nodes")
def _(b: Bench):
    return b.exit("2"), b.exit("100")


@key("limits.load_time")
def _(b: Bench):
    return b.exit("0.000001"), b.exit("600.0")


@key("limits.string_bytes")
def _(b: Bench):
    lines = ["select.order = ['cpu']", "transforms.disable = ['*']"]
    return b.exit("'1KiB'", "strings", *lines), b.exit("'16KiB'", "strings", *lines)


@key("limits.fold_bytes")
def _(b: Bench):
    return b.who("'1KiB'", "folded", "select.order = ['cpu']"), b.who("'64MiB'", "folded", "select.order = ['cpu']")


def keeps_blobs(b: Bench, value: str) -> bool:
    """Whether a provider that compiles kernels finds them in the next process."""
    cache = b.root / ".cache/tenon/blobs"
    shutil.rmtree(cache, ignore_errors=True)
    assert "opencl" in b.who(value, "chain", "select.order = ['opencl', 'cpu']", NEXT)
    return any(cache.glob("*.blob"))


@key("limits.cache_blob_bytes")
def _(b: Bench):
    b.unit_test("HostApi.ABlobAboveALimitIsNamedInTheLog")
    return (keeps_blobs(b, "16"), keeps_blobs(b, "'64MiB'")) if b.is_built("opencl") else None


@key("limits.cache_bytes")
def _(b: Bench):
    b.unit_test("BlobCacheTest.ALimitOfOnePutRemovesWhatOthersKept")
    return (keeps_blobs(b, "'1KiB'"), keeps_blobs(b, "'64MiB'")) if b.is_built("opencl") else None


@key("limits.external_data")
def _(b: Bench):
    cpu = "select.order = ['cpu']"
    return b.exit("'deny'", "outside", cpu), b.exit("'beneath-model'", "outside", cpu)


@key("limits.map_weights")
def _(b: Bench):
    cpu = "select.order = ['cpu']"
    return b.while_running("false", "large", maps_model, cpu), b.while_running("true", "large", maps_model, cpu)


@key("transforms.disable")
def _(b: Bench):
    return b.who("[]", "twice"), b.who("['*']", "twice")


@key("upgrade.mode")
def _(b: Bench):
    b.unit_test("Settings.PinKeepsTheBuildThatWasChosenFirst")
    return b.exit("'pin'"), b.exit("'migrate'")


@key("profiling.file")
def _(b: Bench):
    files = []
    for value in ("''", "'trace-{pid}.json'"):
        assert b.exit(value) == 0
        files.append(len(list(b.folder.glob("trace-*.json"))))
    assert files == [0, 1], files
