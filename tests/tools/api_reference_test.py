#!/usr/bin/env python3
"""tools/api_reference.py says all that the headers declare, and nothing of what is private."""

import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import api_reference  # noqa: E402

HEADER = """
#include <x>
namespace tenon {
/// Says { and ; as it likes.
class Thing : public Base {
 public:
  /// Made of `n`.
  explicit Thing(int n = {}) : n_(n), m_{1} {
    if (n) { n_ = 2; }
  }
  // not for the page
  template <class T>
  T get() const { return "}"; }
  int open = 1;  // for all

 private:
  int n_;
};
namespace detail {
inline void hidden() {}
}  // namespace detail
inline int twice(int n) { return 2 * n; }
}  // namespace tenon
"""


class ApiReference(unittest.TestCase):
    def test_a_class_with_its_public_members(self):
        self.assertEqual(api_reference.cpp_reference(HEADER).splitlines(), [
            "### class Thing", "", "Says { and ; as it likes.", "", "- `Thing(int n = {})`: Made of `n`.",
            "- `template <class T> T get() const`", "- `int open = 1`: for all", "", "### Functions", "", "- `int twice(int n)`"])

    def test_the_c_header_is_there_as_a_whole(self):
        header = (ROOT / "host/include/tenon/tenon.h").read_text()
        page = api_reference.c_reference(header)
        code = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
        table = re.search(r"typedef struct tenon_api \{(.*?)\} tenon_api;", code, re.S)[1]
        names = re.findall(r"\(\*(\w+)\)", table) + re.findall(r"\b(TENON_[A-Z_0-9]+) = ", code)
        names += re.findall(r"typedef struct (\w+) \{", code)
        self.assertGreater(len(names), 60)
        for name in names:
            self.assertRegex(page, rf"[` ]{name}\b", name)

    def test_every_function_of_the_c_api_has_a_sentence_on_threads(self):
        header = (ROOT / "host/include/tenon/tenon.h").read_text()
        words = r"Thread-safe[.;]|No other call may use `\w+` meanwhile"
        functions = api_reference.table_of_functions(header)
        self.assertEqual(len(functions), len(re.findall(r"\(\*\w+\)\(", header[header.index("typedef struct tenon_api {"):])))
        for function in functions:
            self.assertRegex(function, words)
        self.assertRegex(re.search(r"/\*(?:(?!\*/).)*\*/\nTENON_API_EXPORT const tenon_api\* tenon_get_api", header, re.S)[0], words)

    def test_the_cpp_header_is_there_as_a_whole(self):
        header = "".join((ROOT / "host/include/tenon" / name).read_text() for name in ("value.hpp", "operator.hpp", "run.hpp", "tenon.hpp"))
        header = re.sub(r"namespace detail \{.*?\}  // namespace detail", "", header, flags=re.S)
        page = api_reference.cpp_reference(header)
        for name in re.findall(r"^(?:class|struct) (\w+)", header, re.M):
            self.assertIn(f" {name}\n", page, name)
        for name in ("try_make", "bind_output", "mutable_data", "describe_providers"):
            self.assertIn(name, page)
        for name in ("take_text", "typed", "value_ "):
            self.assertNotIn(name, page)


if __name__ == "__main__":
    unittest.main()
