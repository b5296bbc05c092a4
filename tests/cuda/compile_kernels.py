#!/usr/bin/env python3
"""compile_kernels.py SOURCES [--all] [--write-docs FILE]: the kernels of the provider cuda, compiled by NVIDIA's own compiler.

SOURCES is a folder that the stand-in for NVRTC filled (TENON_FAKE_CUDA_SOURCES): every text that the provider gave it, with the
options. The NVRTC of the toolkit compiles each for sm_90, with --all also for sm_75, sm_80 and sm_100; what it said is kept in --cache by
the hash of text, options, architecture and version, unless it refused the text. A text that it refuses or warns about has failed, and so
has a kernel of products, convolutions, attention, reductions or normalisations that keeps registers in memory (spills).

--write-docs writes a table of registers, shared memory and predicted occupancy. No kernel is run: that takes a GPU.
"""

import argparse
import ctypes
import hashlib
import json
import multiprocessing
import os
import re
import struct
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

BUILT = Path(__file__).resolve().parents[2] / "build/cuda"  # what tools/setup --cuda loads
EVERY = [75, 80, 90, 100]
MAY_NOT_SPILL = re.compile(r"gemm|product|mat_?mul|conv|attention|reduce|softmax|norm|arg_?m|pool", re.IGNORECASE)
UNBOUND = 256  # threads of a block whose kernel states no bound
# Per multiprocessor: registers, bytes of shared memory, threads, blocks. Of each block 1 KiB of shared memory is CUDA's own from sm_80 on.
MACHINES = {75: (65536, 65536, 1024, 16), 80: (65536, 167936, 2048, 32), 90: (65536, 233472, 2048, 32), 100: (65536, 233472, 2048, 32)}
WARP = 32


@dataclass(frozen=True)
class Text:
    name: str
    text: bytes
    options: tuple[str, ...]

    def key(self, architecture: int, version: str) -> str:
        parts = (self.text, "\0".join(self.options).encode(), str(architecture).encode(), version.encode())
        return hashlib.sha256(b"\0\0".join(parts)).hexdigest()


