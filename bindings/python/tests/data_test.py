import gc
import threading
import weakref

import numpy
import pytest

import headrace as hr

X = numpy.arange(20, dtype=numpy.float32).reshape(10, 2)
Y = numpy.arange(10, dtype=numpy.int64)


def read(dataset):
    """The values of y, batch by batch."""
    return [batch["y"].tolist() for batch in dataset]


def test_arrays_are_cut_into_batches():
    data = hr.Dataset({"x": X, "y": Y}, batch=4)
    assert (data.fields, data.batches, len(data)) == (["x", "y"], 3, 3)
    assert read(data) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    with pytest.raises(hr.OutOfRange):
        data.next()
    data.rewind()
    assert data.next()["x"].tolist() == X[:4].tolist()


def test_shuffling_gives_every_example_once():
    data = hr.Dataset({"x": X, "y": Y}, batch=3, repeat=2, shuffle=True, seed=1)
    order = sum(read(data), [])
    assert sorted(order[:10]) == sorted(order[10:]) == list(range(10)) and order[:10] != order[10:]


def test_positions_and_names():
    data = hr.Dataset({"x": X, "y": Y}, batch=4)
    data.next()
    other = hr.Dataset({"x": X, "y": Y}, batch=3)
    other.seek(data.position)
    assert other.next()["y"].tolist() == [4, 5, 6]
    other.rename("y", "labels")
    assert other.fields == ["x", "labels"] and other.describe()
    with pytest.raises(hr.NotFound):
        other.rename("z", "w")


def test_shards():
    shards = [hr.Dataset({"y": Y}, batch=2, shard=(index, 2)) for index in (0, 1)]
    assert sorted(sum(sum(map(read, shards), []), [])) == list(range(10))


def generator(sizes):
    def make(epoch):
        start = 0
        for size in sizes:
            yield {"x": X[start:start + size], "y": Y[start:start + size] + 100 * epoch}
            start += size
    return make


@pytest.mark.parametrize("sizes", [[10], [4, 4, 2], [1] * 10, [7, 3], [3, 0, 7]])
@pytest.mark.parametrize("prefetch", [0, 2])
def test_generators_give_batches_of_any_size(sizes, prefetch):
    data = hr.Dataset.from_generator(generator(sizes), batch=4, repeat=2, prefetch=prefetch)
    expected = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert read(data) == expected + [[100 + one for one in batch] for batch in expected]
    data.rewind()
    assert len(read(data)) == 6


def test_an_iterator_is_read_once():
    data = hr.Dataset.from_generator(generator([10])(0), batch=5)
    assert len(read(data)) == 2
    with pytest.raises(hr.Error):
        data.rewind()
        data.next()


def test_shards_of_generators():
    shards = [hr.Dataset.from_generator(generator([3, 7]), batch=2, examples=10, shard=(index, 2))
              for index in (0, 1)]
    assert sorted(sum(sum(map(read, shards), []), [])) == list(range(10))


@pytest.mark.parametrize("batch", [
    [1, 2], {"x": X}, {"x": X, "y": Y[:3]}, {"x": X.astype("float64"), "y": Y},
    {"x": X[:, :1], "y": Y}, {"x": "text", "y": Y},
])
@pytest.mark.parametrize("prefetch", [0, 1])
def test_bad_batches_are_errors_of_the_call(batch, prefetch):
    def make(epoch):
        yield {"x": X, "y": Y}
        yield batch

    data = hr.Dataset.from_generator(make, batch=10, prefetch=prefetch)
    assert data.next()["y"].tolist() == Y.tolist()
    with pytest.raises(hr.Error):
        data.next()


def test_a_generator_that_raises():
    def make(epoch):
        yield {"y": Y}
        raise OSError("the network is gone")

    data = hr.Dataset.from_generator(make, batch=10)
    data.next()
    with pytest.raises(hr.Error, match="the network is gone") as caught:
        data.next()
    assert isinstance(caught.value.__cause__, OSError)
    with pytest.raises(hr.InvalidArgument, match="no batch"):
        hr.Dataset.from_generator(lambda epoch: iter(()))


