#!/usr/bin/env python3
"""tools/check_layers: this tree has no violation, and each planted one is found at its line."""

import importlib.machinery
import importlib.util
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def load_script():
    loader = importlib.machinery.SourceFileLoader("check_layers", str(ROOT / "tools" / "check_layers"))
    spec = importlib.util.spec_from_loader("check_layers", loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules["check_layers"] = module
    loader.exec_module(module)
    return module


check_layers = load_script()

# File, the line that breaks a rule, a word of the message.
BAD = [
    ("core/base/a.h", '#include "core/ir/graph.h"', "core/base may not include core/ir/graph.h"),
    ("core/ir/a.cc", '#include "core/ops/ops.h"', "core/ir may not include"),
    ("core/ops/a.cc", '#include "core/onnx/onnx.h"', "core/ops may not include"),
    ("core/onnx/a.cc", '#include "core/transform/transform.h"', "core/onnx may not include"),
    ("core/transform/a.cc", '#include "core/partition/partition.h"', "core/transform may not include"),
    ("core/partition/a.cc", '#include "core/plan/plan.h"', "core/partition may not include"),
    ("core/plan/a.cc", '#include "core/partition/partition.h"', "core/plan may not include"),
    ("core/ir/a.cc", '#include "host/config/config.h"', "core/ir may not include host"),
    ("core/ir/a.cc", "#include <google/protobuf/message.h>", "protobuf"),
    ("core/transform/a.cc", '#include "onnx/defs/schema.h"', "protobuf"),
    ("core/transform/a.cc", '#include "core/proto/type.h"', "core/transform may not include core/proto"),
    ("core/proto/a.cc", '#include "core/ops/ops.h"', "core/proto may not include core/ops"),
    ("host/session/a.cc", "#  include <onnx/onnx_pb.h>", "protobuf"),
    ("plugins/cpu/a.cc", '#include "tenon_onnx/onnx-ml.pb.h"', "protobuf"),
    ("core/ir/a.h", '#include "tenon/ep.hpp"', "core may not include <tenon/ep.hpp>"),
    ("core/ir/a.h", '#include "tenon/tenon.h"', "core may not include"),
    ("plugins/cpu/a.cc", '#include "core/base/status.h"', "plugins/cpu may not include core"),
    ("plugins/cpu/a.cc", '#include "../image/b.h"', "plugins/cpu may not include plugins/image"),
    ("plugins/cpu/a.cc", '#include "tenon/tenon.h"', "plugins may not include"),
    ("ep-sdk/include/tenon/ep.hpp", '#include "core/base/status.h"', "ep-sdk may not include core"),
    ("ep-sdk/cts/a.cc", '#include "core/base/status.h"', "ep-sdk/cts may not include core"),
    ("ep-sdk/cts/a.cc", '#include "tenon/tenon.hpp"', "ep-sdk/cts may not include"),
    ("tools/tenon/a.cc", '#include "host/session/session.h"', "tools/tenon may not include host"),
    ("host/base/a.cc", '#include "host/config/config.h"', "host/base may not include"),
    ("host/config/a.cc", '#include "host/provider/manifest.h"', "host/config may not include"),
    ("host/provider/a.cc", '#include "host/device/device.h"', "host/provider may not include"),
    ("host/services/a.cc", '#include "host/config/config.h"', "host/services may not include"),
    ("host/device/a.cc", '#include "host/exec/plan.h"', "host/device may not include"),
    ("host/operators/a.cc", '#include "host/selection/select.h"', "host/operators may not include"),
    ("host/exec/a.cc", '#include "host/control_flow/control_flow.h"', "host/exec may not include"),
    ("host/control_flow/a.cc", '#include "host/compile/build.h"', "host/control_flow may not include"),
    ("host/selection/a.cc", '#include "host/exec/plan.h"', "host/selection may not include"),
    ("host/compile/a.cc", '#include "host/session/session.h"', "host/compile may not include"),
    ("host/session/a.cc", '#include "host/api/border.h"', "host/session may not include"),
    ("host/api/a.cc", '#include "host/exec/plan.h"', "host/api may not include"),
    ("host/library/a.cc", '#include "host/base/fork.h"', "host/library may not include"),
    ("host/scan_helper/a.cc", '#include "host/config/config.h"', "host/scan_helper may not include"),
    ("host/python/a.cc", '#include "host/session/session.h"', "host/python may not include"),
    ("core/ir/a.cc", "#include <dlfcn.h>", "load libraries"),
    ("host/session/a.cc", "#include <boost/dll/shared_library.hpp>", "load libraries"),
    ("host/session/a.cc", 'auto* p = dlopen("x", 1);', "load libraries: dlopen"),
    ("core/plan/a.cc", "#include <thread>", "core has no threads"),
    ("core/partition/a.cc", 'if (id == "cuda") return 1;', 'known by name: "cuda"'),
    ("host/session/a.cc", 'order.push_back("cpu");', 'known by name: "cpu"'),
    ("host/session/a.cc", 'auto x = R"(onednn)";', 'known by name: "onednn"'),
]

GOOD = [
    ("core/ops/a.cc", '#include "onnx/defs/schema.h"'),
    ("core/onnx/a.cc", "#include <google/protobuf/message.h>"),
    ("core/proto/a.h", '#include "onnx/onnx_pb.h"'),
    ("core/ops/a.cc", '#include "core/proto/type.h"'),
    ("core/ir/a.h", '#include "tenon/ep.h"'),
    ("ep-sdk/cts/a.cc", '#include "tenon/tenon.h"'),
    ("ep-sdk/cts/a.cc", '#include "ep-sdk/cts/check.h"'),
    ("core/ir/a.h", '#include "ep-sdk/include/tenon/ep.h"'),
    ("host/session/a.cc", '#include "core/onnx/onnx.h"'),
    ("host/session/a.cc", '#include "tenon/tenon.h"'),
    ("host/provider/a.cc", "#include <boost/dll/shared_library.hpp>"),
    ("host/services/a.cc", "#include <thread>"),
    ("host/session/a.cc", '// order = ["cuda", "cpu"]'),
    ("host/session/a.cc", '/* dlopen("x") */ int x;'),
    ("host/provider/a.cc", 'case TENON_DEVICE_CPU: return "cpu";'),
    ("host/services/a.cc", 'if (controllers.find("cpu") == std::string::npos) return;'),
    ("host/session/a.cc", 'auto text = "use \\"cpu\\" or cuda";'),
    ("plugins/cpu/a.cc", '#include "tenon/ep.hpp"'),
    ("plugins/cpu/a.cc", 'io->set_id("cpu");'),
    ("plugins/cpu/kernels/a.cc", '#include "../b.h"'),
    ("tools/tenon/a.cc", '#include "tenon/tenon.hpp"'),
    ("tests/unit/core/ir/a.cc", '#include "core/onnx/onnx.h"'),
]

# Files that the relative includes above lead to.
PRESENT = ["plugins/image/b.h", "plugins/cpu/b.h", "ep-sdk/include/tenon/ep.h"]


class CheckLayers(unittest.TestCase):
    def violations(self, name: str, line: str) -> list:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for path in PRESENT:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text("")
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(f"// first line\n{line}\n")
            return check_layers.check_tree(root)

    def test_this_tree(self):
        self.assertEqual([str(violation) for violation in check_layers.check_tree(ROOT)], [])

    def test_no_row_includes_itself_through_others(self):
        def reach(row: str, way: tuple) -> None:
            self.assertNotIn(row, way, " -> ".join((*way, row)))
            for below in check_layers.MAY_INCLUDE[row]:
                reach(below, (*way, row))

        for row in check_layers.MAY_INCLUDE:
            reach(row, ())

    def test_each_stage_has_a_row_and_a_planted_violation(self):
        planted = {str(Path(name).parent) for name, _, _ in BAD}
        for layer in ("core", "host"):
            for folder in sorted((ROOT / layer).iterdir()):
                stage = f"{layer}/{folder.name}"
                if any(path.suffix in check_layers.SUFFIXES for path in folder.rglob("*")):
                    self.assertIn(stage, check_layers.MAY_INCLUDE)
                    self.assertTrue(stage in planted or stage == "host/include", stage)

    def test_planted_violations_are_found(self):
        for name, line, message in BAD:
            with self.subTest(file=name, line=line):
                found = self.violations(name, line)
                self.assertEqual(len(found), 1, found)
                self.assertTrue(str(found[0]).startswith(f"{name}:2: "), found[0])
                self.assertIn(message, str(found[0]))

    def test_what_is_allowed_passes(self):
        for name, line in GOOD:
            with self.subTest(file=name, line=line):
                self.assertEqual(self.violations(name, line), [])


if __name__ == "__main__":
    unittest.main()
