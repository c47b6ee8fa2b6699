package dev.headrace;

/** How a .hrg file is loaded. */
public final class LoadOptions {
  private boolean readWholeFile;
  private boolean verifyChecksums;
  private boolean inspectOnly;

  /** Makes the defaults: the file is mapped, and its weights are not read. */
  public LoadOptions() {}

  /** Reads the file into memory, which is safe if somebody may truncate it. */
  public LoadOptions readWholeFile(boolean read) {
    readWholeFile = read;
    return this;
  }

  /** Verifies the checksums of the tensors. */
  public LoadOptions verifyChecksums(boolean verify) {
    verifyChecksums = verify;
    return this;
  }

  /** Loads the model even if it has operators that the library does not know; it cannot run then. */
  public LoadOptions inspectOnly(boolean inspect) {
    inspectOnly = inspect;
    return this;
  }

  long in(Scratch s) {
    Structs.hr_load_options out = new Structs.hr_load_options(s);
    out.read_whole_file(Graph.flag(readWholeFile));
    out.verify_checksums(Graph.flag(verifyChecksums));
    out.inspect_only(Graph.flag(inspectOnly));
    return out.address;
  }
}
