#!/usr/bin/env python3
"""tools/check_hardening sees each thing that a file may lack."""

import importlib.machinery
import importlib.util
import pathlib
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/check_hardening"
loader = importlib.machinery.SourceFileLoader("check_hardening", str(TOOL))
spec = importlib.util.spec_from_loader("check_hardening", loader)
tool = importlib.util.module_from_spec(spec)
loader.exec_module(tool)

GOOD = """\
  Type:                              DYN (Shared object file)
  GNU_STACK      0x000000 0x0000000000000000 0x0000000000000000 0x000000 0x000000 RW  0x1
  GNU_RELRO      0x01ad70 0x000000000001ad70 0x000000000001ad70 0x001290 0x001290 R   0x1
 0x000000000000001e (FLAGS)              BIND_NOW
 0x000000006ffffffb (FLAGS_1)            Flags: NOW
     4: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND __stack_chk_fail@GLIBC_2.4 (3)
"""


class Hardening(unittest.TestCase):
    def test_good(self):
        self.assertEqual(tool.problems_of(GOOD), [])

    def test_each_lack_is_seen(self):
        for old, new, says in (
            ("DYN (Shared", "EXEC (Exec", "position-independent"),
            ("GNU_RELRO", "GNU_OTHER", "RELRO"),
            ("BIND_NOW", "ORIGIN", ""),  # the other flag still says it
            ("BIND_NOW", "TEXTREL", "TEXTREL"),
            ("RW  0x1", "RWE 0x1", "stack"),
            ("__stack_chk_fail", "memcpy", "protector"),
        ):
            problems = tool.problems_of(GOOD.replace(old, new))
            self.assertEqual(len(problems), 1 if says else 0, old)
            if says:
                self.assertIn(says, problems[0])
        lazy = GOOD.replace("BIND_NOW", "ORIGIN").replace("Flags: NOW", "Flags: PIE")
        self.assertIn("BIND_NOW", tool.problems_of(lazy)[0])

    def test_flags(self):
        root = pathlib.Path("/checkout")
        good = {"file": "/checkout/core/a.cc", "command": "g++ " + " ".join(tool.COMPILED_WITH)}
        foreign = {"file": "/checkout/build/onnx/b.cc", "command": "g++"}
        self.assertEqual(tool.check_flags([good, foreign], root), [])
        for flag in tool.COMPILED_WITH:
            bad = good | {"command": good["command"].replace(flag, "")}
            self.assertIn(flag, tool.check_flags([bad], root)[0])


if __name__ == "__main__":
    unittest.main()
