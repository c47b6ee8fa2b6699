package dev.headrace;

/** How checkpoints are written and restored. */
public final class CheckpointOptions {
  private int keep;
  private Dataset dataset;
  private Group group;

  /** Makes the defaults. */
  public CheckpointOptions() {}

  /** Sets how many of the newest checkpoints are kept; 0: 5; -1: all. */
  public CheckpointOptions keep(int most) {
    keep = most;
    return this;
  }

  /** Saves or restores the position of a data set, too. */
  public CheckpointOptions dataset(Dataset data) {
    dataset = data;
    return this;
  }

  /** Names the group for which this process writes: a rank that it has left behind cannot. */
  public CheckpointOptions group(Group writer) {
    group = writer;
    return this;
  }

  long in(Scratch s, Uses uses) {
    Structs.hr_checkpoint_options out = new Structs.hr_checkpoint_options(s);
    out.keep(keep);
    out.dataset(uses.of(dataset));
    out.group(uses.of(group));
    return out.address;
  }
}
