#!/usr/bin/env python3
"""tests/differential and tests/mutate: they see what is planted, and every operator has a generator or a reason."""

import argparse
import contextlib
import io
import random
import sys
import unittest
from pathlib import Path

import numpy as np
from onnx import helper

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "differential"), str(TESTS / "mutate"), str(TESTS / "support")]

import cases  # noqa: E402
import judge  # noqa: E402
import mutants  # noqa: E402
import mutate  # noqa: E402
import not_covered  # noqa: E402
import search  # noqa: E402
import shrink  # noqa: E402
import tenon_c  # noqa: E402
from compare import difference  # noqa: E402
from draw import Draw  # noqa: E402


class Failure(Exception):
    kind = "invalid input"


class FakeApi:
    """Tenon as it would answer: a list of outputs, or an error."""

    def __init__(self, answer):
        self.answer = answer

    def config(self, keys):
        return contextlib.nullcontext()

    def session(self, model, config):
        return contextlib.nullcontext(self)

    def run(self, feeds, deadline):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def sum_case() -> cases.Case:
    graph = helper.make_graph([helper.make_node("Add", ["a", "b"], ["s"]), helper.make_node("Relu", ["s"], ["y"])], "g",
                              [helper.make_tensor_value_info(n, 1, [2]) for n in "ab"], [helper.make_tensor_value_info("y", 1, [2])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return cases.Case(model, {"a": np.float32([1, -2]), "b": np.float32([2.5, 1])}, "Add", origin={"case": 0})


class Verdicts(unittest.TestCase):
    def verdict(self, answer) -> str:
        case = sum_case()
        expected = judge.ask_references(case)
        self.assertEqual(expected.basis, "both")
        return judge.judge(FakeApi(answer), Failure, case, expected, "cpu")[0]

    def test_right_and_wrong(self):
        self.assertEqual(self.verdict([np.float32([3.5, 0])]), "ok")
        self.assertEqual(self.verdict([np.float32([3.6, 0])]), "mismatch")
        self.assertEqual(self.verdict([np.float32([[3.5, 0]])]), "mismatch")
        self.assertEqual(self.verdict([np.float64([3.5, 0])]), "mismatch")
        self.assertEqual(self.verdict([]), "mismatch")
        self.assertEqual(self.verdict(Failure("no")), "refused")

    def test_orders_that_contradict_each_other(self):
        case, nothing = sum_case(), judge.Expectation(None, "refused", {})
        answers = {"cpu": ("ok", "index 4 is out of range", None), "onednn,cpu": ("ok", "", [np.float32([1, 2])])}
        self.assertEqual(list(judge.between_orders(case, nothing, answers)), ["onednn,cpu"])
        self.assertFalse(judge.between_orders(case, nothing, answers | {"onednn,cpu": ("ok", "also", None)}))

    def test_numbers(self):
        one = np.float32([1, np.nan, np.inf])
        self.assertIsNone(difference(one, one.copy()))
        self.assertIsNotNone(difference(one, np.float32([1, 0, np.inf])))
        self.assertIsNotNone(difference(one, np.float32([1, np.nan, -np.inf])))
        self.assertIsNotNone(difference(np.uint8([0]), np.uint8([255]), steps=1))
        self.assertIsNone(difference(np.uint8([4]), np.uint8([5]), steps=1))
        self.assertIsNotNone(difference([one], one))
        self.assertIsNotNone(difference({"a": 1.0}, {"a": 2.0}))


class Cases(unittest.TestCase):
    def test_every_operator_has_a_generator_or_a_reason(self):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertEqual(not_covered.report(), 0, printed.getvalue())

    def test_a_number_is_always_the_same_case(self):
        names = cases.operator_names([])
        self.assertGreater(len(names), 240)
        for index in range(0, 200, 9):
            first, second = (self.made(index, names) for _ in range(2))
            self.assertEqual(first, second)

    def made(self, index, names) -> bytes:
        try:
            return cases.make(5, index, names).model.SerializeToString(deterministic=True)
        except cases.NoSuchCase:
            return b""

    def test_smaller_cases_fail_in_the_same_way(self):
        smallest = shrink.shrink(sum_case(), lambda case: any(n.op_type == "Relu" for n in case.model.graph.node))
        self.assertEqual([n.op_type for n in smallest.model.graph.node], ["Relu"])
        self.assertEqual(judge.ask_references(smallest).basis, "both")

    def test_dismissals_cite_the_specification(self):
        for entry in search.Dismissed().entries:
            self.assertTrue(entry["citation"] and entry["why"] and entry["operator"])
        self.assertTrue(search.Dismissed().unused())

    def test_packed_types(self):
        for number, dtype in tenon_c.DTYPES.items():
            if number in tenon_c.BITS:
                values = Draw(1, 21).array((5,), dtype, -2, 1)
                data = tenon_c.pack(values, tenon_c.BITS[number])
                back = tenon_c.unpack(data, dtype, tenon_c.BITS[number], 5)
                self.assertEqual(back.tolist(), values.tolist(), dtype)


class Mutants(unittest.TestCase):
    def test_mutants_differ_and_are_repeatable(self):
        case = sum_case()
        def of_inputs(model, feeds, rng):
            data, feeds = mutants.open_inputs(model, feeds, rng)
            return data, mutants.change_inputs(feeds, rng)

        for change in (mutants.mutate_model, of_inputs):
            made = [change(case.model, case.feeds, random.Random(seed)) for seed in range(40)]
            again = change(case.model, case.feeds, random.Random(7))
            self.assertEqual(made[7][0], again[0])
            original = case.model.SerializeToString()
            changed = sum(data != original or any(not np.array_equal(feeds[n], case.feeds[n]) for n in case.feeds) for data, feeds in made)
            self.assertGreater(changed, 30)

    def test_a_session_serves_several_mutants_of_inputs(self):
        args = argparse.Namespace(replay=None, sources=[], first=3, cases=9, kinds=["models", "inputs"], providers=["cpu", "opencl,cpu"],
                                  rarely=2, seed=1)
        lists = list(mutate.Mutations(args, Path("/")).plan())
        asked = [(r["kind"], r["order"], r["case"]) for together in lists for r in together]
        self.assertEqual(len(asked), len(set(asked)))
        for kind in args.kinds:
            self.assertEqual(sorted(case for k, order, case in asked if (k, order) == (kind, "cpu")), list(range(3, 12)))
        self.assertTrue(all(len({(r["order"], r["kind"]) for r in together}) == 1 for together in lists))
        self.assertGreater(max(map(len, lists)), 1)
        self.assertIn("opencl,cpu", {order for _, order, _ in asked})


if __name__ == "__main__":
    unittest.main()
