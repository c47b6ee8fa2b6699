package dev.headrace;

/** How the inputs of the ranks become one. */
public enum ReduceOp {
  /** The sum; integers wrap around. */
  SUM(Constants.HR_SUM),
  /** The product. */
  PRODUCT(Constants.HR_PRODUCT),
  /** The smallest. */
  MIN(Constants.HR_MIN),
  /** The largest. */
  MAX(Constants.HR_MAX),
  /** The sum divided by the number of ranks; integers round towards zero. */
  AVERAGE(Constants.HR_AVERAGE),
  /** The sum of the inputs, each multiplied by its rank's factor ({@link Request#factor}). */
  PRE_MULTIPLIED_SUM(Constants.HR_PRE_MULTIPLIED_SUM);

  private final int number;

  ReduceOp(int number) {
    this.number = number;
  }

  int number() {
    return number;
  }
}
