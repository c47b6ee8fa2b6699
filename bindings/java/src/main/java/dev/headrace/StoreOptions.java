package dev.headrace;

/** How a {@link Store} is opened. */
public final class StoreOptions {
  private boolean serve;
  private boolean trustedFabric;
  private String secret;

  /** Makes the defaults. */
  public StoreOptions() {}

  /** Keeps the store in this process, for as long as it, or a group that uses it, lives. */
  public StoreOptions serve(boolean here) {
    serve = here;
    return this;
  }

  /** Allows plain text beyond this host without a secret. */
  public StoreOptions trustedFabric(boolean trusted) {
    trustedFabric = trusted;
    return this;
  }

  /** Sets the cluster secret; null: from the environment; "": none. */
  public StoreOptions secret(String text) {
    secret = text;
    return this;
  }

  long in(Scratch s) {
    Structs.hr_store_options out = new Structs.hr_store_options(s);
    out.serve(Graph.flag(serve));
    out.trusted_fabric(Graph.flag(trustedFabric));
    out.secret(s.text(secret));
    return out.address;
  }
}
