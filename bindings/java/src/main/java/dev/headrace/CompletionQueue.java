package dev.headrace;

/**
 * Tells a thread of the program which runs and operations have ended ({@link Run#enqueue},
 * {@link Work#enqueue}). Thread-safe: each completion goes to one of the threads that ask. A program
 * that wants futures needs no queue.
 */
public final class CompletionQueue extends Resource {
  /** Makes a queue. */
  public CompletionQueue(Env env) {
    super(new Handle("queue", env.get(Limits.NONE, (self, s, l, out) -> Raw.hr_queue_create(self, out)),
        Raw::hr_queue_release, null));
  }

  /** What has ended: its key, and why it has failed; null if it has not. */
  public record Completion(long key, HeadraceException failure) {}

  /** Takes the oldest completion; null if there is none. Does not wait. */
  public Completion poll() {
    return with((self, s) -> {
      Structs.hr_completion out = new Structs.hr_completion(s);
      long found = s.out();
      Failures.check(Raw.hr_queue_poll(self, out.address, found));
      return s.getInt(found) == 0 ? null : completion(out);
    });
  }

  /** Takes the oldest completion, and waits for one. */
  public Completion take() {
    return take(Limits.NONE);
  }

  /** Takes the oldest completion, and waits for one within the limits. */
  public Completion take(Limits limits) {
    Completion[] out = new Completion[1];
    check(limits, (self, s, l) -> {
      Structs.hr_completion done = new Structs.hr_completion(s);
      long status = Raw.hr_queue_wait(self, l, done.address);
      if (status == 0) out[0] = completion(done);
      return status;
    });
    return out[0];
  }

  /** Returns a file descriptor that is readable while there are completions; only to be polled. */
  public int descriptor() {
    return with((self, s) -> {
      long out = s.out();
      Failures.check(Raw.hr_queue_descriptor(self, out));
      return s.getInt(out);
    });
  }

  private static Completion completion(Structs.hr_completion done) {
    return new Completion(done.key(), done.failure() == 0 ? null : Failures.take(done.failure()));
  }
}
