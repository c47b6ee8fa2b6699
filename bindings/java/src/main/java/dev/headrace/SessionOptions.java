package dev.headrace;

/** How a {@link Session} makes its variables and plans. */
public final class SessionOptions {
  private long seed;
  private int maxPlans;
  private int maxSizes;
  private boolean disableFusion;
  private boolean checkMemory;
  private boolean exactSums;
  private String device;
  private long memoryLimit;
  private String pin;

  /** Makes the defaults. */
  public SessionOptions() {}

  /** Sets the seed of initial values and of random operators. */
  public SessionOptions seed(long number) {
    seed = number;
    return this;
  }

  /** Sets the most compiled plans that are cached; 0: 64. */
  public SessionOptions maxPlans(int most) {
    maxPlans = most;
    return this;
  }

  /** Sets the most sizes of bounded dimensions that a plan keeps; 0: 64. */
  public SessionOptions maxSizes(int most) {
    maxSizes = most;
    return this;
  }

  /** Runs every node by itself, for example to find a fault. */
  public SessionOptions disableFusion(boolean disable) {
    disableFusion = disable;
    return this;
  }

  /** Verifies each plan and fills unused memory with NaN, to find faults. */
  public SessionOptions checkMemory(boolean check) {
    checkMemory = check;
    return this;
  }

  /** Uses no algorithm that trades accuracy for speed. */
  public SessionOptions exactSums(boolean exact) {
    exactSums = exact;
    return this;
  }

  /** Sets the device of nodes that name none; null: the CPU. */
  public SessionOptions device(String name) {
    device = name;
    return this;
  }

  /** Sets the most bytes of working memory that a plan may take; 0: no limit. */
  public SessionOptions memoryLimit(long bytes) {
    memoryLimit = bytes;
    return this;
  }

  /** Pins layouts and kernels of convolutions, for developers of the library; null: none. */
  public SessionOptions pin(String words) {
    pin = words;
    return this;
  }

  long in(Scratch s) {
    Structs.hr_session_options out = new Structs.hr_session_options(s);
    out.seed(seed);
    out.max_plans(maxPlans);
    out.max_sizes(maxSizes);
    out.disable_fusion(Graph.flag(disableFusion));
    out.check_memory(Graph.flag(checkMemory));
    out.exact_sums(Graph.flag(exactSums));
    out.device(s.text(device));
    out.memory_limit(memoryLimit);
    out.pin(s.text(pin));
    return out.address;
  }
}