def test_a_generator_may_not_use_its_data_set():
    holder = {}

    def make(epoch):
        yield {"y": Y}
        holder["data"].next()

    holder["data"] = hr.Dataset.from_generator(make, batch=10)
    holder["data"].next()
    with pytest.raises(hr.Error, match="another call|in use|has not returned"):
        holder["data"].next()


def test_closing_while_a_thread_reads():
    started, go = threading.Event(), threading.Event()

    def make(epoch):
        yield {"y": Y}
        started.set()
        go.wait(10)
        yield {"y": Y}

    data = hr.Dataset.from_generator(make, batch=10)
    data.next()
    results = []
    thread = threading.Thread(target=lambda: results.append(data.next()))
    thread.start()
    started.wait(10)
    data.close()
    go.set()
    thread.join(10)
    assert len(results) == 1
    with pytest.raises(hr.FailedPrecondition):
        data.next()


def test_arrays_are_shared_and_let_go():
    class Watched(numpy.ndarray):
        pass

    array = X.copy().view(Watched)
    gone = weakref.ref(array)
    data = hr.Dataset({"x": array}, batch=10)
    del array
    gc.collect()
    assert gone() is not None and data.next()["x"].tolist() == X.tolist()
    data.close()
    gc.collect()
    assert gone() is None


def test_arrow_and_parquet(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = arrow.table({"x": arrow.FixedSizeListArray.from_arrays(arrow.array(X.ravel()), 2),
                         "y": arrow.array(Y), "flag": arrow.array([True, False] * 5)})
    batch = hr.Dataset.from_arrow(table, batch=10).next()
    assert numpy.array_equal(batch["x"], X) and batch["flag"].dtype == hr.bool_
    path = tmp_path / "table.parquet"
    parquet.write_table(table, path, row_group_size=4)
    data = hr.Dataset.from_parquet(path, ["x", "y"], batch=3, repeat=2)
    assert sum(read(data), []) == 2 * list(range(10))
    shuffled = hr.Dataset.from_parquet(path, ["y"], batch=3, shuffle=True, seed=1)
    assert sorted(sum(read(shuffled), [])) == list(range(10))
    with pytest.raises(hr.InvalidArgument, match="null"):
        hr.Dataset.from_arrow(arrow.table({"y": [1, None]}))
    with pytest.raises(hr.InvalidArgument, match="string"):
        hr.Dataset.from_arrow(arrow.table({"y": ["a"]}))
    with pytest.raises(hr.InvalidArgument, match="no column"):
        hr.Dataset.from_arrow(table, ["z"])


def test_files(tmp_path):
    with pytest.raises(hr.NotFound):
        hr.Dataset.open(f"idx:{tmp_path}/train")
    with pytest.raises(hr.InvalidArgument):
        hr.Dataset.open("nonsense")


def test_data_sets_of_data_sets(tmp_path):
    g = hr.Graph()
    x, y = g.input("x", "float32", ["n", 2]), g.input("y", "int64", ["n"])
    g.signature("double", {"x": x}, {"x": 2 * x})
    g.signature("even", {"y": y}, {"keep": y % 2 == 0})
    session = g.model().session()
    data = hr.Dataset({"x": X, "y": Y}, batch=10)
    assert numpy.array_equal(data.map(session, "double").next()["x"], 2 * X)
    assert read(data.filter(session, "even")) == [[0, 2, 4, 6, 8]]
    kept = hr.Dataset.from_generator(generator([4, 6]), batch=5).cache(
        tmp_path / "kept", key="1", batch=2, shuffle=True, seed=1)
    assert sorted(sum(read(kept), [])) == list(range(10)) and len(kept) == 5
    assert (tmp_path / "kept").exists()
