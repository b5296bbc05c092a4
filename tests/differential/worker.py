"""A process that judges cases. The parent sends one JSON line for each, and reads what is begun and what came out.

    worker.py LIBRARY

A request names a case by {"seed", "case", "operators"} or {"folder"}, and has {"orders"} to judge it by or {"save": folder,
"notes"} to keep it; with "expected" the folder's own outputs are right, not the references'. Answers are lines {"begin": stage}, {"operator", "text"} and at last {"done": ...}.
"""

import faulthandler
import json
import os
import resource
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
ADDRESS_SPACE = 12 << 30


def say(channel, **message) -> None:
    channel.write(json.dumps(message, default=str) + "\n")
    channel.flush()


def answer(channel, api, error_type, case, expected, orders: list[str]) -> dict:
    from judge import between_orders, judge
    answers = {}
    for order in orders:
        say(channel, begin=order)
        answers[order] = judge(api, error_type, case, expected, order)
    verdicts = {order: [verdict, words] for order, (verdict, words, _) in answers.items()}
    for order, found in between_orders(case, expected, answers).items():
        verdicts[order] = list(found)
    return {"basis": expected.basis, "remarks": expected.remarks, "verdicts": verdicts}


def saved_outputs(case, folder: Path):
    """What the files of a test folder expect."""
    import cases
    from judge import Expectation
    files = [folder / "test_data_set_0" / f"output_{i}.pb" for i in range(len(case.model.graph.output))]
    outputs = [cases.read_value(path, info) for path, info in zip(files, case.model.graph.output) if path.is_file()]
    return Expectation(outputs, "files", {})


def find_case(request: dict):
    import cases
    if "folder" in request:
        return cases.load(Path(request["folder"]))
    return cases.make(request["seed"], request["case"], cases.operator_names(request["operators"]))


def main() -> int:
    # Libraries may write on the standard output: the channel to the parent is a copy of its own.
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if "asan" not in sys.argv[1]:
        # The soft limit alone: what stands in for a device is a child that lifts its own.
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, resource.getrlimit(resource.RLIMIT_AS)[1]))
    import cases
    import tenon_c
    from draw import NoSuchCase
    from judge import ask_references
    api = tenon_c.Api(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        say(channel, begin="making")
        try:
            case = find_case(request)
        except NoSuchCase as error:
            say(channel, done={"skipped": str(error)})
            continue
        if request.get("save"):
            cases.save(case, Path(request["save"]), ask_references(case).outputs, request["notes"])
            say(channel, done={})
            continue
        say(channel, operator=case.operator, text=case.text[:600])
        say(channel, begin="references")
        expected = saved_outputs(case, Path(request["folder"])) if request.get("expected") else ask_references(case)
        say(channel, done=answer(channel, api, tenon_c.TenonError, case, expected, request["orders"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
