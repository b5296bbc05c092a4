"""How a model runs."""

from pathlib import Path

from settings_rows.bench import Bench
from settings_rows.registry import key


def workers(pid: int) -> int:
    return sum(path.read_text().strip() == "tenon-worker" for path in Path(f"/proc/{pid}/task").glob("*/comm"))


def threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


@key("shapes.keep")
def _(b: Bench):
    b.unit_test("Settings.KeepHoldsSoManyPlans")
    too_many = "shapes.input = [[4], [4]]"
    return b.exit("1", "chain", too_many), b.exit("2", "chain", too_many)


@key("shapes.input")
def _(b: Bench):
    b.unit_test("Settings.InputShapesAreCompiledAtLoad")
    return b.exit("[[4]]"), b.exit("[[5]]")


@key("state.pairs")
def _(b: Bench):
    b.unit_test("State.ARunWithoutOneUsesThatOfTheSession")
    return b.exit("[]", "relu"), b.exit("['x=absent']", "relu")


@key("memory.host_limit")
def _(b: Bench):
    cpu = "select.order = ['cpu']"
    return b.exit("'64KiB'", "large", cpu), b.exit("'64MiB'", "large", cpu)


@key("memory.device_limit")
def _(b: Bench):
    return b.exit("8"), b.exit("'1MiB'")


@key("threads.count")
def _(b: Bench):
    cpu = "select.order = ['cpu']"
    seen = [b.while_running(value, "large", workers, cpu) for value in ("1", "3")]
    assert seen == [0, 2], seen


@key("precision.default")
def _(b: Bench):
    return b.outputs("'exact'", "chain"), b.outputs("'bf16'", "chain")


@key("precision.widen")
def _(b: Bench):
    return b.who("false", "half"), b.who("true", "half")


@key("precision.strict")
def _(b: Bench):
    if b.is_built("onednn"):
        lines = ["select.order = ['onednn', 'cpu']", "provider.onednn.options.claim = 'all'"]
        # oneDNN has Winograd's filtering for AVX-512 only.
        differ = b.outputs("true", "filtered", *lines) != b.outputs("false", "filtered", *lines)
        assert differ == (" avx512f " in Path("/proc/cpuinfo").read_text()), differ
    cpu = "select.order = ['cpu']"
    return b.outputs("true", "filtered", cpu), b.outputs("false", "filtered", cpu)


@key("precision.deterministic")
def _(b: Bench):
    cpu = "select.order = ['cpu']"
    for model in ("rounded", "large"):
        bits = {b.outputs("true", model, cpu, f"threads.count = {count}") for count in (1, 2, 3, 5, 16, 40)}
        assert len(bits) == 1, f"{model}: {len(bits)} results"
    if b.is_built("onednn"):  # it keeps to one thread, however many there are
        lines = ["select.order = ['onednn', 'cpu']", "threads.count = 3", "provider.onednn.options.claim = 'all'"]
        alone, together = (b.while_running(value, "large", threads, *lines) for value in ("true", "false"))
        assert alone < together, f"{alone} and {together} threads"
    silent = b.copied("silent", lambda manifest: manifest["traits"].update(deterministic=False))
    search = f"discovery.search = ['{silent}']"
    return b.exit("true", "chain", search), b.exit("false", "chain", search)
