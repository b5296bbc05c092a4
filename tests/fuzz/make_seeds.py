#!/usr/bin/env python3
"""Copies small models into a folder that a fuzzer starts from: make_seeds.py OUT FOLDER...

A model over 8 KiB is left out: mutations of weights find nothing.
"""

import hashlib
import shutil
import sys
from pathlib import Path

LARGEST = 8 << 10


def main() -> int:
    out, folders = Path(sys.argv[1]), [Path(argument) for argument in sys.argv[2:]]
    out.mkdir(parents=True, exist_ok=True)
    count = 0
    for folder in folders:
        for model in sorted(folder.rglob("*.onnx")):
            if not model.is_file() or model.stat().st_size > LARGEST:
                continue
            shutil.copy(model, out / hashlib.sha1(str(model).encode()).hexdigest())
            count += 1
    print(f"{count} seeds")
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main())
