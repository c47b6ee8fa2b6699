import asyncio
import threading
import time

import numpy
import pytest

import headrace as hr

ONES = numpy.ones((3, 2), numpy.float32)


def test_inputs_and_outputs_are_used_in_place(doubling):
    call = doubling.call("infer")
    source, out = ONES.copy(), numpy.zeros((3, 2), numpy.float32)
    call["x"] = source
    call.bind_output("y", out)
    call.run()
    assert (out == 2).all()
    assert call["y"].data_address == out.ctypes.data
    source[:] = 5
    call.run()
    assert (out == 10).all()
    call.bind_output("y", None)
    call.run()
    assert call["y"].data_address != out.ctypes.data


def test_operators_see_the_memory_of_arrays(spy):
    call, seen = spy
    call["x"] = ONES
    call.run()
    assert seen == [ONES.ctypes.data]


def test_names_of_signatures_and_of_values(doubling):
    assert doubling.run({"x": [[1, 2]]}, "y").tolist() == [[2, 4]]
    outputs = doubling.run({"x": ONES}, ["y", "Mul:0"])
    assert [one.tolist() for one in outputs] == [(2 * ONES).tolist()] * 2


@pytest.mark.parametrize("feeds, error", [
    ({"x": numpy.ones((3, 2))}, hr.InvalidArgument),               # float64
    ({"x": numpy.ones((3, 3), numpy.float32)}, hr.InvalidArgument),
    ({"x": ONES, "z": ONES}, hr.NotFound),
    ({}, hr.InvalidArgument),
])
def test_wrong_feeds(doubling, feeds, error):
    with pytest.raises(error):
        doubling.run(feeds, "y")
    assert doubling.run({"x": ONES}, "y").shape == (3, 2)


def test_results_that_are_taken_are_kept(doubling):
    call = doubling.call("infer")
    call["x"] = ONES
    call.run()
    kept = call.take("y")
    call["x"] = 3 * ONES
    call.run()
    assert kept.tolist() == (2 * ONES).tolist() and call["y"][0, 0] == 6
    assert call.output_type("y") == (hr.float32, (3, 2))


def test_an_array_may_go_while_it_is_bound(doubling):
    call = doubling.call("infer")
    call["x"] = numpy.full((1000, 2), 4, numpy.float32)
    junk = [numpy.zeros((1000, 2), numpy.float32) for _ in range(20)]
    call.run()
    assert (call["y"].numpy() == 8).all() and junk


def test_runs_in_the_background(doubling):
    call = doubling.call("infer")
    call["x"] = ONES
    run = call.start()
    run.wait(timeout=10)
    assert run.done() and call["y"][0, 0] == 2
    seen = threading.Event()
    call.start().add_done_callback(lambda failure: failure is None and seen.set())
    assert seen.wait(10)
    seen.clear()
    time.sleep(0.05)
    call.start().on_done(lambda failure: failure is None and seen.set())
    assert seen.wait(10)


def test_runs_are_awaited(doubling):
    async def serve():
        calls = [doubling.call("infer") for _ in range(3)]
        for number, call in enumerate(calls):
            call["x"] = number * ONES
        await asyncio.gather(*(asyncio.wait_for(call.start(), 10) for call in calls))
        return [call["y"][0, 0] for call in calls]

    async def fail():
        await doubling.call("infer").start()

    assert asyncio.run(serve()) == [0, 2, 4]
    with pytest.raises(hr.InvalidArgument):
        asyncio.run(fail())


def test_a_run_may_outlive_the_loop_that_awaited_it(monkeypatch):
    go, reported, ended = threading.Event(), [], threading.Event()
    monkeypatch.setattr(threading, "excepthook", reported.append)

    class Wait(hr.Operator):
        name = "test.Wait"

        def compute(self, node, inputs, outputs):
            go.wait(20)

    env = hr.Env()
    Wait().add_to(env)
    g = hr.Graph(env)
    x = g.input("x", "float32", [1])
    g.signature("s", {"x": x}, {"y": g.op("test.Wait", x)})
    call = g.model().session().call("s")
    call["x"] = [1.0]
    run = call.start()

    async def impatient():
        await asyncio.wait_for(run, 0.01)

    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(impatient())
    run.add_done_callback(lambda failure: ended.set())  # called after the loop's
    go.set()
    assert ended.wait(20) and not reported


def test_a_queue_has_what_has_ended(doubling):
    queue = hr.Queue()
    call = doubling.call("infer")
    call["x"] = ONES
    assert queue.poll() is None
    call.start().enqueue(queue, 7)
    assert queue.wait(timeout=10) == (7, None)
    with pytest.raises(hr.DeadlineExceeded):
        queue.wait(timeout=0.01)
    assert queue.fileno() > 0


def test_use_after_close(doubling):
    call = doubling.call("infer")
    call["x"] = ONES
    doubling.close()
    doubling.close()
    for use in (lambda: doubling.run({"x": ONES}, "y"), call.run, lambda: doubling.step,
                lambda: doubling.call("infer")):
        with pytest.raises(hr.FailedPrecondition, match="close"):
            use()
    call.close()
    with pytest.raises(hr.FailedPrecondition, match="closed"):
        call.run()


