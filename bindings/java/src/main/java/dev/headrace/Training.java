package dev.headrace;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** One call of {@link Session#train}, with what its callbacks have thrown. */
final class Training
    implements Callbacks.hr_train_options_on_step, Callbacks.hr_train_options_on_evaluate,
        Callbacks.hr_train_options_on_message {
  private final Session session;
  private final TrainOptions options;
  /** What onMessage has thrown, which cannot fail by itself: the next step or evaluation does. */
  private Throwable thrown;

  Training(Session session, TrainOptions options) {
    this.session = session;
    this.options = options;
  }

  TrainReport run(Limits limits) {
    long context = Registry.add(this);
    TrainReport[] report = new TrainReport[1];
    try (Uses uses = new Uses()) {
      session.check(limits, (self, s, l) -> {
        Structs.hr_train_report out = new Structs.hr_train_report(s);
        long status = Raw.hr_train(self, struct(s, uses, context), l, out.address);
        if (status == 0) report[0] = TrainReport.of(out);
        return status;
      });
    } finally {
      Registry.remove(context);
    }
    if (thrown != null) throw afterwards(thrown);
    return report[0];
  }

  private static HeadraceException afterwards(Throwable cause) {
    return HeadraceException.of(Constants.HR_UNKNOWN,
        "the training is over, but onMessage has thrown " + cause, "", cause);
  }

  private long struct(Scratch s, Uses uses, long context) {
    Structs.hr_train_options out = new Structs.hr_train_options(s);
    out.train_signature(s.text(options.trainSignature));
    out.eval_signature(s.text(options.evalSignature));
    out.train_data(uses.of(options.trainData));
    out.eval_data(uses.of(options.evalData));
    out.group(uses.of(options.group));
    out.bound_group(s.text(options.boundGroup));
    out.elastic_group(uses.of(options.elasticGroup));
    out.min_ranks(options.minRanks);
    out.max_ranks(options.maxRanks);
    out.max_steps(options.maxSteps);
    scalars(out, s);
    out.checkpoint_directory(s.text(options.checkpointDirectory));
    out.checkpoint_steps(options.checkpointSteps);
    out.keep_checkpoints(options.keepCheckpoints);
    out.event_directory(s.text(options.eventDirectory));
    out.summary_steps(options.summarySteps);
    out.eval_steps(options.evalSteps);
    out.best_metric(s.text(options.bestMetric));
    out.best_is_smallest(Graph.flag(options.bestIsSmallest));
    out.restore_best(Graph.flag(options.restoreBest));
    out.patience(options.patience);
    out.context(context);
    out.use_on_step();
    out.use_on_evaluate();
    out.use_on_message();
    return out.address;
  }

  private void scalars(Structs.hr_train_options out, Scratch s) {
    List<String> names = new ArrayList<>(options.scalars.keySet());
    out.scalar_count(names.size());
    out.scalar_names(s.texts(names));
    out.scalars(s.doubles(
        options.scalars.values().stream().mapToDouble(Double::doubleValue).toArray()));
  }

  private void throwWhatWasThrown() throws Throwable {
    if (thrown == null) return;
    Throwable cause = thrown;
    thrown = null;
    throw cause;
  }

  @Override
  public void hr_train_options_on_step(long report, long stop) throws Throwable {
    throwWhatWasThrown();
    if (options.onStep == null) return;
    TrainReport now = TrainReport.of(new Structs.hr_train_report(report));
    if (!options.onStep.after(now)) Native.view(stop, 4).putInt(0, 1);
  }

  @Override
  public void hr_train_options_on_evaluate(long report, long count, long names, long values)
      throws Throwable {
    throwWhatWasThrown();
    if (options.onEvaluate == null) return;
    String[] texts = Native.texts(names, count);
    double[] numbers = Native.doubles(values, count);
    Map<String, Double> metrics = new LinkedHashMap<>();
    for (int i = 0; i < texts.length; ++i) metrics.put(texts[i], numbers[i]);
    options.onEvaluate.after(TrainReport.of(new Structs.hr_train_report(report)), metrics);
  }

  @Override
  public void hr_train_options_on_message(long message) {
    if (options.onMessage == null || thrown != null) return;
    try {
      options.onMessage.accept(Native.text(message));
    } catch (Throwable e) {
      thrown = e;
    }
  }
}
