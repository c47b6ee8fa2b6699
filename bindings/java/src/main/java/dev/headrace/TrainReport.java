package dev.headrace;

/**
 * How a training stands. The two fields of the evaluation are of this step if {@code evaluated} says
 * so; the accuracy is NaN if the signature has no output "correct". {@code epoch} counts complete
 * ones, {@code examples} those of this step's batch. {@code learningRate} is the output
 * "learning_rate" of the step, or NaN. {@code best} is the best metric at its best so far, at
 * {@code bestStep}; NaN and -1 if there is none yet. {@code stoppedEarly} says that the patience was
 * at its end.
 */
public record TrainReport(long step, long epoch, double loss, double examplesPerSecond,
    boolean evaluated, double evaluationLoss, double evaluationAccuracy, long examples,
    double learningRate, double best, long bestStep, boolean stoppedEarly) {
  static TrainReport of(Structs.hr_train_report from) {
    return new TrainReport(from.step(), from.epoch(), from.loss(), from.examples_per_second(),
        from.evaluated() != 0, from.evaluation_loss(), from.evaluation_accuracy(), from.examples(),
        from.learning_rate(), from.best(), from.best_step(), from.stopped_early() != 0);
  }
}
