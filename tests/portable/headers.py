#!/usr/bin/env python3
"""headers.py COMPILER [COMPILER...]: the headers of the SDK are plain C and C++20, so that any compiler takes them.

No header uses an extension of a compiler, or a header of one system, outside of an #if that asks for that compiler or system;
and each compiler takes each header alone, without a warning about what is not in the standard. Lines with such words are
planted, to see that they are found.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "ep-sdk" / "include"
COMPILERS: list[str] = []

FORBIDDEN = re.compile(
    r"""__builtin_\w+ | \b__attribute(__)?\b | \b__asm(__)?\b | \basm\b\s*[(v] | \b__extension__\b | \btypeof\b | \b__typeof\w*
    | \b__int128\b | \b__PRETTY_FUNCTION__\b | \b__(un)?likely\b | \bssize_t\b | \b__restrict(__)?\b | \b__inline__\b
    | ^\s*\#\s*pragma\s+(?!once) | \[\[(gnu|clang|msvc)::
    | ^\s*\#\s*include\s*<(sys/|unistd|dlfcn|pthread|fcntl|windows|io\.h|intrin|\w*intrin\.h|bits/|ext/|cxxabi|features)
    """,
    re.VERBOSE,
)
ASKS = re.compile(r"__GNUC__|__clang__|_MSC_VER|_WIN32|__linux__|__has_")


def without_comments(text: str) -> str:
    """The text with the same lines; comments are blank."""
    blank = lambda found: re.sub(r"[^\n]", " ", found[0])  # noqa: E731
    return re.sub(r"//[^\n]*|/\*.*?\*/", blank, text, flags=re.S)


def extensions_in(text: str) -> list[str]:
    """The lines that use what not every compiler and system has, outside of an #if that asks for it."""
    out, asked = [], []
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        directive = re.match(r"\s*#\s*(ifdef|ifndef|if|elif|else|endif)\b(.*)", line)
        if directive and directive[1].startswith("if"):
            asked.append(bool(ASKS.search(directive[2])))
        elif directive and directive[1] == "elif":
            asked[-1] = asked[-1] or bool(ASKS.search(directive[2]))
        elif directive and directive[1] == "endif":
            asked.pop()
        elif not any(asked) and FORBIDDEN.search(line):
            out.append(f"{number}: {line.strip()}")
    return out


class Headers(unittest.TestCase):
    def headers(self) -> list[pathlib.Path]:
        found = sorted(path for path in INCLUDE.rglob("*") if path.suffix in (".h", ".hpp"))
        names = {path.name for path in found}
        self.assertLessEqual({"ep.h", "ep.hpp", "groups.hpp", "trace.hpp", "provider.hpp", "numeric.hpp"}, names)
        return found

    def test_no_extensions(self):
        for path in self.headers():
            with self.subTest(path.name):
                self.assertEqual(extensions_in(path.read_text()), [])

    def test_planted_extensions_are_found(self):
        for line in ("int a = __builtin_clz(1);", "#pragma GCC visibility push(hidden)", "void f() __attribute__((cold));",
                     "#include <unistd.h>", "ssize_t n;", "[[gnu::noinline]] void f();", "  __int128 a;"):  # fmt: skip
            self.assertEqual(len(extensions_in(f"int before;\n{line}\n")), 1, line)
            self.assertEqual(extensions_in(f"#if defined(__GNUC__)\n{line}\n#endif\n"), [], line)
            self.assertEqual(extensions_in(f"// {line}\n/* a\n {line} */\n"), [], line)

    def compile(self, compiler: str, source: str, suffix: str) -> str:
        language = ["-x", "c", "-std=c11"] if suffix == ".h" else ["-x", "c++", "-std=c++20"]
        with tempfile.NamedTemporaryFile("w", suffix=suffix) as file:
            file.write(source)
            file.flush()
            words = [compiler, *language, "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{INCLUDE}", file.name]
            return subprocess.run(words, capture_output=True, text=True, check=False).stderr

    def test_each_header_alone_keeps_to_the_standard(self):
        for compiler in COMPILERS:
            for path in self.headers():
                with self.subTest(f"{compiler} {path.name}"):
                    source = f'#include "{path.relative_to(INCLUDE)}"\nextern int used;\n'
                    self.assertEqual(self.compile(compiler, source, path.suffix), "")

    def test_the_compilers_complain_of_extensions(self):
        for compiler in COMPILERS:
            self.assertNotEqual(self.compile(compiler, "__extension__ int a; int b[0];\n", ".hpp"), "", compiler)


if __name__ == "__main__":
    COMPILERS = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
