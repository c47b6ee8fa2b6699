import threading
import time

import numpy
import pytest

import headrace as hr


@pytest.fixture
def ranks():
    """Calls a function with the group of each of N ranks, which are threads, and gives the results.

    What a rank raises is its result."""
    made = []

    def run(function, size=3, **options):
        store = hr.Store("memory:")
        results = [None] * size

        def serve(rank):
            try:
                group = hr.Group(rank, size, store, timeout=20, **options)
                made.append(group)
                results[rank] = function(group)
            except BaseException as error:
                results[rank] = error

        threads = [threading.Thread(target=serve, args=(rank,)) for rank in range(size)]
        for one in threads:
            one.start()
        for one in threads:
            one.join(60)
        return results

    yield run
    for group in made:
        group.close()


def of_rank(group, *shape):
    return numpy.full(shape, group.rank + 1, numpy.float32)


OPERATIONS = {
    "all_reduce": (lambda g: g.all_reduce(of_rank(g, 4)).tolist(), lambda r: [6] * 4),
    "average": (lambda g: g.all_reduce(of_rank(g, 2), "average").tolist(), lambda r: [2] * 2),
    "max": (lambda g: g.all_reduce(of_rank(g, 2), "max", out=numpy.zeros(2, "float32")).tolist(),
            lambda r: [3] * 2),
    "broadcast": (lambda g: g.broadcast(of_rank(g, 2), root=1).tolist(), lambda r: [2] * 2),
    "reduce": (lambda g: (g.reduce(of_rank(g, 2)) if g.rank else
                          g.reduce(of_rank(g, 2)).tolist()), lambda r: None if r else [6] * 2),
    "all_gather": (lambda g: g.all_gather(of_rank(g, 1)).tolist(), lambda r: [[1], [2], [3]]),
    "gather": (lambda g: (g.gather(of_rank(g, 1), root=2), g.rank)[1], lambda r: r),
    "scatter": (lambda g: g.scatter(numpy.arange(6.0).reshape(3, 2) if g.rank == 0 else None,
                                    numpy.zeros(2)).tolist(),
                lambda r: [2.0 * r, 2.0 * r + 1]),
    "reduce_scatter": (lambda g: g.reduce_scatter(
        numpy.arange(3, dtype="float32").reshape(3, 1)).tolist(), lambda r: [3.0 * r]),
    "all_to_all": (lambda g: g.all_to_all(10 * g.rank + numpy.arange(3)).tolist(),
                   lambda r: [r, 10 + r, 20 + r]),
    "barrier": (lambda g: g.barrier(), lambda r: None),
    "general": (lambda g: (lambda x: (g.run({"kind": "all_reduce", "input": x, "output": x,
                                             "op": "sum"}), x.tolist())[1])(of_rank(g, 2)),
                lambda r: [6] * 2),
    "split": (lambda g: g.split(g.rank % 2).size, lambda r: 1 if r == 1 else 2),
    "no split": (lambda g: g.split(-1), lambda r: None),
    "explain": (lambda g: "algorithm" in g.explain({"kind": "all_reduce", "count": 4,
                                                    "dtype": "float32", "op": "sum"}),
                lambda r: True),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name, ranks):
    operation, expected = OPERATIONS[name]
    assert ranks(operation) == [expected(rank) for rank in range(3)]


def test_arrays_are_used_in_place(ranks):
    def reduce(group):
        array = of_rank(group, 1000)
        assert group.all_reduce(array) is array
        tensor = hr.Tensor(array)
        group.all_reduce(tensor)
        return array[0]
    assert ranks(reduce) == [18] * 3


@pytest.mark.parametrize("how", ["wait", "callback", "queue", "on_done", "dropped"])
def test_works_end(how, ranks):
    def talk(group):
        to, source = (group.rank + 1) % 3, (group.rank - 1) % 3
        box = numpy.zeros(5)
        receive = group.start_recv(box, source, tag=4)
        send = group.start_send(numpy.full(5, float(group.rank)), to, tag=4)
        if how == "dropped":
            del send
            receive.wait()
        else:
            for one in (send, receive):
                wait_by(how, one)
        assert how == "dropped" or receive.done()
        return box.tolist()

    def wait_by(how, work):
        ended = threading.Event()
        if how == "wait":
            work.wait()
        elif how == "queue":
            queue = hr.Queue()
            work.enqueue(queue, 1)
            assert queue.wait(timeout=20) == (1, None)
        else:
            (work.add_done_callback if how == "callback" else work.on_done)(
                lambda failure: failure is None and ended.set())
            assert ended.wait(20)

    assert ranks(talk) == [[float((rank - 1) % 3)] * 5 for rank in range(3)]


