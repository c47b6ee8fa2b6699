"""Processes: Ctrl-C, fork, the end of the interpreter, memory over time, the library that is opened."""
import os
import shutil
import subprocess
import sys
import textwrap

import pytest

import headrace as hr

COMMON = """
import os, signal, sys, threading, time
import numpy
import headrace as hr

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it

def interrupt_in(seconds):
    threading.Thread(target=lambda: (time.sleep(seconds), os.kill(os.getpid(), signal.SIGINT)),
                     daemon=True).start()

def interrupted(wait, again=lambda: None):
    \"""Interrupts a call that waits, and prints that it ended soon and what it left works.\"""
    interrupt_in(0.3)
    start = time.monotonic()
    try:
        wait()
        print("not interrupted")
    except KeyboardInterrupt:
        late = time.monotonic() - start - 0.3
        print("interrupted" if late < 0.2 else f"late {late}")
    again()

def doubling():
    g = hr.Graph()
    x = g.input("x", "float32", ["n", 2])
    g.signature("infer", {"x": x}, {"y": 2 * x})
    return g.model().session()

def double(session):
    assert session.run({"x": [[1, 2]]}, "y").tolist() == [[2, 4]]

session = doubling()
"""

WAITS = {
    "run": """
        g = hr.Graph()
        x = g.input("x", "float32", [300, 300])
        y = x
        for _ in range(3000):
            y = hr.tanh(y @ x)
        g.signature("infer", {"x": x}, {"y": y})
        call = g.model().session().call("infer")
        call["x"] = numpy.ones((300, 300), "float32")
        interrupted(lambda: [call.run() for _ in range(100)], lambda: double(session))
    """,
    "background run": """
        class Slow(hr.Operator):
            name = "test.Slow"
            def compute(self, node, inputs, outputs):
                time.sleep(1)
                outputs[0][...] = 7
        env = hr.Env()
        Slow().add_to(env)
        g = hr.Graph(env)
        x = g.input("x", "float32", [1])
        g.signature("s", {"x": x}, {"y": g.op("test.Slow", x)})
        call = g.model().session().call("s")
        call["x"] = numpy.ones(1, "float32")
        run = call.start()
        interrupted(run.wait, run.wait)
        assert call["y"].tolist() == [7]
    """,
    "queue": "interrupted(hr.Queue().wait, lambda: double(session))",
    "data set": """
        def slow(epoch):
            yield {"x": numpy.ones((1, 2), "float32")}
            time.sleep(2)
            yield {"x": numpy.ones((1, 2), "float32")}
        data = hr.Dataset.from_generator(slow, batch=1, prefetch=1)
        data.next()
        interrupted(data.next, data.next)
    """,
    "receive": """
        store = hr.Store("memory:")
        groups = [None, None]
        def join(rank):
            groups[rank] = hr.Group(rank, 2, store)
        threads = [threading.Thread(target=join, args=(rank,)) for rank in (0, 1)]
        [one.start() for one in threads]; [one.join() for one in threads]
        box = numpy.zeros(4)
        def again():
            other = threading.Thread(target=lambda: groups[1].send(numpy.ones(4), to=0))
            other.start()
            groups[0].recv(box, 1)
            other.join()
            assert box.sum() == 4
        interrupted(lambda: groups[0].recv(box, 1), again)
    """,
    "meeting": "interrupted(lambda: hr.Group(0, 2, hr.Store('memory:')), lambda: double(session))",
    "work": """
        store = hr.Store("memory:")
        groups = [None, None]
        def join(rank):
            groups[rank] = hr.Group(rank, 2, store)
        threads = [threading.Thread(target=join, args=(rank,)) for rank in (0, 1)]
        [one.start() for one in threads]; [one.join() for one in threads]
        box = numpy.zeros(2)
        work = groups[0].start_recv(box, 1)
        def again():
            groups[1].send(numpy.ones(2), to=0)
            work.wait()
            assert box.sum() == 2
        interrupted(work.wait, again)
    """,
    "training": """
        net = hr.Sequential(hr.Dense(512), hr.tanh, hr.Dense(512), hr.tanh, hr.Dense(3))
        one = hr.Learner(net, {"x": ("float32", [512])}, loss=hr.cross_entropy,
                         optimizer=hr.SGD(0.1))
        x = numpy.zeros((512, 512), "float32")
        labels = numpy.zeros(512, "int64")
        interrupted(lambda: one.fit((x, labels), epochs=10000, progress=False),
                    lambda: one.fit((x, labels), progress=False))
    """,
}


