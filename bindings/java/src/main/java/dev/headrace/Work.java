package dev.headrace;

import java.util.function.Consumer;

/**
 * An operation of a group in flight. Its tensors are in use until it has ended; they may be closed.
 * Closing it does not end the operation.
 */
public final class Work extends Operation {
  private final Limits defaults;

  Work(Handle work, Limits defaults, Uses buffers) {
    super(work, Raw::hr_work_enqueue, buffers::close);
    this.defaults = defaults;
  }

  /** Returns whether the operation has ended; moves data that can be moved now. */
  @Override
  public boolean isDone() {
    return with((self, s) -> Raw.hr_work_test(self) != 0);
  }

  @Override
  public void await(Limits limits) {
    check(limits, (self, s, l) -> Raw.hr_work_wait(self, l));
  }

  @Override
  public void onDone(Consumer<HeadraceException> then) {
    check((self, s) -> {
      new Once(then).register(context -> Raw.hr_work_on_done(
          self, Bridge.function(Callbacks.HR_WORK_ON_DONE_CALLBACK), context));
      return 0;
    });
  }

  @Override
  public void enqueue(CompletionQueue queue, long key) {
    try (Uses uses = new Uses()) {
      long to = uses.of(queue);
      check((self, s) -> Raw.hr_work_enqueue(self, to, key));
    }
  }

  @Override
  Limits defaultLimits() {
    return defaults;
  }

  @Override
  void cancel(Handle work) {
    work.ifAlive(self -> Failures.check(Raw.hr_work_cancel(self)));
  }
}
