#!/usr/bin/env python3
"""next_header.py EP_H OUT: writes an invented next minor of ep.h, with all that a later minor may append.

One function at the end of each table, one field at the end of every other struct that begins with struct_size, and the number
of the minor. The names say nothing: `device_sleep`, `observe`, `hint`. The field is two words of 32 bits, so that no struct
gets another alignment.
"""

import re
import sys
from pathlib import Path

TABLES = {
    "tenon_ep_api": "  tenon_status (*device_sleep)(tenon_device* device, uint64_t nanoseconds, tenon_error* error);\n",
    "tenon_host_api": "  void (*observe)(tenon_host_provider* host, tenon_str what);\n",
}
ROW = " \\\n  X(device_sleep, OPTIONAL, ANY, QUICK)"
FIELD = "  uint32_t hint[2];\n"
STRUCT = re.compile(r"typedef struct (\w+) \{\n  uint32_t struct_size;.*?(?=^\} \1;)", re.DOTALL | re.MULTILINE)
SLOTS = re.compile(r"^#define TENON_EP_SLOTS\(X\)(?:[^\n]*\\\n)+[^\n]*", re.MULTILINE)
MINOR = re.compile(r"(#define TENON_EP_ABI_MINOR )(\d+)u")


def once(found: tuple[str, int], what: str) -> str:
    text, count = found
    if count != 1:
        sys.exit(f"next_header: {count} times {what} in ep.h")
    return text


def next_header(text: str) -> str:
    text = once(MINOR.subn(lambda match: f"{match[1]}{int(match[2]) + 1}u", text), "TENON_EP_ABI_MINOR")
    text = once(SLOTS.subn(lambda match: match[0] + ROW, text), "TENON_EP_SLOTS")
    grown = set()

    def grow(match: re.Match) -> str:
        grown.add(match[1])
        return match[0] + TABLES.get(match[1], FIELD)

    text = STRUCT.sub(grow, text)
    missing = (TABLES.keys() | {"tenon_run_args", "tenon_compile_args"}) - grown
    if missing:
        sys.exit(f"next_header: found no {', '.join(sorted(missing))}")
    return text


if __name__ == "__main__":
    Path(sys.argv[2]).parent.mkdir(parents=True, exist_ok=True)
    Path(sys.argv[2]).write_text(next_header(Path(sys.argv[1]).read_text()))
