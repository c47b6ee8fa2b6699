package dev.headrace;

/**
 * Shows progress on standard error: as a bar if that is a terminal, else as lines. Used by one
 * thread at a time. Closing it ends the line.
 */
public final class Progress extends Resource {
  /**
   * Begins with {@code done} of {@code total} steps (-1: unknown). {@code items} names what the steps
   * handle; null: images. The label may be null.
   */
  public Progress(String label, String items, long done, long total) {
    super(new Handle("progress", create(label, items, done, total), Raw::hr_progress_release, null));
  }

  private static long create(String label, String items, long done, long total) {
    try (Scratch s = Scratch.open()) {
      long out = s.out();
      Failures.check(Raw.hr_progress_create(s.text(label), s.text(items), done, total, out));
      return s.get(out);
    }
  }

  /** Shows that steps are done, how many items the last handled, and a metric unless its name is null. */
  public void update(long done, long items, String metric, double value) {
    check((self, s) -> {
      Raw.hr_progress_update(self, done, items, s.text(metric), value);
      return 0;
    });
  }

  /** Writes a line of its own above the bar. */
  public void message(String text) {
    check((self, s) -> {
      Raw.hr_progress_message(self, s.text(text));
      return 0;
    });
  }
}
