// Made by `python3 -m bindings.generate java` from docs/c_api.json; do not edit.
package dev.headrace;

/** The structs of C: each reads and writes memory at an address. */
final class Structs {
  private Structs() {}

  static final class hr_limits extends Struct {
    static final int BYTES = 40;

    hr_limits(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_limits(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long cancel() { return get_long(8); }
    void cancel(long value) { set_long(8, value); }
    long timeout_nanos() { return get_long(16); }
    void timeout_nanos(long value) { set_long(16, value); }
    long interrupted() { return get_long(24); }
    void use_interrupted() { set_long(24, Bridge.function(Callbacks.HR_LIMITS_INTERRUPTED)); }
    long context() { return get_long(32); }
    void context(long value) { set_long(32, value); }
  }

  static final class hr_store_options extends Struct {
    static final int BYTES = 24;

    hr_store_options(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_store_options(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    int serve() { return get_int(8); }
    void serve(int value) { set_int(8, value); }
    int trusted_fabric() { return get_int(12); }
    void trusted_fabric(int value) { set_int(12, value); }
    long secret() { return get_long(16); }
    void secret(long value) { set_long(16, value); }
  }

  static final class hr_store_callbacks extends Struct {
    static final int BYTES = 48;

    hr_store_callbacks(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_store_callbacks(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long context() { return get_long(8); }
    void context(long value) { set_long(8, value); }
    long get() { return get_long(16); }
    void use_get() { set_long(16, Bridge.function(Callbacks.HR_STORE_CALLBACKS_GET)); }
    long compare_and_swap() { return get_long(24); }
    void use_compare_and_swap() { set_long(24, Bridge.function(Callbacks.HR_STORE_CALLBACKS_COMPARE_AND_SWAP)); }
    long remove() { return get_long(32); }
    void use_remove() { set_long(32, Bridge.function(Callbacks.HR_STORE_CALLBACKS_REMOVE)); }
    long release() { return get_long(40); }
    void use_release() { set_long(40, Bridge.function(Callbacks.RELEASE)); }
  }

  static final class hr_group_options extends Struct {
    static final int BYTES = 120;

    hr_group_options(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_group_options(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    int rank() { return get_int(8); }
    void rank(int value) { set_int(8, value); }
    int size() { return get_int(12); }
    void size(int value) { set_int(12, value); }
    long epoch() { return get_long(16); }
    void epoch(long value) { set_long(16, value); }
    long name() { return get_long(24); }
    void name(long value) { set_long(24, value); }
    long store() { return get_long(32); }
    void store(long value) { set_long(32, value); }
    long store_url() { return get_long(40); }
    void store_url(long value) { set_long(40, value); }
    long transport() { return get_long(48); }
    void transport(long value) { set_long(48, value); }
    long address() { return get_long(56); }
    void address(long value) { set_long(56, value); }
    int trusted_fabric() { return get_int(64); }
    void trusted_fabric(int value) { set_int(64, value); }
    long timeout_nanos() { return get_long(72); }
    void timeout_nanos(long value) { set_long(72, value); }
    long silence_nanos() { return get_long(80); }
    void silence_nanos(long value) { set_long(80, value); }
    long algorithms() { return get_long(88); }
    void algorithms(long value) { set_long(88, value); }
    long dump_folder() { return get_long(96); }
    void dump_folder(long value) { set_long(96, value); }
    long secret() { return get_long(104); }
    void secret(long value) { set_long(104, value); }
    long calibration() { return get_long(112); }
    void calibration(long value) { set_long(112, value); }
  }

  static final class hr_operation extends Struct {
    static final int BYTES = 64;

    hr_operation(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_operation(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    int kind() { return get_int(8); }
    void kind(int value) { set_int(8, value); }
    int dtype() { return get_int(12); }
    void dtype(int value) { set_int(12, value); }
    long count() { return get_long(16); }
    void count(long value) { set_long(16, value); }
    long input() { return get_long(24); }
    void input(long value) { set_long(24, value); }
    long output() { return get_long(32); }
    void output(long value) { set_long(32, value); }
    int op() { return get_int(40); }
    void op(int value) { set_int(40, value); }
    int peer() { return get_int(44); }
    void peer(int value) { set_int(44, value); }
    int tag() { return get_int(48); }
    void tag(int value) { set_int(48, value); }
    double factor() { return get_double(56); }
    void factor(double value) { set_double(56, value); }
  }

  static final class hr_allocator extends Struct {
    static final int BYTES = 40;

    hr_allocator(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_allocator(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long context() { return get_long(8); }
    void context(long value) { set_long(8, value); }
    long allocate() { return get_long(16); }
    void use_allocate() { set_long(16, Bridge.function(Callbacks.HR_ALLOCATOR_ALLOCATE)); }
    long deallocate() { return get_long(24); }
    void use_deallocate() { set_long(24, Bridge.function(Callbacks.HR_ALLOCATOR_DEALLOCATE)); }
    long release() { return get_long(32); }
    void use_release() { set_long(32, Bridge.function(Callbacks.RELEASE)); }
  }

  static final class hr_log_sink extends Struct {
    static final int BYTES = 32;

    hr_log_sink(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_log_sink(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long context() { return get_long(8); }
    void context(long value) { set_long(8, value); }
    long write() { return get_long(16); }
    void use_write() { set_long(16, Bridge.function(Callbacks.HR_LOG_SINK_WRITE)); }
    long release() { return get_long(24); }
    void use_release() { set_long(24, Bridge.function(Callbacks.RELEASE)); }
  }

  static final class hr_clock extends Struct {
    static final int BYTES = 32;

    hr_clock(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_clock(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long context() { return get_long(8); }
    void context(long value) { set_long(8, value); }
    long now_nanos() { return get_long(16); }
    void use_now_nanos() { set_long(16, Bridge.function(Callbacks.HR_CLOCK_NOW_NANOS)); }
    long release() { return get_long(24); }
    void use_release() { set_long(24, Bridge.function(Callbacks.RELEASE)); }
  }

  static final class hr_executor extends Struct {
    static final int BYTES = 40;

    hr_executor(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_executor(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long context() { return get_long(8); }
    void context(long value) { set_long(8, value); }
    int concurrency() { return get_int(16); }
    void concurrency(int value) { set_int(16, value); }
    long parallel_for() { return get_long(24); }
    void use_parallel_for() { set_long(24, Bridge.function(Callbacks.HR_EXECUTOR_PARALLEL_FOR)); }
    long release() { return get_long(32); }
    void use_release() { set_long(32, Bridge.function(Callbacks.RELEASE)); }
  }

  static final class hr_env_options extends Struct {
    static final int BYTES = 56;

    hr_env_options(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_env_options(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long allocator() { return get_long(8); }
    void allocator(long value) { set_long(8, value); }
    long log() { return get_long(16); }
    void log(long value) { set_long(16, value); }
    long clock() { return get_long(24); }
    void clock(long value) { set_long(24, value); }
    long executor() { return get_long(32); }
    void executor(long value) { set_long(32, value); }
    int threads() { return get_int(40); }
    void threads(int value) { set_int(40, value); }
    long cost_table() { return get_long(48); }
    void cost_table(long value) { set_long(48, value); }
  }

  static final class hr_save_options extends Struct {
    static final int BYTES = 32;

    hr_save_options(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_save_options(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    int strip_names() { return get_int(8); }
    void strip_names(int value) { set_int(8, value); }
    long side_file() { return get_long(16); }
    void side_file(long value) { set_long(16, value); }
    int merge_adapters() { return get_int(24); }
    void merge_adapters(int value) { set_int(24, value); }
  }

  static final class hr_graph_info extends Struct {
    static final int BYTES = 56;

    hr_graph_info(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_graph_info(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long value_count() { return get_long(8); }
    void value_count(long value) { set_long(8, value); }
    long node_count() { return get_long(16); }
    void node_count(long value) { set_long(16, value); }
    long variable_count() { return get_long(24); }
    void variable_count(long value) { set_long(24, value); }
    long signature_count() { return get_long(32); }
    void signature_count(long value) { set_long(32, value); }
    long input_count() { return get_long(40); }
    void input_count(long value) { set_long(40, value); }
    long inputs() { return get_long(48); }
    void inputs(long value) { set_long(48, value); }
  }

  static final class hr_value_info extends Struct {
    static final int BYTES = 48;

    hr_value_info(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_value_info(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long name() { return get_long(8); }
    void name(long value) { set_long(8, value); }
    int dtype() { return get_int(16); }
    void dtype(int value) { set_int(16, value); }
    int rank() { return get_int(20); }
    void rank(int value) { set_int(20, value); }
    long dims() { return get_long(24); }
    void dims(long value) { set_long(24, value); }
    long symbols() { return get_long(32); }
    void symbols(long value) { set_long(32, value); }
    int producer() { return get_int(40); }
    void producer(int value) { set_int(40, value); }
    int is_constant() { return get_int(44); }
    void is_constant(int value) { set_int(44, value); }
  }

  static final class hr_node_info extends Struct {
    static final int BYTES = 96;

    hr_node_info(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_node_info(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long name() { return get_long(8); }
    void name(long value) { set_long(8, value); }
    long op() { return get_long(16); }
    void op(long value) { set_long(16, value); }
    int version() { return get_int(24); }
    void version(int value) { set_int(24, value); }
    long device() { return get_long(32); }
    void device(long value) { set_long(32, value); }
    long input_count() { return get_long(40); }
    void input_count(long value) { set_long(40, value); }
    long inputs() { return get_long(48); }
    void inputs(long value) { set_long(48, value); }
    long output_count() { return get_long(56); }
    void output_count(long value) { set_long(56, value); }
    long outputs() { return get_long(64); }
    void outputs(long value) { set_long(64, value); }
    long control_count() { return get_long(72); }
    void control_count(long value) { set_long(72, value); }
    long controls() { return get_long(80); }
    void controls(long value) { set_long(80, value); }
    long attribute_count() { return get_long(88); }
    void attribute_count(long value) { set_long(88, value); }
  }

  static final class hr_variable_info extends Struct {
    static final int BYTES = 40;

    hr_variable_info(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_variable_info(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long name() { return get_long(8); }
    void name(long value) { set_long(8, value); }
    int dtype() { return get_int(16); }
    void dtype(int value) { set_int(16, value); }
    int rank() { return get_int(20); }
    void rank(int value) { set_int(20, value); }
    long dims() { return get_long(24); }
    void dims(long value) { set_long(24, value); }
    int trainable() { return get_int(32); }
    void trainable(int value) { set_int(32, value); }
  }

  static final class hr_signature_info extends Struct {
    static final int BYTES = 80;

    hr_signature_info(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_signature_info(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long name() { return get_long(8); }
    void name(long value) { set_long(8, value); }
    long input_count() { return get_long(16); }
    void input_count(long value) { set_long(16, value); }
    long input_names() { return get_long(24); }
    void input_names(long value) { set_long(24, value); }
    long inputs() { return get_long(32); }
    void inputs(long value) { set_long(32, value); }
    long output_count() { return get_long(40); }
    void output_count(long value) { set_long(40, value); }
    long output_names() { return get_long(48); }
    void output_names(long value) { set_long(48, value); }
    long outputs() { return get_long(56); }
    void outputs(long value) { set_long(56, value); }
    long target_count() { return get_long(64); }
    void target_count(long value) { set_long(64, value); }
    long targets() { return get_long(72); }
    void targets(long value) { set_long(72, value); }
  }

  static final class hr_attribute_info extends Struct {
    static final int BYTES = 24;

    hr_attribute_info(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_attribute_info(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long name() { return get_long(8); }
    void name(long value) { set_long(8, value); }
    int kind() { return get_int(16); }
    void kind(int value) { set_int(16, value); }
  }

  static final class hr_load_options extends Struct {
    static final int BYTES = 24;

    hr_load_options(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_load_options(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    int read_whole_file() { return get_int(8); }
    void read_whole_file(int value) { set_int(8, value); }
    int verify_checksums() { return get_int(12); }
    void verify_checksums(int value) { set_int(12, value); }
    int inspect_only() { return get_int(16); }
    void inspect_only(int value) { set_int(16, value); }
  }

  static final class hr_reader extends Struct {
    static final int BYTES = 40;

    hr_reader(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_reader(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long context() { return get_long(8); }
    void context(long value) { set_long(8, value); }
    long total_bytes() { return get_long(16); }
    void total_bytes(long value) { set_long(16, value); }
    long read() { return get_long(24); }
    void use_read() { set_long(24, Bridge.function(Callbacks.HR_READER_READ)); }
    long release() { return get_long(32); }
    void use_release() { set_long(32, Bridge.function(Callbacks.RELEASE)); }
  }

  static final class hr_convert_options extends Struct {
    static final int BYTES = 16;

    hr_convert_options(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_convert_options(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    int constants() { return get_int(8); }
    void constants(int value) { set_int(8, value); }
    int simplify() { return get_int(12); }
    void simplify(int value) { set_int(12, value); }
  }

  static final class hr_export_options extends Struct {
    static final int BYTES = 24;

    hr_export_options(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_export_options(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    int external_data() { return get_int(8); }
    void external_data(int value) { set_int(8, value); }
    long signature() { return get_long(16); }
    void signature(long value) { set_long(16, value); }
  }

  static final class hr_graph_view extends Struct {
    static final int BYTES = 24;

    hr_graph_view(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_graph_view(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long signature() { return get_long(8); }
    void signature(long value) { set_long(8, value); }
    int graph() { return get_int(16); }
    void graph(int value) { set_int(16, value); }
  }

  static final class hr_op_tensor extends Struct {
    static final int BYTES = 32;

    hr_op_tensor(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
    }

    hr_op_tensor(long address) {
      super(address, BYTES);
    }

    int dtype() { return get_int(0); }
    void dtype(int value) { set_int(0, value); }
    long rank() { return get_long(8); }
    void rank(long value) { set_long(8, value); }
    long dims() { return get_long(16); }
    void dims(long value) { set_long(16, value); }
    long data() { return get_long(24); }
    void data(long value) { set_long(24, value); }
  }

  static final class hr_operator_attribute extends Struct {
    static final int BYTES = 24;

    hr_operator_attribute(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_operator_attribute(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long name() { return get_long(8); }
    void name(long value) { set_long(8, value); }
    int kind() { return get_int(16); }
    void kind(int value) { set_int(16, value); }
    int required() { return get_int(20); }
    void required(int value) { set_int(20, value); }
  }

  static final class hr_operator extends Struct {
    static final int BYTES = 96;

    hr_operator(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_operator(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long name() { return get_long(8); }
    void name(long value) { set_long(8, value); }
    int version() { return get_int(16); }
    void version(int value) { set_int(16, value); }
    int min_inputs() { return get_int(20); }
    void min_inputs(int value) { set_int(20, value); }
    int max_inputs() { return get_int(24); }
    void max_inputs(int value) { set_int(24, value); }
    int min_outputs() { return get_int(28); }
    void min_outputs(int value) { set_int(28, value); }
    int max_outputs() { return get_int(32); }
    void max_outputs(int value) { set_int(32, value); }
    long attribute_count() { return get_long(40); }
    void attribute_count(long value) { set_long(40, value); }
    long attributes() { return get_long(48); }
    void attributes(long value) { set_long(48, value); }
    long context() { return get_long(56); }
    void context(long value) { set_long(56, value); }
    long release() { return get_long(64); }
    void use_release() { set_long(64, Bridge.function(Callbacks.RELEASE)); }
    long infer() { return get_long(72); }
    void use_infer() { set_long(72, Bridge.function(Callbacks.HR_OPERATOR_INFER)); }
    long compute() { return get_long(80); }
    void use_compute() { set_long(80, Bridge.function(Callbacks.HR_OPERATOR_COMPUTE)); }
    long gradient() { return get_long(88); }
    void use_gradient() { set_long(88, Bridge.function(Callbacks.HR_OPERATOR_GRADIENT)); }
  }

  static final class hr_completion extends Struct {
    static final int BYTES = 24;

    hr_completion(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_completion(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long key() { return get_long(8); }
    void key(long value) { set_long(8, value); }
    long failure() { return get_long(16); }
    void failure(long value) { set_long(16, value); }
  }

  static final class hr_session_options extends Struct {
    static final int BYTES = 64;

    hr_session_options(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_session_options(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long seed() { return get_long(8); }
    void seed(long value) { set_long(8, value); }
    int max_plans() { return get_int(16); }
    void max_plans(int value) { set_int(16, value); }
    int disable_fusion() { return get_int(20); }
    void disable_fusion(int value) { set_int(20, value); }
    long device() { return get_long(24); }
    void device(long value) { set_long(24, value); }
    int max_sizes() { return get_int(32); }
    void max_sizes(int value) { set_int(32, value); }
    int check_memory() { return get_int(36); }
    void check_memory(int value) { set_int(36, value); }
    int exact_sums() { return get_int(40); }
    void exact_sums(int value) { set_int(40, value); }
    long memory_limit() { return get_long(48); }
    void memory_limit(long value) { set_long(48, value); }
    long pin() { return get_long(56); }
    void pin(long value) { set_long(56, value); }
  }

  static final class hr_dlpack_device extends Struct {
    static final int BYTES = 8;

    hr_dlpack_device(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
    }

    hr_dlpack_device(long address) {
      super(address, BYTES);
    }

    int device_type() { return get_int(0); }
    void device_type(int value) { set_int(0, value); }
    int device_id() { return get_int(4); }
    void device_id(int value) { set_int(4, value); }
  }

  static final class hr_dlpack_dtype extends Struct {
    static final int BYTES = 4;

    hr_dlpack_dtype(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
    }

    hr_dlpack_dtype(long address) {
      super(address, BYTES);
    }

    byte code() { return get_byte(0); }
    void code(byte value) { set_byte(0, value); }
    byte bits() { return get_byte(1); }
    void bits(byte value) { set_byte(1, value); }
    short lanes() { return get_short(2); }
    void lanes(short value) { set_short(2, value); }
  }

  static final class hr_dlpack_version extends Struct {
    static final int BYTES = 8;

    hr_dlpack_version(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
    }

    hr_dlpack_version(long address) {
      super(address, BYTES);
    }

    int major() { return get_int(0); }
    void major(int value) { set_int(0, value); }
    int minor() { return get_int(4); }
    void minor(int value) { set_int(4, value); }
  }

  static final class hr_dlpack_tensor extends Struct {
    static final int BYTES = 48;

    hr_dlpack_tensor(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
    }

    hr_dlpack_tensor(long address) {
      super(address, BYTES);
    }

    long data() { return get_long(0); }
    void data(long value) { set_long(0, value); }
    hr_dlpack_device device() { return new hr_dlpack_device(address + 8); }
    int ndim() { return get_int(16); }
    void ndim(int value) { set_int(16, value); }
    hr_dlpack_dtype dtype() { return new hr_dlpack_dtype(address + 20); }
    long shape() { return get_long(24); }
    void shape(long value) { set_long(24, value); }
    long strides() { return get_long(32); }
    void strides(long value) { set_long(32, value); }
    long byte_offset() { return get_long(40); }
    void byte_offset(long value) { set_long(40, value); }
  }

  static final class hr_dlpack extends Struct {
    static final int BYTES = 80;

    hr_dlpack(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
    }

    hr_dlpack(long address) {
      super(address, BYTES);
    }

    hr_dlpack_version version() { return new hr_dlpack_version(address + 0); }
    long manager_ctx() { return get_long(8); }
    void manager_ctx(long value) { set_long(8, value); }
    long deleter() { return get_long(16); }
    void use_deleter() { set_long(16, Bridge.function(Callbacks.HR_DLPACK_DELETER)); }
    long flags() { return get_long(24); }
    void flags(long value) { set_long(24, value); }
    hr_dlpack_tensor dl_tensor() { return new hr_dlpack_tensor(address + 32); }
  }

  static final class hr_dataset_options extends Struct {
    static final int BYTES = 56;

    hr_dataset_options(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_dataset_options(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long batch() { return get_long(8); }
    void batch(long value) { set_long(8, value); }
    long repeat() { return get_long(16); }
    void repeat(long value) { set_long(16, value); }
    int shuffle() { return get_int(24); }
    void shuffle(int value) { set_int(24, value); }
    int drop_remainder() { return get_int(28); }
    void drop_remainder(int value) { set_int(28, value); }
    long seed() { return get_long(32); }
    void seed(long value) { set_long(32, value); }
    long prefetch() { return get_long(40); }
    void prefetch(long value) { set_long(40, value); }
    int shard_index() { return get_int(48); }
    void shard_index(int value) { set_int(48, value); }
    int shard_count() { return get_int(52); }
    void shard_count(int value) { set_int(52, value); }
  }

  static final class hr_dataset_callbacks extends Struct {
    static final int BYTES = 48;

    hr_dataset_callbacks(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_dataset_callbacks(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long context() { return get_long(8); }
    void context(long value) { set_long(8, value); }
    long next() { return get_long(16); }
    void use_next() { set_long(16, Bridge.function(Callbacks.HR_DATASET_CALLBACKS_NEXT)); }
    long seek() { return get_long(24); }
    void use_seek() { set_long(24, Bridge.function(Callbacks.HR_DATASET_CALLBACKS_SEEK)); }
    long release() { return get_long(32); }
    void use_release() { set_long(32, Bridge.function(Callbacks.RELEASE)); }
    long examples() { return get_long(40); }
    void examples(long value) { set_long(40, value); }
  }

  static final class hr_dataset_field extends Struct {
    static final int BYTES = 40;

    hr_dataset_field(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_dataset_field(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long name() { return get_long(8); }
    void name(long value) { set_long(8, value); }
    int dtype() { return get_int(16); }
    void dtype(int value) { set_int(16, value); }
    long rank() { return get_long(24); }
    void rank(long value) { set_long(24, value); }
    long dims() { return get_long(32); }
    void dims(long value) { set_long(32, value); }
  }

  static final class hr_cache_options extends Struct {
    static final int BYTES = 32;

    hr_cache_options(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_cache_options(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long path() { return get_long(8); }
    void path(long value) { set_long(8, value); }
    long key() { return get_long(16); }
    void key(long value) { set_long(16, value); }
    long options() { return get_long(24); }
    void options(long value) { set_long(24, value); }
  }

  static final class hr_checkpoint_options extends Struct {
    static final int BYTES = 32;

    hr_checkpoint_options(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_checkpoint_options(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    int keep() { return get_int(8); }
    void keep(int value) { set_int(8, value); }
    long dataset() { return get_long(16); }
    void dataset(long value) { set_long(16, value); }
    long group() { return get_long(24); }
    void group(long value) { set_long(24, value); }
  }

  static final class hr_weights_options extends Struct {
    static final int BYTES = 24;

    hr_weights_options(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_weights_options(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    int partial() { return get_int(8); }
    void partial(int value) { set_int(8, value); }
    int trainable() { return get_int(12); }
    void trainable(int value) { set_int(12, value); }
    long names() { return get_long(16); }
    void names(long value) { set_long(16, value); }
  }

  static final class hr_train_report extends Struct {
    static final int BYTES = 104;

    hr_train_report(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_train_report(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long step() { return get_long(8); }
    void step(long value) { set_long(8, value); }
    long epoch() { return get_long(16); }
    void epoch(long value) { set_long(16, value); }
    double loss() { return get_double(24); }
    void loss(double value) { set_double(24, value); }
    double examples_per_second() { return get_double(32); }
    void examples_per_second(double value) { set_double(32, value); }
    int evaluated() { return get_int(40); }
    void evaluated(int value) { set_int(40, value); }
    double evaluation_loss() { return get_double(48); }
    void evaluation_loss(double value) { set_double(48, value); }
    double evaluation_accuracy() { return get_double(56); }
    void evaluation_accuracy(double value) { set_double(56, value); }
    long examples() { return get_long(64); }
    void examples(long value) { set_long(64, value); }
    double learning_rate() { return get_double(72); }
    void learning_rate(double value) { set_double(72, value); }
    double best() { return get_double(80); }
    void best(double value) { set_double(80, value); }
    long best_step() { return get_long(88); }
    void best_step(long value) { set_long(88, value); }
    int stopped_early() { return get_int(96); }
    void stopped_early(int value) { set_int(96, value); }
  }

  static final class hr_train_options extends Struct {
    static final int BYTES = 208;

    hr_train_options(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_train_options(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long train_signature() { return get_long(8); }
    void train_signature(long value) { set_long(8, value); }
    long eval_signature() { return get_long(16); }
    void eval_signature(long value) { set_long(16, value); }
    long train_data() { return get_long(24); }
    void train_data(long value) { set_long(24, value); }
    long eval_data() { return get_long(32); }
    void eval_data(long value) { set_long(32, value); }
    long max_steps() { return get_long(40); }
    void max_steps(long value) { set_long(40, value); }
    long scalar_count() { return get_long(48); }
    void scalar_count(long value) { set_long(48, value); }
    long scalar_names() { return get_long(56); }
    void scalar_names(long value) { set_long(56, value); }
    long scalars() { return get_long(64); }
    void scalars(long value) { set_long(64, value); }
    long checkpoint_directory() { return get_long(72); }
    void checkpoint_directory(long value) { set_long(72, value); }
    long checkpoint_steps() { return get_long(80); }
    void checkpoint_steps(long value) { set_long(80, value); }
    int keep_checkpoints() { return get_int(88); }
    void keep_checkpoints(int value) { set_int(88, value); }
    long event_directory() { return get_long(96); }
    void event_directory(long value) { set_long(96, value); }
    long summary_steps() { return get_long(104); }
    void summary_steps(long value) { set_long(104, value); }
    long eval_steps() { return get_long(112); }
    void eval_steps(long value) { set_long(112, value); }
    long on_step() { return get_long(120); }
    void use_on_step() { set_long(120, Bridge.function(Callbacks.HR_TRAIN_OPTIONS_ON_STEP)); }
    long on_message() { return get_long(128); }
    void use_on_message() { set_long(128, Bridge.function(Callbacks.HR_TRAIN_OPTIONS_ON_MESSAGE)); }
    long context() { return get_long(136); }
    void context(long value) { set_long(136, value); }
    long group() { return get_long(144); }
    void group(long value) { set_long(144, value); }
    long best_metric() { return get_long(152); }
    void best_metric(long value) { set_long(152, value); }
    int best_is_smallest() { return get_int(160); }
    void best_is_smallest(int value) { set_int(160, value); }
    int restore_best() { return get_int(164); }
    void restore_best(int value) { set_int(164, value); }
    long patience() { return get_long(168); }
    void patience(long value) { set_long(168, value); }
    long on_evaluate() { return get_long(176); }
    void use_on_evaluate() { set_long(176, Bridge.function(Callbacks.HR_TRAIN_OPTIONS_ON_EVALUATE)); }
    long bound_group() { return get_long(184); }
    void bound_group(long value) { set_long(184, value); }
    long elastic_group() { return get_long(192); }
    void elastic_group(long value) { set_long(192, value); }
    int min_ranks() { return get_int(200); }
    void min_ranks(int value) { set_int(200, value); }
    int max_ranks() { return get_int(204); }
    void max_ranks(int value) { set_int(204, value); }
  }

  static final class hr_parameter_group extends Struct {
    static final int BYTES = 32;

    hr_parameter_group(Scratch scratch) {
      super(scratch.bytes(BYTES), BYTES);
      set_long(0, BYTES);
    }

    hr_parameter_group(long address) {
      super(address, BYTES);
    }

    long struct_size() { return get_long(0); }
    void struct_size(long value) { set_long(0, value); }
    long patterns() { return get_long(8); }
    void patterns(long value) { set_long(8, value); }
    long optimizer() { return get_long(16); }
    void optimizer(long value) { set_long(16, value); }
    int learning_rate() { return get_int(24); }
    void learning_rate(int value) { set_int(24, value); }
  }
}
