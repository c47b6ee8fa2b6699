package dev.headrace;

/** How weights go to a .safetensors or .npz file, and come back. */
public final class WeightsOptions {
  private boolean partial;
  private boolean trainable;
  private String names;

  /** Makes the defaults. */
  public WeightsOptions() {}

  /** Leaves alone, in an import, what only the file or only the model has. */
  public WeightsOptions partial(boolean allow) {
    partial = allow;
    return this;
  }

  /** Writes only trainable variables. */
  public WeightsOptions trainable(boolean only) {
    trainable = only;
    return this;
  }

  /** Sets a JSON object {"name in the file": "variable"} for names that differ; null: none do. */
  public WeightsOptions names(String json) {
    names = json;
    return this;
  }

  long in(Scratch s) {
    Structs.hr_weights_options out = new Structs.hr_weights_options(s);
    out.partial(Graph.flag(partial));
    out.trainable(Graph.flag(trainable));
    out.names(s.text(names));
    return out.address;
  }
}
