package dev.headrace;

/**
 * A data set that the program makes. Its functions are called by one thread at a time: the one that
 * needs the batch, or a thread of the library that reads ahead. They must not use the data set. What
 * they throw is the cause of the failure of the call that needed the batch.
 */
public interface DatasetSource {
  /** A field; {@code dims} is the largest shape of a batch, with -1 where batches differ. */
  record Field(String name, DType dtype, long... dims) {}

  /** The batch to be made. It is valid during the call only. */
  interface Batch {
    /** Returns the wanted number of examples. */
    long examples();

    /**
     * Returns the tensor of a field, to be filled in place. Null if a dimension of the field is -1:
     * {@link #set} one then.
     */
    Tensor tensor(int field);

    /** Sets the tensor of a field, as it must be if the batch is smaller than wanted. */
    void set(int field, Tensor tensor);
  }

  /**
   * Makes the next batch. Returns false, and makes none, if the epoch is over. After a failure the
   * same batch is asked for again.
   */
  boolean next(Batch batch) throws Exception;

  /** Returns whether {@link #seek} works; otherwise the data can be read once, without shards. */
  default boolean canSeek() {
    return false;
  }

  /** Makes the next batch begin with an example of an epoch. */
  default void seek(long epoch, long firstExample) throws Exception {
    throw new UnsupportedOperationException("the data set cannot seek");
  }

  /** Returns the exact number of examples in an epoch; -1 if it is unknown. */
  default long examples() {
    return -1;
  }

  /** Called once when the data set is not used any more. */
  default void released() throws Exception {}
}
