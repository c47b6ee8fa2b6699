package dev.headrace;

import java.time.Duration;

/** How a {@link Group} meets. Without any, everything comes from the environment. */
public final class GroupOptions {
  private static final long DEFAULT_TIMEOUT = Duration.ofMinutes(10).toNanos();

  private int rank;
  private int size;
  private long epoch;
  private Store store;
  private String storeUrl;
  private String name;
  private String transport;
  private String address;
  private String algorithms;
  private String dumpFolder;
  private String secret;
  private String calibration;
  private boolean trustedFabric;
  private long timeout;
  private long silence;

  /** Makes the defaults. */
  public GroupOptions() {}

  /** Sets the rank and the size; otherwise they come from the environment. */
  public GroupOptions rank(int rank, int size) {
    this.rank = rank;
    this.size = size;
    return this;
  }

  /** Sets the epoch of the job: each restart of all ranks needs a new one. */
  public GroupOptions epoch(long number) {
    epoch = number;
    return this;
  }

  /** Sets the name, unique among the groups of a store and epoch; null: "world". */
  public GroupOptions name(String text) {
    name = text;
    return this;
  }

  /** Sets the store where the ranks meet. */
  public GroupOptions store(Store meeting) {
    store = meeting;
    return this;
  }

  /** Sets the URL of the store; rank 0 keeps a "tcp:" one. */
  public GroupOptions storeUrl(String url) {
    storeUrl = url;
    return this;
  }

  /** Sets the transports that may be used, such as "shm,tcp"; null: from the environment, or all. */
  public GroupOptions transport(String names) {
    transport = names;
    return this;
  }

  /** Sets the numeric address of this host where TCP listens. */
  public GroupOptions address(String numeric) {
    address = numeric;
    return this;
  }

  /** Allows plain text beyond this host without a secret. */
  public GroupOptions trustedFabric(boolean trusted) {
    trustedFabric = trusted;
    return this;
  }

  /** Sets the timeout of calls that are given no limits; null: none. The default is 10 minutes. */
  public GroupOptions timeout(Duration time) {
    timeout = time == null ? -1 : time.toNanos();
    return this;
  }

  /** Sets after which silence a peer counts as dead. The default is 10 seconds. */
  public GroupOptions silence(Duration time) {
    silence = time.toNanos();
    return this;
  }

  /** Fixes algorithms, such as "all_reduce=ring"; the same on all ranks. */
  public GroupOptions algorithms(String fixed) {
    algorithms = fixed;
    return this;
  }

  /** Sets the folder of the flight recorder. */
  public GroupOptions dumpFolder(String folder) {
    dumpFolder = folder;
    return this;
  }

  /** Sets the cluster secret; null: from the environment; "": none. */
  public GroupOptions secret(String text) {
    secret = text;
    return this;
  }

  /** Sets the file of calibrated costs; null: the user's; "": built-in costs. */
  public GroupOptions calibration(String path) {
    calibration = path;
    return this;
  }

  /** Returns the limits of calls that are given none. */
  Limits limits() {
    return Limits.nanos(timeout == 0 ? DEFAULT_TIMEOUT : timeout);
  }

  long in(Scratch s, Uses uses) {
    Structs.hr_group_options out = new Structs.hr_group_options(s);
    out.rank(rank);
    out.size(size);
    out.epoch(epoch);
    out.store(uses.of(store));
    out.store_url(s.text(storeUrl));
    out.name(s.text(name));
    out.transport(s.text(transport));
    out.address(s.text(address));
    out.trusted_fabric(Graph.flag(trustedFabric));
    out.timeout_nanos(timeout);
    out.silence_nanos(silence);
    out.algorithms(s.text(algorithms));
    out.dump_folder(s.text(dumpFolder));
    out.secret(s.text(secret));
    out.calibration(s.text(calibration));
    return out.address;
  }
}
