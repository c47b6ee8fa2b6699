// Made by `python3 -m bindings.generate java` from docs/c_api.json; do not edit.
package dev.headrace;

/** The functions of the host, called by raw.c. */
final class Callbacks {
  private Callbacks() {}

  static final int RELEASE = 0;
  static final int HR_DLPACK_DELETER = 1;
  static final int HR_WORK_ON_DONE_CALLBACK = 2;
  static final int HR_OP_PARALLEL_FOR_FN = 3;
  static final int HR_RUN_ON_DONE_CALLBACK = 4;
  static final int HR_LIMITS_INTERRUPTED = 5;
  static final int HR_STORE_CALLBACKS_GET = 6;
  static final int HR_STORE_CALLBACKS_COMPARE_AND_SWAP = 7;
  static final int HR_STORE_CALLBACKS_REMOVE = 8;
  static final int HR_ALLOCATOR_ALLOCATE = 9;
  static final int HR_ALLOCATOR_DEALLOCATE = 10;
  static final int HR_LOG_SINK_WRITE = 11;
  static final int HR_CLOCK_NOW_NANOS = 12;
  static final int HR_EXECUTOR_PARALLEL_FOR = 13;
  static final int HR_READER_READ = 14;
  static final int HR_OPERATOR_INFER = 15;
  static final int HR_OPERATOR_COMPUTE = 16;
  static final int HR_OPERATOR_GRADIENT = 17;
  static final int HR_DATASET_CALLBACKS_NEXT = 18;
  static final int HR_DATASET_CALLBACKS_SEEK = 19;
  static final int HR_TRAIN_OPTIONS_ON_STEP = 20;
  static final int HR_TRAIN_OPTIONS_ON_MESSAGE = 21;
  static final int HR_TRAIN_OPTIONS_ON_EVALUATE = 22;

  /** All release functions: the object that the context stands for is not used any more. */
  static void release(long context) {
    try {
      Registry.release(context);
    } catch (Throwable failure) {
      Failures.report(failure);
    }
  }

  /** hr_work_on_done.callback */
  interface hr_work_on_done_callback {
    void hr_work_on_done_callback(long status) throws Throwable;
  }

  static void hr_work_on_done_callback(long context, long status) {
    try {
      Registry.get(context, hr_work_on_done_callback.class).hr_work_on_done_callback(status);
    } catch (Throwable failure) {
      Failures.report(failure);
    }
  }

  /** hr_op_parallel_for.fn */
  interface hr_op_parallel_for_fn {
    void hr_op_parallel_for_fn(int task) throws Throwable;
  }

  static void hr_op_parallel_for_fn(long context, int task) {
    try {
      Registry.get(context, hr_op_parallel_for_fn.class).hr_op_parallel_for_fn(task);
    } catch (Throwable failure) {
      Failures.report(failure);
    }
  }

  /** hr_run_on_done.callback */
  interface hr_run_on_done_callback {
    void hr_run_on_done_callback(long status) throws Throwable;
  }

  static void hr_run_on_done_callback(long context, long status) {
    try {
      Registry.get(context, hr_run_on_done_callback.class).hr_run_on_done_callback(status);
    } catch (Throwable failure) {
      Failures.report(failure);
    }
  }

  /** hr_limits.interrupted */
  interface hr_limits_interrupted {
    int hr_limits_interrupted() throws Throwable;
  }

  static int hr_limits_interrupted(long context) {
    try {
      return Registry.get(context, hr_limits_interrupted.class).hr_limits_interrupted();
    } catch (Throwable failure) {
      Failures.report(failure);
      return 0;
    }
  }

  /** hr_store_callbacks.get */
  interface hr_store_callbacks_get {
    void hr_store_callbacks_get(long key, long value, long capacity, long out_size) throws Throwable;
  }

  static long hr_store_callbacks_get(long context, long key, long value, long capacity, long out_size) {
    try {
      Registry.get(context, hr_store_callbacks_get.class).hr_store_callbacks_get(key, value, capacity, out_size);
      return 0;
    } catch (Throwable failure) {
      return Failures.status(failure);
    }
  }

  /** hr_store_callbacks.compare_and_swap */
  interface hr_store_callbacks_compare_and_swap {
    void hr_store_callbacks_compare_and_swap(long key, long expected, long expected_size, long desired, long desired_size, long out_swapped) throws Throwable;
  }

  static long hr_store_callbacks_compare_and_swap(long context, long key, long expected, long expected_size, long desired, long desired_size, long out_swapped) {
    try {
      Registry.get(context, hr_store_callbacks_compare_and_swap.class).hr_store_callbacks_compare_and_swap(key, expected, expected_size, desired, desired_size, out_swapped);
      return 0;
    } catch (Throwable failure) {
      return Failures.status(failure);
    }
  }

  /** hr_store_callbacks.remove */
  interface hr_store_callbacks_remove {
    void hr_store_callbacks_remove(long key) throws Throwable;
  }

  static long hr_store_callbacks_remove(long context, long key) {
    try {
      Registry.get(context, hr_store_callbacks_remove.class).hr_store_callbacks_remove(key);
      return 0;
    } catch (Throwable failure) {
      return Failures.status(failure);
    }
  }

  /** hr_allocator.allocate */
  interface hr_allocator_allocate {
    long hr_allocator_allocate(long bytes, long alignment) throws Throwable;
  }

  static long hr_allocator_allocate(long context, long bytes, long alignment) {
    try {
      return Registry.get(context, hr_allocator_allocate.class).hr_allocator_allocate(bytes, alignment);
    } catch (Throwable failure) {
      Failures.report(failure);
      return 0;
    }
  }

