package dev.headrace;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * The variables and compiled plans of a model. Thread-safe: runs that only read variables go in
 * parallel, and a run that writes variables excludes all others.
 *
 * <p>A run that fails before its update phase has changed no variable. One that fails later leaves
 * the session tainted: every run throws {@link HeadraceException.Tainted} until a checkpoint has been
 * restored. Closing the session lets runs in flight finish and makes later ones fail, also those of
 * its calls.
 */
public final class Session extends Resource {
  /** Makes a session and computes the initial values of its variables. */
  public Session(Model model) {
    this(model, new SessionOptions(), Limits.NONE);
  }

  /** Makes a session and computes the initial values of its variables. */
  public Session(Model model, SessionOptions options) {
    this(model, options, Limits.NONE);
  }

  /** Makes a session and computes the initial values of its variables within the limits. */
  public Session(Model model, SessionOptions options, Limits limits) {
    super(model.child("session", Raw::hr_session_release, Raw::hr_session_close, limits,
        (self, s, l, out) -> Raw.hr_session_create(self, options.in(s), l, out)));
  }

  // ---- Runs ----

  /** Runs what the fetches need. Any values may be feeds and fetches. */
  public Outputs run(Map<String, Tensor> feeds, List<String> fetches) {
    return run(feeds, fetches, List.of(), Limits.NONE);
  }

  /** Runs what the fetches and targets need. Any nodes may be targets. */
  public Outputs run(Map<String, Tensor> feeds, List<String> fetches, List<String> targets,
      Limits limits) {
    List<String> names = new ArrayList<>(feeds.keySet());
    long[][] out = new long[1][];
    try (Uses uses = new Uses()) {
      long[] tensors = uses.of(feeds.values());
      check(limits, (self, s, l) -> {
        long outputs = s.bytes(8L * fetches.size());
        long status = Raw.hr_session_run(self, names.size(), s.texts(names), s.longs(tensors),
            fetches.size(), s.texts(fetches), targets.size(), s.texts(targets), l, outputs);
        if (status == 0) out[0] = Native.longs(outputs, fetches.size());
        return status;
      });
    }
    return new Outputs(fetches, out[0]);
  }

  /**
   * Runs what the fetches need on a thread of the env. Cancelling the future cancels the run. The
   * receiver closes the outputs.
   */
  public CompletableFuture<Outputs> runAsync(Map<String, Tensor> feeds, List<String> fetches) {
    Call call = call(new ArrayList<>(feeds.keySet()), fetches, List.of());
    try {
      feeds.forEach(call::bind);
      CompletableFuture<Void> run = call.runAsync();
      CompletableFuture<Outputs> out = new Pending<>(() -> run.cancel(true));
      run.whenComplete((nothing, failure) -> {
        try (call) {
          if (failure != null) out.completeExceptionally(failure);
          else if (!out.isDone()) out.complete(call.takeAll(fetches));
        } catch (Throwable e) {
          out.completeExceptionally(e);
        }
      });
      return out;
    } catch (Throwable e) {
      call.close();
      throw e;
    }
  }

  /** Prepares a run of a signature, the fast path. */
  public Call call(String signature) {
    return new Call(this, (self, s, l, out) -> Raw.hr_call_create(self, s.text(signature), out));
  }

  /** Prepares a run with any values as inputs and outputs and any nodes as targets. */
  public Call call(List<String> feeds, List<String> fetches, List<String> targets) {
    return new Call(this, (self, s, l, out) -> Raw.hr_call_create_custom(self, feeds.size(),
        s.texts(feeds), fetches.size(), s.texts(fetches), targets.size(), s.texts(targets), out));
  }

  /** Frees the memory that plans keep for their next runs. */
  public void trim() {
    with((self, s) -> {
      Raw.hr_session_trim(self);
      return null;
    });
  }

  // ---- Variables ----

  /** Returns the names of the variables. */
  public List<String> variables() {
    return with((self, s) -> {
      List<String> out = new ArrayList<>();
      long count = Raw.hr_session_variable_count(self);
      for (long i = 0; i < count; ++i) out.add(Native.text(Raw.hr_session_variable_name(self, i)));
      return out;
    });
  }

  /** Returns a copy of a variable's value. */
  public Tensor variable(String name) {
    return variable(name, Limits.NONE);
  }

  /** Returns a copy of a variable's value; waits for runs that write it. */
  public Tensor variable(String name, Limits limits) {
    return new Tensor(get(limits,
        (self, s, l, out) -> Raw.hr_session_get_variable(self, s.text(name), l, out)));
  }

  /** Sets a variable to a copy of a value of its type and shape. */
  public void setVariable(String name, Tensor value) {
    setVariable(name, value, Limits.NONE);
  }

  /** Sets a variable to a copy of a value; waits for runs that use it. */
  public void setVariable(String name, Tensor value, Limits limits) {
    try (Uses uses = new Uses()) {
      long tensor = uses.of(value);
      check(limits, (self, s, l) -> Raw.hr_session_set_variable(self, s.text(name), tensor, l));
    }
  }

  /** Returns the number of steps done so far: runs that write variables or draw random numbers. */
  public long step() {
    return with((self, s) -> Raw.hr_session_step(self));
  }

