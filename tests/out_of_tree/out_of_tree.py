#!/usr/bin/env python3
"""out_of_tree.py BUILD_DIR UPGRADE_APP: the SDK is enough to build a provider, its kit passes it, and it is upgraded under a
running application.

Installs the SDK with its kit into an empty prefix, copies the example elsewhere, builds two versions of it there, checks that no file
of the repository was used, and lets UPGRADE_APP drop them in and take one out again.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

REPO = pathlib.Path(__file__).resolve().parents[2]


def run(*command, **keywords):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **keywords)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} exited with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def write_model(path):
    import onnx
    from onnx import TensorProto, helper

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N"])
    node = helper.make_node("AddVersion", ["x"], ["y"], domain="com.example")
    graph = helper.make_graph([node], "upgrade", [x], [y])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.example", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)


def build(work, prefix, version):
    source, build_dir = work / "source", work / f"build-{version}"
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    run("cmake", "-S", source, "-B", build_dir, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DMINIMAL_VERSION={version}", *generator)
    run("cmake", "--build", build_dir, "--", "-d", "keepdepfile") if generator else run("cmake", "--build", build_dir)
    return build_dir


def check_dependencies(work, build_dir):
    """The compiler's own list of what was read names nothing of the repository."""
    lists = list(build_dir.rglob("*.d"))
    if not lists:
        sys.exit(f"no dependency file was found in {build_dir}")
    for depfile in lists:
        # the work folder itself may lie below the checkout
        text = depfile.read_text().replace(str(work), "") if depfile.is_file() else ""
        if str(REPO) in text:
            sys.exit(f"{depfile} names {REPO}:\n{text}")
    return len(lists)


def main():
    build_dir, app = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    # Beside the build: a provider in a folder that others may write to, such as one beneath /tmp, is refused.
    with tempfile.TemporaryDirectory(dir=build_dir, prefix="out_of_tree.") as folder:
        work = pathlib.Path(folder).resolve()
        prefix = work / "prefix"
        for component in ("sdk", "cts"):
            run("cmake", "--install", build_dir, "--prefix", prefix, "--component", component)
        shutil.copytree(REPO / "ep-sdk/examples/minimal-provider", work / "source")
        builds = [build(work, prefix, version) for version in ("1.0.0", "2.0.0")]
        files = sum(check_dependencies(work, b) for b in builds)
        print(f"built two versions from the installed SDK; {files} dependency files name no path of the repository")
        kit = run("ctest", "--test-dir", builds[0], "--verbose", "--no-tests=error")
        print(f"tenon-cts: {re.search(r'[0-9]+ passed, 0 failed.*', kit)[0]}")
        providers_d = work / "providers.d"
        providers_d.mkdir()
        write_model(work / "model.onnx")
        environment = dict(os.environ, TENON_PROVIDER_FILES="")
        environment.pop("TENON_PROVIDER_FILES")
        print(run(app, work / "model.onnx", providers_d, *(b / "providers.d" for b in builds), env=environment), end="")


main()
