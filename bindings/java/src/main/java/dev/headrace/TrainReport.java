package dev.headrace;

/**
 * How a training stands. The two fields of the evaluation are of this step if {@code evaluated} says
 * so; the accuracy is NaN if the signature has no output "correct". {@code epoch} counts complete
 * ones, {@code examples} those of this step's batch.
 */
public record TrainReport(long step, long epoch, double loss, double examplesPerSecond,
    boolean evaluated, double evaluationLoss, double evaluationAccuracy, long examples) {
  static TrainReport of(Structs.hr_train_report from) {
    return new TrainReport(from.step(), from.epoch(), from.loss(), from.examples_per_second(),
        from.evaluated() != 0, from.evaluation_loss(), from.evaluation_accuracy(), from.examples());
  }
}
