"""A process that runs mutants and saved cases: each ends with outputs or a typed error, in time and within the limits.

    worker.py LIBRARY

Requests are JSON lines: {"seed", "case", "kind", "model", "sources"} or {"folder"}, with {"order"} to run them by or
{"save": folder}. `model` is the number of the model whose inputs are changed.
"""

import contextlib
import ctypes
import faulthandler
import functools
import json
import os
import random
import resource
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "support"), str(HERE.parent / "differential")]

import numpy as np  # noqa: E402
import onnx  # noqa: E402

from pool import compiles  # noqa: E402

ADDRESS_SPACE = 16 << 30
HOST_LIMIT = 512 << 20
SLACK = 256 << 20  # code, tables and the model itself, which the limit on tensors does not count
DEADLINE = 2.0
LATE = 10.0  # seconds past the deadline that are a failure
COMPILING = 80.0  # the same where a driver compiles a program for each case, which nobody can stop
GUARD_BYTES = 24  # smaller allocations are strings and nodes of containers


def say(channel, **message) -> None:
    channel.write(json.dumps(message, default=str) + "\n")
    channel.flush()


def peak() -> int:
    return next(int(line.split()[1]) << 10 for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))


def source_case(rng: random.Random, sources: list[str]):
    """(model, inputs, what it is): one of the folders, or a case of the differential search."""
    import cases
    folders = [folder for source in sources for folder in listed(source)]
    while True:
        if folders and rng.random() < 0.5:
            folder = rng.choice(folders)
            try:
                case = cases.load(folder)
            except Exception:  # a value that Python's onnx cannot read
                continue
            return case.model, case.feeds, folder.name
        try:
            case = cases.make(rng.getrandbits(40), rng.randrange(1000), cases.operator_names([]))
        except cases.NoSuchCase:
            continue
        return case.model, case.feeds, case.operator


_listed: dict[str, list[Path]] = {}


def listed(source: str) -> list[Path]:
    """Folders with small models below `source`."""
    if source not in _listed:
        found = sorted(Path(source).glob("*/model.onnx"))
        _listed[source] = [path.parent for path in found if path.stat().st_size < 300_000]
    return _listed[source]


def mutant_of(request: dict):
    import mutants
    kind, case = request["kind"], request["case"]
    rng = random.Random(f"{request['seed']}:{kind}:{case}")
    if kind == "models":
        model, feeds, name = source_case(rng, request["sources"])
        return *mutants.mutate_model(model, feeds, rng), name
    data, feeds, name = opened(request["seed"], request["model"], tuple(request["sources"]))
    return data, mutants.change_inputs(feeds, rng), name


@functools.lru_cache(maxsize=2)
def opened(seed: int, number: int, sources: tuple[str, ...]):
    """The model of several mutants of inputs."""
    import mutants
    rng = random.Random(f"{seed}:opened:{number}")
    model, feeds, name = source_case(rng, list(sources))
    return *mutants.open_inputs(model, feeds, rng), name


def saved(folder: Path):
    """model.onnx with NAME.npy or the files of a data set for its inputs."""
    data = (folder / "model.onnx").read_bytes()
    feeds = {path.stem: np.load(path) for path in folder.glob("*.npy")}
    if not feeds and (folder / "test_data_set_0").is_dir():
        import cases
        feeds = cases.load(folder).feeds
    return data, feeds, folder.name


def save(folder: Path, data: bytes, feeds: dict, notes: dict) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(data)
    for name, value in feeds.items():
        if isinstance(value, np.ndarray) and value.dtype != object and "/" not in name:
            np.save(folder / f"{name}.npy", value)
    (folder / "case.json").write_text(json.dumps(notes, indent=1) + "\n")


def filled(session, feeds: dict) -> dict:
    """The inputs that the session wants: those at hand, and plain ones for the rest."""
    import tenon_c
    wanted = {}
    for info in session.inputs():
        name = info.name.text()
        if name in feeds:
            wanted[name] = feeds[name]
        elif info.kind == tenon_c.TENSOR and not info.has_default:
            dims = [2 if info.dims[i] < 0 else min(info.dims[i], 64) for i in range(max(info.rank, 0))]
            wanted[name] = np.zeros(dims, tenon_c.DTYPES.get(info.dtype, np.dtype(np.float32)))
    return wanted


