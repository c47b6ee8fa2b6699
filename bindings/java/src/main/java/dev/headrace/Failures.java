package dev.headrace;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Turns failures of the library into exceptions and exceptions of callbacks into failures. A failure
 * that an exception has caused says so in its message by a number, so that the exception which comes
 * out of the call has it as its cause, whichever thread the callback was on.
 */
final class Failures {
  private static final int KEPT = 256;
  private static final Pattern MARK = Pattern.compile(" ?\\[Java exception (\\d+)\\]");
  private static final Map<Long, Throwable> CAUSES = new LinkedHashMap<>();
  private static long last;

  private Failures() {}

  /** Throws if the status is a failure, and releases it. */
  static void check(long status) {
    if (status != 0) throw take(status);
  }

  /** Returns the exception of a failure, and releases the failure. */
  static HeadraceException take(long status) {
    HeadraceException out = read(status);
    Raw.hr_status_release(status);
    return out;
  }

  /** Returns the exception of a failure. */
  static HeadraceException read(long status) {
    int code = Raw.hr_status_code(status);
    String message = Native.text(Raw.hr_status_message(status));
    String node = Native.text(Raw.hr_status_node(status));
    Matcher mark = MARK.matcher(message);
    Throwable cause = mark.find() ? cause(Long.parseLong(mark.group(1))) : null;
    return HeadraceException.of(code, mark.replaceAll(""), node, cause);
  }

  /** Returns a hr_status for what a callback has thrown. */
  static long status(Throwable failure) {
    String message = describe(failure) + " [Java exception " + keep(failure) + "]";
    try (Scratch s = Scratch.open()) {
      return Raw.hr_status_create(code(failure), s.copy(lossy(message)));
    }
  }

  /** Shows what a callback has thrown that cannot fail, as Java shows what ends a thread. */
  static void report(Throwable failure) {
    Thread thread = Thread.currentThread();
    try {
      thread.getUncaughtExceptionHandler().uncaughtException(thread, failure);
    } catch (Throwable ignored) {
      // Java ignores what a handler throws, too.
    }
  }

  private static byte[] lossy(String message) {
    String text = message.replace('\0', ' ') + "\0";
    return text.getBytes(java.nio.charset.StandardCharsets.UTF_8);
  }

  private static String describe(Throwable failure) {
    return failure instanceof HeadraceException ? failure.getMessage() : failure.toString();
  }

  private static int code(Throwable failure) {
    if (failure instanceof HeadraceException known) return known.code().number();
    if (failure instanceof InterruptedException || failure instanceof CancellationException) {
      return Constants.HR_CANCELLED;
    }
    if (failure instanceof IllegalArgumentException) return Constants.HR_INVALID_ARGUMENT;
    if (failure instanceof IllegalStateException) return Constants.HR_FAILED_PRECONDITION;
    if (failure instanceof UnsupportedOperationException) return Constants.HR_UNIMPLEMENTED;
    if (failure instanceof OutOfMemoryError) return Constants.HR_RESOURCE_EXHAUSTED;
    return Constants.HR_UNKNOWN;
  }

  /** The newest exceptions are kept, because nobody says when a failure has been dropped. */
  private static long keep(Throwable failure) {
    synchronized (CAUSES) {
      CAUSES.put(++last, failure);
      if (CAUSES.size() > KEPT) CAUSES.remove(CAUSES.keySet().iterator().next());
      return last;
    }
  }

  private static Throwable cause(long number) {
    synchronized (CAUSES) {
      return CAUSES.get(number);
    }
  }
}
