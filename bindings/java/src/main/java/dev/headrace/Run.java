package dev.headrace;

import java.util.function.Consumer;

/**
 * A run in the background. Until it has ended it owns its call: functions on that throw
 * {@link HeadraceException.FailedPrecondition}. Closing it does not end the run.
 */
public final class Run extends Operation {
  Run(Handle run, Handle call) {
    super(run, Raw::hr_run_enqueue, call::release);
  }

  @Override
  public boolean isDone() {
    return with((self, s) -> Raw.hr_run_test(self) != 0);
  }

  @Override
  public void await(Limits limits) {
    check(limits, (self, s, l) -> Raw.hr_run_wait(self, l));
  }

  @Override
  public void onDone(Consumer<HeadraceException> then) {
    check((self, s) -> {
      new Once(then).register(context -> Raw.hr_run_on_done(
          self, Bridge.function(Callbacks.HR_RUN_ON_DONE_CALLBACK), context));
      return 0;
    });
  }

  @Override
  public void enqueue(CompletionQueue queue, long key) {
    try (Uses uses = new Uses()) {
      long to = uses.of(queue);
      check((self, s) -> Raw.hr_run_enqueue(self, to, key));
    }
  }

  @Override
  Limits defaultLimits() {
    return Limits.NONE;
  }

  @Override
  void cancel(Handle run) {
    run.ifAlive(Raw::hr_run_cancel);
  }
}
