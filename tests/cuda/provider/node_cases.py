#!/usr/bin/env python3
"""node_cases.py TENON COUNTED.json CPU.json CASES [--all]: what the provider cuda claims of the ONNX node cases is computed by the device.

tests/devices/count_launches.py says what is counted and when a part may do without. Here the counter stands between the provider and
the libraries that it opens (tests/fakes/launch_counter/cuda.cc): kernels, products of cuBLASLt and graphs of cuDNN are launches. With
--all every case runs, of which LEAST must run wholly on the provider, and each kernel is left out in turn (TENON_FAKE_CUDA_BLANK), which a
case must notice; so are those of the other form of kernels over rows, and of the provider's own products and convolutions.
Without, two fifths of cases and of kernels do, of which TENON_GATE_SEED draws the half, and as large a part of LEAST; a kernel that the
drawn cases do not notice is left out of others too.
"""

import argparse
import os
import pathlib
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path += [str(ROOT / "tests/devices"), str(ROOT / "tools")]

from count_launches import ROW_KERNELS, Counted, Setup, least_of, linked, problems_of_test, published_cases  # noqa: E402
from gate_cases import sample_of  # noqa: E402

KERNELS = 60  # that all cases launch at least
LIBRARIES = {"cublasLtMatmul", "cudnnBackendExecute"}  # what a case does with a library; the stand-in for it has tests of its own
MOVES = {"copy", "fill"}
# They write ones into every bit or byte, as memory has them there that nothing has written.
NOT_NOTICED = {"Forget", "Keep"}
# Settings of the provider that launch kernels which no other setting does, with the operators whose cases are run by them.
FORMS = {
    "item": [],  # what a thread does alone
    "block": ["Reduce", "Arg", "Softmax", "LogSoftmax", "Hardmax", "LayerN", "RMSN", "InstanceN", "GroupN", "LpN"],
    "own": ["MatMul", "Gemm", "Conv", "Attention"],
}


class CudaSetup(Setup):
    cache = ""  # a folder for compiled kernels, empty at first: the stand-in for NVRTC is asked for all of them

    def settings(self, form: str) -> list[str]:
        own = ["provider.cuda.options.products=own", "provider.cuda.options.convolutions=own"] if form == "own" else []
        # Nothing is chosen by time, so that each run launches the same.
        return [f"provider.cuda.options.variants={'block' if form == 'block' else 'thread'}", "precision.deterministic=true", *own]

    def environment(self, plant: str, blank: str) -> dict[str, str]:
        counter = pathlib.Path(self.manifests[0]).parent / "launch_counter_of_cuda.so"
        preloaded = {} if plant == "aside" else {"LD_PRELOAD": str(counter)}
        return {"TENON_FAKE_CUDA_BLANK": blank, "XDG_CACHE_HOME": self.cache} | preloaded

    def kernels(self, form: str, known: Counted, cases: pathlib.Path) -> dict[str, list[str]]:
        """As Counted.kernels(), of the cases of the form's operators. A kernel of the same name may be of another text."""
        with tempfile.TemporaryDirectory() as folder:
            for case in {row[1] for row in known.rows if row[0] == "ran" and row[3].startswith(tuple(FORMS[form]))}:
                (pathlib.Path(folder) / case).symlink_to((cases / case).resolve())
            found = Counted(self, folder, form=form)
        found.rows = [row for row in found.rows if row[3].startswith(tuple(FORMS[form]))]
        return found.kernels()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon")
    parser.add_argument("counted")
    parser.add_argument("cpu")
    parser.add_argument("cases", type=pathlib.Path)
    parser.add_argument("--all", action="store_true", help="every case and every kernel")
    args = parser.parse_args()
    seed = int(os.environ.get("TENON_GATE_SEED", "1"))
    setup = CudaSetup("cuda", args.tenon, [os.path.abspath(args.counted), os.path.abspath(args.cpu)], str(args.cases))
    every = published_cases(args.cases)
    names = every if args.all else sample_of(every, seed)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as setup.cache:
        failed, checks = problems_of_test(setup), 3
        cases = linked(args.cases, names, folder)
        known = Counted(setup, str(cases))
        failed += [f"failed {problem}" for problem in known.problems()]
        whole, least = len(known.whole()), least_of(names, args.all)
        print(f"seed {seed}: {whole} of {len(names)} cases run wholly on cuda, {known.launches()} launches in all cases")
        if whole < least:
            failed.append(f"failed whole: {whole} cases run wholly on cuda, {least} are expected")

        kernels = {("item", kernel): names for kernel, names in known.kernels().items()}
        for form in ("block", "own"):
            found = setup.kernels(form, known, cases)
            kernels |= {(form, kernel): names for kernel, names in found.items()}
            if args.all and len(found) < ROW_KERNELS:
                failed.append(f"failed {form}: the cases launch {len(found)} kernels in this form, {ROW_KERNELS} are expected")
        kernels = {key: names for key, names in kernels.items() if key[1] not in LIBRARIES | MOVES | NOT_NOTICED}
        if args.all and len(kernels) < KERNELS:
            failed.append(f"failed kernels: the cases launch {len(kernels)} kernels, {KERNELS} are expected")
        drawn = sample_of([" ".join(key) for key in kernels], seed)
        chosen = sorted(kernels) if args.all else [tuple(key.split(" ")) for key in drawn]
        with ThreadPoolExecutor(2) as pool:
            missed = {key: why for key, why in zip(chosen, pool.map(lambda key: setup.missed(key[1], kernels[key], key[0]), chosen)) if why}
        if missed and not args.all:  # the cases drawn may all be indifferent to a kernel that others notice
            everything = Counted(setup, str(args.cases))
            of_form = {form: setup.kernels(form, everything, args.cases) if FORMS[form] else everything.kernels() for form, _ in missed}
            missed = {key: setup.missed(key[1], of_form[key[0]][key[1]], key[0]) for key in missed}
        failed += filter(None, missed.values())
    print(f"{len(chosen)} of {len(kernels)} kernels, each left out in turn")
    checks += 1 + len(chosen)
    for line in failed:
        print(line)
    print(f"{max(0, checks - len(failed))} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