@pytest.mark.parametrize("name", WAITS)
def test_ctrl_c_ends_what_waits(name, run_python):
    for _ in range(3):  # a machine may be busy
        out = run_python(COMMON + textwrap.dedent(WAITS[name])).strip()
        if not out.startswith("late"):
            break
    assert out == "interrupted"


def test_a_signal_handler_that_does_not_raise_ends_nothing(run_python):
    out = run_python(COMMON + textwrap.dedent("""
        seen = []
        signal.signal(signal.SIGINT, lambda *_: seen.append(1))
        interrupt_in(0.2)
        try:
            hr.Queue().wait(timeout=0.6)
        except hr.DeadlineExceeded:
            print("waited", len(seen))
    """))
    assert out.strip() == "waited 1"


def test_a_child_of_a_fork_makes_its_own(run_python):
    out = run_python(COMMON + textwrap.dedent("""
        double(session)
        call = session.call("infer")
        tensor = hr.Tensor([1.0, 2.0])
        pid = os.fork()
        if pid == 0:
            for use in (lambda: session.run({}, []), call.run, lambda: tensor.shape):
                try:
                    use()
                    os._exit(1)
                except hr.FailedPrecondition as error:
                    assert "forked" in str(error), error
            own = doubling()
            double(own)
            del own
            session.close()
            sys.exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        double(session)
        print("fine")
    """))
    assert out.strip() == "fine"


@pytest.mark.parametrize("name, end", {
    "objects that are left": "call = session.call('infer'); hr.Tensor([1.0]); summary = "
                             "hr.Summary(sys.argv[1]); summary.scalar('a', 1, 2.0)",
    "a thread that waits": "threading.Thread(target=hr.Queue().wait, daemon=True).start(); "
                           "time.sleep(0.2)",
    "threads that run": """
def serve():
    call = session.call("infer")
    call["x"] = numpy.ones((1000, 2), "float32")
    while True:
        call.run()
for _ in range(4):
    threading.Thread(target=serve, daemon=True).start()
time.sleep(0.3)
""",
    "callbacks that sleep": """
def slow(epoch):
    while True:
        yield {"x": numpy.ones((1, 2), "float32")}
        time.sleep(0.01)
data = hr.Dataset.from_generator(slow, batch=1, prefetch=4)
data.next()
call = session.call("infer")
call["x"] = numpy.ones((1, 2), "float32")
call.start().on_done(lambda _: time.sleep(30))
time.sleep(0.2)
""",
    "completions": """
call = session.call("infer")
call["x"] = numpy.ones((1, 2), "float32")
call.start().add_done_callback(lambda _: None)
""",
    "cycles": "class A: pass\na = A(); a.me = a; a.session = session; a.call = session.call('infer')",
    "a log": "env = hr.Env(log=print); threading.Thread(target=lambda: [env.describe() for _ in "
             "range(100000)], daemon=True).start()",
}.items())
def test_the_interpreter_ends(name, end, run_python, tmp_path):
    for _ in range(3):
        out = run_python(COMMON + end + "\nprint('end', flush=True)", str(tmp_path), timeout=30)
        assert "end" in out


