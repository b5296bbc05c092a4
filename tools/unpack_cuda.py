#!/usr/bin/env python3
"""tools/unpack_cuda.py WHEEL FOLDER: takes what the provider cuda is built with out of one of NVIDIA's wheels.

Headers go to FOLDER/include and NVRTC to FOLDER/lib. The other libraries are left out: they are large, and builds do not need them.
The licences go to FOLDER/licences.
"""

import re
import sys
import zipfile
from pathlib import Path, PurePosixPath


def place_of(name: str) -> PurePosixPath | None:
    """Where a file of the wheel goes, below the folder; None: nowhere."""
    path = PurePosixPath(name)
    if ".." in path.parts or path.is_absolute():
        return None
    if path.parts[0].endswith(".dist-info"):
        distribution = path.parts[0].split("-")[0]
        is_licence = re.fullmatch(r"(?i)licen[cs]e.*", path.name) is not None
        return PurePosixPath("licences", f"{distribution}.txt") if is_licence else None
    if "include" in path.parts:
        below = path.parts[path.parts.index("include") + 1:]
        if below[0] == "cccl":  # of CUDA's C++ libraries only what other headers include
            below = below[1:]
            if below[:1] != ("nv",):
                return None
        return PurePosixPath("include", *below) if path.suffix in (".h", ".hpp", "") else None
    if path.name.startswith("libnvrtc"):
        return PurePosixPath("lib", path.name)
    return None


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[2])
    with zipfile.ZipFile(sys.argv[1]) as wheel:
        for entry in wheel.infolist():
            place = None if entry.is_dir() else place_of(entry.filename)
            if place is None:
                continue
            target = folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(wheel.read(entry))
    return 0


if __name__ == "__main__":
    sys.exit(main())