def test_collective_works(ranks):
    def start(group):
        size, x = group.size, of_rank(group, 3)
        out, one = numpy.zeros((size, 3), "float32"), numpy.zeros(1, "float32")
        for work in (group.start_barrier(), group.start_broadcast(of_rank(group, 2)),
                     group.start_all_reduce(x), group.start_all_gather(of_rank(group, 3), out),
                     group.start_reduce(of_rank(group, 3), numpy.zeros(3, "float32")),
                     group.start_gather(of_rank(group, 3), numpy.zeros((size, 3), "float32")),
                     group.start_scatter(of_rank(group, 3), one),
                     group.start_reduce_scatter(of_rank(group, 3), one.copy()),
                     group.start_all_to_all(of_rank(group, 3), numpy.zeros(3, "float32")),
                     group.start({"kind": "barrier", "dtype": "float32", "count": 0})):
            work.wait()
        return x.tolist(), out[:, 0].tolist(), one.tolist()
    assert ranks(start) == [([6] * 3, [1, 2, 3], [1])] * 3


def test_operations_that_differ_end_the_group_alike(ranks):
    def differ(group):
        group.all_reduce(numpy.zeros(2 + group.rank, "float32"))

    failures = ranks(differ, 2)
    assert all(isinstance(one, hr.FailedPrecondition) for one in failures), failures
    assert str(failures[0]) == str(failures[1])


def test_aborting(ranks):
    def abort(group):
        if group.rank == 1:
            group.abort("enough €😀")
        while True:
            group.barrier()

    failures = ranks(abort)
    assert all(isinstance(one, hr.Aborted) and "enough €😀" in str(one)
               for one in failures), failures


def test_a_rank_that_leaves(ranks):
    def leave(group):
        if group.rank == 2:
            group.close()
            return "left"
        group.recv(numpy.zeros(1), 2)

    results = ranks(leave)
    assert results[2] == "left" and isinstance(results[0], hr.Unavailable)


def test_shrinking(ranks):
    def shrink(group):
        if group.rank == 1:
            group.close()
            return None
        with pytest.raises(hr.Unavailable):
            group.barrier()
        smaller = group.shrink(timeout=20)
        result = smaller.all_reduce(numpy.ones(1)).item()
        smaller.close()
        return result, smaller is not group

    assert ranks(shrink, silence=2.0) == [(2.0, True), None, (2.0, True)]


@pytest.mark.parametrize("bad", [
    lambda g: g.send([1, 2], 1), lambda g: g.send(numpy.zeros((4, 4))[:, ::2], 1),
    lambda g: g.send(numpy.zeros(1), 9), lambda g: g.all_reduce(numpy.zeros(2), "median"),
    lambda g: g.all_reduce(numpy.zeros(2), out=numpy.zeros(1)),
    lambda g: g.recv(numpy.frombuffer(bytes(8)), 0), lambda g: g.reduce_scatter(numpy.zeros(7)),
    lambda g: g.run({"kind": "all_reduce", "count": 100, "dtype": "float32",
                     "input": numpy.zeros(1, "float32"), "output": numpy.zeros(1, "float32")}),
    lambda g: g.run({"kind": "barrier", "nonsense": 1}),
])
def test_bad_arguments_harm_nobody(bad, ranks):
    def use(group):
        if group.rank == 0:
            with pytest.raises((hr.Error, TypeError)):
                bad(group)
        return group.all_reduce(numpy.ones(1)).item()

    assert ranks(use, 2) == [2.0] * 2


def test_an_array_may_go_while_it_is_sent(ranks):
    def talk(group):
        if group.rank == 0:
            work = group.start_send(numpy.arange(300000.0), 1)
            junk = [numpy.zeros(300000) for _ in range(5)]
            work.wait()
            return len(junk)
        time.sleep(0.1)
        return group.recv(numpy.zeros(300000), 0)[-1]

    assert ranks(talk, 2) == [5, 299999.0]


def test_timeouts():
    with pytest.raises(hr.DeadlineExceeded):
        hr.Group(0, 2, hr.Store("memory:"), timeout=0.2)
    token = hr.Cancel()
    threading.Timer(0.2, token.trigger).start()
    with pytest.raises(hr.Cancelled):
        hr.Group(0, 2, hr.Store("memory:"), cancel=token)


def test_stores(tmp_path):
    assert hr.Store(f"file:{tmp_path}").url.startswith("file:")
    with hr.Store("tcp:127.0.0.1:0", serve=True) as served:
        assert "127.0.0.1" in served.url and not served.url.endswith(":0")
    with pytest.raises(hr.InvalidArgument):
        hr.Store("nonsense:")