def test_closing_while_other_threads_run(doubling):
    problems = []

    def serve():
        call = doubling.call("infer")
        call["x"] = numpy.ones((20000, 2), numpy.float32)
        try:
            while True:
                call.run()
        except hr.FailedPrecondition:
            pass
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=serve) for _ in range(3)]
    for one in threads:
        one.start()
    time.sleep(0.1)
    doubling.close()
    for one in threads:
        one.join(20)
    assert problems == [] and not any(one.is_alive() for one in threads)


def test_a_call_that_another_thread_uses_is_closed(doubling):
    call = doubling.call("infer")
    call["x"] = numpy.ones((100000, 2), numpy.float32)
    stopped = threading.Event()

    def run():
        try:
            while True:
                call.run()
        except hr.FailedPrecondition:
            stopped.set()

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.05)
    call.close()
    assert stopped.wait(10)
    thread.join()


def test_timeouts_and_tokens(doubling):
    token = hr.Cancel()
    token.trigger()
    call = doubling.call("infer")
    call["x"] = ONES
    with pytest.raises(hr.Cancelled):
        call.run(cancel=token)
    call.run(timeout=10)
    with pytest.raises(TypeError):
        call.run(timeout="soon")
    with pytest.raises(ValueError):
        call.run(timeout=float("nan"))


def test_checkpoints_and_export(tmp_path, learner, points):
    one = learner()
    one.fit(points, epochs=3, progress=False)
    one.save(tmp_path / "saved")
    one.export(tmp_path / "net.hrg")
    expected = one.predict(points[0])
    two = learner(seed=5)
    assert not numpy.array_equal(two.predict(points[0]), expected)
    assert two.restore(tmp_path / "saved")["step"] == one.session.step == two.session.step
    assert numpy.array_equal(two.predict(points[0]), expected)
    served = hr.load(tmp_path / "net.hrg").session()
    assert numpy.array_equal(served.predict(points[0]), expected)
    assert hr.describe_checkpoint(tmp_path / "saved")
    assert "segments" in str(hr.describe_file(tmp_path / "net.hrg"))
    with pytest.raises(hr.NotFound):
        two.restore(tmp_path / "nothing")


def test_variables_are_set_and_got(learner):
    session = learner().session
    assert len(session.variables) == len(list(session.variables))
    session.variables["dense/bias"] = [0.5] * 24
    assert session.variables["dense/bias"].tolist() == [0.5] * 24
    for name, value, error in (("dense/bias", [1.0], hr.InvalidArgument),
                               ("none", [1.0], hr.NotFound)):
        with pytest.raises(error):
            session.set_variable(name, numpy.array(value, numpy.float32))


def test_models_load_from_anything(tmp_path, doubling):
    path = tmp_path / "größe 😀.hrg"
    doubling.model.graph().save(path)
    data = path.read_bytes()
    with open(path, "rb") as file:
        for source in (path, str(path), data, bytearray(data), memoryview(data), file):
            assert hr.load(source).session().run({"x": ONES}, "y")[0, 0] == 2
    with pytest.raises(hr.Error):
        hr.load(data[:100])
    with pytest.raises(hr.NotFound):
        hr.load(tmp_path / "none.hrg")
    with pytest.raises(hr.InvalidArgument, match="NUL"):
        hr.load("a\0b")


def test_a_reader_that_fails(tmp_path, doubling):
    class Broken:
        def seek(self, offset, whence=0):
            return 5000

        def read(self, count):
            raise OSError("the disk is gone")

    with pytest.raises(hr.Error, match="the disk is gone") as caught:
        hr.load(Broken())
    assert isinstance(caught.value.__cause__, OSError)


def test_describing(doubling):
    assert doubling.describe()["step"] == 0
    call = doubling.call("infer")
    call["x"] = ONES
    assert call.describe()
    profile = call.profile()
    assert profile["steps"] and numpy.array_equal(call["y"].numpy(), 2 * ONES)
    doubling.trim()
    assert '"nodes"' in doubling.model.view() and "digraph" in doubling.model.view("dot", "infer")
    assert "<table>" in doubling._repr_html_() and "Headrace model" in doubling.model._repr_html_()
    assert hr.default_env().describe()["threads"]


def test_a_table_of_costs_that_is_damaged_is_refused(tmp_path):
    file = tmp_path / "costs"
    with pytest.raises(hr.NotFound, match="costs"):
        hr.Env(cost_table=file)
    file.write_text("not a table\n")
    with pytest.raises(hr.DataLoss, match="does not begin"):
        hr.Env(cost_table=file)


def test_custom_calls():
    g = hr.Graph()
    x = g.input("x", "float32", [])
    y = x + 1
    z = y * 2
    session = g.model().session()
    call = session.call(feeds=[y.name], fetches=[z.name])
    call[y.name] = 5.0
    call.run()
    assert call[z.name].item() == 10
