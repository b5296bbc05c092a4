#!/usr/bin/env python3
"""tools/gate.py counts what ran and what did not, and a crash is never a pass."""

import contextlib
import io
import json
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import gate  # noqa: E402
import gate_cases  # noqa: E402
import write_status  # noqa: E402

GTEST = """<?xml version="1.0"?>
<testsuites tests="4" failures="1"><testsuite name="S">
<testcase name="A" status="run" result="completed" classname="S"/>
<testcase name="B" status="run" result="completed" classname="S"><failure message="x"/></testcase>
<testcase name="C" status="run" result="skipped" classname="S"/>
<testcase name="D" status="run" result="completed" classname="S"/>
</testsuite></testsuites>
"""


def ctest_xml(*cases: tuple[str, str], output: str = "") -> str:
    inner = f"<system-out>{output}</system-out>"
    rows = "".join(f'<testcase name="{name}" status="{status}">{inner}</testcase>' for name, status in cases)
    return f"<testsuite>{rows}</testsuite>"


class Gate(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def count(self, ctest: str, **reports: str) -> gate.Counts:
        (self.folder / "ctest.xml").write_text(ctest)
        for name, text in reports.items():
            (self.folder / f"{name}.xml").write_text(text)
        return gate.count_ctest(self.folder / "ctest.xml", self.folder)

    def test_gtest_cases_are_counted_one_by_one(self):
        counts = self.count(ctest_xml(("unit", "fail")), unit=GTEST)
        self.assertEqual((counts.passed, counts.failed, counts.not_run), (2, 1, 1))
        self.assertEqual(counts.failures, ["S.B"])

    def test_what_is_disabled_is_not_run_but_for_workers(self):
        disabled = GTEST.replace('name="C" status="run" result="skipped"', 'name="C" status="notrun" result="suppressed"')
        self.assertEqual(self.count(ctest_xml(("unit", "fail")), unit=disabled).not_run, 1)
        worker = disabled.replace('result="suppressed" classname="S"', 'result="suppressed" classname="DISABLED_HostileWorker"')
        self.assertEqual(self.count(ctest_xml(("unit", "fail")), unit=worker).not_run, 0)

    def test_an_entry_without_a_report_counts_once(self):
        counts = self.count(ctest_xml(("script", "run"), ("other", "fail"), ("third", "notrun")))
        self.assertEqual((counts.passed, counts.failed), (1, 2))
        self.assertEqual(counts.failures, ["other", "third"])

    def test_the_last_lines_of_what_failed_are_printed(self):
        text = ctest_xml(("good", "run"), ("bad", "fail"), output="\n".join(f"line {n}" for n in range(100)))
        (self.folder / "ctest.xml").write_text(text)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            gate.print_failed(self.folder / "ctest.xml", lines=2)
        self.assertEqual(printed.getvalue(), "--- bad failed, its last lines:\nline 98\nline 99\n---\n")

    def test_scripts_tell_of_their_own_cases(self):
        counts = self.count(ctest_xml(("rows", "fail"), output="failed a.b: why\n    more\n7 passed, 1 failed\n"))
        self.assertEqual((counts.passed, counts.failed, counts.failures), (7, 1, ["a.b"]))
        partly = self.count(ctest_xml(("rows", "run"), output="4 passed, 0 failed, 2 not run\n"))
        self.assertEqual((partly.passed, partly.failed, partly.not_run), (4, 0, 2))
        self.assertEqual(self.count(ctest_xml(("unit", "run"), output="...\nRan 9 tests in 0.1s\n\nOK\n")).passed, 9)
        self.assertEqual(self.count(ctest_xml(("rows", "fail"), output="8 passed, 0 failed\n")).failed, 1)

    def test_what_a_script_says_of_failures_counts_whatever_its_exit_code(self):
        counts = self.count(ctest_xml(("rows", "run"), output="failed a: why\n7 passed, 5 failed\n"))
        self.assertEqual((counts.passed, counts.failed, counts.failures), (7, 5, ["a"]))

    def test_nothing_run_is_a_failure(self):
        self.assertEqual(self.count(ctest_xml(("rows", "run"), output="0 passed, 0 failed\n")).failures, ["rows"])
        empty = '<testsuites><testsuite name="S"></testsuite></testsuites>'
        self.assertEqual(self.count(ctest_xml(("unit", "run")), unit=empty).failures, ["unit"])
        self.assertEqual(self.count(ctest_xml()).failures, ["ctest ran no test"])

    def test_skipped_unittests_are_not_run(self):
        counts = self.count(ctest_xml(("unit", "run"), output="Ran 9 tests in 0.1s\n\nOK (skipped=2)\n"))
        self.assertEqual((counts.passed, counts.not_run), (7, 2))

    def judge(self, code: int, passed: int, failed: int = 0) -> gate.Counts:
        cases = [{"name": f"c{i}", "status": "failed"} for i in range(failed)]
        answer = {"summary": {"passed": passed, "failed": failed, "declared": 0, "crashed": 0}, "cases": cases}
        (self.folder / "result.json").write_text(json.dumps(answer))
        return gate.judge_cases("models", 35, code, self.folder / "result.json")

    def test_cases_that_are_missing_are_a_failure(self):
        self.assertEqual(self.judge(0, 1).failures, ["models: only 1 of 35 cases ran"])
        self.assertEqual(self.judge(0, 35).failed, 0)
        self.assertEqual(self.judge(0, 36).failed, 0)

    def test_the_exit_code_must_agree_with_the_report(self):
        self.assertEqual(self.judge(1, 34, 1).failures, ["c0"])
        self.assertIn("contradicts", self.judge(0, 34, 1).failures[1])
        self.assertIn("contradicts", self.judge(1, 35).failures[0])
        self.assertIn("contradicts", self.judge(139, 35).failures[0])
        (self.folder / "result.json").unlink()
        self.assertIn("exit code 3", gate.judge_cases("models", 35, 3, self.folder / "result.json").failures[0])

    def test_a_cut_run_goes_on_with_the_steps_that_did_not_pass(self):
        path, ran = self.folder / "passed.json", []

        def step(name: str, **counts: int) -> gate.Counts:
            ran.append(name)
            return gate.Counts(**counts)

        def run(code: str | None, texts: str | None = None) -> list[str]:
            ran.clear()
            ledger = gate.Ledger(path)
            with contextlib.redirect_stdout(io.StringIO()):
                ledger.run("good", lambda: step("good", passed=3), code)
                ledger.run("texts", lambda: step("texts", passed=2), texts or code)
                ledger.run("bad", lambda: step("bad", failed=1), code)
                ledger.run("left out", lambda: step("left out", passed=1, not_run=1), code)
            return list(ran)

        self.assertEqual(run("tree 1"), ["good", "texts", "bad", "left out"])
        self.assertEqual(run("tree 1"), ["bad", "left out"])
        self.assertEqual(run("tree 1", "other texts"), ["texts", "bad", "left out"])
        self.assertEqual(run("tree 2"), ["good", "texts", "bad", "left out"])
        self.assertEqual(run(None), ["good", "texts", "bad", "left out"])
        for broken in ('{"steps": []}', '{"steps": {"good": 1}}', '{"tree": "tree 1", "steps": {"good": {"passed": 3}}}', "{"):
            path.write_text(broken)
            self.assertEqual(run("tree 1"), ["good", "texts", "bad", "left out"], broken)

    def test_a_step_runs_again_when_a_file_that_it_reads_changed(self):
        subprocess.run(["git", "init", "-q", self.folder], check=True)
        steps = ["tests release", "tests asan", "clang-tidy", "differential search"]

        def change(file: str) -> list[str]:
            """The steps that run again after a change of `file`."""
            before = {step: self.tree_of(step) for step in steps}
            (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / file).write_text("changed")
            return [step for step in steps if self.tree_of(step) != before[step]]

        self.assertEqual(change("core/code.cc"), steps)
        self.assertEqual(change("tests/support/cpu_time.h"), steps)
        self.assertEqual(change("tests/unit/core/code_test.cc"), steps[:3])
        self.assertEqual(change("tests/tools/gate_test.py"), steps[:3])
        self.assertEqual(change("docs/page.html"), steps[:1])
        self.assertEqual(change("README.md"), steps[:1])

    def tree_of(self, step: str) -> str | None:
        with unittest.mock.patch.object(gate, "ROOT", self.folder):
            return gate.tree_of_sources(gate.not_read_by(step))

    def test_the_other_steps_run_when_a_preset_cannot_be_built(self):
        with unittest.mock.patch.object(gate, "build", side_effect=gate.StepFailed("configure asan")):
            ledger = gate.Ledger(self.folder / "passed.json")
            counts = gate.build_and_test("asan", ledger, None, True)
            self.assertEqual((counts.failed, counts.failures), (1, ["configure asan"]))
            with self.assertRaises(gate.StepFailed):
                gate.build_and_test("release", ledger, None, True)

    def test_the_tests_of_a_cut_run_go_on_with_the_parts_that_did_not_pass(self):
        parts, ran = [["a", "b"], ["c"], ["d"]], []

        def run_ctest(_: str, some: list[str] | None = None, __: str = "") -> gate.Counts:
            ran.append(some)
            failed = int(some == ["c"] and not mended)
            return gate.Counts(passed=len(some or "abcd") - failed, failed=failed)

        def run(tree: str | None, everything: bool = True) -> gate.Counts:
            ran.clear()
            with contextlib.redirect_stdout(io.StringIO()):
                return gate.build_and_test("asan", gate.Ledger(self.folder / "passed.json"), tree, everything)

        mended = False
        with unittest.mock.patch.multiple(gate, build=lambda _: None, parts_of=lambda _: parts, run_ctest=run_ctest):
            self.assertEqual((run("tree 1").failed, ran), (1, parts))
            mended = True
            self.assertEqual((run("tree 1").passed, ran), (4, [["c"]]))
            self.assertEqual((run(None).passed, ran), (4, parts))
            self.assertEqual((run(None, everything=False).passed, ran), (4, [None]))

    def test_the_seed_draws_an_entry_of_those_that_take_minutes(self):
        def left_out(seed: int, preset: str = "release", everything: bool = False) -> list[str]:
            with unittest.mock.patch.dict(gate.os.environ, {"TENON_GATE_SEED": str(seed)}):
                return gate.labels_left_out(preset, everything)

        self.assertEqual(left_out(6), ["-LE", "^(drawn_1_of_4|drawn_2_of_4|drawn_4_of_4)$"])
        self.assertEqual(len({left_out(seed)[1] for seed in range(100)}), gate.DRAWN)
        self.assertEqual(left_out(6, everything=True), [])
        self.assertEqual(left_out(6, "asan", everything=True), ["-LE", "^(docs|tools)$"])

    def test_entries_that_prepare_something_are_in_the_part_of_those_that_need_it(self):
        fixture = {"properties": [{"name": "FIXTURES_REQUIRED", "value": ["wheel"]}]}
        tests = [{"name": f"free_{n}"} for n in range(2 * gate.PARTS)] + [{"name": "wheel"} | fixture, {"name": "user"} | fixture]
        listed = subprocess.CompletedProcess([], 0, json.dumps({"tests": tests}), "")
        with unittest.mock.patch.object(gate.subprocess, "run", return_value=listed):
            parts = gate.parts_of("release")
        self.assertEqual(parts[0], ["wheel", "user"])
        self.assertEqual([len(part) for part in parts[1:]], [2] * gate.PARTS)
        self.assertEqual(sorted(name for part in parts for name in part), sorted(test["name"] for test in tests))

    def test_continuous_integration_is_told_apart(self):
        self.assertIn("export CI=true", (ROOT / ".ci" / "run").read_text())
        for ci, required in (("true", "ON"), ("", "OFF")):
            with (unittest.mock.patch.dict("os.environ", CI=ci), unittest.mock.patch.object(gate, "must_run") as ran,
                  unittest.mock.patch.object(gate, "warnings_in", return_value=[]),
                  unittest.mock.patch.object(Path, "read_text", return_value="")):  # fmt: skip
                gate.build("release")
            self.assertIn(f"-DTENON_CUDA_REQUIRED={required}", ran.call_args_list[0].args[1])

    def test_a_crash_is_a_failure(self):
        truncated = GTEST[: len(GTEST) // 2]
        self.assertEqual(self.count(ctest_xml(("unit", "fail")), unit=truncated).failed, 1)
        all_good = GTEST.replace('<failure message="x"/>', "")
        counts = self.count(ctest_xml(("unit", "fail")), unit=all_good)  # passed, then died at exit
        self.assertEqual((counts.passed, counts.failed), (0, 1))

    def test_crashed_cases_are_failures_and_declared_ones_are_not(self):
        answer = {
            "summary": {"passed": 5, "failed": 1, "declared": 2, "crashed": 1},
            "cases": [{"name": "a", "status": "failed"}, {"name": "b", "status": "crashed"}, {"name": "c", "status": "declared"}],
        }
        (self.folder / "result.json").write_text(json.dumps(answer))
        counts = gate.count_cases(self.folder / "result.json")
        self.assertEqual((counts.passed, counts.failed, counts.declared), (5, 2, 2))
        self.assertEqual(counts.failures, ["a", "b"])

    def test_absent_data_are_counted_and_fail_only_in_ci(self):
        printed = io.StringIO()
        elsewhere = gate.Order(("nobodys", "cpu"))
        with contextlib.redirect_stdout(printed):
            counts = gate.run_cases("release", gate.CaseSet("models", self.folder / "absent", 35))
            self.assertEqual(counts.not_run, 35)
            self.assertEqual(gate.verdict(counts, ci=False), 0)
            counts = gate.run_cases("release", gate.CaseSet("models", self.folder, 35), elsewhere)
        self.assertEqual(counts.not_run, 35)
        self.assertIn("not run: 35 cases of models on nobodys (provider nobodys is absent)", printed.getvalue())
        self.assertEqual(elsewhere.step(gate.CaseSet("models", self.folder, 35)), "models on nobodys")
        self.assertEqual([order.step(gate.CASE_SETS[0]) for order in gate.ORDERS],
                         ["onnx node", "onnx node on onednn", "onnx node on opencl", "onnx node on vulkan",
                          "onnx node on cuda"])
        self.assertEqual(gate.DEVICE_MEMORY.step(gate.CASE_SETS[0]), "onnx node on opencl, device memory")
        self.assertEqual(gate.verdict(counts, ci=True), 1)
        self.assertEqual(gate.verdict(gate.Counts(passed=1, failed=1), ci=False), 1)

    def test_a_script_that_reports_no_counts_has_failed(self):
        script = self.folder / "script.py"
        elsewhere = unittest.mock.patch.multiple(gate, ROOT=self.folder, BUILD=self.folder / "build")
        with contextlib.redirect_stdout(io.StringIO()), elsewhere:
            script.write_text("print('3 passed, 0 failed')\n")
            self.assertEqual(gate.run_script("planted", str(script)).passed, 3)
            script.write_text("import sys\nprint('failed core/a.cc')\nprint('2 passed, 1 failed')\nsys.exit(1)\n")
            self.assertEqual(gate.run_script("planted", str(script)).failures, ["core/a.cc"])
            script.write_text("import sys\nsys.exit('tidy: no clang-tidy-14')\n")
            self.assertIn("exit code 1", gate.run_script("planted", str(script)).failures[0])
        for name, (script_name, *_) in (gate.ANALYSES | gate.SYSTEMS | gate.SEARCHES | gate.CUDA | gate.NVIDIA).items():
            self.assertTrue((ROOT / script_name).is_file(), name)

    def test_a_sample_is_two_fifths_of_which_one_stays(self):
        names = [f"test_{n}" for n in range(2000)]
        first, again, other = (gate_cases.sample_of(names, seed) for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        for sample in (first, other):
            self.assertAlmostEqual(len(sample) / len(names), 0.4, delta=0.03)
        stays = set.intersection(*(set(gate_cases.sample_of(names, seed)) for seed in range(20)))
        self.assertAlmostEqual(len(stays) / len(names), 0.2, delta=0.03)
        drawn = set.union(*(set(gate_cases.sample_of(names, seed)) for seed in range(60)))
        self.assertEqual(drawn, set(names), "some case is never drawn")

    def test_only_a_large_set_on_stand_ins_is_cut_and_says_what_is_missing(self):
        for n in range(10):
            (self.folder / f"all/test_{n}").mkdir(parents=True)
            (self.folder / f"all/test_{n}/model.onnx").touch()
        links = self.folder / "links"
        count = gate_cases.part_of(gate.CaseSet("some", self.folder / "all", 10), links, 1)
        self.assertEqual(count, len(list(links.glob("*/model.onnx"))))
        self.assertEqual(gate_cases.part_of(gate.CaseSet("some", self.folder / "all", 11), links, 1), 11)
        self.assertEqual({order.providers[0] for order in gate.ORDERS if order.stands_in}, {"cuda"})

    def test_only_cuda_sees_its_stand_ins(self):
        for order in [*gate.ORDERS, gate.DEVICE_MEMORY]:
            self.assertEqual("LD_LIBRARY_PATH" in order.environment("release"), "cuda" in order.providers)
        manifest = self.folder / "release/lib/tenon/providers.d/cuda.tenon.json"
        manifest.parent.mkdir(parents=True)
        manifest.touch()
        with unittest.mock.patch.object(gate, "BUILD", self.folder), unittest.mock.patch.object(gate, "run_script") as ran:
            for name, command in (gate.CUDA | gate.NVIDIA).items():
                gate.run_on_cuda(name, *command)
                self.assertEqual("LD_LIBRARY_PATH" in (ran.call_args.kwargs["extra"] or {}), name in gate.CUDA, name)

    def test_the_seed_is_one_for_a_whole_gate(self):
        with unittest.mock.patch.dict(gate.os.environ):
            gate.os.environ.pop("TENON_GATE_SEED", None)
            self.assertEqual(gate.seed_of_gate(), gate.seed_of_gate())
            gate.os.environ["TENON_GATE_SEED"] = "7"
            self.assertEqual(gate.seed_of_gate(), 7)

    def test_warnings_of_a_build_are_found(self):
        warning = "[2/3] Building CXX object a.cc.o\nIn function 'f':\na.h:3:1: warning: unused variable 'x'\n    3 | int x;"
        log = f"[1/3] Building CXX object warning.cc.o\n{warning}\n[3/3] Building CXX object b.cc.o\nnote: none\n"
        self.assertEqual(gate.warnings_in(log), [warning])

    def test_the_summary_ends_as_documented(self):
        self.assertEqual(str(gate.Counts(passed=3, failed=0)), "3 passed, 0 failed")
        self.assertEqual(str(gate.Counts(3, 1, 2, 4)), "3 passed, 1 failed, 2 declared, 4 not run")

    def test_status_page_lists_sets_and_failures(self):
        page = write_status.status_text({"onnx node": vars(gate.Counts(5, 1, 2, 0, ["test_x"]))})
        self.assertIn("| onnx node | 5 | 1 | 2 | 0 |", page)
        self.assertIn("- onnx node: `test_x`", page)


if __name__ == "__main__":
    unittest.main()
