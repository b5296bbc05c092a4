"""Submitted Runs, asyncio and threads."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tenon
from models import matmul_chain, one_node

X = np.array([[-1.0, 2.0, -3.0, 4.0]], np.float32)


def test_run_async_gives_what_run_gives():
    session = tenon.Session(one_node("Relu"))

    async def main():
        return await asyncio.gather(*(session.run_async({"x0": X * i}) for i in range(50)))

    for i, out in enumerate(asyncio.run(main())):
        assert out["y"].tolist() == session.run({"x0": X * i})["y"].tolist()


def test_many_loops_one_after_the_other():
    session = tenon.Session(one_node("Relu"))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        asyncio.run(session.run_async({"x0": X}))
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_the_loop_goes_on_meanwhile():
    session = tenon.Session(matmul_chain(512, 12))
    x = np.ones((512, 512), np.float32)

    async def main():
        ticks = 0
        task = asyncio.ensure_future(session.run_async({"x": x}))
        while not task.done():
            await asyncio.sleep(0.001)
            ticks += 1
        return ticks, (await task)["y"].shape

    ticks, shape = asyncio.run(main())
    assert ticks >= 2 and shape == (512, 512)


def test_a_cancelled_task_cancels_its_run():
    session = tenon.Session(matmul_chain(1024, 16), {"threads": {"count": 1}})
    x = np.ones((1024, 1024), np.float32)

    async def main():
        task = asyncio.ensure_future(session.run_async({"x": x}))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return (await session.run_async({"x": x[:1]}))["y"].shape

    assert asyncio.run(main()) == (1, 1024)


def test_errors_of_asynchronous_runs():
    session = tenon.Session(one_node("Relu"))
    with pytest.raises(tenon.InvalidInputError, match="'nope'"):
        asyncio.run(session.run_async({"nope": X}))
    pending = session.submit({"x0": X.astype("d")})
    with pytest.raises(tenon.InvalidInputError, match="float32"):
        pending.result()
    with pytest.raises(tenon.DeadlineError):
        asyncio.run(tenon.Session(matmul_chain(512, 8)).run_async({"x": np.ones((512, 512), "f")}, timeout=1e-5))


def test_pending():
    session = tenon.Session(matmul_chain(256, 8))
    x = np.ones((256, 256), np.float32)
    pending = session.submit({"x": x})
    with pytest.raises(TimeoutError):
        tenon.Session(matmul_chain(1024, 16)).submit({"x": np.ones((1024, 1024), "f")}).result(0)
    assert pending.wait() and pending.done()
    assert np.array_equal(pending.result()["y"], session.run({"x": x})["y"])
    stopped = tenon.Cancel()
    stopped.trigger()
    with pytest.raises(tenon.CancelledError):
        session.submit({"x": x}, cancel=stopped).result()
    late = session.submit({"x": x})
    late.cancel()
    try:
        late.result()
    except tenon.CancelledError:
        pass


def test_a_pending_run_keeps_its_inputs_and_session():
    class Mine(np.ndarray):
        pass

    session = tenon.Session(matmul_chain(256, 8))
    expected = session.run({"x": np.ones((64, 256), np.float32)})["y"]
    x = np.ones((64, 256), np.float32)
    gone = weakref.ref(x)
    pending = session.submit({"x": x})
    del x, session
    gc.collect()
    assert np.array_equal(pending.result()["y"], expected)
    del pending
    tenon.Session(one_node("Relu")).run({"x0": X})  # empties the lists
    gc.collect()
    assert gone() is None


def test_forgotten_runs():
    session = tenon.Session(matmul_chain(128, 4))
    for _ in range(200):
        session.submit({"x": np.ones((16, 128), np.float32)})
    assert session.run({"x": np.ones((16, 128), np.float32)})["y"].shape == (16, 128)


def test_threads_share_a_session():
    session = tenon.Session(matmul_chain(64, 4))
    rng = np.random.default_rng(1)
    inputs = [rng.standard_normal((1 + i % 5, 64)).astype("f") for i in range(40)]
    expected = [session.run({"x": x})["y"] for x in inputs]
    with ThreadPoolExecutor(8) as pool:
        for x, y in zip(pool.map(lambda x: session.run({"x": x})["y"], inputs * 5), expected * 5):
            assert np.allclose(x, y, atol=1e-6)


def test_the_lock_is_released_in_a_run():
    session = tenon.Session(matmul_chain(512, 16), {"threads": {"count": 1}})
    x = np.ones((512, 512), np.float32)
    session.run({"x": x})
    counted = 0
    over = threading.Event()

    def run():
        session.run({"x": x})
        over.set()

    thread = threading.Thread(target=run)
    thread.start()
    while not over.is_set():
        counted += 1
        time.sleep(0.0005)
    thread.join()
    assert counted > 3


def test_a_binding_is_for_one_thread():
    session = tenon.Session(matmul_chain(512, 16))
    binding = session.bind({"x": np.ones((512, 512), np.float32)})
    refused = []

    def run():
        try:
            binding.run()
        except tenon.InvalidInputError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("another thread uses this binding" in text for text in refused) and len(refused) < 4
    binding.run()


def test_closing_while_threads_run():
    session = tenon.Session(matmul_chain(256, 8))
    x = np.ones((64, 256), np.float32)
    stopped = []

    def run():
        while True:
            try:
                session.run({"x": x})
            except tenon.InvalidInputError:
                stopped.append(1)
                return

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    session.close()
    for thread in threads:
        thread.join()
    assert len(stopped) == 4