def test_stores_of_functions():
    values, lock = {}, threading.Lock()

    def swap(key, expected, desired):
        with lock:
            if values.get(key) != expected:
                return False
            values[key] = desired
            return True

    store = hr.Store.from_functions(values.get, swap, lambda key: values.pop(key, None))
    results = []

    def serve(rank):
        with hr.Group(rank, 2, store, timeout=20) as group:
            results.append(group.all_reduce(numpy.ones(1)).item())

    threads = [threading.Thread(target=serve, args=(rank,)) for rank in (0, 1)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert results == [2.0, 2.0] and values


def test_stores_of_functions_that_fail():
    def fail(*_):
        raise hr.Unavailable("no store today")

    store = hr.Store.from_functions(fail, fail, fail)
    with pytest.raises(hr.Error, match="no store today"):
        hr.Group(0, 2, store, timeout=2)


def test_launch_and_descriptions(ranks):
    with hr.Launch() as launch:
        assert (launch.rank, launch.size, launch.epoch) == (0, 1, 0)
        assert launch.describe() and launch.store == "memory:" and launch.local_size in (0, 1)
    assert ranks(lambda g: (g.epoch, g.failure, g.describe()["name"], len(str(g.dump())) > 0)) == [
        (0, None, "world", True)] * 3


STUCK = """
import ctypes, sys, numpy
import headrace as hr
store = hr.Store(sys.argv[1])
with hr.Group(int(sys.argv[2]), 2, store, timeout=20, silence=1.0) as group:
    box = numpy.zeros(1)
    ended = []
    work = group.start_recv(box, 1 - group.rank, tag=5)
    work.add_done_callback(ended.append)
    work.on_done(ended.append)
    group.barrier()
    if group.rank:
        ctypes.PyDLL(None).usleep(4000000)  # with the interpreter's lock
    group.send(numpy.ones(1), 1 - group.rank, tag=5)
    work.wait()
    group.barrier()
    print("alive", box[0])
"""


def test_a_group_lives_while_a_rank_holds_the_lock(run_python, tmp_path):
    """Its heartbeats need no lock, and its callbacks wait for one elsewhere."""
    out = [None, None]

    def serve(rank):
        out[rank] = run_python(STUCK, f"file:{tmp_path}/store", str(rank)).strip()

    threads = [threading.Thread(target=serve, args=(rank,)) for rank in (0, 1)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert out == ["alive 1.0"] * 2


def test_use_after_close():
    group = hr.Group(0, 1, hr.Store("memory:"))
    group.close()
    group.close()
    for use in (group.barrier, lambda: group.rank, lambda: group.all_reduce(numpy.zeros(1))):
        with pytest.raises(hr.FailedPrecondition, match="closed"):
            use()


def make_learner(seed=0):
    net = hr.Sequential(hr.Dense(16), hr.tanh, hr.Dense(3))
    return hr.Learner(net, {"x": ("float32", [2])}, loss=hr.cross_entropy, env=hr.Env(threads=1),
                      optimizer=hr.Adam(hr.Schedule("cosine", base=0.05, steps=400)), seed=seed)


def test_training_by_a_group_learns_alike_on_all_ranks(ranks, points):
    def train(group):
        one = make_learner()
        report = one.fit(points, epochs=20, batch=16, group=group, validation=points,
                         progress=False)
        return report.evaluation_accuracy, one.session.variables["dense/weight"].numpy().tobytes()

    results = ranks(train, 2)
    assert not any(isinstance(one, BaseException) for one in results), results
    assert results[0][0] > 0.9
    assert results[0][1] == results[1][1]


def test_ranks_with_other_seeds_do_not_begin(ranks, points):
    results = ranks(lambda group: make_learner(seed=group.rank).fit(points, group=group), 2)
    for one in results:
        assert isinstance(one, hr.FailedPrecondition) and "rank 1 has the seed 1" in str(one)


def test_groups_of_sessions(ranks):
    def run(group):
        g = hr.Graph(hr.Env(threads=1))
        x = g.input("x", "float32", ["n"])
        w = g.variable("w", numpy.full(1, 1 + group.rank, "float32"))
        g.signature("train", {"x": x}, {"loss": hr.mean(x * w)})
        g.minimize(hr.mean(x * w), "sgd", 0.0)
        g.distribute("train", "all")
        session = g.model().session()
        with pytest.raises(hr.NotFound, match="all"):
            session.bind_group("none", group)
        session.bind_group("all", group)
        session.broadcast("all", 1)
        call = session.call("train")
        call["x"] = numpy.full(1 + group.rank, 3, "float32")
        call.run()
        session.bind_group("all", None)
        return call["loss"].item()

    assert ranks(run, 3) == [6.0, 6.0, 6.0]
