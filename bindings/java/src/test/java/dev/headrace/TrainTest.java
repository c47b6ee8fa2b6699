package dev.headrace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class TrainTest {
  private Env env;
  private Model model;
  private Session session;

  @BeforeEach
  void open() {
    env = new Env(new EnvOptions().threads(1));
    model = Small.trainable(env);
    session = new Session(model, new SessionOptions().seed(3));
  }

  @AfterEach
  void close() {
    session.close();
    model.close();
    env.close();
  }

  private Dataset data() {
    float[] x = new float[40];
    float[] t = new float[20];
    for (int i = 0; i < 20; ++i) {
      x[2 * i] = i % 5;
      x[2 * i + 1] = i % 3;
      t[i] = 2 * x[2 * i] - x[2 * i + 1];
    }
    try (Tensor xs = Tensor.wrap(Small.floats(x), 20, 2); Tensor ts = Tensor.wrap(Small.floats(t), 20, 1)) {
      return Dataset.of(env, Map.of("x", xs, "t", ts), new DatasetOptions().batch(5).repeat(20));
    }
  }

  @Test
  void learnsAndTells(@TempDir Path folder) {
    List<Long> steps = new ArrayList<>();
    List<String> messages = new ArrayList<>();
    try (Dataset data = data(); Dataset eval = data()) {
      TrainOptions options = new TrainOptions(data).evalData(eval).scalar("rate", 0.03)
          .trainSignature("train").evalSignature("eval").maxSteps(60).checkpointSteps(20)
          .keepCheckpoints(2).summarySteps(10).evalSteps(30).checkpoints(folder + "/c")
          .events(folder + "/e").onMessage(messages::add).onStep(report -> {
            steps.add(report.step());
            return true;
          });
      TrainReport last = session.train(options);
      assertEquals(60, last.step());
      assertTrue(last.evaluated());
      assertTrue(last.evaluationLoss() < 0.1, last.toString());
      assertEquals(60, steps.size());
      assertFalse(messages.isEmpty());
      assertEquals(2, new File(folder + "/c").list((where, name) -> name.startsWith("step-")).length);
    }
    try (Dataset eval = data()) {
      TrainReport report = session.evaluate(null, eval, Limits.NONE);
      assertTrue(report.evaluationLoss() < 0.1);
      assertTrue(Double.isNaN(report.evaluationAccuracy()));
    }
  }

  /** The loss falls: the largest is that of the first evaluation, and no later one is better. */
  @Test
  void keepsTheBestAndStopsEarly(@TempDir Path folder) {
    List<Double> losses = new ArrayList<>();
    try (Dataset data = data(); Dataset eval = data()) {
      TrainOptions options = new TrainOptions(data).evalData(eval).scalar("rate", 0.01).evalSteps(10)
          .checkpoints(folder.toString()).best("loss", false).restoreBest(true).patience(3)
          .onEvaluate((report, metrics) -> {
            assertTrue(report.evaluated());
            assertEquals(Map.of("loss", report.evaluationLoss()), metrics);
            losses.add(metrics.get("loss"));
          });
      TrainReport last = session.train(options);
      assertEquals(40, last.step());
      assertTrue(last.stoppedEarly());
      assertEquals(10, last.bestStep());
      assertEquals(4, losses.size());
      assertEquals(losses.get(0), last.best());
      assertTrue(Double.isNaN(last.learningRate()));
      assertEquals(10, session.step());
      session.restore(folder + "/best");
      assertEquals(10, session.step());
    }
    Exception wrong = new java.io.IOException("wrong");
    try (Dataset data = data(); Dataset eval = data()) {
      TrainOptions options = new TrainOptions(data).evalData(eval).scalar("rate", 0.01).evalSteps(10)
          .best("loss", true).onEvaluate((report, metrics) -> {
            if (report.step() == 30) throw wrong;
            assertEquals(report.step(), report.bestStep());
          });
      HeadraceException e =
          assertThrows(HeadraceException.Unknown.class, () -> session.train(options));
      assertSame(wrong, e.getCause());
      assertThrows(HeadraceException.NotFound.class,
          () -> session.train(options.best("nobody", false)));
    }
  }

  @Test
  void stopsWhenItIsTold() {
    try (Dataset data = data()) {
      TrainReport last = session.train(
          new TrainOptions(data).scalar("rate", 0.01).onStep(report -> report.step() < 7));
      assertEquals(7, last.step());
    }
  }

  @Test
  void whatStepsAndMessagesThrowIsTheCause(@TempDir Path folder) {
    Exception wrong = new java.io.IOException("wrong");
    try (Dataset data = data()) {
      HeadraceException e = assertThrows(HeadraceException.Unknown.class,
          () -> session.train(new TrainOptions(data).scalar("rate", 0.01).onStep(report -> {
            throw wrong;
          })));
      assertSame(wrong, e.getCause());
      e = assertThrows(HeadraceException.class, () -> session.train(new TrainOptions(data)
          .scalar("rate", 0.01).checkpoints(folder + "/c").checkpointSteps(2).onMessage(text -> {
            throw new IllegalStateException("no messages");
          })));
      assertEquals("no messages", e.getCause().getMessage());
      assertThrows(HeadraceException.class, () -> session.train(new TrainOptions(data)));
      assertThrows(HeadraceException.class, () -> session.train(new TrainOptions(null)));
    }
  }

  @Test
  void anInterruptEndsATraining() throws Exception {
    try (Tensor x = Tensor.wrap(Small.floats(1, 2), 1, 2); Tensor t = Tensor.wrap(Small.floats(1), 1, 1);
        Dataset forever =
            Dataset.of(env, Map.of("x", x, "t", t), new DatasetOptions().batch(1).repeat(-1))) {
      Small.assertInterruptEnds(() -> session.train(new TrainOptions(forever).scalar("rate", 0.001)));
      assertTrue(session.step() > 0);
    }
  }

  @Test
  void callbacksMayCallTheLibrary() {
    try (Dataset data = data()) {
      session.train(new TrainOptions(data).scalar("rate", 0.01).maxSteps(2).onStep(report -> {
        session.variable("fc/weight").close();
        return true;
      }));
    }
  }

  @Test
  void writesSummaries(@TempDir Path folder) {
    try (Summary summary = new Summary(folder.toString());
        Tensor images = Tensor.create(env, DType.UINT8, 2, 1, 4, 4)) {
      summary.scalar("loss", 1, 0.5);
      summary.histogram("h", 1, Tensor.copyOf(env, new float[] {1, 2}, 2));
      summary.images("i", 1, images, 2);
      summary.text("t", 1, "**bold** \uD83D\uDE80");
      summary.graph(model);
      summary.flush();
      assertThrows(HeadraceException.InvalidArgument.class,
          () -> summary.images("i", 1, Tensor.copyOf(env, new float[] {1}, 1), 1));
    }
    assertEquals(1, new File(folder.toString()).list().length);
    assertThrows(HeadraceException.class, () -> new Summary("/dev/null/none"));
  }

  @Test
  void showsProgress() {
    try (Progress progress = new Progress("train", "rows", 0, 2)) {
      progress.update(1, 5, "loss", 0.5);
      progress.message("half");
      progress.update(2, 5, null, 0);
      progress.close();
      assertThrows(HeadraceException.FailedPrecondition.class, () -> progress.message("late"));
    }
  }
}
