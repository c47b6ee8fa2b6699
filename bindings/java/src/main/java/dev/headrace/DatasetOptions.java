package dev.headrace;

/** How a data set makes its batches. */
public final class DatasetOptions {
  private long batch;
  private long repeat;
  private boolean shuffle;
  private boolean dropRemainder;
  private long seed;
  private long prefetch;
  private int shardIndex;
  private int shardCount;

  /** Makes the defaults. */
  public DatasetOptions() {}

  /** Sets the examples in a batch of this shard; 0: 32. */
  public DatasetOptions batch(long examples) {
    batch = examples;
    return this;
  }

  /** Sets the epochs in a pass; 0: 1; -1: forever. */
  public DatasetOptions repeat(long epochs) {
    repeat = epochs;
    return this;
  }

  /** Takes a new order in each epoch. */
  public DatasetOptions shuffle(boolean newOrder) {
    shuffle = newOrder;
    return this;
  }

  /** Leaves out a last batch that is smaller. */
  public DatasetOptions dropRemainder(boolean drop) {
    dropRemainder = drop;
    return this;
  }

  /** Sets the seed of the order. */
  public DatasetOptions seed(long number) {
    seed = number;
    return this;
  }

  /** Sets how many batches a thread reads ahead. */
  public DatasetOptions prefetch(long batches) {
    prefetch = batches;
    return this;
  }

  /** Makes it one of several shards, for ranks that train together. */
  public DatasetOptions shard(int index, int count) {
    shardIndex = index;
    shardCount = count;
    return this;
  }

  long in(Scratch s) {
    Structs.hr_dataset_options out = new Structs.hr_dataset_options(s);
    out.batch(batch);
    out.repeat(repeat);
    out.shuffle(Graph.flag(shuffle));
    out.drop_remainder(Graph.flag(dropRemainder));
    out.seed(seed);
    out.prefetch(prefetch);
    out.shard_index(shardIndex);
    out.shard_count(shardCount);
    return out.address;
  }
}
