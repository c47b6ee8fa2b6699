import math

import numpy
import pytest

import headrace as hr


def test_a_learner_learns(learner, points, capfd):
    one = learner()
    report = one.fit(points, epochs=40, validation=points)
    assert report.evaluated and report.evaluation_accuracy > 0.95
    assert one.evaluate(points).evaluation_accuracy == report.evaluation_accuracy
    shares = one.predict(points[0])
    assert shares.shape == (240, 3) and numpy.allclose(shares.sum(axis=1), 1, atol=1e-5)
    assert "train" in capfd.readouterr().err


def test_equal_seeds_give_equal_bits(learner, points):
    def train(seed):
        one = learner(seed=seed)
        one.fit(points, epochs=2, seed=4, progress=False)
        return one.predict(points[0])
    assert numpy.array_equal(train(1), train(1))
    assert not numpy.array_equal(train(1), train(2))


OPTIMIZERS = [
    hr.SGD(0.1), hr.SGD(0.1, 0.9, nesterov=True, weight_decay=1e-4), hr.Adam(0.01),
    hr.AdamW(0.01), hr.Adamax(0.01), hr.AdaGrad(0.1), hr.RMSProp(0.01), hr.Lion(0.01),
    hr.Adam(0.01, clip_global_norm=1.0), hr.SGD(0.1, clip_value=0.5, average=0.9),
    hr.SGD(hr.Schedule("cosine", base=0.2, steps=200, warmup=10)),
    hr.Adam(hr.Schedule("piecewise", at=[50, 100], rates=[0.02, 0.01, 0.001])),
    hr.ByName({"*/bias": hr.SGD(0.1), "*": hr.Adam(0.02)}),
]


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=repr)
def test_optimizers_reduce_the_loss(optimizer, learner, points):
    one = learner(optimizer=optimizer)
    before = one.evaluate(points).evaluation_loss
    one.fit(points, epochs=15, progress=False)
    assert one.evaluate(points).evaluation_loss < 0.8 * before


def test_optimizers_are_written_as_the_library_reads_them():
    assert hr.SGD(0.1, 0.9).text() == "sgd momentum=0.9"
    assert hr.Adam(beta1=0.0).text().startswith("adam beta1=0.0 beta2=0.999")
    assert "decoupled=1" in hr.AdamW().text()


def test_groups_of_parameters_leave_variables_alone(learner, points):
    one = learner(optimizer=hr.ByName({"dense/*": hr.SGD(0.1), "*": None}))
    names = ("dense/weight", "dense_2/weight")
    before = [one.session.variables[name].numpy() for name in names]
    one.fit(points, progress=False)
    after = [one.session.variables[name].numpy() for name in names]
    assert not numpy.array_equal(before[0], after[0]) and numpy.array_equal(before[1], after[1])
    with pytest.raises(hr.InvalidArgument, match="dense_2/weight"):
        learner(optimizer=hr.ByName({"dense/*": hr.SGD(0.1)})).session


def test_a_rate_is_changed_while_a_session_trains(learner, points):
    one = learner(optimizer=hr.SGD(0.1))
    one.session.variables["learning_rate"] = 0.0
    before = one.session.variables["dense/weight"].numpy()
    one.fit(points, progress=False)
    assert numpy.array_equal(before, one.session.variables["dense/weight"].numpy())


def test_callbacks_see_every_step_and_stop(learner, points):
    seen = []

    class Watch(hr.Callback):
        def on_begin(self, session):
            seen.append("begin")

        def on_epoch(self, report):
            seen.append(("epoch", report.epoch))
            return report.epoch == 2

        def on_end(self, report):
            seen.append(("end", report.step))

    steps = []
    report = learner().fit(points, epochs=50, batch=60, callbacks=[Watch(), lambda one: steps.append(
        one.step)], progress=False)
    assert seen[0] == "begin" and seen[-1] == ("end", report.step)
    assert [one for one in seen if one[0] == "epoch"] == [("epoch", 1), ("epoch", 2)]
    assert steps == list(range(1, report.step + 1)) and report.step <= 9


def test_a_callback_that_raises_stops_the_training(learner, points):
    def fail(report):
        raise KeyError("mine")

    one = learner()
    with pytest.raises(hr.Unknown, match="mine") as caught:
        one.fit(points, callbacks=[fail], progress=False)
    assert isinstance(caught.value.__cause__, KeyError)
    one.fit(points, progress=False)


