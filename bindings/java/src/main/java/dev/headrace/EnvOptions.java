package dev.headrace;

import java.nio.file.Path;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;

/** What an {@link Env} gets from the program. */
public final class EnvOptions {
  int threads;
  LogSink log;
  LongSupplier clock;
  Allocator allocator;
  Executor executor;
  int concurrency;
  Path costTable;

  /** Makes the defaults: a thread for each processor, malloc, no log. */
  public EnvOptions() {}

  /** Sets how many threads may compute at one time; 0: one for each processor. */
  public EnvOptions threads(int count) {
    threads = count;
    return this;
  }

  /** Sets who receives log messages; null: nobody. */
  public EnvOptions log(LogSink sink) {
    log = sink;
    return this;
  }

  /** Sets a monotonic clock in nanoseconds, for deadlines, which any thread may ask. */
  public EnvOptions clock(LongSupplier nanos) {
    clock = nanos;
    return this;
  }

  /** Sets who provides the memory of tensors and plans. */
  public EnvOptions allocator(Allocator memory) {
    allocator = memory;
    return this;
  }

  /**
   * Makes the library compute on the threads of an executor, in addition to those that call it, with
   * at most {@code mostThreads} at one time. An executor that is busy or refuses delays nothing: the
   * calling thread does what is left.
   */
  public EnvOptions executor(Executor threads, int mostThreads) {
    executor = threads;
    concurrency = mostThreads;
    return this;
  }

  /**
   * Sets a file that {@code headrace roof --costs} has measured on this machine, by which layouts
   * and kernels of convolutions are chosen.
   */
  public EnvOptions costTable(Path file) {
    costTable = file;
    return this;
  }

  /** Receives log messages, on any thread. What it throws is reported as uncaught. */
  @FunctionalInterface
  public interface LogSink {
    /** Takes a message. */
    void write(LogLevel level, String message);
  }

  /** How important a log message is. */
  public enum LogLevel {
    /** For those who look for faults. */
    DEBUG(Constants.HR_LOG_DEBUG),
    /** What happens. */
    INFO(Constants.HR_LOG_INFO),
    /** What may be wrong. */
    WARNING(Constants.HR_LOG_WARNING),
    /** What is wrong. */
    ERROR(Constants.HR_LOG_ERROR);

    private final int number;

    LogLevel(int number) {
      this.number = number;
    }

    static LogLevel of(int number) {
      for (LogLevel one : values()) {
        if (one.number == number) return one;
      }
      return ERROR;
    }
  }

  /**
   * Provides memory, on any thread. If it throws, there is no memory left
   * ({@link HeadraceException.ResourceExhausted}).
   */
  public interface Allocator {
    /** Returns the address of memory off the heap; 0: there is none left. */
    long allocate(long bytes, long alignment);

    /** Takes back memory that {@link #allocate} has returned. */
    void deallocate(long address, long bytes, long alignment);
  }
}
