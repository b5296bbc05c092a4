#!/usr/bin/env python3
"""Writes the ONNX standard's own test cases as folders that `tenon test` reads.

    write_cases.py OUT_DIR                        the cases of the installed, pinned onnx package
    write_cases.py OUT_DIR --unpack PACK.tar.xz   also the cases of a pack, in OUT_DIR/older

A case is a folder in ONNX's layout: model.onnx, and test_data_set_<k>/{input,output}_<i>.pb holding one TensorProto,
SequenceProto or OptionalProto each, in the order of the graph's inputs and outputs.

    OUT_DIR/node/              single-operator cases, which the package makes in memory
    OUT_DIR/{simple,pytorch-converted,pytorch-operator}/   folders shipped in the package, copied
    OUT_DIR/light/             networks shipped as flat files; their input is the ramp the package's own runner feeds
    OUT_DIR/symbolic/          the single-operator cases once more, with names for all dims of their inputs, with no shapes
                               declared for what they compute, and with the shape of each output as one more output
    OUT_DIR/older/             cases of a pack, as packed

A stamp with the versions and counts makes a second run instant; an interrupted run is started over.
"""

import argparse
import hashlib
import importlib.metadata
import importlib.util
import json
import shutil
import sys
import tarfile
import warnings
from pathlib import Path, PurePosixPath

ONNX_VERSION = "1.23.2"
NODE_CASES = 1884
SYMBOLIC_CASES = 1834
OTHER_CASES = 149
FOLDER_KINDS = ("simple", "pytorch-converted", "pytorch-operator")


def fingerprint() -> dict[str, str]:
    """Everything that the written files depend on."""
    versions = {name: importlib.metadata.version(name) for name in ("onnx", "numpy", "ml_dtypes")}
    return versions | {"script": hashlib.sha256(Path(__file__).read_bytes()).hexdigest()}


def read_stamp(path: Path) -> dict:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return {}


def write_stamp(path: Path, stamp: dict) -> None:
    path.write_text(json.dumps(stamp, indent=1, sort_keys=True) + "\n")


def tensor_proto(value, name: str):
    """An array, a numpy scalar or a TensorProto as a TensorProto called `name`."""
    import numpy as np
    from onnx import TensorProto, numpy_helper

    if not isinstance(value, TensorProto):
        return numpy_helper.from_array(np.asarray(value), name)
    tensor = TensorProto()
    tensor.CopyFrom(value)
    tensor.name = name
    return tensor


def sequence_proto(values: list, name: str):
    from onnx import SequenceProto

    sequence = SequenceProto(name=name, elem_type=SequenceProto.TENSOR)
    sequence.tensor_values.extend(tensor_proto(value, f"{name}_{i}") for i, value in enumerate(values))
    return sequence


def optional_proto(value, name: str):
    """An empty optional has an undefined element type: that is how a reader tells it from an empty tensor."""
    from onnx import OptionalProto

    optional = OptionalProto(name=name)
    if isinstance(value, list):
        optional.elem_type = OptionalProto.SEQUENCE
        optional.sequence_value.CopyFrom(sequence_proto(value, name))
    elif value is not None:
        optional.elem_type = OptionalProto.TENSOR
        optional.tensor_value.CopyFrom(tensor_proto(value, name))
    return optional


def value_proto(value, info):
    """`value` in the message that fits the type the graph declares for it."""
    makers = {"tensor_type": tensor_proto, "sequence_type": sequence_proto, "optional_type": optional_proto}
    kind = info.type.WhichOneof("value")
    if kind not in makers:
        raise ValueError(f"value '{info.name}': no file layout for type {kind}")
    return makers[kind](value, info.name)


def write_data_set(folder: Path, graph, inputs: list, outputs: list) -> None:
    folder.mkdir()
    for side, values, infos in (("input", inputs, graph.input), ("output", outputs, graph.output)):
        for i, (value, info) in enumerate(zip(values, infos, strict=True)):
            (folder / f"{side}_{i}.pb").write_bytes(value_proto(value, info).SerializeToString())


def write_node_cases(out: Path) -> int:
    # The cases compute infinities and NaNs on purpose; numpy's remarks about them would bury real messages.
    warnings.simplefilter("ignore")
    from onnx.backend.test.case.node import collect_testcases

    cases = collect_testcases()
    for case in cases:
        folder = out / case.name
        folder.mkdir(parents=True)
        (folder / "model.onnx").write_bytes(case.model.SerializeToString())
        for k, (inputs, outputs) in enumerate(case.data_sets):
            write_data_set(folder / f"test_data_set_{k}", case.model.graph, inputs, outputs)
    return len(cases)


def symbolic_model(model):
    """A copy that does not know its dims before it runs, and says each output's; None when it knows none to begin with."""
    import onnx
    from onnx import TensorProto, helper

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    del graph.value_info[:]
    named = 0
    for info in graph.input:
        dims = info.type.tensor_type.shape.dim
        named += len(dims)
        for axis, dim in enumerate(dims):
            dim.dim_param = f"{info.name}.{axis}"
    tensors = [info for info in graph.output if info.type.WhichOneof("value") == "tensor_type"]
    for info in tensors:
        info.type.tensor_type.ClearField("shape")
    if named == 0:
        return None
    if any(entry.domain == "" for entry in copy.opset_import):
        for info in tensors:
            graph.node.append(helper.make_node("Shape", [info.name], [f"{info.name}.shape"]))
            graph.output.append(helper.make_tensor_value_info(f"{info.name}.shape", TensorProto.INT64, None))
    return copy


