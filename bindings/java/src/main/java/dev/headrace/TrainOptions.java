package dev.headrace;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;

/** How {@link Session#train} trains. */
public final class TrainOptions {
  final Dataset trainData;
  Dataset evalData;
  Group group;
  String boundGroup;
  Group elasticGroup;
  int minRanks;
  int maxRanks;
  String trainSignature;
  String evalSignature;
  String checkpointDirectory;
  String eventDirectory;
  long maxSteps;
  long checkpointSteps;
  long summarySteps;
  long evalSteps;
  int keepCheckpoints;
  String bestMetric;
  boolean bestIsSmallest;
  boolean restoreBest;
  long patience;
  final Map<String, Double> scalars = new LinkedHashMap<>();
  OnStep onStep;
  OnEvaluate onEvaluate;
  Consumer<String> onMessage;

  /** Makes the defaults, for a pass of a data set. */
  public TrainOptions(Dataset trainData) {
    this.trainData = trainData;
  }

  /** Is told after every step, on the thread that trains. */
  @FunctionalInterface
  public interface OnStep {
    /** Returns whether to go on. What it throws is the cause of the failure that ends the training. */
    boolean after(TrainReport report) throws Exception;
  }

  /** Is told after each evaluation, on the thread that trains and before {@link OnStep}. */
  @FunctionalInterface
  public interface OnEvaluate {
    /** Gets the metrics by name. What it throws is the cause of the failure that ends the training. */
    void after(TrainReport report, Map<String, Double> metrics) throws Exception;
  }

  /** Sets the data set of evaluations. */
  public TrainOptions evalData(Dataset data) {
    evalData = data;
    return this;
  }

  /** Sets the signature that trains, with an output "loss"; null: "train". */
  public TrainOptions trainSignature(String name) {
    trainSignature = name;
    return this;
  }

  /**
   * Sets the signature that evaluates, with an output "loss"; null: "eval". Its metrics are "loss", the
   * mean per example; "accuracy", if it has an output "correct", a count; and its other outputs that
   * are one number.
   */
  public TrainOptions evalSignature(String name) {
    evalSignature = name;
    return this;
  }

  /** Sets the session's total of steps at which to stop; 0: the end of the data. */
  public TrainOptions maxSteps(long steps) {
    maxSteps = steps;
    return this;
  }

  /** Binds a number, such as the learning rate, to an input. */
  public TrainOptions scalar(String input, double value) {
    scalars.put(input, value);
    return this;
  }

  /** Sets where checkpoints are; the training continues from the newest one there. */
  public TrainOptions checkpoints(String directory) {
    checkpointDirectory = directory;
    return this;
  }

  /** Sets the steps from one checkpoint to the next; 0: only at the end. */
  public TrainOptions checkpointSteps(long steps) {
    checkpointSteps = steps;
    return this;
  }

  /** Sets how many of the newest checkpoints are kept; 0: 5; -1: all. */
  public TrainOptions keepCheckpoints(int most) {
    keepCheckpoints = most;
    return this;
  }

  /**
   * Names the metric of the evaluations that says which step is the best. Where it is better than ever,
   * a checkpoint is kept in the folder "best" of that of {@link #checkpoints}.
   *
   * @param smallest whether the smallest value is the best, as for a loss
   */
  public TrainOptions best(String metric, boolean smallest) {
    bestMetric = metric;
    bestIsSmallest = smallest;
    return this;
  }

  /** Gives the session the best checkpoint at the end. */
  public TrainOptions restoreBest(boolean restore) {
    restoreBest = restore;
    return this;
  }

  /** Stops after so many evaluations that are no better than the best; 0: never. */
  public TrainOptions patience(long evaluations) {
    patience = evaluations;
    return this;
  }

  /** Sets where events for TensorBoard go. */
  public TrainOptions events(String directory) {
    eventDirectory = directory;
    return this;
  }

  /** Sets the steps from one summary to the next; 0: 100. */
  public TrainOptions summarySteps(long steps) {
    summarySteps = steps;
    return this;
  }

  /** Sets the steps from one evaluation to the next; 0: only at the end. */
  public TrainOptions evalSteps(long steps) {
    evalSteps = steps;
    return this;
  }

  /** Sets who is told after every step. */
  public TrainOptions onStep(OnStep told) {
    onStep = told;
    return this;
  }

  /** Sets who is told the metrics of each evaluation. */
  public TrainOptions onEvaluate(OnEvaluate told) {
    onEvaluate = told;
    return this;
  }

  /** Sets who gets sentences for people: what was restored, saved or skipped. */
  public TrainOptions onMessage(Consumer<String> told) {
    onMessage = told;
    return this;
  }

  /**
   * Names a bound group ({@link Session#bindGroup}) whose ranks all train together, with the same
   * options and shards of the same data.
   */
  public TrainOptions boundGroup(String name) {
    boundGroup = name;
    return this;
  }

  /**
   * Names the group that was bound: the training goes on when ranks of it die, with {@code minRanks}
   * at least (0: 1), and takes new ones in, up to {@code maxRanks} (0: as many as there are at
   * first). It stands for the latest group from then on.
   */
  public TrainOptions elasticGroup(Group group, int minRanks, int maxRanks) {
    elasticGroup = group;
    this.minRanks = minRanks;
    this.maxRanks = maxRanks;
    return this;
  }

  /** Names the group for which this process writes checkpoints. */
  public TrainOptions group(Group writer) {
    group = writer;
    return this;
  }
}
