"""Initializers in other files: paths that escape, files that are none, offsets and lengths that lie.

Each case has a folder of its own. A file `outside.bin` of the right size lies beside the folders, so that a reader that
lets a path escape would succeed.
"""

import os
from pathlib import Path

from onnx import TensorProto

from zoo.build import FLOAT, STRING, model, node, placed

OUTSIDE = "outside.bin"
BYTES = 8


def external(location: str | None, data_type: int = FLOAT, **fields: object):
    """x + w, where w is float [2] in the file `location`."""
    tensor = TensorProto(name="w", dims=[2], data_type=data_type, data_location=TensorProto.EXTERNAL)
    entries = ({} if location is None else {"location": location}) | fields
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=str(value))
    return model([node("Add", ["x", "w"], ["y"], "add")], constants=[tensor])


def beside(folder: Path, size: int = BYTES, **fields: object):
    (folder / "weights.bin").write_bytes(bytes(size))
    return external("weights.bin", **fields)


@placed
def external_absolute_path(folder: Path):
    return external(str((folder.parent / OUTSIDE).resolve()))


@placed
def external_password_file(folder: Path):
    return external("/etc/passwd", length=BYTES)


@placed
def external_parent_path(folder: Path):
    return external(f"../{OUTSIDE}")


@placed
def external_parent_path_hidden(folder: Path):
    (folder / "sub").mkdir()
    return external(f"sub/../../{OUTSIDE}")


@placed
def external_far_parent_path(folder: Path):
    return external("../" * 40 + "etc/passwd", length=BYTES)


@placed
def external_link_outside(folder: Path):
    (folder / "weights.bin").symlink_to(f"../{OUTSIDE}")
    return external("weights.bin")


@placed
def external_folder_link_outside(folder: Path):
    (folder / "sub").symlink_to("..")
    return external(f"sub/{OUTSIDE}")


@placed
def external_link_to_device(folder: Path):
    (folder / "weights.bin").symlink_to("/dev/zero")
    return external("weights.bin", length=BYTES)


@placed
def external_link_loop(folder: Path):
    (folder / "weights.bin").symlink_to("weights.bin")
    return external("weights.bin")


@placed
def external_missing(folder: Path):
    return external("weights.bin")


@placed
def external_url(folder: Path):
    return external("https://example.com/weights.bin")


@placed
def external_without_location(folder: Path):
    return external(None, length=BYTES)


@placed
def external_empty_location(folder: Path):
    return external("")


@placed
def external_nul_in_location(folder: Path):
    (folder / "weights.bin").write_bytes(bytes(BYTES))
    return external(f"weights.bin\0/../../{OUTSIDE}")


@placed
def external_location_of_1_mb(folder: Path):
    return external("w" * (1 << 20))


@placed
def external_directory(folder: Path):
    (folder / "weights.bin").mkdir()
    return external("weights.bin")


@placed
def external_fifo(folder: Path):
    os.mkfifo(folder / "weights.bin")
    return external("weights.bin")


@placed
def external_offset_beyond_file(folder: Path):
    return beside(folder, offset=4096)


@placed
def external_offset_negative(folder: Path):
    return beside(folder, offset=-4)


@placed
def external_offset_overflows(folder: Path):
    return beside(folder, offset=(1 << 63) - 4, length=BYTES)


@placed
def external_offset_2_to_64(folder: Path):
    return beside(folder, offset=1 << 64)


@placed
def external_offset_no_number(folder: Path):
    return beside(folder, offset="4 or so")


@placed
def external_length_beyond_file(folder: Path):
    return beside(folder, length=1 << 40)


@placed
def external_length_unlike_dims(folder: Path):
    return beside(folder, length=4)


@placed
def external_length_negative(folder: Path):
    return beside(folder, length=-8)


@placed
def external_file_short(folder: Path):
    return beside(folder, size=5)


@placed
def external_strings(folder: Path):
    (folder / "weights.bin").write_bytes(bytes(BYTES))
    return external("weights.bin", STRING)


@placed
def external_and_raw_data(folder: Path):
    broken = beside(folder, size=BYTES)
    broken.graph.initializer[0].raw_data = bytes(BYTES + 1)
    return broken