def test_a_callback_may_use_the_session(learner, points):
    one = learner()
    norms = []
    one.fit(points, callbacks=[lambda _: norms.append(
        float(numpy.linalg.norm(one.session.variables["dense/weight"])))], progress=False)
    assert len(set(norms)) == len(norms) > 3


def test_early_stopping():
    stop = hr.EarlyStopping(patience=2)

    def evaluated(loss):
        return stop.on_step(hr.Report(evaluated=True, evaluation_loss=loss))
    assert not any(map(evaluated, (3, 2, 2.5, 1, 1.5)))
    assert evaluated(1.5)


def test_the_best_checkpoint_is_kept_and_restored(tmp_path, learner, points):
    """The loss falls: the largest is that of the first evaluation, and no later one is better."""
    seen = []

    class Watch(hr.Callback):
        def on_evaluate(self, report, metrics):
            assert report.evaluated and list(metrics) == ["loss", "accuracy"]
            seen.append(metrics["loss"])

    one = learner(optimizer=hr.Adam(hr.Schedule("constant", base=0.02)))
    report = one.fit(points, epochs=-1, validation=points, validate_every=10, best_metric="loss",
                     patience=3, restore_best=True, checkpoints=tmp_path, callbacks=[Watch()],
                     progress=False)
    assert (report.step, report.stopped_early, report.best_step) == (40, True, 10)
    assert report.best == seen[0] and len(seen) == 4
    assert report.learning_rate == pytest.approx(0.02)
    assert one.session.step == one.restore(tmp_path / "best")["step"] == 10
    report = one.fit(points, steps=50, epochs=-1, validation=points, validate_every=10,
                     best_metric="loss", best_is_smallest=True, progress=False)
    assert report.best_step == 50 and report.best < seen[0] and not report.stopped_early


def test_an_evaluation_that_raises_stops_the_training(learner, points):
    class Fail(hr.Callback):
        def on_evaluate(self, report, metrics):
            raise KeyError("mine")

    with pytest.raises(hr.Unknown, match="mine") as caught:
        learner().fit(points, validation=points, callbacks=[Fail()], progress=False)
    assert isinstance(caught.value.__cause__, KeyError)


def test_adapters_are_merged_or_kept(tmp_path, points):
    g = hr.Graph()
    x = g.input("x", "float32", ["n", 2])
    g.signature("infer", {"x": x}, {"y": g.dense("layer", x, 3)})
    assert g.add_lora("layer/weight", "rank=1") == 1
    session = g.model().session()
    for merge in (False, True):
        path = tmp_path / f"{merge}.hrg"
        session.export(path, merge_adapters=merge)
        assert any("lora" in one for one in hr.load(path).session().variables) != merge
    with pytest.raises(hr.FailedPrecondition):
        g.save(tmp_path / "graph.hrg", merge_adapters=True)


def test_weights_in_files_of_others(tmp_path, learner, points):
    one, other = learner(seed=1), learner(seed=2)
    path = tmp_path / "weights.npz"
    one.session.export_weights(path, trainable=True, names={"w": "dense/weight"})
    with numpy.load(path) as file:
        assert "w" in file and not {"dense/weight", "learning_rate"} & {*file}
    names = {"w": "dense/weight", "dense_2/weight": None}
    with pytest.raises(hr.InvalidArgument, match="dense_2/weight"):
        other.session.import_weights(path, names=names)
    report = other.session.import_weights(path, partial=True, names=names)
    assert "dense_2/weight" in report["left"]
    for name, is_equal in (("dense/weight", True), ("dense_2/weight", False)):
        weights = [each.session.variables[name].numpy() for each in (one, other)]
        assert numpy.array_equal(*weights) == is_equal


def test_checkpoints_go_on(tmp_path, learner, points):
    straight = learner()
    straight.fit(points, epochs=4, seed=2, progress=False)
    for epochs in (2, 4):
        halves = learner()
        halves.fit(points, epochs=epochs, seed=2, progress=False, checkpoints=tmp_path / "saved",
                   steps=8 * epochs)
    assert halves.session.step == straight.session.step == 32
    assert numpy.array_equal(halves.predict(points[0]), straight.predict(points[0]))


