package dev.headrace;

/** How a .hrg file is written. */
public final class SaveOptions {
  private boolean stripNames;
  private String sideFile;
  private boolean mergeAdapters;

  /** Makes the defaults. */
  public SaveOptions() {}

  /** Omits the names of nodes and values; messages then use numbers. */
  public SaveOptions stripNames(boolean strip) {
    stripNames = strip;
    return this;
  }

  /** Adds low-rank adapters to their weights. */
  public SaveOptions mergeAdapters(boolean merge) {
    mergeAdapters = merge;
    return this;
  }

  /** Sets the file for the tensors, relative to the graph's file; null: the same. */
  public SaveOptions sideFile(String path) {
    sideFile = path;
    return this;
  }

  long in(Scratch s) {
    Structs.hr_save_options out = new Structs.hr_save_options(s);
    out.strip_names(Graph.flag(stripNames));
    out.side_file(s.text(sideFile));
    out.merge_adapters(Graph.flag(mergeAdapters));
    return out.address;
  }
}
