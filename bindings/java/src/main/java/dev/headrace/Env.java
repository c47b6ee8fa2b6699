package dev.headrace;

import java.util.ArrayList;
import java.util.List;

/**
 * The memory, log, clock, threads and devices that models and sessions share. Thread-safe. Two envs
 * are independent of each other. What was made in an env keeps working after the env is closed.
 */
public final class Env extends Resource {
  /** Makes an env with defaults. */
  public Env() {
    this(new EnvOptions());
  }

  /** Makes an env. */
  public Env(EnvOptions options) {
    super(new State(create(options)));
  }

  /** A handle of an env with the thread that waits for its runs and operations. */
  static final class State extends Handle {
    private Completions completions;

    State(long pointer) {
      super("env", pointer, Raw::hr_env_release, null);
    }

    /** Returns the completions; the caller is using something that pins the env. */
    synchronized Completions completions() {
      if (completions == null) {
        completions = new Completions(pin());
        release();
      }
      return completions;
    }

    @Override
    void freeing() {
      if (completions != null) completions.stop();
    }
  }

  @Override
  Handle root() {
    return handle;
  }

  private static long create(EnvOptions from) {
    List<Long> contexts = new ArrayList<>();
    try (Scratch s = Scratch.open()) {
      long out = s.out();
      Structs.hr_env_options options = new Structs.hr_env_options(s);
      options.threads(from.threads);
      if (from.costTable != null) options.cost_table(s.text(from.costTable.toString()));
      if (from.log != null) options.log(log(from, s, contexts));
      if (from.clock != null) options.clock(clock(from, s, contexts));
      if (from.allocator != null) options.allocator(allocator(from, s, contexts));
      if (from.executor != null) options.executor(executor(from, s, contexts));
      Failures.check(Raw.hr_env_create(options.address, out));
      return s.get(out);
    } catch (Throwable e) {
      contexts.forEach(Registry::remove);
      throw e;
    }
  }

  private static long context(Object service, List<Long> contexts) {
    long out = Registry.add(service);
    contexts.add(out);
    return out;
  }

  private static long log(EnvOptions from, Scratch s, List<Long> contexts) {
    Structs.hr_log_sink out = new Structs.hr_log_sink(s);
    out.context(context(new Services.Log(from.log), contexts));
    out.use_write();
    out.use_release();
    return out.address;
  }

  private static long clock(EnvOptions from, Scratch s, List<Long> contexts) {
    Structs.hr_clock out = new Structs.hr_clock(s);
    out.context(context(new Services.Clock(from.clock), contexts));
    out.use_now_nanos();
    out.use_release();
    return out.address;
  }

  private static long allocator(EnvOptions from, Scratch s, List<Long> contexts) {
    Structs.hr_allocator out = new Structs.hr_allocator(s);
    out.context(context(new Services.Memory(from.allocator), contexts));
    out.use_allocate();
    out.use_deallocate();
    out.use_release();
    return out.address;
  }

  private static long executor(EnvOptions from, Scratch s, List<Long> contexts) {
    Structs.hr_executor out = new Structs.hr_executor(s);
    out.context(context(new Services.Threads(from.executor), contexts));
    out.concurrency(from.concurrency);
    out.use_parallel_for();
    out.use_release();
    return out.address;
  }

  /**
   * Loads a plugin and adds what it has to the env. A name such as "cuda" stands for a file beside
   * the library; a text with a slash is a path. Must be called before the env's first model or group.
   */
  public void loadPlugin(String nameOrPath) {
    check((self, s) -> Raw.hr_env_load_plugin(self, s.text(nameOrPath)));
  }

  /** Adds an operator of the program. Must be called before the env's first model. */
  public void addOperator(Operator operator) {
    operator.addTo(this);
  }

  /** Describes devices, plugins, threads, transports and operators as JSON. */
  public String describe() {
    return describe(Raw::hr_env_describe);
  }
}