def test_events_for_tensorboard(tmp_path, learner, points):
    learner().fit(points, epochs=2, events=tmp_path, summary_every=1, progress=False)
    with hr.Summary(tmp_path / "own") as events:
        events.scalar("loss", 1, 0.5)
        events.histogram("w", 1, numpy.arange(10, dtype=numpy.float32))
        events.images("i", 1, numpy.zeros((1, 1, 4, 4), numpy.uint8))
        events.text("t", 1, "*text*")
        events.graph(learner().session.model)
        events.flush()
    assert len(list(tmp_path.glob("**/events.*"))) == 2
    with pytest.raises(hr.FailedPrecondition):
        events.scalar("loss", 2, 0.5)


def test_dropout_and_batch_norm_know_their_path(points):
    net = hr.Sequential(hr.Linear(16), hr.BatchNorm(), hr.relu, hr.Dropout(0.5), hr.Linear(3))
    one = hr.Learner(net, {"x": ("float32", [2])}, loss=hr.cross_entropy, optimizer=hr.Adam(0.02))
    one.fit(points, epochs=30, progress=False)
    assert one.evaluate(points).evaluation_accuracy > 0.85
    assert numpy.array_equal(one.predict(points[0]), one.predict(points[0]))
    assert abs(one.session.variables["batch_norm/mean"].numpy()).max() > 0


def test_regression(points):
    x, _ = points
    y = (x[:, :1] * 2 - x[:, 1:] + 0.5).astype(numpy.float32)
    one = hr.Learner(hr.Linear(1), {"x": ("float32", [2])}, ("float32", [1]), loss=hr.mse,
                     optimizer=hr.SGD(0.1))
    report = one.fit((x, y), epochs=20, validation=(x, y), progress=False)
    assert report.evaluation_loss < 1e-3 and math.isnan(report.evaluation_accuracy)


def test_training_with_bad_data(learner, points):
    x, labels = points
    one = learner()
    for bad in ({"x": x, "labels": labels[:5]}, {"y": x, "labels": labels}, {"x": x}, 5,
                (x.astype(numpy.float64), labels), (x, labels, x)):
        with pytest.raises((hr.Error, TypeError)):
            one.fit(bad, progress=False)
    one.fit(points, progress=False)
    with pytest.raises(hr.Error):
        one.fit((x, labels + 7), progress=False)  # no such class


def test_custom_training_loop(points):
    g = hr.Graph()
    x, labels = g.input("x", "float32", ["n", 2]), g.input("labels", "int64", ["n"])
    loss = hr.cross_entropy(hr.Dense(3)(x), labels)
    variables = g.variables
    gradients, norm = g.clip_gradients(g.variable_gradients(loss, variables), global_norm=1.0)
    rate = g.schedule("train", "linear base=0.5 steps=100")
    g.signature("train", {"x": x, "labels": labels}, {"loss": loss, "norm": norm})
    g.apply_gradients("train", "sgd momentum=0.9", rate, variables, gradients)
    step = g.model().session().call("train")
    step["x"], step["labels"] = points
    losses = []
    for _ in range(50):
        step.run()
        losses.append(step["loss"].item())
    assert losses[-1] < 0.6 * losses[0] and step["norm"].item() > 0
    assert step["learning_rate"].item() < 0.5


def test_minimize_groups_averages_and_copies(points):
    g = hr.Graph()
    x, labels = g.input("x", "float32", ["n", 2]), g.input("labels", "int64", ["n"])
    scores = hr.Dense(3, name="head")(x)
    loss = hr.cross_entropy(scores, labels)
    g.signature("infer", {"x": x}, {"scores": scores})
    g.copy_signature("infer", "copy")
    assert g.set_trainable("head/*", True) == 2
    g.signature("train", {"x": x, "labels": labels}, {"loss": loss})
    g.minimize_groups(loss, [("*/bias", "sgd", 0.1), ("*", "adam average=0.5", 0.01)])
    g.average_signature("infer", "averaged")
    g.swap_averages("swap")
    assert set(g.signatures) >= {"infer", "copy", "train", "averaged", "swap"}
    session = g.model().session()
    session.fit(points, progress=False)
    plain, averaged = (session.predict(points[0], signature=one) for one in ("infer", "averaged"))
    assert not numpy.array_equal(plain, averaged)
    assert numpy.array_equal(plain, session.predict(points[0], signature="copy"))
