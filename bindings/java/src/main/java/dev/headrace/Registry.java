package dev.headrace;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The objects of Java that C refers to: a context of C is a number here. An object stays until the
 * library calls the release function that was given with it.
 */
final class Registry {
  private static final Map<Long, Object> OBJECTS = new ConcurrentHashMap<>();
  private static final AtomicLong LAST = new AtomicLong();

  /** An object that wants to know when the library does not use it any more. */
  interface Released {
    void released() throws Exception;
  }

  private Registry() {}

  static long add(Object object) {
    long context = LAST.incrementAndGet();
    OBJECTS.put(context, object);
    return context;
  }

  static <T> T get(long context, Class<T> type) {
    Object object = OBJECTS.get(context);
    if (object == null) throw new IllegalStateException("the object has been released");
    return type.cast(object);
  }

  /** Forgets an object that the library has not taken, or does not use any more. */
  static Object remove(long context) {
    return OBJECTS.remove(context);
  }

  static void release(long context) throws Exception {
    if (remove(context) instanceof Released object) object.released();
  }

  /** Returns the number of objects; tests see that it does not grow. */
  static int size() {
    return OBJECTS.size();
  }
}