  /** hr_allocator.deallocate */
  interface hr_allocator_deallocate {
    void hr_allocator_deallocate(long data, long bytes, long alignment) throws Throwable;
  }

  static void hr_allocator_deallocate(long context, long data, long bytes, long alignment) {
    try {
      Registry.get(context, hr_allocator_deallocate.class).hr_allocator_deallocate(data, bytes, alignment);
    } catch (Throwable failure) {
      Failures.report(failure);
    }
  }

  /** hr_log_sink.write */
  interface hr_log_sink_write {
    void hr_log_sink_write(int level, long message) throws Throwable;
  }

  static void hr_log_sink_write(long context, int level, long message) {
    try {
      Registry.get(context, hr_log_sink_write.class).hr_log_sink_write(level, message);
    } catch (Throwable failure) {
      Failures.report(failure);
    }
  }

  /** hr_clock.now_nanos */
  interface hr_clock_now_nanos {
    long hr_clock_now_nanos() throws Throwable;
  }

  static long hr_clock_now_nanos(long context) {
    try {
      return Registry.get(context, hr_clock_now_nanos.class).hr_clock_now_nanos();
    } catch (Throwable failure) {
      Failures.report(failure);
      return 0;
    }
  }

  /** hr_executor.parallel_for */
  interface hr_executor_parallel_for {
    void hr_executor_parallel_for(int tasks, int threads, long fn, long fn_context) throws Throwable;
  }

  static void hr_executor_parallel_for(long context, int tasks, int threads, long fn, long fn_context) {
    try {
      Registry.get(context, hr_executor_parallel_for.class).hr_executor_parallel_for(tasks, threads, fn, fn_context);
    } catch (Throwable failure) {
      Failures.report(failure);
    }
  }

  /** hr_reader.read */
  interface hr_reader_read {
    void hr_reader_read(long offset, long out, long bytes) throws Throwable;
  }

  static long hr_reader_read(long context, long offset, long out, long bytes) {
    try {
      Registry.get(context, hr_reader_read.class).hr_reader_read(offset, out, bytes);
      return 0;
    } catch (Throwable failure) {
      return Failures.status(failure);
    }
  }

  /** hr_operator.infer */
  interface hr_operator_infer {
    void hr_operator_infer(long op) throws Throwable;
  }

  static long hr_operator_infer(long context, long op) {
    try {
      Registry.get(context, hr_operator_infer.class).hr_operator_infer(op);
      return 0;
    } catch (Throwable failure) {
      return Failures.status(failure);
    }
  }

  /** hr_operator.compute */
  interface hr_operator_compute {
    void hr_operator_compute(long op) throws Throwable;
  }

  static long hr_operator_compute(long context, long op) {
    try {
      Registry.get(context, hr_operator_compute.class).hr_operator_compute(op);
      return 0;
    } catch (Throwable failure) {
      return Failures.status(failure);
    }
  }

  /** hr_operator.gradient */
  interface hr_operator_gradient {
    void hr_operator_gradient(long op) throws Throwable;
  }

  static long hr_operator_gradient(long context, long op) {
    try {
      Registry.get(context, hr_operator_gradient.class).hr_operator_gradient(op);
      return 0;
    } catch (Throwable failure) {
      return Failures.status(failure);
    }
  }

  /** hr_dataset_callbacks.next */
  interface hr_dataset_callbacks_next {
    void hr_dataset_callbacks_next(long examples, long field_count, long out, long out_end) throws Throwable;
  }

  static long hr_dataset_callbacks_next(long context, long examples, long field_count, long out, long out_end) {
    try {
      Registry.get(context, hr_dataset_callbacks_next.class).hr_dataset_callbacks_next(examples, field_count, out, out_end);
      return 0;
    } catch (Throwable failure) {
      return Failures.status(failure);
    }
  }

  /** hr_dataset_callbacks.seek */
  interface hr_dataset_callbacks_seek {
    void hr_dataset_callbacks_seek(long epoch, long first_example) throws Throwable;
  }

  static long hr_dataset_callbacks_seek(long context, long epoch, long first_example) {
    try {
      Registry.get(context, hr_dataset_callbacks_seek.class).hr_dataset_callbacks_seek(epoch, first_example);
      return 0;
    } catch (Throwable failure) {
      return Failures.status(failure);
    }
  }

  /** hr_train_options.on_step */
  interface hr_train_options_on_step {
    void hr_train_options_on_step(long report, long out_stop) throws Throwable;
  }

  static long hr_train_options_on_step(long context, long report, long out_stop) {
    try {
      Registry.get(context, hr_train_options_on_step.class).hr_train_options_on_step(report, out_stop);
      return 0;
    } catch (Throwable failure) {
      return Failures.status(failure);
    }
  }

  /** hr_train_options.on_message */
  interface hr_train_options_on_message {
    void hr_train_options_on_message(long message) throws Throwable;
  }

  static void hr_train_options_on_message(long context, long message) {
    try {
      Registry.get(context, hr_train_options_on_message.class).hr_train_options_on_message(message);
    } catch (Throwable failure) {
      Failures.report(failure);
    }
  }

  /** hr_train_options.on_evaluate */
  interface hr_train_options_on_evaluate {
    void hr_train_options_on_evaluate(long report, long count, long names, long values) throws Throwable;
  }

  static long hr_train_options_on_evaluate(long context, long report, long count, long names, long values) {
    try {
      Registry.get(context, hr_train_options_on_evaluate.class).hr_train_options_on_evaluate(report, count, names, values);
      return 0;
    } catch (Throwable failure) {
      return Failures.status(failure);
    }
  }
}
