package dev.headrace;

/** An event file that {@code tensorboard --logdir DIRECTORY} shows. Thread-safe. */
public final class Summary extends Resource {
  /** Makes a new event file in a directory, which is created if it is missing. */
  public Summary(String directory) {
    super(new Handle("summary", open(directory), Raw::hr_summary_release, null));
  }

  private static long open(String directory) {
    try (Scratch s = Scratch.open()) {
      long out = s.out();
      Failures.check(Raw.hr_summary_open(s.text(directory), out));
      return s.get(out);
    }
  }

  /** Adds a number. */
  public void scalar(String tag, long step, double value) {
    check((self, s) -> Raw.hr_summary_scalar(self, s.text(tag), step, value));
  }

  /** Adds a histogram of the elements of a contiguous tensor. */
  public void histogram(String tag, long step, Tensor values) {
    try (Uses uses = new Uses()) {
      long tensor = uses.of(values);
      check((self, s) -> Raw.hr_summary_histogram(self, s.text(tag), step, tensor));
    }
  }

  /** Adds the first images of a contiguous tensor of shape [N, C, H, W] or [C, H, W]. */
  public void images(String tag, long step, Tensor images, long most) {
    try (Uses uses = new Uses()) {
      long tensor = uses.of(images);
      check((self, s) -> Raw.hr_summary_images(self, s.text(tag), step, tensor, most));
    }
  }

  /** Adds a text in Markdown. */
  public void text(String tag, long step, String text) {
    check((self, s) -> Raw.hr_summary_text(self, s.text(tag), step, s.text(text)));
  }

  /** Adds the main graph of a model. */
  public void graph(Model model) {
    try (Uses uses = new Uses()) {
      long pointer = uses.of(model);
      check((self, s) -> Raw.hr_summary_graph(self, pointer));
    }
  }

  /** Writes what has been added to the disk. */
  public void flush() {
    check((self, s) -> Raw.hr_summary_flush(self));
  }
}