@contextlib.contextmanager
def guarded(guard, wanted: bool):
    """Allocations made in here lie before guard pages."""
    if guard and wanted:
        guard(GUARD_BYTES)
    try:
        yield
    finally:
        if guard and wanted:
            guard(0)


class Runner:
    """Runs cases. It keeps the last session, which the next case may want too."""

    def __init__(self, api, error_type, guard):
        self.api, self.error_type, self.guard = api, error_type, guard
        self.key, self.made, self.kept = None, None, contextlib.ExitStack()

    def session(self, data: bytes, order: str, all_guarded: bool):
        if self.key != (data, order):
            self.close()
            providers = ", ".join(f'"{name}"' for name in order.split(","))
            keys = {"select.order": f"[{providers}]", "threads.count": "2", "memory.host_limit": f'"{HOST_LIMIT}"'}
            with guarded(self.guard, all_guarded):
                self.made = self.kept.enter_context(self.api.session(data, self.kept.enter_context(self.api.config(keys))))
            self.key = data, order
        return self.made

    def close(self) -> None:
        self.key = None
        self.kept.close()

    def run(self, data: bytes, feeds: dict, order: str) -> tuple[str, str]:
        """(how it ended, words): "result", or the kind of the error."""
        # A driver that compiles takes more pieces of memory than a process may have pages of different rights.
        all_guarded = not compiles(order)
        try:
            session = self.session(data, order, all_guarded)
            feeds = filled(session, feeds)
            with guarded(self.guard, True):
                session.run(feeds, DEADLINE, read=False)
        except self.error_type as error:
            return error.kind, str(error)
        except (KeyError, UnicodeError) as error:  # a type or name that Python cannot hand over
            return "not run", repr(error)
        return "result", ""

    def answer(self, case, order: str, keep: bool) -> dict:
        data, feeds, _ = case
        Path("/proc/self/clear_refs").write_text("5")
        before, start = peak(), time.monotonic()
        end, words = self.run(data, feeds, order)
        seconds = time.monotonic() - start
        if not keep:
            self.close()
        grown = peak() - before
        verdict = "ok"
        if end == "internal":
            verdict = "internal"
        if grown > HOST_LIMIT + SLACK:
            verdict, words = "memory", f"{grown >> 20} MiB; {end}: {words}"
        if seconds > DEADLINE + (COMPILING if compiles(order) else LATE):
            verdict, words = "hang", f"{seconds:.1f} s; {end}: {words}"
        return {"verdict": verdict, "end": end, "words": words, "seconds": round(seconds, 3), "mib": grown >> 20}


def guard_allocator():
    """The switch of the preloaded allocator, which is tried first: a preload that has no effect would find nothing."""
    library = ctypes.CDLL(None)
    guard = library.guard_alloc_enable
    guard.argtypes = [ctypes.c_size_t]
    library.guard_alloc_owns.argtypes, library.free.argtypes = [ctypes.c_void_p], [ctypes.c_void_p]
    library.malloc.argtypes, library.malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
    guard(GUARD_BYTES)
    at = library.malloc(GUARD_BYTES)
    guard(0)
    if not library.guard_alloc_owns(at):
        raise SystemExit("the guard-page allocator is preloaded but serves nothing")
    library.free(at)
    return guard


def main() -> int:
    # Libraries may write on the standard output: the channel to the parent is a copy of its own.
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    guard = None
    if "guard_alloc" in os.environ.get("LD_PRELOAD", ""):
        guard = guard_allocator()
    elif "asan" not in sys.argv[1]:
        # The soft limit alone: what stands in for a device is a child that lifts its own.
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, resource.getrlimit(resource.RLIMIT_AS)[1]))
    import tenon_c
    runner = Runner(tenon_c.Api(sys.argv[1]), tenon_c.TenonError, guard)
    for line in sys.stdin:
        request = json.loads(line)
        say(channel, begin="making")
        case = saved(Path(request["folder"])) if "folder" in request else mutant_of(request)
        if request.get("save"):
            save(Path(request["save"]), case[0], case[1], request["notes"])
            say(channel, done={})
            continue
        say(channel, begin=request["order"], operator=case[2])
        say(channel, done=runner.answer(case, request["order"], keep=request.get("kind") == "inputs"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