@dataclass(frozen=True)
class Kernel:
    name: str
    registers: int
    spilled: int  # bytes
    shared: int  # bytes that the text itself asks for
    threads: int  # of a block

    def occupancy(self, architecture: int) -> float:
        """The part of the warps of a multiprocessor that can be there at once, as CUDA's occupancy calculator has it."""
        registers, shared, threads, blocks = MACHINES[architecture]
        warps = -(-self.threads // WARP)
        of_warp = -(-max(self.registers, 1) * WARP // 256) * 256
        by_registers = registers // of_warp // 4 * 4 // warps  # each of the four parts of a multiprocessor has its own
        of_block = self.shared + (1024 if architecture >= 80 else 0)
        by_shared = shared // of_block if of_block else blocks
        resident = min(by_registers, by_shared, threads // WARP // warps, blocks)
        return resident * warps / (threads // WARP)


# ---- NVRTC, in each process of the pool ----


class Nvrtc:
    def __init__(self, path: str):
        for builtins in Path(path).parent.glob("libnvrtc-builtins.so.*"):  # NVRTC asks the loader for it, which does not search beside it
            ctypes.CDLL(str(builtins))
        self.library = ctypes.CDLL(path)
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = f"{major.value}.{minor.value}"

    def blob(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        getattr(self.library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        out = ctypes.create_string_buffer(size.value)
        getattr(self.library, f"nvrtcGet{what}")(program, out)
        return out.raw

    def compile(self, text: Text, architecture: int) -> dict:
        """{"log": what it said, "kernels": [...]}, without "kernels" when it refused."""
        program = ctypes.c_void_p()
        self.library.nvrtcCreateProgram(ctypes.byref(program), text.text, f"{text.name}.cu".encode(), 0, None, None)
        own = [option for option in text.options if not re.match(r"--?(gpu-architecture|arch)\b", option)]
        words = [word.encode() for word in (*own, f"--gpu-architecture=sm_{architecture}", "--ptxas-options=-v")]
        code = self.library.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words))
        log = self.blob(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
        out: dict = {"log": log}
        if code == 0:
            bounds = bounds_of(self.blob(program, "CUBIN"))
            out["kernels"] = [vars(kernel) for kernel in kernels_of(log, bounds)]
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        return out


def bounds_of(cubin: bytes) -> dict[str, int]:
    """For each kernel of an ELF file that states one, the most threads of its blocks: attribute 5 in the section .nv.info.<kernel>."""
    table, entry, count, names_at = (struct.unpack_from(form, cubin, at)[0] for form, at in (("<Q", 40), ("<H", 58), ("<H", 60), ("<H", 62)))
    sections = [struct.unpack_from("<IIQQQQ", cubin, table + entry * i) for i in range(count)]  # name, type, flags, address, offset, size
    out = {}
    for name_at, _, _, _, offset, size in sections:
        start = sections[names_at][4] + name_at
        name = cubin[start : cubin.index(b"\0", start)].decode()
        if not name.startswith(".nv.info."):
            continue
        at = offset
        while at < offset + size:
            form, attribute, value = struct.unpack_from("<BBH", cubin, at)
            if (form, attribute) == (4, 5):
                x, y, z = struct.unpack_from("<III", cubin, at + 4)
                out[name.removeprefix(".nv.info.")] = x * y * z
            at += 4 + (value if form == 4 else 0)
    return out


def kernels_of(log: str, bounds: dict[str, int]) -> list[Kernel]:
    """What ptxas said of each."""
    out = []
    for part in re.split(r"Compiling entry function '", log)[1:]:
        name = part.split("'")[0]
        numbers = {what: int(n) for n, what in re.findall(r"(\d+) (bytes spill stores|bytes spill loads|registers|bytes smem)", part)}
        out.append(Kernel(name, numbers.get("registers", 0), numbers.get("bytes spill stores", 0) + numbers.get("bytes spill loads", 0),
                          numbers.get("bytes smem", 0), bounds.get(name, UNBOUND)))
    return out


_nvrtc: Nvrtc


def start(path: str) -> None:
    global _nvrtc
    _nvrtc = Nvrtc(path)


def work(job: tuple[Text, int, str]) -> tuple[Text, int, dict]:
    text, architecture, cache = job
    kept = Path(cache) / f"{text.key(architecture, _nvrtc.version)}.json" if cache else None
    if kept and kept.is_file():
        return text, architecture, json.loads(kept.read_text())
    answer = _nvrtc.compile(text, architecture)
    if kept and "kernels" in answer:  # the cause of a refusal may be a machine that lacks a library
        new = kept.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps(answer))
        new.rename(kept)
    return text, architecture, answer


# ---- The whole ----


def texts_in(folder: Path) -> list[Text]:
    """What the stand-in kept: NAME-HASH.cu, and the options in NAME-HASH.options, a line for each."""
    out = {}
    for path in sorted(folder.glob("*.cu")):
        options = path.with_suffix(".options").read_text().splitlines()
        text = Text(path.stem.rpartition("-")[0], path.read_bytes(), tuple(options))
        out[text.key(0, "")] = text
    return list(out.values())


def problems(text: Text, architecture: int, answer: dict) -> list[str]:
    label = f"{text.name} for sm_{architecture}"
    if "kernels" not in answer:
        return [f"{label}: refused: {answer['log'].strip()[:600]}"]
    out = [f"{label}: {line}" for line in answer["log"].splitlines() if ": warning" in line]
    if not answer["kernels"]:
        out.append(f"{label}: no kernel in it")
    for row in answer["kernels"]:
        kernel = Kernel(**row)
        if kernel.spilled and MAY_NOT_SPILL.search(kernel.name):
            out.append(f"{label}: {kernel.name} spills {kernel.spilled} bytes with {kernel.registers} registers; {' '.join(text.options)}")
        if kernel.occupancy(architecture) == 0:
            out.append(f"{label}: {kernel.name} fits no multiprocessor: {kernel.registers} registers and {kernel.shared} bytes of shared memory "
                       f"for {kernel.threads} threads")
    return out


PAGE = """# Kernels of the provider cuda

Generated by `tests/cuda/compile_kernels.py --all --write-docs`; do not edit. Every text that the tables of operators
(`tests/ops`) and the ONNX node cases need, compiled by NVRTC {version}. No kernel was run for this page. A kernel has a variant
for each set of defines, such as element types; a range covers them all. *Occupancy* is the part of a multiprocessor's warps
that registers, shared memory and the size of blocks allow at once, for blocks of the size that the kernel states, else of
{unbound} threads.

| kernel | variants | shared memory | {heads} | spills |
|---|---:|---:|{lines}---:|
"""


def span(values: list, form: str = "{}") -> str:
    low, high = form.format(min(values)), form.format(max(values))
    return low if low == high else f"{low} to {high}"


def page(found: dict[str, dict[int, list[Kernel]]], architectures: list[int], version: str) -> str:
    heads = " | ".join(f"sm_{a}: registers | occupancy" for a in architectures)
    out = PAGE.format(version=version, unbound=UNBOUND, heads=heads, lines="---:|" * 2 * len(architectures))
    for name, by in sorted(found.items()):
        every = [kernel for kernels in by.values() for kernel in kernels]
        cells = [name, str(max(map(len, by.values()))), span([kernel.shared for kernel in every])]
        for architecture in architectures:
            kernels = by[architecture]
            cells += [span([kernel.registers for kernel in kernels]), span([100 * k.occupancy(architecture) for k in kernels], "{:.0f} %")]
        spilled = max(kernel.spilled for kernel in every)
        out += "| " + " | ".join([*cells, f"{spilled} bytes" if spilled else "none"]) + " |\n"
    return out + f"\n{len(found)} kernels, {sum(max(map(len, by.values())) for by in found.values())} variants.\n"


def find_nvrtc(toolkit: str) -> str:
    folders = [toolkit] if toolkit else [os.environ.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")] + ["/usr/local/cuda", str(BUILT)]
    for folder in filter(None, folders):
        for below in ("lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"):
            if found := sorted(Path(folder, below).glob("libnvrtc.so.[0-9]*")):
                return str(found[0])
    sys.exit(f"no libnvrtc.so below {' or '.join(filter(None, folders))}: install the CUDA toolkit, or name its folder with --toolkit")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=Path)
    parser.add_argument("--all", action="store_true", help="for every architecture")
    parser.add_argument("--architectures", type=int, nargs="*", default=[90], choices=EVERY)
    parser.add_argument("--cache", type=Path, help="folder that keeps what was compiled")
    parser.add_argument("--least", type=int, default=1, help="texts that there must be")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--toolkit", default="", help="default: $CUDA_HOME, $CUDA_PATH, /usr/local/cuda, build/cuda")
    parser.add_argument("--write-docs", type=Path, metavar="FILE")
    args = parser.parse_args()
    architectures = EVERY if args.all else args.architectures
    texts = texts_in(args.sources)
    if len(texts) < args.least:
        sys.exit(f"{args.sources} has {len(texts)} texts, {args.least} are expected: run ops_tests with TENON_FAKE_CUDA_SOURCES={args.sources}")
    if args.cache:
        args.cache.mkdir(parents=True, exist_ok=True)
    nvrtc = find_nvrtc(args.toolkit)
    jobs = [(text, architecture, str(args.cache or "")) for text in texts for architecture in architectures]
    found: dict[str, dict[int, list[Kernel]]] = defaultdict(lambda: defaultdict(list))
    failed = []
    with ProcessPoolExecutor(args.jobs, multiprocessing.get_context("spawn"), start, (nvrtc,)) as pool:
        try:
            for text, architecture, answer in pool.map(work, jobs, chunksize=4):
                failed += problems(text, architecture, answer)
                for row in answer.get("kernels", []):
                    found[row["name"]][architecture].append(Kernel(**row))
        except BrokenProcessPool:
            sys.exit(f"{nvrtc} ended a process that compiled with it. Other libraries of NVIDIA's names in LD_LIBRARY_PATH do that")
    for problem in sorted(failed):
        print(f"failed {problem}")
    print(f"{len(texts)} texts, {len(found)} kernels, for {', '.join(f'sm_{a}' for a in architectures)} by {nvrtc}")
    if args.write_docs and not failed:
        args.write_docs.write_text(page(found, architectures, Nvrtc(nvrtc).version))
    wrong = len({problem.split(": ")[0] for problem in failed})
    print(f"{len(jobs) - wrong} passed, {wrong} failed")
    return 1 if failed or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
