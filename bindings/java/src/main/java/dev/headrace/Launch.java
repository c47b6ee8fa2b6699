package dev.headrace;

/**
 * The rank and size with which a launcher has started this process, from the environment variables
 * of Headrace, torchrun, MPI or Slurm. Without any, the process is alone: rank 0 of 1.
 */
public final class Launch extends Resource {
  /** Reads the environment. */
  public Launch() {
    super(new Handle("launch", read(), Raw::hr_launch_release, null));
  }

  private static long read() {
    try (Scratch s = Scratch.open()) {
      long out = s.out();
      Failures.check(Raw.hr_launch_from_environment(out));
      return s.get(out);
    }
  }

  /** Returns the rank. */
  public int rank() {
    return with((self, s) -> Raw.hr_launch_rank(self));
  }

  /** Returns the number of ranks. */
  public int size() {
    return with((self, s) -> Raw.hr_launch_size(self));
  }

  /** Returns the rank among the processes of this host; -1 if it is unknown. */
  public int localRank() {
    return with((self, s) -> Raw.hr_launch_local_rank(self));
  }

  /** Returns the number of processes of this host; 0 if it is unknown. */
  public int localSize() {
    return with((self, s) -> Raw.hr_launch_local_size(self));
  }

  /** Returns the number of times that the job has been restarted. */
  public long epoch() {
    return with((self, s) -> Raw.hr_launch_epoch(self));
  }

  /** Returns with how many ranks an elastic job goes on at least; 0 if it is not elastic. */
  public int minRanks() {
    return with((self, s) -> Raw.hr_launch_min_ranks(self));
  }

  /** Returns up to how many ranks an elastic job takes new ones in; 0 if it is not elastic. */
  public int maxRanks() {
    return with((self, s) -> Raw.hr_launch_max_ranks(self));
  }

  /** Returns the URL of the store where the ranks meet; "" if it is unknown. */
  public String store() {
    return with((self, s) -> Native.text(Raw.hr_launch_store(self)));
  }

  /** Describes the launch as JSON, with the variable that each value came from. */
  public String describe() {
    return describe(Raw::hr_launch_describe);
  }
}