  /** Describes variables, plans with devices and kernels, and memory as JSON. */
  public String describe() {
    return describe(Raw::hr_session_describe);
  }

  // ---- Checkpoints ----

  /** Writes the checkpoint DIRECTORY/step-N. The session may run meanwhile. */
  public void save(String directory) {
    save(directory, new CheckpointOptions(), Limits.NONE);
  }

  /** Writes the checkpoint DIRECTORY/step-N within the limits. */
  public void save(String directory, CheckpointOptions options, Limits limits) {
    try (Uses uses = new Uses()) {
      check(limits,
          (self, s, l) -> Raw.hr_session_save(self, s.text(directory), options.in(s, uses), l));
    }
  }

  /** Restores a checkpoint, or the newest of a directory. Returns a report as JSON. */
  public String restore(String path) {
    return restore(path, new CheckpointOptions(), Limits.NONE);
  }

  /**
   * Restores a checkpoint, or the newest of a directory, and the position of the options' data set.
   * Returns {"path", "step", "warnings"} as JSON. A call that fails leaves the session as it was.
   */
  public String restore(String path, CheckpointOptions options, Limits limits) {
    try (Uses uses = new Uses()) {
      return Native.take(get(limits, (self, s, l, out) -> Raw.hr_session_restore(
          self, s.text(path), options.in(s, uses), l, out)));
    }
  }

  /** Writes a .hrg file for serving: signatures with the present values of the variables. */
  public void export(String path, List<String> signatures) {
    export(path, signatures, new SaveOptions(), Limits.NONE);
  }

  /** Writes a .hrg file for serving within the limits. */
  public void export(String path, List<String> signatures, SaveOptions options, Limits limits) {
    check(limits, (self, s, l) -> Raw.hr_session_export(
        self, s.text(path), signatures.size(), s.texts(signatures), options.in(s), l));
  }

  /**
   * Lets the nodes of the session's graphs that name the group communicate in a sub-group of it;
   * null takes the group away. All ranks of the group call it. FAILED_PRECONDITION, on all ranks,
   * if one has another graph, another seed or another version of the library.
   */
  public void bindGroup(String name, Group group, Limits limits) {
    try (Uses uses = new Uses()) {
      long of = uses.of(group);
      check(limits, (self, s, l) -> Raw.hr_session_bind_group(self, s.text(name), of, l));
    }
  }

  /**
   * Gives all variables of the session, its step and its seed the values of the rank `root` of a
   * bound group. All ranks call it.
   */
  public void broadcast(String name, int root, Limits limits) {
    check(limits, (self, s, l) -> Raw.hr_session_broadcast(self, s.text(name), root, l));
  }

  /** Writes the low-rank adapters of the session to a file. */
  public void saveAdapters(String path, Limits limits) {
    check(limits, (self, s, l) -> Raw.hr_session_save_adapters(self, s.text(path), l));
  }

  /** Gives the adapters of the session the values of such a file. */
  public void loadAdapters(String path, Limits limits) {
    check(limits, (self, s, l) -> Raw.hr_session_load_adapters(self, s.text(path), l));
  }

  /** Writes the variables' values to a .safetensors or .npz file. Returns a report as JSON. */
  public String exportWeights(String path, WeightsOptions options, Limits limits) {
    return Native.take(get(limits, (self, s, l, out) -> Raw.hr_session_export_weights(
        self, s.text(path), options.in(s), l, out)));
  }

  /**
   * Sets the variables to what such a file has; nothing changes if anything does not fit. Returns a
   * report as JSON.
   */
  public String importWeights(String path, WeightsOptions options, Limits limits) {
    return Native.take(get(limits, (self, s, l, out) -> Raw.hr_session_import_weights(
        self, s.text(path), options.in(s), l, out)));
  }

  // ---- Training ----

  /** Runs a training and returns its last report. */
  public TrainReport train(TrainOptions options) {
    return train(options, Limits.NONE);
  }

  /**
   * Runs a training: restores the newest checkpoint if there is one, trains, writes summaries,
   * evaluates and saves. If the limits end it, it saves first.
   */
  public TrainReport train(TrainOptions options, Limits limits) {
    return new Training(this, options).run(limits);
  }

  /** Evaluates as {@link #evaluate} does and returns {"step", "metrics"} as JSON. */
  public String evaluateMetrics(String signature, Dataset data, Limits limits) {
    try (Uses uses = new Uses()) {
      long set = uses.of(data);
      return Native.take(get(limits, (self, s, l, out) -> Raw.hr_evaluate_metrics(
          self, s.text(signature), set, l, out)));
    }
  }

  /** Evaluates the rest of a data set's pass with a signature; null: "eval". */
  public TrainReport evaluate(String signature, Dataset data, Limits limits) {
    TrainReport[] report = new TrainReport[1];
    try (Uses uses = new Uses()) {
      long set = uses.of(data);
      check(limits, (self, s, l) -> {
        Structs.hr_train_report out = new Structs.hr_train_report(s);
        long status = Raw.hr_evaluate(self, s.text(signature), set, l, out.address);
        if (status == 0) report[0] = TrainReport.of(out);
        return status;
      });
    }
    return report[0];
  }
}
