"""Variables that stand for no key, or for one under another name."""

import shutil
import subprocess
import sys

from settings_rows.bench import NEXT, Bench
from settings_rows.registry import variable


@variable("TENON_CONFIG")
def _(b: Bench):
    (b.folder / "bad.toml").write_text("schema = 1\nthread.count = 1\n")
    words = [b.tenon, "run", b.model("chain"), "--input", "x.npy"]
    return tuple(subprocess.run(words, cwd=b.folder, env=b.environment(None, extra), capture_output=True, check=False).returncode
                 for extra in ({}, {"TENON_CONFIG": str(b.folder / "bad.toml")}))


@variable("TENON_PROVIDERS_SELECT")
def _(b: Bench):
    return b.who(None, "chain", NEXT), b.who(None, "chain", NEXT, env={"TENON_PROVIDERS_SELECT": "cpu"})


@variable("TENON_PROVIDERS_DISABLE")
def _(b: Bench):
    return b.who(None, "chain", NEXT), b.who(None, "chain", NEXT, env={"TENON_PROVIDERS_DISABLE": "accelerator"})


@variable("TENON_PROVIDER_FILES")
def _(b: Bench):
    lines = ["discovery.search = []", "select.order = ['accelerator']"]
    return b.exit(None, "chain", *lines), b.exit(None, "chain", *lines, env={"TENON_PROVIDER_FILES": str(b.fakes / "accelerator")})


@variable("TENON_ADD_PROVIDER_FILES")
def _(b: Bench):
    lines = ["discovery.search = []", NEXT]
    return b.who(None, "chain", *lines), b.who(None, "chain", *lines, env={"TENON_ADD_PROVIDER_FILES": str(b.fakes / "accelerator")})


@variable("TENON_CPU_ISA")
def _(b: Bench):
    cpu = "select.order = ['cpu']"
    return b.exit(None, "chain", cpu), b.exit(None, "chain", cpu, env={"TENON_CPU_ISA": "no_such_set"})


@variable("OCL_ICD_VENDORS")
def _(b: Bench):
    if not b.is_built("opencl"):
        return None
    lines = ["select.order = ['opencl', 'cpu']", NEXT]
    return b.who(None, "chain", *lines), b.who(None, "chain", *lines, env={"OCL_ICD_VENDORS": "/nonexistent"})


def vulkan_without_driver(b: Bench, name: str):
    if not b.is_built("vulkan"):
        return None
    lines = ["select.order = ['vulkan', 'cpu']", NEXT]
    return b.who(None, "chain", *lines), b.who(None, "chain", *lines, env={name: "/nonexistent"})


@variable("VK_DRIVER_FILES")
def _(b: Bench):
    return vulkan_without_driver(b, "VK_DRIVER_FILES")


@variable("VK_ICD_FILENAMES")
def _(b: Bench):
    return vulkan_without_driver(b, "VK_ICD_FILENAMES")


@variable("XDG_CONFIG_HOME")
def _(b: Bench):
    folder = b.root / "xdg" / "tenon"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("schema = 1\nlimits.nodes = 1\n")
    return b.exit(None), b.exit(None, env={"XDG_CONFIG_HOME": str(b.root / "xdg")})


@variable("HOME")
def _(b: Bench):
    folder = b.root / "home" / ".config" / "tenon"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("schema = 1\nlimits.nodes = 1\n")
    nowhere = {"XDG_CONFIG_HOME": ""}
    return b.exit(None, env=nowhere), b.exit(None, env=nowhere | {"HOME": str(b.root / "home")})


@variable("XDG_DATA_HOME")
def _(b: Bench):
    shutil.copytree(b.fakes / "accelerator", b.root / "xdg" / "tenon" / "providers.d")
    lines = ["discovery.search = []", "discovery.user = true", NEXT]
    return b.who(None, "chain", *lines), b.who(None, "chain", *lines, env={"XDG_DATA_HOME": str(b.root / "xdg")})


@variable("XDG_STATE_HOME")
def _(b: Bench):
    b.who(None, env={"XDG_STATE_HOME": str(b.root / "xdg")})
    return 0, sum(1 for path in (b.root / "xdg").rglob("*") if path.is_file())


@variable("XDG_CACHE_HOME")
def _(b: Bench):
    b.unit_test("BlobFolder.FollowsXdgCacheHome")


@variable("TENON_AS_ONNXRUNTIME")
def _(b: Bench):
    package = b.tenon.parents[1] / "python"
    if not package.is_dir():  # a build for sanitizers has no Python package
        return None
    program = "import _tenon_as_onnxruntime as t; t.install_if_asked(); import onnxruntime; print(onnxruntime.__file__)"
    return tuple(subprocess.run([sys.executable, "-B", "-c", program], env=b.environment(None, extra | {"PYTHONPATH": str(package)}),
                                capture_output=True, text=True, check=True).stdout
                 for extra in ({}, {"TENON_AS_ONNXRUNTIME": "1"}))
