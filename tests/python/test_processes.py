"""fork, spawn, and the end of the interpreter with whatever is under way."""

from __future__ import annotations

import os

import pytest

HEAD = """
import asyncio, os, sys, threading, time, multiprocessing
import numpy as np
import tenon
from models import matmul_chain, one_node
SLOW = matmul_chain(384, 12)
X = np.ones((384, 384), np.float32)
ONE = np.ones((1, 4), np.float32)

def work(data):
    return tenon.Session(data).run({"x0": ONE})["y"].tolist()

"""

# How a program may end. Each must end by itself: no signal, no hang.
ORDERS = {
    "live sessions": "a = tenon.Session(SLOW); a.run({'x': X}); b = a.bind({'x': X}); b.run(); s = a.explain()",
    "a cycle with a session": "class C: pass\nc = C(); c.me = c; c.s = tenon.Session(SLOW); c.f = c.s.run; c.out = c.s.run({'x': X})",
    "daemon threads in runs": """s = tenon.Session(SLOW)
def loop():
    while True: s.run({'x': X})
for _ in range(4): threading.Thread(target=loop, daemon=True).start()
time.sleep(0.1)""",
    "daemon threads that make sessions": """def loop():
    while True: tenon.Session(SLOW).run({'x': X[:4]})
for _ in range(3): threading.Thread(target=loop, daemon=True).start()
time.sleep(0.1)""",
    "daemon threads that make sessions with progress": """from tenon.onnxruntime import InferenceSession
def loop():
    while True: InferenceSession(SLOW).run(None, {'x': X[:4]})
for _ in range(3): threading.Thread(target=loop, daemon=True).start()
time.sleep(0.1)""",
    "threads that are waited for": """s = tenon.Session(SLOW)
for _ in range(4): threading.Thread(target=lambda: [s.run({'x': X}) for _ in range(3)]).start()""",
    "submitted runs": "s = tenon.Session(SLOW)\np = [s.submit({'x': X}) for _ in range(20)]",
    "submitted and forgotten": "s = tenon.Session(SLOW)\nfor _ in range(20): s.submit({'x': X})\ndel s",
    "an open event loop": """s = tenon.Session(SLOW)
loop = asyncio.new_event_loop()
tasks = [loop.create_task(s.run_async({'x': X})) for _ in range(8)]
loop.run_until_complete(asyncio.sleep(0.02))""",
    "sys.exit in a thread's run": """s = tenon.Session(SLOW)
threading.Thread(target=lambda: [s.run({'x': X}) for _ in range(1000)], daemon=True).start()
time.sleep(0.05)
sys.exit(0)""",
    "an exception with threads": """s = tenon.Session(SLOW)
threading.Thread(target=lambda: [s.run({'x': X}) for _ in range(1000)], daemon=True).start()
sys.excepthook = lambda *a: None
import atexit; atexit.register(lambda: s.run({'x': X[:2]}))""",
    "forked workers": """s = tenon.Session(one_node('Relu')); s.run({'x0': ONE})
with multiprocessing.get_context('fork').Pool(2) as pool:
    assert pool.map(work, [one_node('Neg')] * 4) == [[[-1.0] * 4]] * 4""",
    "spawned workers": """if __name__ == '__main__':
    s = tenon.Session(one_node('Relu')); s.run({'x0': ONE})
    with multiprocessing.get_context('spawn').Pool(2) as pool:
        assert pool.map(work, [one_node('Neg')] * 4) == [[[-1.0] * 4]] * 4""",
}
TIMES = int(os.environ.get("TENON_TEST_EXITS", "2"))


@pytest.mark.parametrize("order", ORDERS)
def test_the_end_of_a_process(script, order):
    for _ in range(TIMES):
        script(HEAD + ORDERS[order], timeout=60)


def test_a_session_of_the_parent_says_so_in_a_child(script):
    out = script(
        HEAD
        + """
s = tenon.Session(one_node('Relu')); s.run({'x0': ONE})
binding = s.bind({'x0': ONE})
pid = os.fork()
if pid == 0:
    for call in (lambda: s.run({'x0': ONE}), lambda: s.submit({'x0': ONE}).result(), binding.run):
        try:
            call()
            print("no error")
        except tenon.Error as error:
            print(type(error).__name__, "process" in str(error))
    print(tenon.Session(one_node('Neg')).run({'x0': ONE})['y'].tolist())
    sys.stdout.flush()
    del s, binding
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
print(s.run({'x0': ONE})['y'].tolist())
"""
    )
    assert out.count("True") == 3 and "no error" not in out, out
    assert "[[-1.0, -1.0, -1.0, -1.0]]" in out and "[[1.0, 1.0, 1.0, 1.0]]" in out


def test_a_second_interpreter_is_refused(script):
    out = script(
        """
import tenon
try:
    import _xxsubinterpreters as sub
except ImportError:
    import _interpreters as sub
id = sub.create()
try:
    error = sub.run_string(id, "import tenon._tenon")  # from 3.13 on it gives what was raised
    print("refused" if error is not None else "imported", error)
except Exception as error:
    print("refused", error)
"""
    )
    assert "refused" in out