def write_symbolic_cases(node: Path, out: Path) -> int:
    import numpy as np
    import onnx
    from onnx import numpy_helper

    written = 0
    for case in sorted(node.iterdir()):
        model = onnx.load(case / "model.onnx")
        symbolic = symbolic_model(model)
        if symbolic is None:
            continue
        folder = out / case.name
        folder.mkdir(parents=True)
        onnx.save(symbolic, folder / "model.onnx")
        places = {info.name: i for i, info in enumerate(model.graph.output)}
        for data_set in sorted(case.glob("test_data_set_*")):
            copy = shutil.copytree(data_set, folder / data_set.name)
            for i, info in list(enumerate(symbolic.graph.output))[len(places):]:
                of = places[info.name.removesuffix(".shape")]
                tensor = onnx.TensorProto.FromString((data_set / f"output_{of}.pb").read_bytes())
                shape = numpy_helper.from_array(np.asarray(tensor.dims, np.int64), info.name)
                (copy / f"output_{i}.pb").write_bytes(shape.SerializeToString())
        written += 1
    return written


def copy_folder_cases(source: Path, out: Path) -> int:
    folders = [folder for folder in sorted(source.iterdir()) if (folder / "model.onnx").is_file()]
    for folder in folders:
        shutil.copytree(folder, out / folder.name)
    return len(folders)


def light_input(info):
    """The input the package's runner feeds: 0/n, 1/n, ... (n-1)/n in the input's shape."""
    import numpy as np
    from onnx import numpy_helper

    shape = [dim.dim_value or 1 for dim in info.type.tensor_type.shape.dim]
    count = int(np.prod(shape))
    return numpy_helper.from_array((np.arange(count).reshape(shape) / count).astype(np.float32), info.name)


def write_light_cases(source: Path, out: Path) -> int:
    import onnx

    models = sorted(source.glob("*.onnx"))
    for model_file in models:
        data_set = out / f"test_{model_file.stem.removeprefix('light_')}" / "test_data_set_0"
        data_set.mkdir(parents=True)
        shutil.copy(model_file, data_set.parent / "model.onnx")
        graph = onnx.load(model_file).graph
        initialized = {tensor.name for tensor in graph.initializer}
        fed = [info for info in graph.input if info.name not in initialized]
        for i, info in enumerate(fed):
            (data_set / f"input_{i}.pb").write_bytes(light_input(info).SerializeToString())
        for i in range(len(graph.output)):
            shutil.copy(source / f"{model_file.stem}_output_{i}.pb", data_set / f"output_{i}.pb")
    return len(models)


def write_package_cases(out: Path) -> None:
    stamp_file = out / "cases.json"
    wanted = fingerprint()
    if wanted["onnx"] != ONNX_VERSION:
        raise SystemExit(f"write_cases.py: onnx {wanted['onnx']} is installed, {ONNX_VERSION} is needed")
    stamp = read_stamp(stamp_file)
    if stamp.get("made_by") != wanted:
        stamp_file.unlink(missing_ok=True)
        for kind in ("node", "symbolic", *FOLDER_KINDS, "light"):
            shutil.rmtree(out / kind, ignore_errors=True)
        out.mkdir(parents=True, exist_ok=True)
        data = Path(importlib.util.find_spec("onnx").origin).parent / "backend" / "test" / "data"
        others = sum(copy_folder_cases(data / kind, out / kind) for kind in FOLDER_KINDS)
        others += write_light_cases(data / "light", out / "light")
        stamp = {"made_by": wanted, "node": write_node_cases(out / "node"), "others": others}
        stamp["symbolic"] = write_symbolic_cases(out / "node", out / "symbolic")
        counts = {"node": NODE_CASES, "symbolic": SYMBOLIC_CASES, "others": OTHER_CASES}
        if any(stamp[kind] != count for kind, count in counts.items()):
            raise SystemExit(f"write_cases.py: {({kind: stamp[kind] for kind in counts})} cases, expected {counts}")
        write_stamp(stamp_file, stamp)
    print(f"{stamp['node']} node cases, {stamp['symbolic']} of them symbolic too, {stamp['others']} others")


def checked_members(pack: tarfile.TarFile) -> list[tarfile.TarInfo]:
    """The pack's members; raises for anything but plain files and folders inside the target."""
    members = pack.getmembers()
    for member in members:
        path = PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
            raise SystemExit(f"write_cases.py: {pack.name}: refused member '{member.name}'")
        member.mode = 0o755 if member.isdir() else 0o644
    return members


def unpack(archive: Path, out: Path) -> None:
    """Unpacks `archive` over whatever OUT_DIR/older held before."""
    older = out / "older"
    stamp_file = out / "older.json"
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    stamp = read_stamp(stamp_file)
    if stamp.get("sha256") != digest:
        stamp_file.unlink(missing_ok=True)
        shutil.rmtree(older, ignore_errors=True)
        older.mkdir(parents=True)
        with tarfile.open(archive) as pack:
            pack.extractall(older, members=checked_members(pack))
        stamp = {"pack": archive.name, "sha256": digest, "cases": len(list(older.glob("**/model.onnx")))}
        write_stamp(stamp_file, stamp)
    print(f"{stamp['cases']} older cases")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out_dir", type=Path)
    parser.add_argument("--unpack", type=Path, metavar="ARCHIVE", help="a .tar.xz pack of case folders")
    args = parser.parse_args()
    if args.unpack and not args.unpack.is_file():
        parser.error(f"no pack at {args.unpack}")
    write_package_cases(args.out_dir)
    if args.unpack:
        unpack(args.unpack, args.out_dir)
    return 0


if __name__ == "__main__":
    sys.exit(main())
