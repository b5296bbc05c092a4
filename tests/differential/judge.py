"""One case against the references and against Tenon's orders of providers: a verdict for each order."""

import time
from dataclasses import dataclass

import numpy as np
import onnx
from cases import Case
from compare import difference
from references import REFERENCES, Refused, Unavailable

DEADLINE = 10.0  # seconds of a Run; what takes longer hangs
COMPILING = 90.0  # seconds for the whole of a case; some providers compile a program for each


@dataclass
class Expectation:
    """What the references say: outputs that count, or why there are none."""

    outputs: list | None
    basis: str  # "both", the one that is available, "contested", "refused", "unavailable"
    remarks: dict


def declared(outputs: list, model: onnx.ModelProto) -> list:
    """Outputs in the types that the model declares: the reference's Python returns wider ones at times."""
    fixed = []
    for value, info in zip(outputs, model.graph.output):
        kind = info.type.WhichOneof("value")
        if kind == "tensor_type" and value is not None and not isinstance(value, (list, dict)):
            dtype = onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
            value = np.asarray(value)
            if value.dtype != dtype and value.dtype.kind not in "OUS":
                value = value.astype(dtype)
        fixed.append(value)
    return fixed


def once(model: onnx.ModelProto) -> onnx.ModelProto:
    """Without an import of ai.onnx by its other name: the references take the versions of some operators from it."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.opset_import[:]
    copy.opset_import.extend(opset for opset in model.opset_import if opset.domain != "ai.onnx")
    return copy


def ask_references(case: Case) -> Expectation:
    if case.huge:
        return Expectation(None, "refused", {"all": "not asked: no machine has the memory"})
    answers, remarks, refused = {}, {}, 0
    for name, run in REFERENCES.items():
        try:
            answers[name] = declared(run(once(case.model), case.feeds), case.model)
        except Unavailable as error:
            remarks[name] = f"unavailable: {error}"
        except Refused as error:
            remarks[name] = f"refused: {error}"
            refused += 1
    if case.invalid and answers:
        return Expectation(None, "contested" if refused else "unavailable", remarks)
    if len(answers) == 2:
        first, second = answers.values()
        text = disagreement(case, first, second)
        if text is None:
            return Expectation(first, "both", remarks)
        return Expectation(None, "contested", remarks | {"difference": text})
    if not answers:
        return Expectation(None, "refused" if refused else "unavailable", remarks)
    (name, outputs), = answers.items()
    if refused:
        return Expectation(None, "contested", remarks)
    return Expectation(outputs, name, remarks)


def disagreement(case: Case, expected: list, actual: list) -> str | None:
    if len(expected) != len(actual):
        return "another number of outputs"
    for info, a, b in zip(case.model.graph.output, expected, actual):
        if not case.deterministic:
            same = np.shape(a) == np.shape(b) and np.asarray(a).dtype == np.asarray(b).dtype
            text = None if same else "another type or shape"
        else:
            text = difference(a, b, case.steps, case.scaled)
        if text:
            return f"output '{info.name}': {text}"
    return None


def run_tenon(api, case: Case, order: str, threads: int) -> list:
    # "\"" around each name makes the TOML list.
    providers = ", ".join(f'"{name}"' for name in order.split(","))
    keys = {"select.order": f"[{providers}]", "threads.count": str(threads), "memory.host_limit": '"1GiB"'}
    with api.config(keys) as config, api.session(case.model.SerializeToString(), config) as session:
        return session.run(case.feeds, DEADLINE)


def judge(api, error_type, case: Case, expected: Expectation, order: str) -> tuple[str, str, list | None]:
    """(verdict, words, outputs)"""
    start = time.monotonic()
    try:
        outputs = run_tenon(api, case, order, threads=1 + case.origin.get("case", 0) % 2)
    except error_type as error:
        text = f"{error.kind}: {error}"
        if error.kind == "internal":
            return "internal", text, None
        if error.kind == "deadline" or time.monotonic() - start > COMPILING:
            return "hang", text, None
        return ("refused" if expected.outputs is not None else "ok"), text, None
    if time.monotonic() - start > COMPILING:
        return "hang", f"{time.monotonic() - start:.0f} s", outputs
    if expected.outputs is None:
        must_fail = (case.invalid or case.huge) and expected.basis in ("refused", "contested")
        return ("accepted", "outputs, although a value is out of range", outputs) if must_fail else ("ok", "", outputs)
    text = disagreement(case, expected.outputs, outputs)
    return ("mismatch", text, outputs) if text else ("ok", "", outputs)


def between_orders(case: Case, expected: Expectation, answers: dict) -> dict[str, tuple[str, str]]:
    """Where the references do not decide: orders that differ from the first. {order: (verdict, words)}"""
    found, orders = {}, list(answers)
    if expected.outputs is not None or not orders:
        return found
    first = answers[orders[0]]
    for order in orders[1:]:
        verdict, words, outputs = answers[order]
        if verdict not in ("ok",) or first[0] != "ok":
            continue
        if (outputs is None) != (first[2] is None):
            who = f"{orders[0]} {'refuses' if first[2] is None else 'answers'}"
            found[order] = ("orders", f"{who}; {order}: {words or 'answers'}; {first[1]}")
        elif outputs is not None and (text := disagreement(case, first[2], outputs)):
            found[order] = ("orders", f"unlike {orders[0]}: {text}")
    return found