def test_memory_stays_flat(run_python):
    count = int(os.environ.get("HEADRACE_SESSIONS", "20000"))
    out = run_python(textwrap.dedent("""
        import gc, sys
        import numpy
        import headrace as hr
        count = int(sys.argv[1])
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096
        g = hr.Graph()
        x = g.input("x", "float32", ["n", 2])
        g.signature("infer", {"x": x}, {"y": 2 * x})
        model = g.model()
        data = numpy.ones((64, 2), "float32")
        def session():
            with model.session() as one:
                call = one.call("infer")
                call["x"] = data
                call.run()
                call.take("y").numpy()
        def env():
            with hr.Env(threads=1) as one:
                hr.Tensor.empty([4], env=one)
                g = hr.Graph(one)
                x = g.input("x", "float32", ["n", 2])
                g.signature("infer", {"x": x}, {"y": 2 * x})
                g.model().session().run({"x": data}, "y")
        for make, times in ((session, count), (env, count // 20)):
            for _ in range(times // 3):
                make()
            gc.collect()
            before = resident()
            for number in range(times):
                make()
                if number % 1000 == 999:
                    gc.collect()
            gc.collect()
            print(resident() - before)
    """), str(count), timeout=600)
    for grown in map(int, out.split()):
        assert grown < 1_500_000, out


def test_importing_is_quick_and_without_numpy(run_python):
    """Counted in seconds of the processor, since other programs may be running."""
    program = ("import sys, time; start = time.process_time(); import headrace; "
               "print(time.process_time() - start, 'numpy' in sys.modules)")
    times = []
    for _ in range(5):
        seconds, numpy_is_there = run_python(program).split()
        assert numpy_is_there == "False"
        times.append(float(seconds))
    assert min(times) < 0.06


def run_with_library(path):
    environment = {**os.environ, "HEADRACE_LIBRARY": str(path)}
    return subprocess.run([sys.executable, "-c", "import headrace"], capture_output=True, text=True,
                          env=environment, timeout=60, cwd=os.path.dirname(path))


def test_a_library_that_is_missing(tmp_path):
    done = run_with_library(tmp_path / "libheadrace.so.0")
    assert done.returncode == 1 and "ImportError" in done.stderr
    assert "HEADRACE_LIBRARY" in done.stderr


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
@pytest.mark.parametrize("version, message", [(0, "version 0.0.0"), (99, "version 0.0.99"),
                                              (10000, "version 1.0.0"), (None, "no libheadrace")])
def test_a_library_of_another_version(version, message, tmp_path):
    source = tmp_path / "old.c"
    source.write_text("int nothing;" if version is None
                      else f"unsigned hr_api_version(void) {{ return {version}; }}")
    library = tmp_path / "libold.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    done = run_with_library(library)
    assert done.returncode == 1 and message in done.stderr, done.stderr


def test_a_native_part_that_is_missing(tmp_path):
    folder = tmp_path / "headrace"
    shutil.copytree(os.path.dirname(hr.__file__), folder,
                    ignore=shutil.ignore_patterns("_native*.so", "*.so.0"))
    done = subprocess.run([sys.executable, "-c", "import headrace"], capture_output=True, text=True,
                          cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, timeout=60)
    assert done.returncode == 1 and "native part" in done.stderr


def test_types_are_checked(tmp_path):
    pytest.importorskip("mypy")
    shutil.copytree(os.path.dirname(hr.__file__), tmp_path / "headrace")
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file=", "--cache-dir=/dev/null",
                           "headrace"], capture_output=True, text=True, timeout=300,
                          cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_what_no_call_can_return_is_reported(run_python):
    """What log sinks and completions raise goes to sys.unraisablehook, and nothing else happens."""
    out = run_python(COMMON + textwrap.dedent("""
        import queue
        reported = queue.Queue()
        sys.unraisablehook = lambda told: reported.put(str(told.exc_value))
        def fail(*_):
            raise KeyError("mine")
        env = hr.Env(log=fail)
        hr.Group(0, 1, hr.Store("memory:", env=env), calibration="/no/such/file", env=env).close()
        print("log", reported.get(timeout=10))
        call = session.call("infer")
        call["x"] = numpy.ones((1, 2), "float32")
        run = call.start()
        run.on_done(fail)
        run.wait()
        print("completion", reported.get(timeout=10))
        double(session)
    """))
    assert out.split("\n")[:2] == ["log 'mine'", "completion 'mine'"]
