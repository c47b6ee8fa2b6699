// Made by `python3 -m bindings.generate rust` from docs/c_api.json; do not edit.

use std::ffi::{c_char, c_int, c_void};
use std::marker::{PhantomData, PhantomPinned};
use std::mem;

pub type hr_code = i32;
pub const HR_OK: hr_code = 0;
pub const HR_CANCELLED: hr_code = 1;
pub const HR_UNKNOWN: hr_code = 2;
pub const HR_INVALID_ARGUMENT: hr_code = 3;
pub const HR_DEADLINE_EXCEEDED: hr_code = 4;
pub const HR_NOT_FOUND: hr_code = 5;
pub const HR_ALREADY_EXISTS: hr_code = 6;
pub const HR_PERMISSION_DENIED: hr_code = 7;
pub const HR_RESOURCE_EXHAUSTED: hr_code = 8;
pub const HR_FAILED_PRECONDITION: hr_code = 9;
pub const HR_ABORTED: hr_code = 10;
pub const HR_OUT_OF_RANGE: hr_code = 11;
pub const HR_UNIMPLEMENTED: hr_code = 12;
pub const HR_INTERNAL: hr_code = 13;
pub const HR_UNAVAILABLE: hr_code = 14;
pub const HR_DATA_LOSS: hr_code = 15;
pub const HR_UNAUTHENTICATED: hr_code = 16;
/// an update of the session failed half-way; restore a checkpoint
pub const HR_TAINTED: hr_code = 17;
/// the process that decides about a group's failures is gone
pub const HR_ARBITER_LOST: hr_code = 18;
/// a device failed for good; what was in its memory is gone
pub const HR_DEVICE_LOST: hr_code = 19;

/// Element types; the codes are ONNX's TensorProto.DataType.
pub type hr_dtype = i32;
pub const HR_UNDEFINED: hr_dtype = 0;
pub const HR_FLOAT32: hr_dtype = 1;
pub const HR_UINT8: hr_dtype = 2;
pub const HR_INT8: hr_dtype = 3;
pub const HR_UINT16: hr_dtype = 4;
pub const HR_INT16: hr_dtype = 5;
pub const HR_INT32: hr_dtype = 6;
pub const HR_INT64: hr_dtype = 7;
pub const HR_BOOL: hr_dtype = 9;
pub const HR_FLOAT16: hr_dtype = 10;
pub const HR_FLOAT64: hr_dtype = 11;
pub const HR_UINT32: hr_dtype = 12;
pub const HR_UINT64: hr_dtype = 13;
pub const HR_BFLOAT16: hr_dtype = 16;
/// floats of 8 bits are held, moved and converted, and no more
pub const HR_FLOAT8E4M3FN: hr_dtype = 17;
pub const HR_FLOAT8E4M3FNUZ: hr_dtype = 18;
pub const HR_FLOAT8E5M2: hr_dtype = 19;
pub const HR_FLOAT8E5M2FNUZ: hr_dtype = 20;

/// What an attribute of a node holds.
pub type hr_attribute_kind = i32;
pub const HR_ATTRIBUTE_INT: hr_attribute_kind = 0;
pub const HR_ATTRIBUTE_FLOAT: hr_attribute_kind = 1;
pub const HR_ATTRIBUTE_STRING: hr_attribute_kind = 2;
pub const HR_ATTRIBUTE_INTS: hr_attribute_kind = 3;
pub const HR_ATTRIBUTE_FLOATS: hr_attribute_kind = 4;
pub const HR_ATTRIBUTE_STRINGS: hr_attribute_kind = 5;
pub const HR_ATTRIBUTE_TENSOR: hr_attribute_kind = 6;
pub const HR_ATTRIBUTE_GRAPH: hr_attribute_kind = 7;

pub type hr_reduce_op = i32;
pub const HR_SUM: hr_reduce_op = 0;
pub const HR_PRODUCT: hr_reduce_op = 1;
pub const HR_MIN: hr_reduce_op = 2;
pub const HR_MAX: hr_reduce_op = 3;
/// sum / size; integers round towards zero
pub const HR_AVERAGE: hr_reduce_op = 4;
/// sum of factor * input; the factor is a field of hr_operation
pub const HR_PRE_MULTIPLIED_SUM: hr_reduce_op = 5;

pub type hr_operation_kind = i32;
pub const HR_OPERATION_SEND: hr_operation_kind = 0;
pub const HR_OPERATION_RECV: hr_operation_kind = 1;
pub const HR_OPERATION_BARRIER: hr_operation_kind = 2;
pub const HR_OPERATION_BROADCAST: hr_operation_kind = 3;
pub const HR_OPERATION_REDUCE: hr_operation_kind = 4;
pub const HR_OPERATION_ALL_REDUCE: hr_operation_kind = 5;
pub const HR_OPERATION_GATHER: hr_operation_kind = 6;
pub const HR_OPERATION_ALL_GATHER: hr_operation_kind = 7;
pub const HR_OPERATION_SCATTER: hr_operation_kind = 8;
pub const HR_OPERATION_REDUCE_SCATTER: hr_operation_kind = 9;
pub const HR_OPERATION_ALL_TO_ALL: hr_operation_kind = 10;

/// A rank that gives the others what it has.
pub type hr_root = i32;
/// the rank that has made the most steps
pub const HR_FURTHEST: hr_root = -1;

pub type hr_log_level = i32;
pub const HR_LOG_DEBUG: hr_log_level = 0;
pub const HR_LOG_INFO: hr_log_level = 1;
pub const HR_LOG_WARNING: hr_log_level = 2;
pub const HR_LOG_ERROR: hr_log_level = 3;

/// A graph within a graph: what a branch, an iteration or a call computes. It is a number that is
/// valid in its own graph only, until hr_graph_prune. A body may be used any number of times.
pub type hr_body = u32;

/// Values, nodes and variables are numbers that are valid in their own graph only. They stay valid
/// until hr_graph_prune.
pub type hr_value = u32;

pub type hr_node = u32;

pub type hr_variable = u32;

/// The version of the interface: 10000 * major + 100 * minor. Within a major version functions are
/// only added.
pub const HR_API_VERSION: u32 = 100;

/// Stands for an optional input that is omitted, and for a gradient that does not exist.
pub const HR_NONE: u32 = 4294967295;

pub const HR_DLPACK_READ_ONLY: u32 = 1;

/// A failure: a code, a message, and the name of the node that failed if there is one. Immutable:
/// any thread may read it.
#[repr(C)]
pub struct hr_status {
    _opaque: [u8; 0],
    _not_send: PhantomData<(*mut u8, PhantomPinned)>,
}

/// A text that the library made, such as the JSON of a describe function. Immutable.
#[repr(C)]
pub struct hr_text {
    _opaque: [u8; 0],
    _not_send: PhantomData<(*mut u8, PhantomPinned)>,
}

/// A token that cancels the calls to which it was given. The calls keep it alive, so it may be
/// released at any time. Thread-safe.
#[repr(C)]
pub struct hr_cancel {
    _opaque: [u8; 0],
    _not_send: PhantomData<(*mut u8, PhantomPinned)>,
}

/// The rank and size with which a launcher has started this process. Immutable.
///
/// They are read from environment variables: Headrace's own (HEADRACE_RANK, HEADRACE_SIZE,
/// HEADRACE_LOCAL_RANK, HEADRACE_LOCAL_SIZE, HEADRACE_STORE, HEADRACE_EPOCH, HEADRACE_ELASTIC,
/// HEADRACE_JOIN, HEADRACE_LOSSES), torchrun's (RANK, WORLD_SIZE,
/// LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, TORCHELASTIC_RESTART_COUNT),
/// Open MPI's (OMPI_COMM_WORLD_*), MPICH's (PMI_*, MPI_LOCAL*) and Slurm's (SLURM_PROCID, …; only in
/// a step that srun started). Headrace's variables add what the others do not set. If two variables
/// contradict each other, the call fails with HR_FAILED_PRECONDITION and names both. If none is set,
/// the process is alone: rank 0 of 1.
#[repr(C)]
pub struct hr_launch {
    _opaque: [u8; 0],
    _not_send: PhantomData<(*mut u8, PhantomPinned)>,
}

/// A small key-value store. Through it the ranks of a group find each other, and it decides which
/// cause a group has failed of. Thread-safe. Groups keep their store alive, so it may be released
/// first.
#[repr(C)]
pub struct hr_store {
    _opaque: [u8; 0],
    _not_send: PhantomData<(*mut u8, PhantomPinned)>,
}

/// A set of processes that communicate. Each has a rank from 0 to size - 1.
///
/// Order: all ranks start the same collective operations in the same order. The group compares what
/// they start; if two ranks differ, it ends and tells both of them. Sends and receives meet by tag
/// instead and need no order relative to the collective operations.
///
/// Threads: one thread at a time may start operations of a group. A thread that starts one while
/// another thread is doing so gets HR_FAILED_PRECONDITION; give each thread a sub-group
/// (hr_group_split). All other functions may be called by any thread at any time. A thread that
/// waits for an operation moves the data itself; while no thread waits, one thread of the env moves
/// it, and sleeps when nothing arrives. After fork() the child must not use a group.
///
/// Failure: if a rank dies, freezes, is cut off or starts a different operation, the group ends for
/// all ranks, including the operations in flight. All ranks get the same status, which names the
/// rank at fault:
/// HR_UNAVAILABLE: the rank is dead, silent or has left;
/// HR_FAILED_PRECONDITION: the ranks started different operations;
/// HR_DEADLINE_EXCEEDED, HR_CANCELLED: a rank gave up waiting;
/// HR_ABORTED: a rank called hr_group_abort;
/// HR_UNAUTHENTICATED: a rank has a different secret;
/// HR_ARBITER_LOST: the store, which decides on the cause, could not be reached.
/// Afterwards the group can continue in a new epoch (hr_group_shrink), or all ranks can be started
/// again with the next epoch.
#[repr(C)]
pub struct hr_group {
    _opaque: [u8; 0],
    _not_send: PhantomData<(*mut u8, PhantomPinned)>,
}

/// An operation in flight. Its buffers are in use until it has ended. Any number may be in flight.
/// Thread-safe. Releasing the work does not end the operation.
#[repr(C)]
pub struct hr_work {
    _opaque: [u8; 0],
    _not_send: PhantomData<(*mut u8, PhantomPinned)>,
}

/// Thread-safe. Two envs in one process are independent of each other.
///
/// Ownership: graphs, models, sessions, calls, data sets and groups keep their env alive, so the env
/// may be released first. Likewise all of these may be released before their tensors.
///
/// Threads: however many sessions and host threads run, the threads that compute never exceed the
/// budget. A run waits until it gets at least one thread.
///
/// Functions of the host are called
/// - by the thread that makes a call, during the call: hr_limits.interrupted, the steps of
/// hr_train;
/// - by the thread that runs a graph, which may be a thread of the library: what operators
/// compute, and the functions of data sets; `next` of a data set with prefetch by a thread of
/// its own;
/// - by the thread that builds a graph, opens a model or makes a plan: the types and gradients of
/// operators, hr_reader;
/// - by threads for callbacks, of which the env starts as many as it needs, 64 at most: the
/// callbacks of runs and operations (hr_run_on_done, hr_work_on_done), the log messages of
/// groups, and the questions to a store of the host when a group has failed;
/// - by any thread: the services below, and release functions, which the thread calls that drops
/// the last reference.
/// No function of the host runs on the thread that keeps groups alive, except an allocator. One that
/// hangs delays its own call and, if it is called by a thread for callbacks, nothing else. A
/// function may call the library, but not with the objects of the call that it is part of, if its
/// description does not allow that. The mark HR_CALLED_BY says for each which of these threads it
/// is.
///
/// Releasing: a release function may be called by any thread, also, as said, in a function of the
/// host. It does not wait, with these exceptions:
/// - the last reference to an env waits for callbacks that are running, unless it is released in
/// one of them; models, sessions, calls, queues, data sets and groups hold references, too;
/// - the last handle of a group waits as hr_group_close does;
/// - a data set with prefetch waits for the batch that is being read, unless a call still has it;
/// - the last handle of a store that this process keeps waits until its thread has ended.
///
/// Processes: a program may exit while objects are left and functions of the host are running. After
/// fork() the child may exit or become another program, and must not use an env of the parent. The
/// library must not be unloaded (dlclose) while an object of an env is left.
///
/// oneDNN, whose kernels some float32 nodes take where it is there, is opened when the first such
/// plan is made, and stays loaded: the library that the environment variable HEADRACE_ONEDNN names
/// ("off": none), else libdnnl.so.3 beside this library or where the system's loader looks.
#[repr(C)]
pub struct hr_env {
    _opaque: [u8; 0],
    _not_send: PhantomData<(*mut u8, PhantomPinned)>,
}

/// A graph under construction. Used by one thread at a time: a call on a graph that another call is
/// using fails with HR_FAILED_PRECONDITION, whether it changes or only reads the graph, and also if
/// a custom operator makes it while hr_graph_op is adding a node of that operator. Whoever releases
/// a graph must know that no call is using it. A call that fails leaves the graph as it was.
#[repr(C)]
pub struct hr_graph {
    _opaque: [u8; 0],
    _not_send: PhantomData<(*mut u8, PhantomPinned)>,
}

/// The description of a node, for everything that hr_graph_op cannot express: names, devices,
/// control inputs, tensors. Used by one thread at a time.
#[repr(C)]
pub struct hr_node_spec {
    _opaque: [u8; 0],
    _not_send: PhantomData<(*mut u8, PhantomPinned)>,
}

/// A loaded and verified graph. Immutable and thread-safe. Sessions keep their model alive, so the
/// model may be released first.
#[repr(C)]
pub struct hr_model {
    _opaque: [u8; 0],
    _not_send: PhantomData<(*mut u8, PhantomPinned)>,
}

/// A node of a custom operator, as the operator's functions see it. It is valid during the call of
/// such a function and on the calling thread only. Each of the calls below is allowed in some of the
/// functions, as the headings say. In others it fails, or returns HR_UNDEFINED, HR_NONE or 0.
#[repr(C)]
pub struct hr_op {
    _opaque: [u8; 0],
    _not_send: PhantomData<(*mut u8, PhantomPinned)>,
}

/// Thread-safe: any number of threads may take from a queue, each completion goes to one of them.
/// The order is that in which the runs and operations have ended. The queue may be released at any
/// time; completions that nobody has taken are dropped, and runs and operations go on. It keeps its
/// env alive.
#[repr(C)]
pub struct hr_queue {
    _opaque: [u8; 0],
    _not_send: PhantomData<(*mut u8, PhantomPinned)>,
}

/// Thread-safe. Runs that only read variables go in parallel; a run that writes variables excludes
/// all other runs of the session. What an operator of the host may do with sessions while a run
/// waits for it is said at hr_operator. A session, its model or its env may be closed or released
/// while runs are in flight: the runs finish.
///
/// A run that fails before its update phase has changed no variable. A run that fails in its update
/// phase leaves the session tainted: every later run fails with HR_TAINTED until a checkpoint has
/// been restored. Once the update phase has begun, cancellation and deadlines have no effect.
#[repr(C)]
pub struct hr_session {
    _opaque: [u8; 0],
    _not_send: PhantomData<(*mut u8, PhantomPinned)>,
}

/// A prepared run, the fast path: names are resolved once and memory is bound once, and a run with
/// the shapes of the run before allocates nothing. A call is used by one thread at a time: a
/// function on a call that another thread is using, or whose run is in flight (hr_call_start), fails
/// with HR_FAILED_PRECONDITION. Several calls of one session may run at the same time. A call keeps
/// its session alive.
#[repr(C)]
pub struct hr_call {
    _opaque: [u8; 0],
    _not_send: PhantomData<(*mut u8, PhantomPinned)>,
}

/// A run in the background, on a thread of the env. The env has at most as many such threads as its
/// thread budget; further runs wait for their turn. Thread-safe.
#[repr(C)]
pub struct hr_run {
    _opaque: [u8; 0],
    _not_send: PhantomData<(*mut u8, PhantomPinned)>,
}

/// A typed view of memory that several handles can share. The description (type, shape, strides) is
/// immutable: any thread may read it. A program that writes elements must make sure that no other
/// thread reads or writes them meanwhile.
#[repr(C)]
pub struct hr_tensor {
    _opaque: [u8; 0],
    _not_send: PhantomData<(*mut u8, PhantomPinned)>,
}

/// A source of batches; a batch is a tensor for each of the data set's named fields. An epoch gives
/// every example once. A pass has as many epochs as the data set's option `repeat` says;
/// hr_dataset_rewind begins another pass.
///
/// Threads: used by one thread at a time. While a call of a data set has not returned (also one that
/// hr_call_run makes, or a function of the host that `next` calls), every other call of it fails
/// with HR_FAILED_PRECONDITION. Only hr_dataset_field_count, hr_dataset_field_name and
/// hr_dataset_batches may be called at any time. No call waits for another thread's call.
///
/// Shards: the ranks of a group that train together open the same data set with the same options,
/// each as another shard. The order of an epoch's examples is the same for all. A global batch is
/// the next N * batch examples in this order, for N shards, or what is left of the epoch. If it has
/// R examples and begins at example P, shard I gets the examples from P + I * R / N to P + (I + 1) *
/// R / N (rounded down), in this order. So all shards give the same number of batches, and after
/// each batch all have the same position, P + R. Another number of shards can go on from there, with
/// no example lost or given twice. If R is less than N, some shards get a batch of 0 examples, and
/// the mean of its losses is not a number; drop_remainder leaves out every global batch that is not
/// full, on all shards.
#[repr(C)]
pub struct hr_dataset {
    _opaque: [u8; 0],
    _not_send: PhantomData<(*mut u8, PhantomPinned)>,
}

/// An event file that `tensorboard --logdir DIRECTORY` shows. Thread-safe.
#[repr(C)]
pub struct hr_summary {
    _opaque: [u8; 0],
    _not_send: PhantomData<(*mut u8, PhantomPinned)>,
}

/// Shows progress on standard error: as a bar if that is a terminal, otherwise as plain lines. Used
/// by one thread at a time.
#[repr(C)]
pub struct hr_progress {
    _opaque: [u8; 0],
    _not_send: PhantomData<(*mut u8, PhantomPinned)>,
}

/// The limits of one call. If a call gets NULL instead, it has no limits, unless its description
/// names a default. A call without limits may wait for ever.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_limits {
    pub struct_size: usize,
    /// NULL: the call cannot be cancelled
    pub cancel: *const hr_cancel,
    /// nanoseconds from the start of the call; 0 or less: no deadline
    pub timeout_nanos: i64,
    /// Asks the host whether the call shall end, for example because a user has pressed Ctrl-C. Called
    /// at least every 100 ms by the thread that made the call, while it waits and between the steps of
    /// a run; not at all by a call that ends sooner. It returns 0 to go on. Any other number ends the
    /// call with HR_CANCELLED, as the cancel token does: a call that waits for something that can be
    /// waited for again, such as hr_work_wait and hr_run_wait, ends nothing else. It may run any code
    /// of the host, but must not use the objects of the call; between the steps of a run, what is said
    /// at hr_operator holds for it. NULL: the host is not asked. A run in
    /// the background (hr_call_start) does not ask.
    pub interrupted: Option<unsafe extern "C" fn(context: *mut c_void) -> c_int>,
    /// of `interrupted`
    pub context: *mut c_void,
}
impl Default for hr_limits {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_store_options {
    pub struct_size: usize,
    /// 1: this process keeps the store, on a thread of its own, for as long as the handle or a group
    /// that uses it lives. If a store is kept at this address already, the call opens that one. PORT
    /// may be 0, which means any free port.
    pub serve: i32,
    /// as in hr_group_options
    pub trusted_fabric: i32,
    /// as in hr_group_options; NULL: as there
    pub secret: *const c_char,
}
impl Default for hr_store_options {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

/// A store of the host. The functions may be called from any thread, also threads of the library,
/// several at a time. Keys are texts of at most 512 bytes, values of at most 1 MiB; sizes do not
/// include the NUL. A failure, for example HR_UNAVAILABLE because the store cannot be reached, comes
/// back with its code and message from the call that needed the store; if a group cannot learn from
/// its store why it has ended, it ends with HR_ARBITER_LOST and that message.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_store_callbacks {
    pub struct_size: usize,
    pub context: *mut c_void,
    /// Copies the value, or the part of it that fits, and sets *out_size to the size of the whole
    /// value; -1 if there is no such key.
    pub get: Option<unsafe extern "C" fn(context: *mut c_void, key: *const c_char, value: *mut c_char, capacity: usize, out_size: *mut i64) -> *mut hr_status>,
    /// Sets the key to `desired` if its value is `expected`. If `expected` is NULL, it sets the key if
    /// that does not exist. The step is atomic for all ranks. Sets *out_swapped to 1 if the key was
    /// set, and to 0 if it was not.
    pub compare_and_swap: Option<unsafe extern "C" fn(context: *mut c_void, key: *const c_char, expected: *const c_char, expected_size: usize, desired: *const c_char, desired_size: usize, out_swapped: *mut i32) -> *mut hr_status>,
    /// Removes the key if it exists.
    pub remove: Option<unsafe extern "C" fn(context: *mut c_void, key: *const c_char) -> *mut hr_status>,
    /// called when the store and all groups that use it are gone; may
    /// be NULL
    pub release: Option<unsafe extern "C" fn(context: *mut c_void)>,
}
impl Default for hr_store_callbacks {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_group_options {
    pub struct_size: usize,
    pub rank: i32,
    /// 0: rank, size and epoch come from the environment
    /// (hr_launch_from_environment), and so does the store if none is given
    pub size: i32,
    /// of the job; each restart of all ranks needs a new one
    pub epoch: u64,
    /// Must be unique among the groups of one store and epoch. NULL: "world".
    pub name: *const c_char,
    /// the store; NULL: the one that store_url names
    pub store: *mut hr_store,
    /// as for hr_store_open; must be NULL if there is a store
    pub store_url: *const c_char,
    /// The transports that may be used, such as "shm,tcp", or "auto" for all: inproc (threads of one
    /// env), shm (processes of one host), ucx (if it has RDMA hardware and trusted_fabric is set) and
    /// tcp. Each peer is connected by the fastest of them that reaches it. NULL: $HEADRACE_TRANSPORT,
    /// or "auto" if that is not set.
    pub transport: *const c_char,
    /// The numeric IPv4 or IPv6 address of this host where TCP listens. NULL: if the store has a
    /// network address, the address from which the route to it leaves; otherwise 127.0.0.1.
    pub address: *const c_char,
    /// 1: TCP may leave this host without a secret, in plain text; UCX always
    /// does
    pub trusted_fabric: i32,
    /// The timeout of calls that are given no limits, including the creation; 0: 10 minutes; -1: none.
    pub timeout_nanos: i64,
    /// A peer that sends nothing for so long counts as dead; 0: 10 seconds; at most one day.
    pub silence_nanos: i64,
    /// Fixes algorithms, such as "all_reduce=ring,broadcast=chain"; the same on all ranks. NULL: the
    /// cost model chooses.
    pub algorithms: *const c_char,
    /// The folder of the flight recorder. When the group fails, the text of hr_group_dump is written
    /// there as NAME-EPOCH-RANK.json. Until then the folder contains NAME-EPOCH-RANK.flight (about
    /// 200 kB, removed when the group is closed), which hr_dump_read reads at any time, even if the
    /// process hangs or was killed. NULL: $HEADRACE_DUMP_FOLDER, or no files if that is not set.
    pub dump_folder: *const c_char,
    /// The cluster secret, the same on all ranks: at least 16 bytes that nobody can guess (openssl
    /// rand -hex 32). With it TCP is TLS 1.3, and a process with another secret, or none, gets
    /// HR_UNAUTHENTICATED. The secret is copied and never shown. NULL: $HEADRACE_SECRET, or the first
    /// line of the file $HEADRACE_SECRET_FILE, or none; "": none.
    pub secret: *const c_char,
    /// The path of a file in which 'headrace comm calibrate' has written what communication costs on
    /// this machine. The file of rank 0 counts for all ranks. NULL: $HEADRACE_CALIBRATION, or the
    /// machine's file in the user's cache folder if it exists; "": built-in costs. A file of another
    /// machine, or an invalid one, is not used, and the log and hr_group_describe say why.
    pub calibration: *const c_char,
}
impl Default for hr_group_options {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

/// The description of any of the operations above.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_operation {
    pub struct_size: usize,
    pub kind: hr_operation_kind,
    pub dtype: hr_dtype,
    pub count: u64,
    /// NULL if this rank needs none
    pub input: *const c_void,
    /// NULL if this rank needs none
    pub output: *mut c_void,
    pub op: hr_reduce_op,
    /// the root; of a send the receiver, of a receive the sender
    pub peer: i32,
    /// of sends and receives
    pub tag: u32,
    /// of HR_PRE_MULTIPLIED_SUM; it may differ between ranks
    pub factor: f64,
}
impl Default for hr_operation {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

/// Memory of the host. Both functions may be called from any thread. `alignment` is a power of two.
/// `allocate` returns NULL if there is no memory left.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_allocator {
    pub struct_size: usize,
    pub context: *mut c_void,
    pub allocate: Option<unsafe extern "C" fn(context: *mut c_void, bytes: usize, alignment: usize) -> *mut c_void>,
    pub deallocate: Option<unsafe extern "C" fn(context: *mut c_void, data: *mut c_void, bytes: usize, alignment: usize)>,
    pub release: Option<unsafe extern "C" fn(context: *mut c_void)>,
}
impl Default for hr_allocator {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

/// Receives the library's log messages. `write` may be called from any thread.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_log_sink {
    pub struct_size: usize,
    pub context: *mut c_void,
    pub write: Option<unsafe extern "C" fn(context: *mut c_void, level: hr_log_level, message: *const c_char)>,
    pub release: Option<unsafe extern "C" fn(context: *mut c_void)>,
}
impl Default for hr_log_sink {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

/// A monotonic clock, for deadlines. `now_nanos` returns nanoseconds and may be called from any
/// thread.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_clock {
    pub struct_size: usize,
    pub context: *mut c_void,
    pub now_nanos: Option<unsafe extern "C" fn(context: *mut c_void) -> i64>,
    pub release: Option<unsafe extern "C" fn(context: *mut c_void)>,
}
impl Default for hr_clock {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

/// Threads of the host. `parallel_for` calls fn(fn_context, task) once for each task in \[0, tasks),
/// on at most `threads` threads including the calling one, and returns when all calls have returned.
/// It may be called from any thread.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_executor {
    pub struct_size: usize,
    pub context: *mut c_void,
    /// the most threads that run tasks at one time, including the caller's
    pub concurrency: i32,
    pub parallel_for: Option<unsafe extern "C" fn(context: *mut c_void, tasks: i32, threads: i32, r#fn: Option<unsafe extern "C" fn(fn_context: *mut c_void, task: c_int)>, fn_context: *mut c_void)>,
    pub release: Option<unsafe extern "C" fn(context: *mut c_void)>,
}
impl Default for hr_executor {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

/// The structs are copied. Their contexts and functions must stay valid until they are released.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_env_options {
    pub struct_size: usize,
    /// NULL: malloc
    pub allocator: *const hr_allocator,
    /// NULL: messages are dropped
    pub log: *const hr_log_sink,
    /// NULL: the system's monotonic clock
    pub clock: *const hr_clock,
    /// NULL: threads of the library
    pub executor: *const hr_executor,
    /// the thread budget; 0: one per processor; ignored if there is an executor
    pub threads: i32,
    /// A file that `headrace roof --costs FILE` has measured on this machine: layouts and kernels of
    /// convolutions are chosen by it. NULL: the file that the environment variable HEADRACE_COSTS
    /// names, or if it names none, estimates that hold for most machines. HR_NOT_FOUND: there is no
    /// such file. HR_DATA_LOSS: it is damaged. HR_FAILED_PRECONDITION: it is of a machine with other
    /// instructions.
    pub cost_table: *const c_char,
}
impl Default for hr_env_options {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_save_options {
    pub struct_size: usize,
    /// 1: omit the names of nodes and values; messages then use numbers
    pub strip_names: i32,
    /// The file for the tensors, relative to the graph's file. NULL: the same.
    pub side_file: *const c_char,
    /// 1: add low-rank adapters (hr_graph_add_lora) to their weights, and leave them out.
    /// HR_FAILED_PRECONDITION if something else uses such a weight. A graph can only do it with
    /// adapters that it has loaded, a session (hr_session_export) with all.
    pub merge_adapters: i32,
}
impl Default for hr_save_options {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_graph_info {
    pub struct_size: usize,
    pub value_count: usize,
    pub node_count: usize,
    pub variable_count: usize,
    pub signature_count: usize,
    pub input_count: usize,
    /// in the order in which they were added
    pub inputs: *const hr_value,
}
impl Default for hr_graph_info {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_value_info {
    pub struct_size: usize,
    pub name: *const c_char,
    pub dtype: hr_dtype,
    /// -1: unknown
    pub rank: i32,
    /// -1: unknown until a run
    pub dims: *const i64,
    /// the name of an unknown dimension, or NULL
    pub symbols: *const *const c_char,
    /// the node that computes it; HR_NONE for inputs and constants
    pub producer: hr_node,
    /// 1: hr_graph_value_tensor gives the contents
    pub is_constant: i32,
}
impl Default for hr_value_info {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_node_info {
    pub struct_size: usize,
    pub name: *const c_char,
    /// "Conv", "headrace.train.SGD"
    pub op: *const c_char,
    /// of the operator
    pub version: i32,
    /// "": the session chooses
    pub device: *const c_char,
    pub input_count: usize,
    /// HR_NONE for an optional input that is omitted
    pub inputs: *const hr_value,
    pub output_count: usize,
    /// HR_NONE for an output that is not computed
    pub outputs: *const hr_value,
    pub control_count: usize,
    /// the nodes that it runs after
    pub controls: *const hr_node,
    pub attribute_count: usize,
}
impl Default for hr_node_info {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_variable_info {
    pub struct_size: usize,
    pub name: *const c_char,
    pub dtype: hr_dtype,
    pub rank: i32,
    pub dims: *const i64,
    pub trainable: i32,
}
impl Default for hr_variable_info {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_signature_info {
    pub struct_size: usize,
    pub name: *const c_char,
    pub input_count: usize,
    pub input_names: *const *const c_char,
    pub inputs: *const hr_value,
    pub output_count: usize,
    pub output_names: *const *const c_char,
    pub outputs: *const hr_value,
    pub target_count: usize,
    pub targets: *const hr_node,
}
impl Default for hr_signature_info {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_attribute_info {
    pub struct_size: usize,
    pub name: *const c_char,
    pub kind: hr_attribute_kind,
}
impl Default for hr_attribute_info {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_load_options {
    pub struct_size: usize,
    /// 1: read the file into memory instead of mapping it. If somebody truncates a mapped file while
    /// it is in use, the process gets SIGBUS. Reading is safe against that, but slower.
    pub read_whole_file: i32,
    /// 1: verify the checksums of the tensors. A load without this does not read them.
    pub verify_checksums: i32,
    /// 1: load the model even if it has operators that this library does not know. Such a model can be
    /// described and viewed; creating a session of it fails as the load would have failed.
    pub inspect_only: i32,
}
impl Default for hr_load_options {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

/// A file of the host. `read` copies the `bytes` bytes at `offset` to `out`. It is called on the
/// thread that loads, during the load only; the load fails with its failure. `release` is called at
/// the end of a load that succeeds, and may be NULL.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_reader {
    pub struct_size: usize,
    pub context: *mut c_void,
    /// of the file
    pub total_bytes: u64,
    pub read: Option<unsafe extern "C" fn(context: *mut c_void, offset: u64, out: *mut c_void, bytes: usize) -> *mut hr_status>,
    pub release: Option<unsafe extern "C" fn(context: *mut c_void)>,
}
impl Default for hr_reader {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

/// How a model of another format is converted.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_convert_options {
    pub struct_size: usize,
    /// 0: weights become variables, which can be trained. 1: they become constants.
    pub constants: i32,
    /// 1: what depends on constants alone becomes a constant if it has at most 1 MiB, and what does
    /// nothing goes: copies (Identity, Dropout that does not train, casts to the same type), nodes
    /// that compute what another one does, and nodes and weights that no output needs. Results stay
    /// what they are. A file beside `to`, called as it with ".part" behind, is written meanwhile. 0:
    /// every node stays.
    pub simplify: i32,
}
impl Default for hr_convert_options {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

/// How a model is written in another format.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_export_options {
    pub struct_size: usize,
    /// 1: tensors go to a file beside the model, called as it with ".data" behind. 0: they do so only
    /// if the model's file would otherwise be larger than its format allows (ONNX: 2 GiB).
    pub external_data: i32,
    /// The signature that is written. NULL: "infer", or the only one.
    pub signature: *const c_char,
}
impl Default for hr_export_options {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

/// The nodes that a view shows.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_graph_view {
    pub struct_size: usize,
    /// The view shows what this signature needs of the main graph. NULL: all nodes.
    pub signature: *const c_char,
    /// 0: the main graph; others have the numbers of hr_model_describe
    pub graph: u32,
}
impl Default for hr_graph_view {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

/// A contiguous tensor in a kernel. An optional tensor that is omitted has the dtype HR_UNDEFINED
/// and NULL data. `data` may also be NULL if a dimension is 0. The library makes these structs;
/// later versions may add fields at the end.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_op_tensor {
    pub dtype: hr_dtype,
    pub rank: usize,
    pub dims: *const i64,
    pub data: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_operator_attribute {
    pub struct_size: usize,
    pub name: *const c_char,
    /// a number, a string or a list; tensors and graphs are not supported
    pub kind: hr_attribute_kind,
    /// 1: every node must have it
    pub required: i32,
}
impl Default for hr_operator_attribute {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

/// The functions may be called from any thread, several at a time. Each returns NULL, or a status of
/// hr_status_create. With such a status the library fails the call during which it called the
/// function, and adds the name of the node.
///
/// `compute` may call the library, on the thread that it is called by and in its tasks
/// (hr_op_parallel_for), in which the following holds; it is the same for hr_limits.interrupted.
/// - It may run other sessions of the env, whose operators may do the same. Such a run does not
/// wait for threads: it has those of the run around it, and in a task the task's own thread.
/// - With the session of a run around it, it may do what does not wait for that run. If that run
/// only reads variables, these are runs and calls that read them. Others, and all of them if
/// that run writes variables (runs, getting and setting variables, saving, restoring, exporting),
/// fail at once with HR_FAILED_PRECONDITION.
/// - hr_run_wait fails in the same way for a run of the env that has not ended, and so does the
/// seventeenth run within each other.
/// The library does not see through waiting of other kinds: for a thread of the host, a queue or a
/// data set with prefetch, which may need the threads of the run that waits for them, or for a run
/// of a session in another thread, whose operator waits for this session. Limits end that.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_operator {
    pub struct_size: usize,
    /// domain, dot and operator: "com.example.Swish"
    pub name: *const c_char,
    /// of this definition; several may be added; 0 means 1
    pub version: i32,
    /// max -1: any number
    pub min_inputs: i32,
    /// max -1: any number
    pub max_inputs: i32,
    /// max -1: any number
    pub min_outputs: i32,
    /// max -1: any number
    pub max_outputs: i32,
    pub attribute_count: usize,
    pub attributes: *const hr_operator_attribute,
    pub context: *mut c_void,
    /// called when the env is gone; may be NULL
    pub release: Option<unsafe extern "C" fn(context: *mut c_void)>,
    /// Checks the types of the inputs and sets the types of all outputs. Called while a graph is
    /// built, when dimensions may be unknown, and for each plan, when all dimensions are known.
    pub infer: Option<unsafe extern "C" fn(context: *mut c_void, op: *mut hr_op) -> *mut hr_status>,
    /// Computes the outputs. They must depend on the inputs and attributes only, because the library
    /// may merge equal nodes and compute nodes with constant inputs once.
    pub compute: Option<unsafe extern "C" fn(context: *mut c_void, op: *mut hr_op) -> *mut hr_status>,
    /// Adds the nodes that compute the gradients of the inputs. NULL: gradients stop at this node.
    pub gradient: Option<unsafe extern "C" fn(context: *mut c_void, op: *mut hr_op) -> *mut hr_status>,
}
impl Default for hr_operator {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

/// What has ended.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_completion {
    pub struct_size: usize,
    /// the one that was given with the run or the operation
    pub key: u64,
    /// NULL: it has succeeded; the caller releases it
    pub failure: *mut hr_status,
}
impl Default for hr_completion {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_session_options {
    pub struct_size: usize,
    /// of initial values and of random operators
    pub seed: u64,
    /// the most compiled plans that are cached; 0: 64
    pub max_plans: i32,
    /// 1: run every node by itself, for example to find a fault
    pub disable_fusion: i32,
    /// The device ("TOY:0") of nodes that name none (hr_graph_device). NULL: the CPU.
    pub device: *const c_char,
    /// the most sizes of bounded dimensions that a plan keeps (hr_graph_bound); 0:
    /// 64
    pub max_sizes: i32,
    /// 1: verify of each plan that every step reads only what was given or written before, and fill
    /// working memory with a pattern (NaN, -1) before each run and as soon as it is no longer needed.
    /// A fault of a kernel or of the library then shows as an error or as NaN instead of as a number
    /// that is a little wrong. Runs take longer. The environment variable HEADRACE_CHECK_MEMORY=1 does
    /// the same for all sessions of a process.
    pub check_memory: i32,
    /// 1: use no algorithm that trades accuracy for speed, such as Winograd's convolution.
    pub exact_sums: i32,
    /// The most bytes of working memory that a plan may take on the CPU (arena_bytes in
    /// hr_call_describe): activations, their gradients, and what kernels need while they run;
    /// variables, inputs, outputs and packed weights do not count. A plan that would need more
    /// computes values again in place of keeping them. Results have the same bits; a run takes longer.
    /// HR_RESOURCE_EXHAUSTED says what a plan needs at least, and what holds it. 0: no limit.
    pub memory_limit: u64,
    /// For developers of this library: what would otherwise be chosen by estimates. Words with blanks
    /// between them: "layout=plain", "layout=channels_last" or "layout=batch_blocked" for all
    /// convolutions that can run so; "kernel=direct" or "kernel=winograd" for those that run
    /// batch-blocked or channels-last (exact_sums forbids winograd all the same), "kernel=matrix_unit"
    /// for those that run channels-last on a processor with one, "kernel=portable" or "kernel=onednn"
    /// for those that run plain. NULL: nothing.
    pub pin: *const c_char,
}
impl Default for hr_session_options {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

/// The layouts of DLPack 1.x (<https://dmlc.github.io/dlpack>): DLDevice, DLDataType, DLTensor,
/// DLPackVersion and DLManagedTensorVersioned.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_dlpack_device {
    /// 1: host memory (kDLCPU)
    pub device_type: i32,
    pub device_id: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_dlpack_dtype {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_dlpack_version {
    pub major: u32,
    pub minor: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_dlpack_tensor {
    /// NULL if there are no elements
    pub data: *mut c_void,
    pub device: hr_dlpack_device,
    pub ndim: i32,
    pub dtype: hr_dlpack_dtype,
    pub shape: *mut i64,
    /// in elements; may be NULL before DLPack 1.2
    pub strides: *mut i64,
    pub byte_offset: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_dlpack {
    pub version: hr_dlpack_version,
    pub manager_ctx: *mut c_void,
    /// Releases `self` and the memory. NULL: there is nothing to release.
    pub deleter: Option<unsafe extern "C" fn(self_: *mut hr_dlpack)>,
    /// HR_DLPACK_READ_ONLY; other bits are ignored
    pub flags: u64,
    pub dl_tensor: hr_dlpack_tensor,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_dataset_options {
    pub struct_size: usize,
    /// examples in a batch of this shard; 0: 32
    pub batch: i64,
    /// epochs in a pass; 0: 1; -1: forever
    pub repeat: i64,
    /// 1: a new order in each epoch
    pub shuffle: i32,
    /// 1: leave out a last batch that is smaller
    pub drop_remainder: i32,
    /// of the order
    pub seed: u64,
    /// the number of batches that a thread reads ahead
    pub prefetch: i64,
    /// which shard this is, from 0 to shard_count - 1
    pub shard_index: i32,
    /// 0: 1
    pub shard_count: i32,
}
impl Default for hr_dataset_options {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

/// A data set whose batches the host makes. The functions are called by one thread at a time: the
/// one that calls hr_dataset_next, hr_dataset_done, hr_train or hr_evaluate, or that runs a call
/// with the data set; with prefetch, a thread of the library. They must not use the data set. A
/// failure that they return comes back from the call that needed the batch, with its code and
/// message.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_dataset_callbacks {
    pub struct_size: usize,
    pub context: *mut c_void,
    /// Makes the next batch of `examples` examples. If the epoch is over, sets *out_end to 1 instead
    /// (it is 0 on entry). With shards the batch must have exactly `examples` examples; without, it
    /// may have fewer, but at least one.
    ///
    /// On entry `out` holds a tensor for each field, of the declared shape but with `examples` as its
    /// first dimension, or NULL if a dimension of the field is -1. The host either fills the tensor's
    /// memory, or releases the tensor and stores one of its own in `out`, which the library releases.
    /// It must store its own if `out` holds NULL or if the batch is smaller than `examples`.
    ///
    /// A call that fails makes no batch: the library releases what `out` holds, and the next call asks
    /// for the same batch.
    pub next: Option<unsafe extern "C" fn(context: *mut c_void, examples: i64, field_count: usize, out: *mut *mut hr_tensor, out_end: *mut i32) -> *mut hr_status>,
    /// Makes the next batch begin with an example of an epoch. If the epoch has just `first_example`
    /// examples, the next call of `next` finds that it is over. A new data set begins with example 0
    /// of epoch 0. Called before the first batch of every later epoch, before the first batch after
    /// hr_dataset_rewind or a restored position, and with shards before each batch that does not
    /// follow the one before. NULL: the data can be read once, from its beginning, and has no shards.
    pub seek: Option<unsafe extern "C" fn(context: *mut c_void, epoch: i64, first_example: i64) -> *mut hr_status>,
    /// may be NULL
    pub release: Option<unsafe extern "C" fn(context: *mut c_void)>,
    /// The exact number of examples in an epoch, of all shards together; 0 or -1: unknown. If there
    /// are more or fewer, the run or call that finds out fails with HR_DATA_LOSS and changes neither
    /// the position nor the session.
    pub examples: i64,
}
impl Default for hr_dataset_callbacks {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

/// A field of a data set. `dims` is the largest shape of a batch; a dimension of -1 differs between
/// batches.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_dataset_field {
    pub struct_size: usize,
    pub name: *const c_char,
    pub dtype: hr_dtype,
    pub rank: usize,
    pub dims: *const i64,
}
impl Default for hr_dataset_field {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_cache_options {
    pub struct_size: usize,
    /// of a file that later processes use, too; NULL: memory
    pub path: *const c_char,
    /// What the examples depend on beside files: a file that was made with another key is made anew.
    /// Needed for a file if the library cannot know that, since the data set comes from tensors, from
    /// functions of the host, or through a session (hr_dataset_map). May be NULL otherwise.
    pub key: *const c_char,
    /// How the new data set is drawn; NULL: as `dataset` is, or defaults if that was made of the
    /// host's functions.
    pub options: *const hr_dataset_options,
}
impl Default for hr_cache_options {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_checkpoint_options {
    pub struct_size: usize,
    /// how many of the newest checkpoints are kept; 0: 5; -1: all
    pub keep: i32,
    /// whose position is saved or restored, too; may be NULL
    pub dataset: *const hr_dataset,
    /// for which this process writes, see below; may be NULL
    pub group: *const hr_group,
}
impl Default for hr_checkpoint_options {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_weights_options {
    pub struct_size: usize,
    /// Import: what only the file or only the model has is left alone. 0: every tensor of the file has
    /// a variable, and every trainable variable a tensor.
    pub partial: i32,
    /// Export: only trainable variables.
    pub trainable: i32,
    /// JSON, an object {"name in the file": "variable"} for names that differ, the same for import and
    /// export; null instead of a variable leaves the tensor out. NULL: all names are the same.
    pub names: *const c_char,
}
impl Default for hr_weights_options {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_train_report {
    pub struct_size: usize,
    pub step: i64,
    /// complete epochs. If a host's data set does not know its number of examples, an
    /// epoch counts when the first batch after it comes, or at the end of the pass
    pub epoch: i64,
    pub loss: f64,
    pub examples_per_second: f64,
    /// 1: the two fields of the evaluation are of this step
    pub evaluated: i32,
    /// mean per example
    pub evaluation_loss: f64,
    /// NaN if the signature has no output "correct"
    pub evaluation_accuracy: f64,
    /// in this step's batch; 0 if there was no step left to do
    pub examples: i64,
    /// the output "learning_rate" of the step; NaN if there is none
    pub learning_rate: f64,
    /// the best metric at its best so far; NaN if there is none
    pub best: f64,
    /// when that was; -1: never yet
    pub best_step: i64,
    /// 1: the patience was at its end
    pub stopped_early: i32,
}
impl Default for hr_train_report {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_train_options {
    pub struct_size: usize,
    /// Must have an output "loss". NULL: "train".
    pub train_signature: *const c_char,
    /// Must have an output "loss". Its metrics are "loss", the mean per example; "accuracy", if it has
    /// an output "correct", a count; and its other outputs that are one number, as they are after the
    /// last batch (hr_graph_metric). NULL: "eval".
    pub eval_signature: *const c_char,
    /// the training runs through its pass
    pub train_data: *mut hr_dataset,
    /// may be NULL
    pub eval_data: *mut hr_dataset,
    /// the session's total at which to stop; 0: the end of the data
    pub max_steps: i64,
    /// the number of inputs that are bound once: the learning rate
    pub scalar_count: usize,
    pub scalar_names: *const *const c_char,
    pub scalars: *const f64,
    /// If it contains a checkpoint, the training continues from the newest. NULL: no checkpoints.
    pub checkpoint_directory: *const c_char,
    /// the steps from one checkpoint to the next; 0: only at the end
    pub checkpoint_steps: i64,
    /// how many of the newest are kept; 0: 5; -1: all
    pub keep_checkpoints: i32,
    /// for TensorBoard; NULL: no events
    pub event_directory: *const c_char,
    /// the steps from one summary to the next; 0: 100
    pub summary_steps: i64,
    /// the steps from one evaluation to the next; 0: only at the end
    pub eval_steps: i64,
    /// Called after every step, on the thread that called hr_train. If it sets *out_stop to 1 (it is 0
    /// on entry), the training stops: it saves a checkpoint, and does not evaluate at the end. A
    /// failure stops it, too, and hr_train returns the failure. May be NULL.
    pub on_step: Option<unsafe extern "C" fn(context: *mut c_void, report: *const hr_train_report, out_stop: *mut i32) -> *mut hr_status>,
    /// Gets sentences for people: what was restored, saved or skipped. Called on the thread that
    /// called hr_train. May be NULL.
    pub on_message: Option<unsafe extern "C" fn(context: *mut c_void, message: *const c_char)>,
    pub context: *mut c_void,
    /// For which this process writes checkpoints (hr_checkpoint_options). May be NULL.
    pub group: *const hr_group,
    /// The metric of the evaluation that says which step is the best. Where it is better than ever, a
    /// checkpoint is kept in the folder "best" of checkpoint_directory. NULL: none.
    pub best_metric: *const c_char,
    /// 1: the smallest value is the best, as for a loss
    pub best_is_smallest: i32,
    /// 1: at the end the session gets the best checkpoint
    pub restore_best: i32,
    /// stop after so many evaluations that are no better than the best; 0: never
    pub patience: i64,
    /// Called after each evaluation with its metrics, on the thread that called hr_train, before
    /// on_step. The names and values live during the call. A failure stops the training. May be NULL.
    pub on_evaluate: Option<unsafe extern "C" fn(context: *mut c_void, report: *const hr_train_report, count: usize, names: *const *const c_char, values: *const f64) -> *mut hr_status>,
    /// Many processes train together: the name of a group that the session has bound
    /// (hr_session_bind_group), for a signature that hr_graph_distribute has rewritten. All its ranks
    /// call hr_train with the same options, and data sets that give shards of the same data. Rank 0
    /// restores and saves, writes the events, and gives the others its variables and the position of
    /// its data before the first step. All make the same steps: they stop together if the data or the
    /// limits of one end, or if its on_step says so. Losses and the evaluation's "loss" and "accuracy"
    /// are over the examples of all ranks; other metrics are means of the ranks' own, weighted by
    /// examples. A rank that fails ends the group, with its message. NULL: this process alone.
    pub bound_group: *const c_char,
    /// Elastic training: the group that was given to hr_session_bind_group, or is to be: if the
    /// session has none of that name, hr_train binds this one, and survives ranks that die meanwhile.
    /// If ranks of it die, freeze or fail, the others go on without them; between two steps, new ones
    /// that call hr_group_join are taken in. All ranks go on from the step, the variables and the
    /// position in the data of the rank that is furthest, so a step is made by all or by none. The
    /// data sets become shards by rank, whatever shards they were; the batch of a rank stays, so that
    /// of all ranks together changes with their number. The lowest rank that is left saves and writes
    /// events, for the group's present epoch; `group` is not needed. The handle stands for the latest
    /// group from then on, in on_step and after hr_train: nobody else uses it meanwhile. If the ranks
    /// divide the optimizer's state (zero=1), checkpoint_directory must be given, and all ranks see
    /// it: when a rank has taken its part with it, the others go back to the newest checkpoint and
    /// make the steps since then again; HR_DATA_LOSS if there is none. NULL: the end of the group ends
    /// the training.
    pub elastic_group: *mut hr_group,
    /// With fewer ranks the training waits for new ones, within the group's timeout; 0: 1.
    pub min_ranks: i32,
    /// up to which new ranks are taken in; 0: as many as there are at first
    pub max_ranks: i32,
}
impl Default for hr_train_options {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

/// Variables with an optimizer and a learning rate of their own.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hr_parameter_group {
    pub struct_size: usize,
    /// of trainable variables, as hr_graph_set_trainable_matching takes them
    pub patterns: *const c_char,
    /// as hr_graph_minimize takes it; a global norm is that of the group
    pub optimizer: *const c_char,
    pub learning_rate: hr_value,
}
impl Default for hr_parameter_group {
    /// All members are zero but `struct_size`.
    fn default() -> Self {
        // SAFETY: a number, a pointer or an optional function may be zero.
        let mut out: Self = unsafe { mem::zeroed() };
        out.struct_size = mem::size_of::<Self>();
        out
    }
}

extern "C" {
    /// Returns the HR_API_VERSION that the library was built with. A program that was built with the
    /// same or a smaller version of the same major version can use the library.
    pub fn hr_api_version() -> u32;
    /// Returns the library's version and what the build contains, such as "0.1.0 +onednn", which can
    /// use oneDNN (hr_env_describe tells whether it is there). The text is static.
    pub fn hr_version_text() -> *const c_char;
    /// Returns the code; HR_OK if `status` is NULL.
    pub fn hr_status_code(status: *const hr_status) -> hr_code;
    /// Returns one or more sentences that say what was expected, what came and what to do; "" if
    /// `status` is NULL. The text lives as long as the status.
    pub fn hr_status_message(status: *const hr_status) -> *const c_char;
    /// Returns the name of the node that failed; "" if no node is to blame or `status` is NULL. The text
    /// lives as long as the status.
    pub fn hr_status_node(status: *const hr_status) -> *const c_char;
    /// Creates a failure of the host, to be returned by a function that the library calls. If `code` is
    /// HR_OK or no code at all, the status has HR_UNKNOWN. `message` may be NULL, which means "".
    pub fn hr_status_create(code: hr_code, message: *const c_char) -> *mut hr_status;
    pub fn hr_status_release(status: *mut hr_status);
    /// Returns the name of a code, such as "INVALID_ARGUMENT". The text is static.
    pub fn hr_code_name(code: hr_code) -> *const c_char;
    /// Returns the characters, NUL-terminated. They live as long as the text.
    pub fn hr_text_data(text: *const hr_text) -> *const c_char;
    /// Returns the number of bytes, without the NUL.
    pub fn hr_text_size(text: *const hr_text) -> usize;
    pub fn hr_text_release(text: *mut hr_text);
    pub fn hr_cancel_create(out: *mut *mut hr_cancel) -> *mut hr_status;
    /// Cancels all calls that have the token, now and later. Calls that wait are woken at once; a run
    /// looks at the token between steps. May be called from any thread and any number of times, but not
    /// from a signal handler.
    pub fn hr_cancel_trigger(cancel: *mut hr_cancel);
    pub fn hr_cancel_release(cancel: *mut hr_cancel);
    /// Returns the bytes of one element; 0 if tensors cannot hold the type.
    pub fn hr_dtype_size(dtype: hr_dtype) -> usize;
    /// Returns the name of the type, such as "float32". The text is static.
    pub fn hr_dtype_name(dtype: hr_dtype) -> *const c_char;
    pub fn hr_launch_from_environment(out: *mut *mut hr_launch) -> *mut hr_status;
    pub fn hr_launch_release(launch: *mut hr_launch);
    pub fn hr_launch_rank(launch: *const hr_launch) -> i32;
    pub fn hr_launch_size(launch: *const hr_launch) -> i32;
    /// Return the rank among the processes of this host and their number; -1 and 0 if they are unknown.
    pub fn hr_launch_local_rank(launch: *const hr_launch) -> i32;
    /// Return the rank among the processes of this host and their number; -1 and 0 if they are unknown.
    pub fn hr_launch_local_size(launch: *const hr_launch) -> i32;
    /// Returns the number of times that the job has been restarted.
    pub fn hr_launch_epoch(launch: *const hr_launch) -> u64;
    /// Return the bounds of an elastic job (HEADRACE_ELASTIC=MIN:MAX): with how many ranks at least it
    /// goes on when some have died, and up to how many it takes new ones in; 0 if the job is not
    /// elastic.
    pub fn hr_launch_min_ranks(launch: *const hr_launch) -> i32;
    /// Return the bounds of an elastic job (HEADRACE_ELASTIC=MIN:MAX): with how many ranks at least it
    /// goes on when some have died, and up to how many it takes new ones in; 0 if the job is not
    /// elastic.
    pub fn hr_launch_max_ranks(launch: *const hr_launch) -> i32;
    /// Returns the URL of the store where the ranks meet, for hr_store_open; "" if it is unknown. The
    /// text lives as long as the launch.
    pub fn hr_launch_store(launch: *const hr_launch) -> *const c_char;
    /// Describes the launch as JSON, with the variable that each value came from.
    pub fn hr_launch_describe(launch: *const hr_launch, out: *mut *mut hr_text) -> *mut hr_status;
    /// Opens a store. `url` is one of:
    ///
    /// "tcp:HOST:PORT", also tcp://HOST:PORT, and HOST may be \[IPv6\]: a store that one process keeps for
    /// all ranks. Without a secret it works on loopback only. This call opens it as a client, which
    /// connects when it is first used and reconnects if the connection breaks. If a group's options
    /// name the store by store_url, rank 0 keeps it for as long as its env lives.
    /// "file:FOLDER": a folder that all ranks can access; it is created if it is missing. A network file
    /// system must support locks.
    /// "memory:": a new store for ranks that are threads of this process and share the handle.
    pub fn hr_store_open(env: *mut hr_env, url: *const c_char, out: *mut *mut hr_store) -> *mut hr_status;
    /// Opens a store with options. `options` may be NULL: the call is hr_store_open then.
    pub fn hr_store_open_with(env: *mut hr_env, url: *const c_char, options: *const hr_store_options, out: *mut *mut hr_store) -> *mut hr_status;
    /// Writes the URL with which other processes open the store, including the port that was taken. It
    /// is empty if other processes cannot open the store.
    pub fn hr_store_url(store: *const hr_store, out: *mut *mut hr_text) -> *mut hr_status;
    /// Makes a store of the host's functions.
    pub fn hr_store_from_callbacks(callbacks: *const hr_store_callbacks, out: *mut *mut hr_store) -> *mut hr_status;
    /// Releases the handle. If it is the last of a store that this process keeps, waits for the end of
    /// the store's thread.
    pub fn hr_store_release(store: *mut hr_store);
    /// Creates a group and waits until all ranks are connected to each other. All ranks call it.
    /// `options` may be NULL, which means that everything comes from the environment. `limits` may be
    /// NULL, which means options-\>timeout_nanos. The group keeps its env and store alive.
    /// HR_DEADLINE_EXCEEDED: some ranks, which the message names, did not come;
    /// HR_UNAVAILABLE: a rank that had connected is gone, or nothing was heard from it for
    /// silence_nanos;
    /// HR_ALREADY_EXISTS: another process has this rank, or the group has met without this process;
    /// HR_RESOURCE_EXHAUSTED: there is no memory or no file descriptor left;
    /// HR_FAILED_PRECONDITION: the launch variables contradict each other, or the group has gone on to
    /// a later epoch.
    /// Ranks that failed to meet may try again with the same options.
    ///
    /// If everything comes from the environment and HEADRACE_JOIN is 1, this process replaces one that
    /// has ended: the call is hr_group_join, if the group runs already. So a program need not know
    /// whether it is there from the beginning. Under 'headrace launch --elastic' (HEADRACE_LOSSES) a
    /// rank that dies before the group has met is replaced there, too, or the others meet without it.
    pub fn hr_group_create(env: *mut hr_env, options: *const hr_group_options, limits: *const hr_limits, out: *mut *mut hr_group) -> *mut hr_status;
    /// Releases the handle. When the last handle of a group and of its sub-groups is released, they are
    /// closed, which waits as hr_group_close does.
    pub fn hr_group_release(group: *mut hr_group);
    /// Leaves this group and all groups that share its connections (by hr_group_split). Operations in
    /// flight end with HR_CANCELLED. Ranks that still need this one fail with HR_UNAVAILABLE. Waits two
    /// seconds at most: until the ranks agree on a failure that this one has found, and until what was
    /// sent has left.
    pub fn hr_group_close(group: *mut hr_group);
    /// Ends the group and all groups that share its connections, on all ranks, with HR_ABORTED and the
    /// first 1,200 bytes of `cause`. Does not wait.
    pub fn hr_group_abort(group: *mut hr_group, cause: *const c_char) -> *mut hr_status;
    pub fn hr_group_rank(group: *const hr_group) -> i32;
    pub fn hr_group_size(group: *const hr_group) -> i32;
    pub fn hr_group_epoch(group: *const hr_group) -> u64;
    /// Returns why the group has ended, the same on all ranks; NULL while it has not.
    pub fn hr_group_status(group: *mut hr_group) -> *mut hr_status;
    /// Describes name, rank, members with their transports, algorithms, and the cost model with its
    /// origin as JSON.
    pub fn hr_group_describe(group: *mut hr_group, out: *mut *mut hr_text) -> *mut hr_status;
    /// Writes the last 2,000 operations with sizes, states and times as JSON, the oldest first.
    pub fn hr_group_dump(group: *mut hr_group, out: *mut *mut hr_text) -> *mut hr_status;
    /// Writes the same for a group of another process, from its .flight file (see dump_folder).
    /// HR_DATA_LOSS: the file is not a .flight file, or another version of the library wrote it.
    pub fn hr_dump_read(path: *const c_char, out: *mut *mut hr_text) -> *mut hr_status;
    /// Splits the group: ranks with the same `color` form a sub-group, in which they are ordered by
    /// `key` and then by rank. All ranks of the group call it. If `color` is negative, the rank gets no
    /// sub-group and *out is NULL. A sub-group shares the connections of its group, ends together with
    /// it, and may be used by another thread.
    pub fn hr_group_split(group: *mut hr_group, color: i32, key: i32, limits: *const hr_limits, out: *mut *mut hr_group) -> *mut hr_status;
    /// Continues a group that has ended, as a new group in a new epoch. It leaves out the rank that the
    /// cause names (dead, frozen, or one that gave up) and the ranks that do not call this function
    /// within silence_nanos after the first. The remaining ranks keep their order. If one of them fails
    /// meanwhile, it is left out, too. *out is the new group; the old one is closed, and the caller
    /// still has to release it.
    ///
    /// An epoch has one successor, because a compare-and-swap in the store decides on it. If the network
    /// was split, the largest side that reaches the store goes on, and the other sides cannot.
    /// HR_FAILED_PRECONDITION: the others have gone on without this rank, or the group has not ended;
    /// HR_INVALID_ARGUMENT: it is a sub-group; shrink the group that it was split from;
    /// HR_ARBITER_LOST: the process that kept the store is gone, so nothing can be decided; start all
    /// ranks again.
    pub fn hr_group_shrink(group: *mut hr_group, limits: *const hr_limits, out: *mut *mut hr_group) -> *mut hr_status;
    /// Adds ranks to a group until there are `new_size`, as a new group in a new epoch. All ranks of the
    /// group call this, and each new process calls hr_group_join; the new ranks follow the old ones. If
    /// the group has ended, it is first shrunk as by hr_group_shrink and then filled up.
    ///
    /// The call waits for the new ranks within `limits` (NULL: the group's timeout). If they do not
    /// come, it fails with HR_DEADLINE_EXCEEDED and the group is as before. A new rank that fails while
    /// it joins is left out, so check the size of *out. After the ranks have agreed, the limits do not
    /// end the connecting any more.
    pub fn hr_group_grow(group: *mut hr_group, new_size: i32, limits: *const hr_limits, out: *mut *mut hr_group) -> *mut hr_status;
    /// Returns how many processes wait in hr_group_join: a loop asks one rank now and then, at the edge
    /// of a step, and has all ranks call hr_group_grow if somebody waits. One that has died while it
    /// waited may be counted until a hr_group_grow has waited for it in vain. Asks the store, within
    /// `limits` (NULL: the group's timeout).
    pub fn hr_group_waiting(group: *mut hr_group, limits: *const hr_limits, out: *mut i32) -> *mut hr_status;
    /// Waits until a group grows, and becomes one of its ranks. Of the options, rank, size and epoch are
    /// ignored; name and algorithms must be the group's. `options` may be NULL, which means that
    /// everything comes from the environment; a store (HEADRACE_STORE, or MASTER_ADDR and MASTER_PORT)
    /// is enough. A process that was restarted calls hr_group_create first. If that fails because the
    /// group has formed without the process (HR_ALREADY_EXISTS, HR_FAILED_PRECONDITION, or the cause
    /// that ended the epoch), it calls this function.
    /// HR_OUT_OF_RANGE: an hr_train with elastic_group is over, so the process has nothing to do.
    pub fn hr_group_join(env: *mut hr_env, options: *const hr_group_options, limits: *const hr_limits, out: *mut *mut hr_group) -> *mut hr_status;
    /// Send a message to a rank, and receive one from a rank. A receive takes the first message with its
    /// tag, in the order of sending. Its count and dtype must be those of the send.
    pub fn hr_send(group: *mut hr_group, data: *const c_void, count: u64, dtype: hr_dtype, to: i32, tag: u32, limits: *const hr_limits) -> *mut hr_status;
    /// Send a message to a rank, and receive one from a rank. A receive takes the first message with its
    /// tag, in the order of sending. Its count and dtype must be those of the send.
    pub fn hr_recv(group: *mut hr_group, data: *mut c_void, count: u64, dtype: hr_dtype, from: i32, tag: u32, limits: *const hr_limits) -> *mut hr_status;
    /// Waits until all ranks have called it.
    pub fn hr_barrier(group: *mut hr_group, limits: *const hr_limits) -> *mut hr_status;
    /// On every rank: output \[count\] = the root's input \[count\]. On the other ranks
    /// `input` may be NULL.
    pub fn hr_broadcast(group: *mut hr_group, input: *const c_void, output: *mut c_void, count: u64, dtype: hr_dtype, root: i32, limits: *const hr_limits) -> *mut hr_status;
    /// On the root: output \[count\] = the reduction of all inputs \[count\]. On the other
    /// ranks `output` may be NULL.
    pub fn hr_reduce(group: *mut hr_group, input: *const c_void, output: *mut c_void, count: u64, dtype: hr_dtype, op: hr_reduce_op, root: i32, limits: *const hr_limits) -> *mut hr_status;
    /// On every rank: output \[count\] = the reduction of all inputs \[count\].
    pub fn hr_all_reduce(group: *mut hr_group, input: *const c_void, output: *mut c_void, count: u64, dtype: hr_dtype, op: hr_reduce_op, limits: *const hr_limits) -> *mut hr_status;
    /// On the root: output \[size, count\] = the inputs \[count\] of all ranks. On the other ranks
    /// `output` may be NULL.
    pub fn hr_gather(group: *mut hr_group, input: *const c_void, output: *mut c_void, count: u64, dtype: hr_dtype, root: i32, limits: *const hr_limits) -> *mut hr_status;
    /// On every rank: output \[size, count\] = the inputs \[count\] of all ranks.
    pub fn hr_all_gather(group: *mut hr_group, input: *const c_void, output: *mut c_void, count: u64, dtype: hr_dtype, limits: *const hr_limits) -> *mut hr_status;
    /// On every rank: output \[count\] = block `rank` of the root's input \[size, count\]. On the other
    /// ranks `input` may be NULL.
    pub fn hr_scatter(group: *mut hr_group, input: *const c_void, output: *mut c_void, count: u64, dtype: hr_dtype, root: i32, limits: *const hr_limits) -> *mut hr_status;
    /// On every rank: output \[count\] = block `rank` of the reduction of all inputs \[size, count\].
    pub fn hr_reduce_scatter(group: *mut hr_group, input: *const c_void, output: *mut c_void, count: u64, dtype: hr_dtype, op: hr_reduce_op, limits: *const hr_limits) -> *mut hr_status;
    /// On every rank: block r of output \[size, count\] = block `rank` of rank r's input \[size, count\].
    pub fn hr_all_to_all(group: *mut hr_group, input: *const c_void, output: *mut c_void, count: u64, dtype: hr_dtype, limits: *const hr_limits) -> *mut hr_status;
    pub fn hr_work_release(work: *mut hr_work);
    /// Returns 1 if the operation has ended, whether it succeeded or failed; else 0. Does not wait, but
    /// moves data that can be moved now, so a loop of this call makes progress.
    pub fn hr_work_test(work: *mut hr_work) -> c_int;
    /// Waits for the end of the operation and returns its result. `limits` (NULL: the group's timeout)
    /// end the waiting, not the operation; it can be waited for again.
    pub fn hr_work_wait(work: *mut hr_work, limits: *const hr_limits) -> *mut hr_status;
    /// Calls `callback` once when the operation has ended, or soon if it has ended already, on a thread
    /// for callbacks (see hr_env). `status` is NULL or the failure; it is valid during the callback. The
    /// callback may call any function, and it may wait: that delays neither the group nor other
    /// callbacks. Callbacks of several operations may run at one time and in any order.
    pub fn hr_work_on_done(work: *mut hr_work, callback: Option<unsafe extern "C" fn(context: *mut c_void, status: *const hr_status)>, context: *mut c_void) -> *mut hr_status;
    /// Puts the operation into a queue when it has ended; at once if it has ended already.
    pub fn hr_work_enqueue(work: *mut hr_work, queue: *mut hr_queue, key: u64) -> *mut hr_status;
    /// Ends the operation with HR_CANCELLED. A cancelled receive has no effect; but if its message is
    /// arriving at that moment, the receive completes. Any other operation ends the group. An operation
    /// that has ended is left as it is.
    pub fn hr_work_cancel(work: *mut hr_work) -> *mut hr_status;
    /// Start the operation that the function without _start performs, and return at once. The caller
    /// releases the work.
    pub fn hr_send_start(group: *mut hr_group, data: *const c_void, count: u64, dtype: hr_dtype, to: i32, tag: u32, out: *mut *mut hr_work) -> *mut hr_status;
    /// Start the operation that the function without _start performs, and return at once. The caller
    /// releases the work.
    pub fn hr_recv_start(group: *mut hr_group, data: *mut c_void, count: u64, dtype: hr_dtype, from: i32, tag: u32, out: *mut *mut hr_work) -> *mut hr_status;
    /// Start the operation that the function without _start performs, and return at once. The caller
    /// releases the work.
    pub fn hr_barrier_start(group: *mut hr_group, out: *mut *mut hr_work) -> *mut hr_status;
    /// Start the operation that the function without _start performs, and return at once. The caller
    /// releases the work.
    pub fn hr_broadcast_start(group: *mut hr_group, input: *const c_void, output: *mut c_void, count: u64, dtype: hr_dtype, root: i32, out: *mut *mut hr_work) -> *mut hr_status;
    /// Start the operation that the function without _start performs, and return at once. The caller
    /// releases the work.
    pub fn hr_reduce_start(group: *mut hr_group, input: *const c_void, output: *mut c_void, count: u64, dtype: hr_dtype, op: hr_reduce_op, root: i32, out: *mut *mut hr_work) -> *mut hr_status;
    /// Start the operation that the function without _start performs, and return at once. The caller
    /// releases the work.
    pub fn hr_all_reduce_start(group: *mut hr_group, input: *const c_void, output: *mut c_void, count: u64, dtype: hr_dtype, op: hr_reduce_op, out: *mut *mut hr_work) -> *mut hr_status;
    /// Start the operation that the function without _start performs, and return at once. The caller
    /// releases the work.
    pub fn hr_gather_start(group: *mut hr_group, input: *const c_void, output: *mut c_void, count: u64, dtype: hr_dtype, root: i32, out: *mut *mut hr_work) -> *mut hr_status;
    /// Start the operation that the function without _start performs, and return at once. The caller
    /// releases the work.
    pub fn hr_all_gather_start(group: *mut hr_group, input: *const c_void, output: *mut c_void, count: u64, dtype: hr_dtype, out: *mut *mut hr_work) -> *mut hr_status;
    /// Start the operation that the function without _start performs, and return at once. The caller
    /// releases the work.
    pub fn hr_scatter_start(group: *mut hr_group, input: *const c_void, output: *mut c_void, count: u64, dtype: hr_dtype, root: i32, out: *mut *mut hr_work) -> *mut hr_status;
    /// Start the operation that the function without _start performs, and return at once. The caller
    /// releases the work.
    pub fn hr_reduce_scatter_start(group: *mut hr_group, input: *const c_void, output: *mut c_void, count: u64, dtype: hr_dtype, op: hr_reduce_op, out: *mut *mut hr_work) -> *mut hr_status;
    /// Start the operation that the function without _start performs, and return at once. The caller
    /// releases the work.
    pub fn hr_all_to_all_start(group: *mut hr_group, input: *const c_void, output: *mut c_void, count: u64, dtype: hr_dtype, out: *mut *mut hr_work) -> *mut hr_status;
    /// Start an operation, and perform one (waiting for its end within `limits`).
    pub fn hr_group_start(group: *mut hr_group, operation: *const hr_operation, out: *mut *mut hr_work) -> *mut hr_status;
    /// Start an operation, and perform one (waiting for its end within `limits`).
    pub fn hr_group_run(group: *mut hr_group, operation: *const hr_operation, limits: *const hr_limits) -> *mut hr_status;
    /// Describes as JSON how the group would perform `operation`: the algorithm, whether it is fixed by
    /// the options, and what each algorithm costs by the group's cost model. The buffers are ignored.
    /// Sends nothing, so one rank may call it alone.
    pub fn hr_group_explain(group: *mut hr_group, operation: *const hr_operation, out: *mut *mut hr_text) -> *mut hr_status;
    /// Lets the nodes of the session's graphs that name the group `name` communicate in a sub-group of
    /// `group` from now on. All ranks of the group call it, within `limits` (NULL: the group's timeout),
    /// and afterwards run the same signatures in the same order. Binding another group, after
    /// hr_group_shrink for example, takes the place of the one before; `group` NULL takes it away, and
    /// then no other rank need call it. Waits until no run of the session goes on. The session keeps the
    /// group until it is released. A run keeps the threads of its env while it waits for other ranks, so
    /// ranks of one process need an env each.
    /// HR_FAILED_PRECONDITION: a rank has another graph, another strategy (hr_graph_distribute),
    /// another seed or another version of the library; all ranks get the same message, which names
    /// the rank; or the graph divides the optimizer's state among another number of ranks (zero=1);
    /// HR_NOT_FOUND: no node of the model names this group.
    pub fn hr_session_bind_group(session: *mut hr_session, name: *const c_char, group: *mut hr_group, limits: *const hr_limits) -> *mut hr_status;
    /// Gives all variables of the session, its step and its seed the values that they have on the rank
    /// `root` of the bound group `name`: after initial values were drawn or restored on one rank. If
    /// `root` is HR_FURTHEST, it is the rank whose session has made the most steps, of those that are
    /// not tainted, and of these the lowest. A rank that died in the last operations of a step may leave
    /// some of the others with the step made and some without it; after hr_group_shrink, this gives all
    /// the step. All ranks call it, within `limits` (NULL: the group's timeout). A call that fails
    /// leaves the session as it was; one that succeeds makes a tainted session usable again. HR_TAINTED,
    /// on all ranks: the root is tainted, or all ranks are; restore a checkpoint on one.
    pub fn hr_session_broadcast(session: *mut hr_session, name: *const c_char, root: hr_root, limits: *const hr_limits) -> *mut hr_status;
    /// Adds a copy of what a signature of another graph computes as a body of `graph`. A body is built
    /// as any graph: with hr_graph_create, or with hr_graph_from_model from a file. Its inputs and
    /// outputs are those of the signature, in the order in which they were added to it. A body sees
    /// nothing but its inputs: values of the graph around it are given to it one by one (they are
    /// captured), and so are weights. HR_UNIMPLEMENTED if the signature reads or writes variables: read
    /// them outside, and assign outside what the body gives. `body` is not changed, and may be released.
    pub fn hr_graph_body(graph: *mut hr_graph, body: *const hr_graph, signature: *const c_char, out: *mut hr_body) -> *mut hr_status;
    /// Adds an input that is a sequence of tensors of type `dtype`, for bodies whose states are
    /// sequences (SequenceInsert and others make and use them). A run cannot be fed one.
    pub fn hr_graph_input_sequence(graph: *mut hr_graph, name: *const c_char, dtype: hr_dtype, out: *mut hr_value) -> *mut hr_status;
    /// Adds a branch: the outputs are those of `then_body` if `condition`, one bool, is true in a run,
    /// and of `else_body` otherwise. Only one of them is computed. Both take all the captured values, in
    /// this order, and give outputs of the same types; their shapes may differ.
    pub fn hr_graph_if(graph: *mut hr_graph, condition: hr_value, then_body: hr_body, else_body: hr_body, captured_count: usize, captured: *const hr_value, output_count: usize, outputs: *mut hr_value) -> *mut hr_status;
    /// Adds a loop. The body is (iteration int64 \[\], condition bool \[\], states..., captured...) -\>
    /// (condition, states..., scans...). It runs as long as fewer than `trip_count` (int64, or HR_NONE:
    /// no limit) iterations are done and the condition is true; the first one is `condition` (HR_NONE:
    /// true). The outputs are the states after the last iteration, and then the scans: what each
    /// iteration gave, joined along a new first axis. States may change their shapes, but a loop through
    /// which gradients flow keeps them. A run's cancel token and deadline end a loop that does not end
    /// by itself.
    pub fn hr_graph_loop(graph: *mut hr_graph, trip_count: hr_value, condition: hr_value, body: hr_body, state_count: usize, states: *const hr_value, captured_count: usize, captured: *const hr_value, output_count: usize, outputs: *mut hr_value) -> *mut hr_status;
    /// Adds a loop over slices. The body is (states..., slices..., captured...) -\> (states...,
    /// scans...). It runs once for each position along the scanned values' axes, whose lengths are
    /// equal. `attributes` is NULL or a text of ONNX's: "scan_input_axes=1 scan_input_directions=1
    /// scan_output_axes=0 scan_output_directions=0" (one number for each scanned value or scan;
    /// direction 1 goes from the end).
    pub fn hr_graph_scan(graph: *mut hr_graph, body: hr_body, attributes: *const c_char, state_count: usize, states: *const hr_value, scanned_count: usize, scanned: *const hr_value, captured_count: usize, captured: *const hr_value, output_count: usize, outputs: *mut hr_value) -> *mut hr_status;
    /// Adds what the body computes of `inputs`.
    pub fn hr_graph_call(graph: *mut hr_graph, body: hr_body, input_count: usize, inputs: *const hr_value, output_count: usize, outputs: *mut hr_value) -> *mut hr_status;
    /// Sets an attribute of a node that is a body; see hr_node_spec_create. SequenceMap has one.
    pub fn hr_node_spec_body(spec: *mut hr_node_spec, name: *const c_char, value: hr_body);
    /// Creates an env. `options` may be NULL, which means defaults.
    pub fn hr_env_create(options: *const hr_env_options, out: *mut *mut hr_env) -> *mut hr_status;
    /// Releases the handle. Waits if it is the last reference (see above).
    pub fn hr_env_release(env: *mut hr_env);
    /// Loads a plugin and adds its backends and transports (docs/plugins.md) to the env. Must be called
    /// before the env's first model or group, and while no other thread uses the env.
    ///
    /// If `name_or_path` contains a slash, it is a path. Otherwise it is a name: "cuda" stands for
    /// libheadrace_cuda.so, beside libheadrace or, if it is not there, where the system's loader looks.
    /// Loading a plugin that the env already has succeeds. HR_UNAVAILABLE: the plugin, or a driver that
    /// it needs, is missing; the env remains usable without it.
    pub fn hr_env_load_plugin(env: *mut hr_env, name_or_path: *const c_char) -> *mut hr_status;
    /// Describes devices, plugins, threads, transports, operators and the oneDNN that is found as JSON.
    pub fn hr_env_describe(env: *const hr_env, out: *mut *mut hr_text) -> *mut hr_status;
    pub fn hr_graph_create(env: *mut hr_env, out: *mut *mut hr_graph) -> *mut hr_status;
    pub fn hr_graph_release(graph: *mut hr_graph);
    /// Adds an input named `name`. A dimension of -1 is unknown until a run. `symbols` is NULL or has an
    /// entry for each dimension: the name of an unknown dimension, or NULL. Dimensions with equal names
    /// have equal sizes.
    pub fn hr_graph_input(graph: *mut hr_graph, name: *const c_char, dtype: hr_dtype, rank: usize, dims: *const i64, symbols: *const *const c_char, out: *mut hr_value) -> *mut hr_status;
    /// Sets the bounds and buckets of a dimension that an input has named; HR_NOT_FOUND if there is no
    /// such name. max -1: no upper bound. The buckets must ascend. A later call replaces bounds and
    /// buckets.
    ///
    /// Runs check the bounds. All sizes that have the same smallest bucket share one plan, whose memory
    /// is for the size of the bucket; sizes beyond the last bucket share a plan for `max`. Nothing is
    /// padded.
    pub fn hr_graph_bound(graph: *mut hr_graph, symbol: *const c_char, min: i64, max: i64, bucket_count: usize, buckets: *const i64) -> *mut hr_status;
    /// Adds a constant. If `name` is NULL, the graph makes a name. The graph shares the tensor's memory,
    /// so the contents must not be changed any more.
    pub fn hr_graph_constant(graph: *mut hr_graph, name: *const c_char, tensor: *const hr_tensor, out: *mut hr_value) -> *mut hr_status;
    /// Adds a variable with the initial value `initial`. Training updates it if `trainable` is not 0.
    /// The graph shares the tensor's memory, so the contents must not be changed any more.
    pub fn hr_graph_variable(graph: *mut hr_graph, name: *const c_char, initial: *const hr_tensor, trainable: c_int, out: *mut hr_variable) -> *mut hr_status;
    /// Adds a variable whose initial value is the output of the operator `op`, such as "RandomUniform"
    /// with the attributes "low=-0.1 high=0.1"; the call adds the attributes for shape and dtype. The
    /// seed of a session decides random values. `attributes` may be NULL.
    pub fn hr_graph_variable_init(graph: *mut hr_graph, name: *const c_char, dtype: hr_dtype, rank: usize, dims: *const i64, trainable: c_int, op: *const c_char, attributes: *const c_char, out: *mut hr_variable) -> *mut hr_status;
    /// Adds a read of the variable. Its value is the one at this place in program order: after the last
    /// node added so far that writes the variable, or at the start of the step if there is none.
    pub fn hr_graph_read(graph: *mut hr_graph, variable: hr_variable, out: *mut hr_value) -> *mut hr_status;
    /// Add an assignment: the variable becomes `value`, or `value` is added to it. The type of `value`
    /// must be the variable's. The assignment comes after all nodes so far that write the variable, and
    /// after reads that follow such a node; reads that are added later give what it leaves. It happens
    /// in runs that need its node: make that a target of a signature, or fetch such a later read.
    pub fn hr_graph_assign(graph: *mut hr_graph, variable: hr_variable, value: hr_value, out: *mut hr_node) -> *mut hr_status;
    /// Add an assignment: the variable becomes `value`, or `value` is added to it. The type of `value`
    /// must be the variable's. The assignment comes after all nodes so far that write the variable, and
    /// after reads that follow such a node; reads that are added later give what it leaves. It happens
    /// in runs that need its node: make that a target of a signature, or fetch such a later read.
    pub fn hr_graph_assign_add(graph: *mut hr_graph, variable: hr_variable, value: hr_value, out: *mut hr_node) -> *mut hr_status;
    /// Freezes a variable (0) or makes it trainable (any other number). It counts for the calls that
    /// follow: hr_graph_minimize leaves frozen variables alone and hr_graph_apply_gradients refuses
    /// them. Updates that were added before stay.
    pub fn hr_graph_set_trainable(graph: *mut hr_graph, variable: hr_variable, trainable: c_int) -> *mut hr_status;
    /// Adds a node. `op` is an ONNX operator ("Conv"), or an operator after its domain and a dot
    /// ("headrace.train.SGD"). It may end in a version ("Softmax@13"); otherwise it is the newest one
    /// that the library knows. `attributes` is NULL or a text such as
    /// "kernel_shape=5,5 strides=1,1 auto_pad=SAME_UPPER": spaces separate attributes, commas separate
    /// elements, and strings with spaces are in double quotes. Optional outputs beyond `output_count`
    /// are not computed.
    pub fn hr_graph_op(graph: *mut hr_graph, op: *const c_char, attributes: *const c_char, input_count: usize, inputs: *const hr_value, output_count: usize, outputs: *mut hr_value) -> *mut hr_status;
    /// Sets the device ("TOY:0") of nodes that are added from now on and whose spec names none. If
    /// `device` is NULL or "", the session chooses. Gradients run on the device of the node that they
    /// belong to, updates on the device of their variable. If a session has no such device, creating it
    /// fails.
    pub fn hr_graph_device(graph: *mut hr_graph, device: *const c_char) -> *mut hr_status;
    pub fn hr_node_spec_create(op: *const c_char, out: *mut *mut hr_node_spec) -> *mut hr_status;
    pub fn hr_node_spec_release(spec: *mut hr_node_spec);
    pub fn hr_node_spec_name(spec: *mut hr_node_spec, name: *const c_char);
    pub fn hr_node_spec_device(spec: *mut hr_node_spec, device: *const c_char);
    /// Adds the next input; HR_NONE for an optional input that is omitted.
    pub fn hr_node_spec_input(spec: *mut hr_node_spec, value: hr_value);
    /// Makes the node run after `node`.
    pub fn hr_node_spec_control(spec: *mut hr_node_spec, node: hr_node);
    pub fn hr_node_spec_int(spec: *mut hr_node_spec, name: *const c_char, value: i64);
    pub fn hr_node_spec_float(spec: *mut hr_node_spec, name: *const c_char, value: f64);
    pub fn hr_node_spec_string(spec: *mut hr_node_spec, name: *const c_char, value: *const c_char);
    pub fn hr_node_spec_ints(spec: *mut hr_node_spec, name: *const c_char, count: usize, values: *const i64);
    pub fn hr_node_spec_floats(spec: *mut hr_node_spec, name: *const c_char, count: usize, values: *const f64);
    pub fn hr_node_spec_strings(spec: *mut hr_node_spec, name: *const c_char, count: usize, values: *const *const c_char);
    /// The spec shares the tensor's memory, so the contents must not be changed any more.
    pub fn hr_node_spec_tensor(spec: *mut hr_node_spec, name: *const c_char, value: *const hr_tensor);
    /// Adds the node that `spec` describes. The spec may be used again. `out_node` may be NULL.
    pub fn hr_graph_add(graph: *mut hr_graph, spec: *const hr_node_spec, output_count: usize, outputs: *mut hr_value, out_node: *mut hr_node) -> *mut hr_status;
    /// Lets all that uses `from` use `to` instead: nodes, but for those that compute `to`, and outputs
    /// of signatures. An input of a signature that nothing uses any more is gone from it. This is how a
    /// head of a model is exchanged, or an input given by the graph itself. HR_INVALID_ARGUMENT if the
    /// types do not fit.
    pub fn hr_graph_replace(graph: *mut hr_graph, from: hr_value, to: hr_value) -> *mut hr_status;
    pub fn hr_graph_name_value(graph: *mut hr_graph, value: hr_value, name: *const c_char) -> *mut hr_status;
    /// A fully connected layer with the variables "weight" and "bias", which have PyTorch's default
    /// initial values (uniform in +-1 / sqrt(fan in)). `x` is flattened to \[N, features\].
    pub fn hr_graph_dense(graph: *mut hr_graph, name: *const c_char, x: hr_value, units: i64, out: *mut hr_value) -> *mut hr_status;
    /// A layer of two-dimensional convolution with "weight" and "bias", as hr_graph_dense. x: \[N, C, H,
    /// W\]. `attributes` are those of Conv, such as "strides=2,2", or NULL.
    pub fn hr_graph_conv2d(graph: *mut hr_graph, name: *const c_char, x: hr_value, channels: i64, kernel: i64, attributes: *const c_char, out: *mut hr_value) -> *mut hr_status;
    /// A layer that normalizes x: \[N, C, ...\] over all dimensions but dimension 1, which must be known.
    /// out = scale * (x - mean) / sqrt(variance + epsilon) + bias. The variables "scale" (1 at first)
    /// and "bias" (0) are trained; "mean" (0) and "variance" (1) are running statistics, which are not
    /// trainable. All are of the type of `x`, \[C\]. `attributes` is a text such as "epsilon=1e-5
    /// momentum=0.1", or NULL, which means just these; the numbers have PyTorch's meaning, so momentum
    /// is the share of the new value.
    ///
    /// If `training` is 0, x is normalized by the running statistics, and *out_update is HR_NONE
    /// (`out_update` may then be NULL). Otherwise it is normalized by its own mean and population
    /// variance, and *out_update is a node that makes each running statistic
    /// (1 - momentum) * running + momentum * that of x, with the unbiased variance of x (0 if there is
    /// one value a channel). Make it a target of the training signature.
    pub fn hr_graph_batch_norm(graph: *mut hr_graph, name: *const c_char, x: hr_value, training: c_int, attributes: *const c_char, out: *mut hr_value, out_update: *mut hr_node) -> *mut hr_status;
    /// Adds nodes that compute the gradient of the sum of `y` with respect to each of `xs`. A gradient
    /// is HR_NONE if `y` does not depend on that x.
    pub fn hr_graph_add_gradients(graph: *mut hr_graph, y: hr_value, count: usize, xs: *const hr_value, out_gradients: *mut hr_value) -> *mut hr_status;
    /// Adds nodes that compute the gradient of the scalar `loss` with respect to each of `variables`,
    /// the sum over all the reads so far through which the loss depends on it. A gradient is HR_NONE if
    /// the loss does not depend on the variable. Frozen variables have gradients, too. The gradients are
    /// values as any: clip, log or accumulate them before hr_graph_apply_gradients.
    pub fn hr_graph_variable_gradients(graph: *mut hr_graph, loss: hr_value, count: usize, variables: *const hr_variable, out_gradients: *mut hr_value) -> *mut hr_status;
    /// Adds an update of each of `variables` by its gradient, which becomes a target of the signature
    /// `signature`. A variable whose gradient is HR_NONE is left alone; HR_FAILED_PRECONDITION if all
    /// are, or if a variable is frozen. `optimizer` is the name of one of those that docs/operators.md
    /// lists (headrace.train), with any of its settings, such as "sgd momentum=0.9 weight_decay=1e-4
    /// nesterov=1" or "adam beta1=0.9 beta2=0.999 epsilon=1e-8 weight_decay=0.01 decoupled=1"; the
    /// numbers have PyTorch's meaning. `learning_rate` is a scalar of float32 or float64, whatever the
    /// types of the variables. Each update converts it to the type that it computes in: float64 for a
    /// variable of float64, else float32.
    ///
    /// Groups of variables may have their own optimizers and learning rates, each with a call for the
    /// same signature; HR_ALREADY_EXISTS if the signature updates a variable already.
    ///
    /// For any optimizer the settings may also have clip_value, clip_norm and clip_global_norm (see
    /// hr_graph_clip_gradients), accumulate=N, which updates in each N-th run of the signature by the
    /// mean of the N runs' gradients, and average=DECAY, which keeps moving averages of the variables
    /// (headrace/training_graph.h). Gradients are accumulated first and then clipped.
    ///
    /// Several signatures may train the same variables, each with its own loss or optimizer. Running one
    /// does not run the updates of another. The state of an optimizer is a variable named
    /// "\<variable\>/momentum" and so on, or "\<variable\>/\<signature\>/momentum" if that name is taken. Read
    /// the variables for all losses before the first of these calls, because a read after it gives the
    /// updated value. An update comes after what the gradients, and the signature's outputs and targets
    /// so far, do with its variable.
    pub fn hr_graph_apply_gradients(graph: *mut hr_graph, signature: *const c_char, optimizer: *const c_char, learning_rate: hr_value, count: usize, variables: *const hr_variable, gradients: *const hr_value) -> *mut hr_status;
    /// Calls hr_graph_variable_gradients for all trainable variables and hr_graph_apply_gradients with
    /// the results: the nodes, the names and the bits of a training are those of these two. The updates
    /// also come after what `loss` does with their variables. HR_FAILED_PRECONDITION if it depends on no
    /// trainable variable.
    pub fn hr_graph_minimize(graph: *mut hr_graph, signature: *const c_char, loss: hr_value, optimizer: *const c_char, learning_rate: hr_value) -> *mut hr_status;
    /// Add an entry to a signature. The first entry creates the signature.
    pub fn hr_graph_signature_input(graph: *mut hr_graph, signature: *const c_char, name: *const c_char, value: hr_value) -> *mut hr_status;
    /// Add an entry to a signature. The first entry creates the signature.
    pub fn hr_graph_signature_output(graph: *mut hr_graph, signature: *const c_char, name: *const c_char, value: hr_value) -> *mut hr_status;
    /// Add an entry to a signature. The first entry creates the signature.
    pub fn hr_graph_signature_target(graph: *mut hr_graph, signature: *const c_char, node: hr_node) -> *mut hr_status;
    /// Removes a signature; HR_NOT_FOUND if there is none of that name. What only this signature needed
    /// stays in the graph, and later reads still come after its updates, until hr_graph_prune.
    pub fn hr_graph_remove_signature(graph: *mut hr_graph, signature: *const c_char) -> *mut hr_status;
    /// Removes all that no signature needs: nodes, inputs, constants and variables. Values, nodes and
    /// variables get new numbers, so look for them by name afterwards. Prune a graph before you go on
    /// from it, to be rid of the updates of signatures that were removed, or before it is saved or made
    /// a model of.
    pub fn hr_graph_prune(graph: *mut hr_graph) -> *mut hr_status;
    pub fn hr_graph_set_metadata(graph: *mut hr_graph, key: *const c_char, value: *const c_char) -> *mut hr_status;
    /// Writes the graph as it is now to a .hrg file. If the call fails, `path` is as it was. `options`
    /// may be NULL, which means defaults.
    pub fn hr_graph_save(graph: *const hr_graph, path: *const c_char, options: *const hr_save_options) -> *mut hr_status;
    pub fn hr_graph_get(graph: *const hr_graph, out: *mut hr_graph_info) -> *mut hr_status;
    pub fn hr_graph_get_value(graph: *const hr_graph, value: hr_value, out: *mut hr_value_info) -> *mut hr_status;
    pub fn hr_graph_get_node(graph: *const hr_graph, node: hr_node, out: *mut hr_node_info) -> *mut hr_status;
    pub fn hr_graph_get_variable(graph: *const hr_graph, variable: hr_variable, out: *mut hr_variable_info) -> *mut hr_status;
    pub fn hr_graph_get_signature(graph: *const hr_graph, index: usize, out: *mut hr_signature_info) -> *mut hr_status;
    pub fn hr_graph_get_attribute(graph: *const hr_graph, node: hr_node, index: usize, out: *mut hr_attribute_info) -> *mut hr_status;
    /// Find the number of what has the name. HR_NOT_FOUND, with the name that is nearest, if nothing
    /// has.
    pub fn hr_graph_find_value(graph: *const hr_graph, name: *const c_char, out: *mut hr_value) -> *mut hr_status;
    /// Find the number of what has the name. HR_NOT_FOUND, with the name that is nearest, if nothing
    /// has.
    pub fn hr_graph_find_node(graph: *const hr_graph, name: *const c_char, out: *mut hr_node) -> *mut hr_status;
    /// Find the number of what has the name. HR_NOT_FOUND, with the name that is nearest, if nothing
    /// has.
    pub fn hr_graph_find_variable(graph: *const hr_graph, name: *const c_char, out: *mut hr_variable) -> *mut hr_status;
    /// Find the number of what has the name. HR_NOT_FOUND, with the name that is nearest, if nothing
    /// has.
    pub fn hr_graph_find_signature(graph: *const hr_graph, name: *const c_char, out: *mut usize) -> *mut hr_status;
    /// Give an attribute of a node. If the node does not have it, the result is `fallback` (of a string
    /// it may be NULL), a list of 0 values, or no tensor, which is NULL. HR_INVALID_ARGUMENT if it is of
    /// another kind. An operator of headrace.state or headrace.train names its variables by integers:
    /// "variable" is an hr_variable.
    pub fn hr_graph_node_int(graph: *const hr_graph, node: hr_node, name: *const c_char, fallback: i64, out: *mut i64) -> *mut hr_status;
    /// Give an attribute of a node. If the node does not have it, the result is `fallback` (of a string
    /// it may be NULL), a list of 0 values, or no tensor, which is NULL. HR_INVALID_ARGUMENT if it is of
    /// another kind. An operator of headrace.state or headrace.train names its variables by integers:
    /// "variable" is an hr_variable.
    pub fn hr_graph_node_float(graph: *const hr_graph, node: hr_node, name: *const c_char, fallback: f64, out: *mut f64) -> *mut hr_status;
    /// Give an attribute of a node. If the node does not have it, the result is `fallback` (of a string
    /// it may be NULL), a list of 0 values, or no tensor, which is NULL. HR_INVALID_ARGUMENT if it is of
    /// another kind. An operator of headrace.state or headrace.train names its variables by integers:
    /// "variable" is an hr_variable.
    pub fn hr_graph_node_string(graph: *const hr_graph, node: hr_node, name: *const c_char, fallback: *const c_char, out: *mut *const c_char) -> *mut hr_status;
    /// Give an attribute of a node. If the node does not have it, the result is `fallback` (of a string
    /// it may be NULL), a list of 0 values, or no tensor, which is NULL. HR_INVALID_ARGUMENT if it is of
    /// another kind. An operator of headrace.state or headrace.train names its variables by integers:
    /// "variable" is an hr_variable.
    pub fn hr_graph_node_ints(graph: *const hr_graph, node: hr_node, name: *const c_char, out_count: *mut usize, out_values: *mut *const i64) -> *mut hr_status;
    /// Give an attribute of a node. If the node does not have it, the result is `fallback` (of a string
    /// it may be NULL), a list of 0 values, or no tensor, which is NULL. HR_INVALID_ARGUMENT if it is of
    /// another kind. An operator of headrace.state or headrace.train names its variables by integers:
    /// "variable" is an hr_variable.
    pub fn hr_graph_node_floats(graph: *const hr_graph, node: hr_node, name: *const c_char, out_count: *mut usize, out_values: *mut *const f64) -> *mut hr_status;
    /// Give an attribute of a node. If the node does not have it, the result is `fallback` (of a string
    /// it may be NULL), a list of 0 values, or no tensor, which is NULL. HR_INVALID_ARGUMENT if it is of
    /// another kind. An operator of headrace.state or headrace.train names its variables by integers:
    /// "variable" is an hr_variable.
    pub fn hr_graph_node_strings(graph: *const hr_graph, node: hr_node, name: *const c_char, out_count: *mut usize, out_values: *mut *const *const c_char) -> *mut hr_status;
    /// Give an attribute of a node. If the node does not have it, the result is `fallback` (of a string
    /// it may be NULL), a list of 0 values, or no tensor, which is NULL. HR_INVALID_ARGUMENT if it is of
    /// another kind. An operator of headrace.state or headrace.train names its variables by integers:
    /// "variable" is an hr_variable.
    pub fn hr_graph_node_tensor(graph: *const hr_graph, node: hr_node, name: *const c_char, out: *mut *mut hr_tensor) -> *mut hr_status;
    /// Make a tensor of the contents of a constant and of the initial value of a variable; NULL if the
    /// value is no constant, or if an operator makes the initial value. The tensor shares the memory of
    /// the graph, or of the file that the graph came from, so its contents must not be changed.
    pub fn hr_graph_value_tensor(graph: *const hr_graph, value: hr_value, out: *mut *mut hr_tensor) -> *mut hr_status;
    /// Make a tensor of the contents of a constant and of the initial value of a variable; NULL if the
    /// value is no constant, or if an operator makes the initial value. The tensor shares the memory of
    /// the graph, or of the file that the graph came from, so its contents must not be changed.
    pub fn hr_graph_variable_tensor(graph: *const hr_graph, variable: hr_variable, out: *mut *mut hr_tensor) -> *mut hr_status;
    /// Writes the type of a value as text, such as "float32\[batch, 10\]".
    pub fn hr_graph_type_of(graph: *const hr_graph, value: hr_value, out: *mut *mut hr_text) -> *mut hr_status;
    /// Maps a .hrg file and verifies its structure, without reading the weights. `options` may be NULL,
    /// which means defaults.
    pub fn hr_model_load(env: *mut hr_env, path: *const c_char, options: *const hr_load_options, out: *mut *mut hr_model) -> *mut hr_status;
    /// Loads a model as hr_model_load does, from the `bytes` bytes at `data`, which must stay unchanged
    /// until release(context) is called. If `release` is NULL, the host keeps the memory until the last
    /// model, session and tensor that came from it is gone. `options` may be NULL.
    pub fn hr_model_load_memory(env: *mut hr_env, data: *const c_void, bytes: usize, release: Option<unsafe extern "C" fn(context: *mut c_void)>, context: *mut c_void, options: *const hr_load_options, out: *mut *mut hr_model) -> *mut hr_status;
    /// Loads a model as hr_model_load does, through the functions of the host. `options` may be NULL.
    pub fn hr_model_load_callback(env: *mut hr_env, reader: *const hr_reader, options: *const hr_load_options, out: *mut *mut hr_model) -> *mut hr_status;
    /// Makes a model of the graph as it is now. The graph may grow afterwards without changing the
    /// model.
    pub fn hr_model_from_graph(graph: *const hr_graph, out: *mut *mut hr_model) -> *mut hr_status;
    /// Makes a graph that goes on from the model, with all that the model has: names, constants,
    /// variables, signatures, metadata and bounds. The graph shares the memory of the constants and
    /// keeps a mapped file mapped. Effects that are added come after those that exist; hr_graph_prune
    /// removes those that no signature needs. HR_UNIMPLEMENTED, which names them all, if the model has
    /// operators that this library does not know. The model stays as it is and may be released.
    pub fn hr_graph_from_model(model: *const hr_model, out: *mut *mut hr_graph) -> *mut hr_status;
    pub fn hr_model_release(model: *mut hr_model);
    /// Converts the model in the file `from` to the .hrg file `to`, which is replaced if this succeeds
    /// and left as it was otherwise. The ending of `from` says its format; ".onnx" is read by the plugin
    /// "onnx", which is opened if it is needed (see hr_env_load_plugin).
    ///
    /// Inputs, outputs, nodes and weights keep their names, and operators the version that the file
    /// states. The signature is "infer". Floating-point weights, also of nodes Constant, become
    /// variables, which can be trained; statistics of BatchNormalization are frozen ones, and numbers
    /// that a plan must know constants. Bytes are streamed from the mapped file and those beside it.
    ///
    /// HR_UNIMPLEMENTED, with one line for each thing that cannot be converted and the nearest way out;
    /// HR_INVALID_ARGUMENT if the file is damaged. `options` may be NULL, which means defaults.
    /// `out_report` may be NULL; it gets JSON: "producer", "opsets", "nodes", "operators" with their
    /// numbers, "variables", "variable_bytes", "constant_bytes", "inputs" and "outputs", all as the file
    /// has them; and if it was simplified, "simplified" with the "nodes", "variables", "variable_bytes"
    /// and "constant_bytes" that are left.
    pub fn hr_model_convert(env: *mut hr_env, from: *const c_char, to: *const c_char, options: *const hr_convert_options, limits: *const hr_limits, out_report: *mut *mut hr_text) -> *mut hr_status;
    /// Writes one signature of the .hrg file `from` as a model of another format to `to`, which is
    /// replaced if this succeeds and left as it was otherwise; a data file beside it is replaced just
    /// before. The ending of `to` says the format; ".onnx" is written by the plugin "onnx".
    ///
    /// It is the inverse of hr_model_convert: names, operators with their versions and metadata stay,
    /// variables and constants become initializers, and bodies name again what was captured for them.
    /// ONNX has no words for what trains, communicates or changes variables, nor for bounds of sizes,
    /// which are left out. Use hr_session_export first if a session has other values than the file.
    ///
    /// HR_UNIMPLEMENTED, with one line for each thing that cannot be written. `options` may be NULL,
    /// which means defaults. `out_report` may be NULL; it gets JSON: "signature", "opsets", "operators"
    /// with their numbers, "bytes", "data_file" ("" if there is none) and "data_bytes".
    pub fn hr_model_export(env: *mut hr_env, from: *const c_char, to: *const c_char, options: *const hr_export_options, limits: *const hr_limits, out_report: *mut *mut hr_text) -> *mut hr_status;
    /// Reads a file with a single tensor. The ending of `path` says its format; ".pb" is an ONNX
    /// TensorProto, as in ONNX's test vectors, and is read by the plugin "onnx". `out_name` may be NULL;
    /// it gets the tensor's name, "" if it has none.
    pub fn hr_tensor_load(env: *mut hr_env, path: *const c_char, out: *mut *mut hr_tensor, out_name: *mut *mut hr_text) -> *mut hr_status;
    /// Describes signatures with their types, variables, graphs, operators and metadata as JSON.
    pub fn hr_model_describe(model: *const hr_model, out: *mut *mut hr_text) -> *mut hr_status;
    /// Writes a graph with its nodes. `format` is "json" ("nodes" with name, op, inputs, outputs and
    /// attributes; "values" with name and type) or "dot" (for Graphviz). `view` may be NULL, which means
    /// the whole main graph.
    pub fn hr_model_view(model: *const hr_model, format: *const c_char, view: *const hr_graph_view, out: *mut *mut hr_text) -> *mut hr_status;
    /// Calls hr_model_view without a view.
    pub fn hr_model_graph_text(model: *const hr_model, format: *const c_char, out: *mut *mut hr_text) -> *mut hr_status;
    /// Describes the parts of a .hrg file as JSON: format version, sizes, segments, checksums. Verifies
    /// no more than this needs, so it also works if the file has operators that this library does not
    /// know.
    pub fn hr_model_file_describe(path: *const c_char, out: *mut *mut hr_text) -> *mut hr_status;
    /// Adds an operator to the env. Must be called before the env's first model; afterwards the call
    /// fails with HR_FAILED_PRECONDITION. Files contain only the name and version of an operator, so a
    /// program must add the operator before it loads a file that uses it.
    pub fn hr_env_add_operator(env: *mut hr_env, op: *const hr_operator) -> *mut hr_status;
    pub fn hr_op_input_count(op: *const hr_op) -> usize;
    pub fn hr_op_output_count(op: *const hr_op) -> usize;
    /// Return an attribute of the node. If the node does not have it, the result is `fallback` (of a
    /// string it may be NULL), or a list of 0 values. Lists and strings live as long as `op`.
    pub fn hr_op_int(op: *const hr_op, name: *const c_char, fallback: i64) -> i64;
    /// Return an attribute of the node. If the node does not have it, the result is `fallback` (of a
    /// string it may be NULL), or a list of 0 values. Lists and strings live as long as `op`.
    pub fn hr_op_float(op: *const hr_op, name: *const c_char, fallback: f64) -> f64;
    /// Return an attribute of the node. If the node does not have it, the result is `fallback` (of a
    /// string it may be NULL), or a list of 0 values. Lists and strings live as long as `op`.
    pub fn hr_op_string(op: *const hr_op, name: *const c_char, fallback: *const c_char) -> *const c_char;
    /// Return an attribute of the node. If the node does not have it, the result is `fallback` (of a
    /// string it may be NULL), or a list of 0 values. Lists and strings live as long as `op`.
    pub fn hr_op_ints(op: *const hr_op, name: *const c_char, out_values: *mut *const i64) -> usize;
    /// Return an attribute of the node. If the node does not have it, the result is `fallback` (of a
    /// string it may be NULL), or a list of 0 values. Lists and strings live as long as `op`.
    pub fn hr_op_floats(op: *const hr_op, name: *const c_char, out_values: *mut *const f64) -> usize;
    /// Returns the type of an input; HR_UNDEFINED if the optional input is omitted. *out_rank is -1 if
    /// the rank is unknown; a dimension in *out_dims is -1 if it is unknown. `out_rank` and `out_dims`
    /// may be NULL.
    pub fn hr_op_input_type(op: *mut hr_op, input: usize, out_rank: *mut i32, out_dims: *mut *const i64) -> hr_dtype;
    /// Sets the type of an output. rank -1: unknown; a dimension of -1: unknown.
    pub fn hr_op_set_output(op: *mut hr_op, output: usize, dtype: hr_dtype, rank: i32, dims: *const i64) -> *mut hr_status;
    /// Sets the type of an output to that of an input, including the names of its dimensions.
    pub fn hr_op_set_output_like(op: *mut hr_op, output: usize, input: usize) -> *mut hr_status;
    /// Return an input and an output; NULL if the node does not have it. An output's memory is to be
    /// written, an input's must not be.
    pub fn hr_op_input_tensor(op: *const hr_op, input: usize) -> *const hr_op_tensor;
    /// Return an input and an output; NULL if the node does not have it. An output's memory is to be
    /// written, an input's must not be.
    pub fn hr_op_output_tensor(op: *const hr_op, output: usize) -> *const hr_op_tensor;
    /// Calls fn(fn_context, task) once for each task in \[0, tasks) on the threads of this run, and
    /// returns when all calls have returned.
    pub fn hr_op_parallel_for(op: *mut hr_op, tasks: i32, r#fn: Option<unsafe extern "C" fn(fn_context: *mut c_void, task: c_int)>, fn_context: *mut c_void);
    /// Return an input, an output, and the gradient of an output. The result is HR_NONE if the node does
    /// not have the input or output, or if nothing depends on the output whose gradient is asked for.
    pub fn hr_op_input(op: *const hr_op, input: usize) -> hr_value;
    /// Return an input, an output, and the gradient of an output. The result is HR_NONE if the node does
    /// not have the input or output, or if nothing depends on the output whose gradient is asked for.
    pub fn hr_op_output(op: *const hr_op, output: usize) -> hr_value;
    /// Return an input, an output, and the gradient of an output. The result is HR_NONE if the node does
    /// not have the input or output, or if nothing depends on the output whose gradient is asked for.
    pub fn hr_op_output_gradient(op: *const hr_op, output: usize) -> hr_value;
    /// Returns 1 if the gradient of this input is needed, else 0.
    pub fn hr_op_wants_gradient(op: *const hr_op, input: usize) -> c_int;
    /// Adds a node as hr_graph_op does, with the newest version of the operator. `attributes` may be
    /// NULL.
    pub fn hr_op_add(op: *mut hr_op, name: *const c_char, attributes: *const c_char, input_count: usize, inputs: *const hr_value, output_count: usize, outputs: *mut hr_value) -> *mut hr_status;
    /// Adds a constant scalar of the floating-point type of `like`.
    pub fn hr_op_scalar(op: *mut hr_op, value: f64, like: hr_value, out: *mut hr_value) -> *mut hr_status;
    /// Sets the gradient of an input. It must have the shape of the input.
    pub fn hr_op_set_gradient(op: *mut hr_op, input: usize, gradient: hr_value) -> *mut hr_status;
    pub fn hr_queue_create(env: *mut hr_env, out: *mut *mut hr_queue) -> *mut hr_status;
    pub fn hr_queue_release(queue: *mut hr_queue);
    /// Takes the oldest completion if there is one, and sets *out_found to 1; else to 0. Does not wait.
    pub fn hr_queue_poll(queue: *mut hr_queue, out: *mut hr_completion, out_found: *mut i32) -> *mut hr_status;
    /// Takes the oldest completion, and waits for one within `limits` (NULL: none). A status that this
    /// function returns is about the wait; the failure of what has ended is in *out.
    pub fn hr_queue_wait(queue: *mut hr_queue, limits: *const hr_limits, out: *mut hr_completion) -> *mut hr_status;
    /// Returns a file descriptor for poll(), epoll or kqueue, which is readable while the queue has
    /// completions. It belongs to the queue: do not read or close it. HR_UNIMPLEMENTED: the system has
    /// no such descriptors; HR_RESOURCE_EXHAUSTED: there is none left.
    pub fn hr_queue_descriptor(queue: *mut hr_queue, out: *mut i32) -> *mut hr_status;
    /// Creates a session and computes the initial values of its variables, within `limits` (NULL: none).
    /// `options` may be NULL, which means defaults.
    ///
    /// A node that its device cannot run runs on the CPU, and so do the other nodes that use its
    /// variables; hr_call_describe shows where each node runs. Inputs, outputs and the values of
    /// variables are in host memory, whatever the devices.
    pub fn hr_session_create(model: *const hr_model, options: *const hr_session_options, limits: *const hr_limits, out: *mut *mut hr_session) -> *mut hr_status;
    /// Closes the session: new runs fail, also those of its calls, and runs in flight finish. The plans
    /// are freed as soon as their last user is done. May be called while other threads use the session.
    pub fn hr_session_close(session: *mut hr_session);
    /// Releases the handle. Runs that have begun finish, and calls of the session remain usable.
    pub fn hr_session_release(session: *mut hr_session);
    /// Frees the memory that cached plans keep for their next runs, except what a run or a call holds at
    /// the moment. hr_session_describe shows how much there is.
    pub fn hr_session_trim(session: *mut hr_session);
    /// Runs the graph once. Any values may be feeds and fetches, and any nodes may be targets; nodes
    /// that neither a fetch nor a target needs do not run. `outputs` gets one tensor for each fetch,
    /// which the caller releases. Plans are cached by names and shapes. Waits for the end of the run,
    /// within `limits` (NULL: none).
    pub fn hr_session_run(session: *mut hr_session, feed_count: usize, feed_names: *const *const c_char, feeds: *const *const hr_tensor, fetch_count: usize, fetch_names: *const *const c_char, target_count: usize, target_names: *const *const c_char, limits: *const hr_limits, outputs: *mut *mut hr_tensor) -> *mut hr_status;
    /// Returns the number of variables.
    pub fn hr_session_variable_count(session: *const hr_session) -> usize;
    /// Returns the name of a variable; NULL if `index` is too large. It lives as long as the session.
    pub fn hr_session_variable_name(session: *const hr_session, index: usize) -> *const c_char;
    /// Get and set copy the value of a variable. The type and shape of `value` must be the variable's.
    /// Both wait within `limits` (NULL: none) for runs that are in the way.
    pub fn hr_session_get_variable(session: *mut hr_session, name: *const c_char, limits: *const hr_limits, out: *mut *mut hr_tensor) -> *mut hr_status;
    /// Get and set copy the value of a variable. The type and shape of `value` must be the variable's.
    /// Both wait within `limits` (NULL: none) for runs that are in the way.
    pub fn hr_session_set_variable(session: *mut hr_session, name: *const c_char, value: *const hr_tensor, limits: *const hr_limits) -> *mut hr_status;
    /// Describes variables, cached plans with their devices, steps and kernels, and memory as JSON.
    pub fn hr_session_describe(session: *mut hr_session, out: *mut *mut hr_text) -> *mut hr_status;
    /// Creates a call of a signature; the signature names its inputs and outputs.
    pub fn hr_call_create(session: *mut hr_session, signature: *const c_char, out: *mut *mut hr_call) -> *mut hr_status;
    /// Creates a call with any values as inputs and outputs and any nodes as targets.
    pub fn hr_call_create_custom(session: *mut hr_session, feed_count: usize, feed_names: *const *const c_char, fetch_count: usize, fetch_names: *const *const c_char, target_count: usize, target_names: *const *const c_char, out: *mut *mut hr_call) -> *mut hr_status;
    pub fn hr_call_release(call: *mut hr_call);
    /// Binds a tensor to an input for all runs from now on. Contiguous memory is used in place, so a run
    /// sees what the memory contains at that time. The tensor may be released after this call. If
    /// `tensor` is NULL, nothing is bound to the input any more.
    pub fn hr_call_bind(call: *mut hr_call, input: *const c_char, tensor: *const hr_tensor) -> *mut hr_status;
    /// Binds a single number, such as a learning rate, to an input. It is converted to the input's type.
    pub fn hr_call_bind_scalar(call: *mut hr_call, input: *const c_char, value: f64) -> *mut hr_status;
    /// Makes all runs from now on write an output to `data`. `bytes` must be exactly what the output
    /// needs; the next run checks this. The memory must live as long as the call or until another
    /// output is set. If `data` is NULL, runs write the output to memory of the call again.
    pub fn hr_call_output(call: *mut hr_call, output: *const c_char, data: *mut c_void, bytes: usize) -> *mut hr_status;
    /// Makes all runs from now on write an output to the memory of `tensor`, which must be contiguous,
    /// not read-only, in host memory, and of the output's type and shape; the next run checks the last.
    /// The call keeps the memory alive. If `tensor` is NULL, runs write the output to memory of the call
    /// again.
    pub fn hr_call_bind_output(call: *mut hr_call, output: *const c_char, tensor: *const hr_tensor) -> *mut hr_status;
    /// Returns the type and shape of an output for the inputs that are bound now. `out_dtype`,
    /// `out_rank` and `out_dims` may be NULL. The dimensions live until the call is used again. Inputs
    /// that the output needs must be bound.
    pub fn hr_call_output_type(call: *mut hr_call, output: *const c_char, out_dtype: *mut hr_dtype, out_rank: *mut usize, out_dims: *mut *const i64) -> *mut hr_status;
    /// Runs the call and waits for the end, within `limits` (NULL: none). HR_OUT_OF_RANGE: a bound data
    /// set has no more data; in this case nothing has run.
    pub fn hr_call_run(call: *mut hr_call, limits: *const hr_limits) -> *mut hr_status;
    /// Starts a run and returns at once. Until the run has ended it owns the call and the memory that is
    /// bound to the call: functions on the call fail with HR_FAILED_PRECONDITION, but the call may be
    /// released. The limits count from now. Releasing the run does not end it.
    pub fn hr_call_start(call: *mut hr_call, limits: *const hr_limits, out: *mut *mut hr_run) -> *mut hr_status;
    pub fn hr_run_release(run: *mut hr_run);
    /// Returns 1 if the run has ended, whether it succeeded or failed; else 0. Does not wait.
    pub fn hr_run_test(run: *mut hr_run) -> c_int;
    /// Waits for the end of the run and returns its result. `limits` (NULL: none) end the waiting, not
    /// the run. They are measured on the system's monotonic clock, because the env may be gone.
    /// HR_FAILED_PRECONDITION in a function of the host that another run of the env has called and waits
    /// for (see hr_operator), if the run has not ended: it may need the threads that the other has.
    pub fn hr_run_wait(run: *mut hr_run, limits: *const hr_limits) -> *mut hr_status;
    /// Calls `callback` once when the run has ended, or soon if it has ended already, on a thread for
    /// callbacks (see hr_env). `status` is NULL or the failure; it is valid during the callback. The
    /// callback may call any function, for example start the call again; releasing what it was given is
    /// not its task.
    pub fn hr_run_on_done(run: *mut hr_run, callback: Option<unsafe extern "C" fn(context: *mut c_void, status: *const hr_status)>, context: *mut c_void) -> *mut hr_status;
    /// Puts the run into a queue when it has ended; at once if it has ended already.
    pub fn hr_run_enqueue(run: *mut hr_run, queue: *mut hr_queue, key: u64) -> *mut hr_status;
    /// Cancels the run, as triggering the cancel token of its limits would.
    pub fn hr_run_cancel(run: *mut hr_run);
    /// Returns an output of the last run as a tensor. The next run overwrites its memory.
    pub fn hr_call_result(call: *const hr_call, output: *const c_char, out: *mut *mut hr_tensor) -> *mut hr_status;
    /// Returns an output of the last run as hr_call_result does, and gives its memory away: the next run
    /// writes to other memory, also if a tensor was bound to the output.
    pub fn hr_call_take_result(call: *mut hr_call, output: *const c_char, out: *mut *mut hr_tensor) -> *mut hr_status;
    /// Describes the plan for the shapes that are bound now as JSON.
    pub fn hr_call_describe(call: *mut hr_call, out: *mut *mut hr_text) -> *mut hr_status;
    /// Runs the call and waits for the end, within `limits` (NULL: none), as hr_call_run does, and
    /// describes the run as JSON: its `begin` by the system's monotonic clock, in nanoseconds; the
    /// `nanoseconds` from when it had its threads to its end, the number of `threads`, and its `steps`
    /// in order. A step has its `node` and `kernel`, as hr_call_describe names them; `begin` and `end`
    /// in nanoseconds of the run; `operations`, the multiplications and additions of products,
    /// convolutions and recurrent layers as their sums say, whatever the algorithm (else 0), without
    /// results that a pooling in the same step leaves out; the `bytes` of its operands; the `live_bytes`
    /// of working memory that are in use; and `shares`, what each `thread` that took tasks of the step
    /// did: from its first to its last task, and how long it was `busy` in them. Thread 0 runs the
    /// steps. The part of a run that a device of a plugin runs is one step. Each step takes some hundred
    /// nanoseconds longer than in hr_call_run.
    pub fn hr_call_profile(call: *mut hr_call, limits: *const hr_limits, out: *mut *mut hr_text) -> *mut hr_status;
    /// Creates a contiguous (row-major), uninitialized tensor in memory of the env's allocator, aligned
    /// to 64 bytes.
    pub fn hr_tensor_create(env: *mut hr_env, dtype: hr_dtype, rank: usize, dims: *const i64, out: *mut *mut hr_tensor) -> *mut hr_status;
    /// Creates a tensor as hr_tensor_create does and copies `data` into it. `bytes` must be the bytes
    /// that the shape needs.
    pub fn hr_tensor_copy_of(env: *mut hr_env, dtype: hr_dtype, rank: usize, dims: *const i64, data: *const c_void, bytes: usize, out: *mut *mut hr_tensor) -> *mut hr_status;
    /// Makes a tensor of the host's memory, which is used in place. `data` must be aligned to its
    /// element type, and `bytes` must be the bytes that the shape needs. release(context) is called when
    /// the last user is gone; if `release` is NULL, the host keeps the memory alive until then.
    pub fn hr_tensor_wrap(dtype: hr_dtype, rank: usize, dims: *const i64, data: *mut c_void, bytes: usize, release: Option<unsafe extern "C" fn(context: *mut c_void)>, context: *mut c_void, out: *mut *mut hr_tensor) -> *mut hr_status;
    /// Makes a tensor as hr_tensor_wrap does, of elements that may lie apart. `strides` has `rank`
    /// entries, in elements and not negative; NULL: the tensor is contiguous. `bytes` must be at least
    /// the bytes from the first element to the end of the last. A call (hr_call) copies a tensor that is
    /// not contiguous when it is bound.
    pub fn hr_tensor_wrap_strided(dtype: hr_dtype, rank: usize, dims: *const i64, strides: *const i64, data: *mut c_void, bytes: usize, release: Option<unsafe extern "C" fn(context: *mut c_void)>, context: *mut c_void, out: *mut *mut hr_tensor) -> *mut hr_status;
    pub fn hr_tensor_release(tensor: *mut hr_tensor);
    /// Makes another handle of the same memory.
    pub fn hr_tensor_share(tensor: *const hr_tensor, out: *mut *mut hr_tensor) -> *mut hr_status;
    /// Return the type and the number of dimensions. The pointers that the functions below return live
    /// as long as the tensor.
    pub fn hr_tensor_dtype(tensor: *const hr_tensor) -> hr_dtype;
    /// Return the type and the number of dimensions. The pointers that the functions below return live
    /// as long as the tensor.
    pub fn hr_tensor_rank(tensor: *const hr_tensor) -> usize;
    /// Returns the sizes of the dimensions, as many as the rank.
    pub fn hr_tensor_dims(tensor: *const hr_tensor) -> *const i64;
    pub fn hr_tensor_elements(tensor: *const hr_tensor) -> i64;
    /// Returns the bytes of all elements together.
    pub fn hr_tensor_bytes(tensor: *const hr_tensor) -> usize;
    /// Returns the first element; NULL if the host cannot access the memory (hr_tensor_device). It must
    /// not be written to if the tensor is read-only.
    pub fn hr_tensor_data(tensor: *const hr_tensor) -> *mut c_void;
    /// Returns 1 if the elements must not be written to, else 0. So it is with tensors that came from
    /// DLPack with its flag, and with those of a model's file.
    pub fn hr_tensor_read_only(tensor: *const hr_tensor) -> c_int;
    /// Returns the kind of device that the memory belongs to, as DLPack's DLDeviceType: 1 for the host,
    /// 2 for CUDA, 12 for a device of a plugin. *out_ordinal is its number among those of
    /// the kind; `out_ordinal` may be NULL.
    pub fn hr_tensor_device(tensor: *const hr_tensor, out_ordinal: *mut i32) -> i32;
    /// Returns the address of the first element on the tensor's device, whatever the device.
    pub fn hr_tensor_device_data(tensor: *const hr_tensor) -> *mut c_void;
    /// Returns the strides in elements, as many as the rank; NULL if the tensor is contiguous.
    pub fn hr_tensor_strides(tensor: *const hr_tensor) -> *const i64;
    /// Takes over a managed tensor; its deleter is called when the last user is gone. If the call fails,
    /// the caller keeps the managed tensor. Strides other than row-major are kept; a run that needs
    /// contiguous memory makes a contiguous copy. With DLPack's flag the tensor is read-only.
    pub fn hr_tensor_from_dlpack(managed: *mut hr_dlpack, out: *mut *mut hr_tensor) -> *mut hr_status;
    /// Makes a managed tensor that shares the memory, with DLPack's flag if the tensor is read-only.
    /// Whoever takes it calls its deleter once.
    pub fn hr_tensor_to_dlpack(tensor: *const hr_tensor, out: *mut *mut hr_dlpack) -> *mut hr_status;
    /// Opens a data set of files. `uri` is "FORMAT:PATH?KEY=VALUE&…", such as
    /// "idx:fashion-mnist/train?batch=64&shuffle=1&seed=7" or "csv:prices.csv?label=price&batch=32". The
    /// formats are idx, cifar10, cifar100, npy, npz, csv, text and images. PATH is a file or folder, or
    /// the name of one below $HEADRACE_DATA or /usr/share/datasets. docs/data.md has the fields and keys
    /// of every format, and those that all have: batch, shuffle, seed, repeat, drop_remainder, shard and
    /// prefetch say how examples are drawn; rename, map, filter and cache change them.
    ///
    /// Files are mapped, so memory does not grow with them. A file that is cut short while it is used
    /// raises SIGBUS, as with any mapped file; put a new one in its place with a rename instead.
    pub fn hr_dataset_open(env: *mut hr_env, uri: *const c_char, out: *mut *mut hr_dataset) -> *mut hr_status;
    /// Makes a data set of tensors, one for each field. Their first dimension, which must be the same
    /// for all, counts the examples. The data set shares the tensors' memory. `options` may be NULL,
    /// which means defaults.
    pub fn hr_dataset_from_tensors(env: *mut hr_env, count: usize, names: *const *const c_char, tensors: *const *const hr_tensor, options: *const hr_dataset_options, out: *mut *mut hr_dataset) -> *mut hr_status;
    /// Makes a data set of the host's functions. dims\[0\] of the fields is the number of examples in a
    /// batch and must be the same for all, or -1. A field with -1 beside others without may have any
    /// length, such as the values of sparse rows. If it is -1 for all, options-\>batch is the number of
    /// examples.
    ///
    /// Of the other options, seed is ignored, and shuffle must be 0: `seek` says which epoch's order is
    /// wanted. Shards and drop_remainder need the number of examples; shards and repeat need `seek`.
    /// `options` may be NULL, which means defaults.
    pub fn hr_dataset_from_callbacks(env: *mut hr_env, callbacks: *const hr_dataset_callbacks, field_count: usize, fields: *const hr_dataset_field, options: *const hr_dataset_options, out: *mut *mut hr_dataset) -> *mut hr_status;
    /// Releases the handle. With prefetch it waits for the batch that is being read, unless a call still
    /// has the data set.
    pub fn hr_dataset_release(dataset: *mut hr_dataset);
    /// Returns 1 if the pass is over, else 0. It may have to wait for the next batch to find out, within
    /// `limits` (NULL: none). Returns 0, too, if the limits end this wait, if the batch is a failure, or
    /// if the data set is in use: the next read says why.
    pub fn hr_dataset_done(dataset: *mut hr_dataset, limits: *const hr_limits) -> c_int;
    /// Returns the number of batches in an epoch; -1 if it is unknown. It counts full batches; if the
    /// functions of a host give smaller ones, there are more.
    pub fn hr_dataset_batches(dataset: *const hr_dataset) -> i64;
    /// Begins another pass. With prefetch it waits for the batch that is being read, within `limits`
    /// (NULL: none); if they end the wait, nothing has changed.
    pub fn hr_dataset_rewind(dataset: *mut hr_dataset, limits: *const hr_limits) -> *mut hr_status;
    pub fn hr_dataset_field_count(dataset: *const hr_dataset) -> usize;
    /// Returns the name of a field; NULL if `index` is too large. The text lives until the data set is
    /// released.
    pub fn hr_dataset_field_name(dataset: *const hr_dataset, index: usize) -> *const c_char;
    /// Reads the next batch, waiting for it within `limits` (NULL: none). `out` gets a tensor for each
    /// field, which the caller releases. HR_OUT_OF_RANGE: the pass is over.
    pub fn hr_dataset_next(dataset: *mut hr_dataset, limits: *const hr_limits, out: *mut *mut hr_tensor) -> *mut hr_status;
    /// Renames `field` to `name`, so that it is fed to the input of that name. Calls to which the data
    /// set is bound already do not change.
    pub fn hr_dataset_rename(dataset: *mut hr_dataset, field: *const c_char, name: *const c_char) -> *mut hr_status;
    /// Describes the data set as JSON: {"fields": \[…\], "batches": …, "position": {…}}. Does not wait.
    pub fn hr_dataset_describe(dataset: *const hr_dataset, out: *mut *mut hr_text) -> *mut hr_status;
    /// Writes the position of the data set as JSON, without waiting. It counts examples: "example" of
    /// the epoch "epoch", of all shards together. So it does not depend on the batch or on the shards: a
    /// data set of the same data with others can go on from it. Checkpoints save and restore it if they
    /// are given the data set.
    pub fn hr_dataset_position(dataset: *const hr_dataset, out: *mut *mut hr_text) -> *mut hr_status;
    /// Goes to a position that hr_dataset_position has written, of a data set with the same number of
    /// examples. Waits as hr_dataset_rewind does.
    pub fn hr_dataset_seek(dataset: *mut hr_dataset, position: *const c_char, limits: *const hr_limits) -> *mut hr_status;
    /// Goes on, from the present position, as shard `shard_index` of `shard_count`: for a group that has
    /// lost ranks or got new ones. Waits as hr_dataset_rewind does. A call that fails changes nothing.
    pub fn hr_dataset_reshard(dataset: *mut hr_dataset, shard_index: i64, shard_count: i64, limits: *const hr_limits) -> *mut hr_status;
    /// Makes a data set of what a signature of the session's model makes of the examples of another one.
    ///
    /// The signature's inputs are fields of `dataset` with the same names. The new data set has the
    /// signature's outputs, and the fields of `dataset` that are no inputs. The signature sees a batch
    /// at a time, of any size: dimension 0 of its inputs and outputs must count the examples. Each
    /// example must depend on nothing else, so a signature that writes variables or draws random numbers
    /// is refused; variables should not change while the data set is used.
    ///
    /// The new data set begins at the beginning of a pass. It is drawn like `dataset`, which stays as it
    /// is, with the same files and examples. If `dataset` was made of the host's functions
    /// (hr_dataset_from_callbacks), the new one draws from it instead and has its position, so nobody
    /// else may use it any more. Runs the signature once and waits for its end, within `limits` (NULL:
    /// none).
    pub fn hr_dataset_map(dataset: *mut hr_dataset, session: *mut hr_session, signature: *const c_char, limits: *const hr_limits, out: *mut *mut hr_dataset) -> *mut hr_status;
    /// Makes a data set of the examples of another one for which a signature of the session's model
    /// gives true. The signature is as for hr_dataset_map, and its only output is a bool for each
    /// example. Reads all examples once and waits for the end, within `limits` (NULL: none), to find
    /// those that stay; they are then numbered anew, so batches, shuffling, shards and positions are as
    /// of any other data set. HR_INVALID_ARGUMENT: no example stays, or `dataset` was made of the host's
    /// functions; cache it first.
    pub fn hr_dataset_filter(dataset: *mut hr_dataset, session: *mut hr_session, signature: *const c_char, limits: *const hr_limits, out: *mut *mut hr_dataset) -> *mut hr_status;
    /// Reads all examples of a data set once, within `limits` (NULL: none), and makes a data set of what
    /// it has kept, in memory or in a file. The file is used without reading `dataset` if it was made
    /// from the same files (paths, sizes and times of modification), keys of the address, and
    /// options-\>key. It is replaced as a whole: a process that is killed leaves the old one or none, and
    /// of several processes one makes it while the others wait. HR_ALREADY_EXISTS: there is another kind
    /// of file at the path.
    ///
    /// The shapes of all fields must be known but for dimension 0. A data set of the host's functions
    /// must be at the beginning of an epoch, which is read; the new data set can then be shuffled and
    /// has shards, also if the host's could not. `options` may be NULL, which means defaults.
    pub fn hr_dataset_cache(dataset: *mut hr_dataset, options: *const hr_cache_options, limits: *const hr_limits, out: *mut *mut hr_dataset) -> *mut hr_status;
    /// Binds a data set to a call: before each run, the call takes the next batch and feeds every field
    /// to the input of the same name. The call keeps the data set alive. If `dataset` is NULL, the call
    /// takes no batches any more.
    pub fn hr_call_bind_dataset(call: *mut hr_call, dataset: *mut hr_dataset) -> *mut hr_status;
    /// Writes the checkpoint DIRECTORY/step-N (safetensors and a checksummed manifest) for the session's
    /// step N. Readers see the whole checkpoint or none, even if the process dies or the disk is full.
    /// The session may run meanwhile. `options` may be NULL, which means defaults. If `limits` (NULL:
    /// none) end the call, there is no new checkpoint.
    pub fn hr_session_save(session: *mut hr_session, directory: *const c_char, options: *const hr_checkpoint_options, limits: *const hr_limits) -> *mut hr_status;
    /// Restores the variables, step and seed from a checkpoint, and the position of options-\>dataset if
    /// it is given; training then continues with bit-identical results. `path` is a checkpoint
    /// (DIRECTORY/step-N), or a DIRECTORY, which means its newest complete checkpoint. A call that fails
    /// leaves the session as it was; one that succeeds makes a tainted session usable again. `options`
    /// and `limits` may be NULL. `report` may be NULL; otherwise it gets {"path", "step", "warnings"} as
    /// JSON.
    pub fn hr_session_restore(session: *mut hr_session, path: *const c_char, options: *const hr_checkpoint_options, limits: *const hr_limits, report: *mut *mut hr_text) -> *mut hr_status;
    /// Returns the number of steps done so far. A step is a run that writes variables or draws random
    /// numbers.
    pub fn hr_session_step(session: *const hr_session) -> i64;
    /// Verifies a checkpoint, or all checkpoints of a directory, and describes them as JSON.
    pub fn hr_checkpoint_describe(path: *const c_char, out: *mut *mut hr_text) -> *mut hr_status;
    /// Lists what a file of weights has as JSON: "name", "dtype", "dims" and "bytes" of each tensor.
    pub fn hr_weights_describe(path: *const c_char, out: *mut *mut hr_text) -> *mut hr_status;
    /// Writes the present values of the session's variables. The file is replaced if this succeeds and
    /// stays as it was otherwise, also if the process dies or the disk is full. Runs that write
    /// variables wait meanwhile. `options` may be NULL, which means defaults. `out_report` may be NULL;
    /// it gets {"tensors", "bytes", "left"} as JSON.
    pub fn hr_session_export_weights(session: *mut hr_session, path: *const c_char, options: *const hr_weights_options, limits: *const hr_limits, out_report: *mut *mut hr_text) -> *mut hr_status;
    /// Sets the session's variables to what the file has. Everything is checked first:
    /// HR_INVALID_ARGUMENT names all that does not fit, one a line, and nothing has changed. Types and
    /// shapes must be the same. Variables that are not trainable may be missing from the file; "left"
    /// of the report lists the variables that stay as they were. `options` may be NULL, which means
    /// defaults; `out_report` may be NULL.
    pub fn hr_session_import_weights(session: *mut hr_session, path: *const c_char, options: *const hr_weights_options, limits: *const hr_limits, out_report: *mut *mut hr_text) -> *mut hr_status;
    /// Writes a .hrg file for serving: the named signatures and what they need, with the present values
    /// of the session's variables as initial values. `options` may be NULL, which means defaults. Waits
    /// within `limits` (NULL: none) for a run that writes variables.
    pub fn hr_session_export(session: *mut hr_session, path: *const c_char, signature_count: usize, signatures: *const *const c_char, options: *const hr_save_options, limits: *const hr_limits) -> *mut hr_status;
    /// Writes the low-rank adapters of the session (hr_graph_add_lora), and nothing else, as a
    /// safetensors file with a tensor for each of their variables. If the call fails, `path` is as it
    /// was. Waits within `limits` (NULL: none) for a run that writes variables.
    pub fn hr_session_save_adapters(session: *mut hr_session, path: *const c_char, limits: *const hr_limits) -> *mut hr_status;
    /// Gives the adapters of the session the values of such a file. HR_NOT_FOUND or HR_INVALID_ARGUMENT
    /// if it does not have just these adapters, of the same ranks. A call that fails leaves the session
    /// as it was.
    pub fn hr_session_load_adapters(session: *mut hr_session, path: *const c_char, limits: *const hr_limits) -> *mut hr_status;
    /// Creates a new event file in the directory, which is created if it is missing.
    pub fn hr_summary_open(directory: *const c_char, out: *mut *mut hr_summary) -> *mut hr_status;
    /// Flushes the file and closes it.
    pub fn hr_summary_release(events: *mut hr_summary);
    pub fn hr_summary_scalar(events: *mut hr_summary, tag: *const c_char, step: i64, value: f64) -> *mut hr_status;
    /// Adds a histogram of the elements. `values` must be contiguous, of float32, float64, int64, int32
    /// or uint8. Elements that are not finite are left out.
    pub fn hr_summary_histogram(events: *mut hr_summary, tag: *const c_char, step: i64, values: *const hr_tensor) -> *mut hr_status;
    /// Adds the first `most` of the images. `images` must be contiguous, of shape \[N, C, H, W\] or
    /// \[C, H, W\] with C = 1 (grey), 2 (grey and alpha), 3 (RGB) or 4 (RGB and alpha), of uint8, or of
    /// float32 or float64 in \[0, 1\].
    pub fn hr_summary_images(events: *mut hr_summary, tag: *const c_char, step: i64, images: *const hr_tensor, most: i64) -> *mut hr_status;
    /// Adds a text in Markdown.
    pub fn hr_summary_text(events: *mut hr_summary, tag: *const c_char, step: i64, text: *const c_char) -> *mut hr_status;
    /// Adds the main graph of a model; the attributes are shown as JSON.
    pub fn hr_summary_graph(events: *mut hr_summary, model: *const hr_model) -> *mut hr_status;
    pub fn hr_summary_flush(events: *mut hr_summary) -> *mut hr_status;
    /// Runs a training and returns when it is over. Restores the newest checkpoint if there is one,
    /// trains, writes summaries, evaluates and saves; at the end it saves before it evaluates, so that
    /// no training is lost. If the limits (NULL: none) end it, it saves first and then returns
    /// HR_DEADLINE_EXCEEDED or HR_CANCELLED. `out` gets the last report and may be NULL.
    ///
    /// An evaluation first runs the signature "\<eval_signature\>/reset", if the model has it, and is no
    /// step of the session, whatever variables it writes. What best_metric and patience have seen is
    /// part of checkpoints: a resumed training stops where one would that was never broken off.
    pub fn hr_train(session: *mut hr_session, options: *const hr_train_options, limits: *const hr_limits, out: *mut hr_train_report) -> *mut hr_status;
    /// Evaluates the rest of the data set's pass with a signature, as hr_train does. If `signature` is
    /// NULL, it is "eval". `out` may be NULL.
    pub fn hr_evaluate(session: *mut hr_session, signature: *const c_char, data: *mut hr_dataset, limits: *const hr_limits, out: *mut hr_train_report) -> *mut hr_status;
    /// Calls hr_evaluate, and writes the metrics as JSON: {"step": …, "metrics": {"loss": …, …}}. What
    /// is no finite number is null. If `signature` is NULL, it is "eval".
    pub fn hr_evaluate_metrics(session: *mut hr_session, signature: *const c_char, data: *mut hr_dataset, limits: *const hr_limits, out: *mut *mut hr_text) -> *mut hr_status;
    /// Makes the numbers of a graph smaller that serves one signature: those of its products (MatMul,
    /// Gemm, Conv) whose weight is a variable or a constant of float32. Nothing stays but the signature
    /// and what it needs, so values have other numbers; weights that are changed become constants, with
    /// the initial values that they had. All of it is written with ONNX's operators. `settings` begins
    /// with one of
    ///
    /// "weights"   the weight is int8 behind a DequantizeLinear
    /// "dynamic"   products of int8, with the input's range of each run (DynamicQuantizeLinear)
    /// "static"    products of int8, with the range that the input has over `data` (QuantizeLinear,
    /// DequantizeLinear)
    /// "float16", "bfloat16"   the weight has 16 bits, behind a Cast
    ///
    /// and goes on with such settings as
    ///
    /// "per_channel=0"   of the first three: one scale for a whole weight, in place of one for each
    /// column, filter, or row of a table
    /// "embeddings=1"    of all: Gather, too, from such a table, which changes as the weight of
    /// "weights", or has 16 bits
    /// "batches=10"      of static: drawn from `data` (0: a pass)
    /// "percentile=99.9" of static: a range leaves out half of the rest at either end
    /// "entropy=1"       of static: the range that loses least of how the numbers are distributed
    /// "activations=1"   of bfloat16: inputs are rounded to it, so that products are of bfloat16
    ///
    /// `patterns` chooses nodes by their names or those of their weights (see
    /// hr_graph_set_trainable_matching); NULL chooses all. `data` is drawn from for static, and NULL
    /// otherwise. `limits` may be NULL. `out_report` may be NULL; it gets JSON: "how", "signature",
    /// "products" with "node", "op", "weight", and for static "low" and "high" of an input, "skipped"
    /// with "node" and "reason", and "bytes_before" and "bytes_after" of the weights.
    ///
    /// HR_NOT_FOUND if there is no such signature, or a pattern fits nothing; HR_FAILED_PRECONDITION if
    /// there is nothing to quantize, `data` has no examples, or a weight has no value before a session
    /// draws it; HR_INVALID_ARGUMENT if a number is NaN or infinite, data does not fit the inputs, or
    /// the settings are others. A failure leaves the graph as it was.
    pub fn hr_graph_quantize(graph: *mut hr_graph, signature: *const c_char, settings: *const c_char, patterns: *const c_char, data: *mut hr_dataset, limits: *const hr_limits, out_report: *mut *mut hr_text) -> *mut hr_status;
    /// Begins with `done` of `total` steps (-1: unknown). `items` names what the steps handle, such as
    /// "images"; if `items` is NULL, they are images. `label` may be NULL.
    pub fn hr_progress_create(label: *const c_char, items: *const c_char, done: i64, total: i64, out: *mut *mut hr_progress) -> *mut hr_status;
    /// Shows that `done` steps are done, and that the last of them handled `items` items. If
    /// `metric_name` is NULL, no metric is shown.
    pub fn hr_progress_update(progress: *mut hr_progress, done: i64, items: i64, metric_name: *const c_char, metric: f64);
    /// Writes a line of its own above the bar.
    pub fn hr_progress_message(progress: *mut hr_progress, text: *const c_char);
    /// Ends the line.
    pub fn hr_progress_release(progress: *mut hr_progress);
    /// Adds a learning rate that changes from step to step, a float64 scalar. `description` is the name
    /// of a schedule with its settings, such as "cosine base=0.1 warmup=500 steps=10000" or "piecewise
    /// at=1000,5000 rates=0.1,0.01,0.001"; docs/training.md lists the schedules with their formulas.
    ///
    /// The steps are the runs of `signature`, which counts them in the variable "\<signature\>/step". All
    /// schedules of a signature share it. The rate becomes the signature's output "learning_rate" if it
    /// has no output of that name. HR_INVALID_ARGUMENT if the settings make no schedule, for example a
    /// warm-up that is longer than all steps.
    pub fn hr_graph_schedule(graph: *mut hr_graph, signature: *const c_char, description: *const c_char, out: *mut hr_value) -> *mut hr_status;
    /// Clips gradients, which are replaced by the clipped ones; HR_NONE stays. `bounds` is a text with
    /// one or more of "value=0.5" (of each element, both ways), "norm=1" (each gradient is scaled down
    /// to this Euclidean norm) and "global_norm=1" (all are scaled down by one factor, to this norm of
    /// all together); they apply in this order. *out_norm gets the global norm before its bound applies,
    /// a scalar; `out_norm` may be NULL. hr_graph_minimize takes the same as settings of the optimizer.
    pub fn hr_graph_clip_gradients(graph: *mut hr_graph, bounds: *const c_char, count: usize, gradients: *mut hr_value, out_norm: *mut hr_value) -> *mut hr_status;
    /// Freezes the variables whose names fit `patterns` (`trainable` 0), or makes them trainable; see
    /// hr_graph_set_trainable. Commas separate patterns; in a pattern * stands for any characters and ?
    /// for one, as in "encoder.*,embedding". HR_NOT_FOUND, with the nearest names, if a pattern fits no
    /// variable. *out_count gets the number of variables; `out_count` may be NULL.
    pub fn hr_graph_set_trainable_matching(graph: *mut hr_graph, patterns: *const c_char, trainable: c_int, out_count: *mut usize) -> *mut hr_status;
    /// Calls hr_graph_minimize with each trainable variable in the first group that has a pattern for
    /// it. HR_NOT_FOUND if a pattern fits no trainable variable; HR_FAILED_PRECONDITION, which names
    /// them, if no group has a variable that the loss depends on: end with a group "*".
    pub fn hr_graph_minimize_groups(graph: *mut hr_graph, signature: *const c_char, loss: hr_value, count: usize, groups: *const hr_parameter_group) -> *mut hr_status;
    /// Adds the signature `to`, which computes what the signature `from` does, but of the averages of
    /// those variables that have one: evaluate with it, and export it to serve the averages.
    /// HR_FAILED_PRECONDITION if no variable has an average or if `from` changes variables.
    pub fn hr_graph_average_signature(graph: *mut hr_graph, from: *const c_char, to: *const c_char) -> *mut hr_status;
    /// Adds a signature whose run swaps all variables that have an average with these. A second run
    /// swaps them back.
    pub fn hr_graph_swap_averages(graph: *mut hr_graph, signature: *const c_char) -> *mut hr_status;
    /// Adds the signature `to` with copies of the nodes that the signature `from` needs: the same
    /// inputs, constants and variables, but values of its own, so that one of the two can be changed.
    /// HR_FAILED_PRECONDITION if `from` changes variables.
    pub fn hr_graph_copy_signature(graph: *mut hr_graph, from: *const c_char, to: *const c_char) -> *mut hr_status;
    /// Adds the output `name` to `signature`: a metric of all the batches that the signature has run on
    /// since the signature "\<signature\>/reset", which the call adds, was run last. hr_train and
    /// hr_evaluate run that before an evaluation. `description` is one of these, with its settings:
    ///
    /// "accuracy"    scores \[N, C, ...\] and labels \[N, ...\] (int64 or int32): the share of labels that
    /// have the largest score
    /// "top_k k=5"   the same: that are among the k largest
    /// "mean"        values of any shape, or the mean of a batch, a scalar, and its labels, which say
    /// how many it stands for
    /// "perplexity"  the same: exp of the mean, of losses in nats
    /// "auc"         scores in \[0, 1\] and labels of the same shape (not 0: positive): the area under
    /// the ROC curve, by histograms of `bins` equal intervals (1000 of them); scores in
    /// one interval count as equal; with logits=1, scores are log-odds
    /// "confusion"   scores and labels as accuracy: int64 \[C, C\], how often label i was taken for j
    ///
    /// The first four and confusion leave out labels that equal ignore_index=L. All but confusion are
    /// float64 scalars. The sums are variables, so the signature writes variables and excludes other
    /// runs of its session. HR_INVALID_ARGUMENT if the inputs are none that the metric takes.
    pub fn hr_graph_metric(graph: *mut hr_graph, signature: *const c_char, name: *const c_char, description: *const c_char, count: usize, inputs: *const hr_value) -> *mut hr_status;
    /// Rewrites a signature that trains so that all ranks of a group train one model. Each rank runs the
    /// same graph on examples of its own; their gradients are averaged while the backward pass goes on,
    /// and all ranks make the same update, bit for bit. `group` is the name by which nodes call the
    /// group: hr_session_bind_group (headrace/comm.h) says which it is.
    ///
    /// `strategy` is a text: "mirrored", with settings as in "mirrored bucket=4194304 bf16=1".
    /// bucket        Gradients travel together, in pieces of this many bytes (26214400).
    /// first_bucket  The first piece is smaller, so that it starts early (1048576).
    /// bf16          1: they travel as bfloat16, in half the bytes (0).
    /// sync_batch_norm  1: batch normalization takes the statistics of the examples of all ranks, as
    /// on one process with all of them, and running statistics are the same on all (0:
    /// each rank normalizes by its own batch, and has its own running statistics).
    /// overlap       off: a step waits for each operation as soon as it has started; auto: it goes on
    /// until it needs the result (auto).
    /// zero, ranks   zero=1 ranks=N: each of N ranks keeps an N-th of the state of the optimizer and
    /// of sums of gradients, and makes that part of the update (0). Checkpoints have them whole, so that
    /// any number of ranks goes on from one: hr_session_save is then a call that all ranks make, of
    /// which rank 0 writes, and in hr_session_restore each rank, whose group is bound, reads the folder.
    ///
    /// The means are over the examples of all ranks: a rank has as many as the first axis of the first
    /// input that leaves this axis open, so batches may be uneven, even empty, and the loss is to be the
    /// mean over them. If all inputs have fixed sizes, all ranks count alike. Outputs that are one
    /// floating-point number and follow from the inputs, such as the loss, become the means of all
    /// ranks, too. Gradients are averaged before they are accumulated or clipped, so one bound holds for
    /// all ranks. Random numbers follow the examples of all ranks: dropout drops what it would drop on
    /// one process with all of them. Other signatures that use nodes which do so get copies of them.
    ///
    /// Call it after hr_graph_minimize. HR_FAILED_PRECONDITION if the signature updates nothing;
    /// HR_ALREADY_EXISTS if it communicates in the group already, or is distributed over another group:
    /// the one group has all ranks that train together; HR_INVALID_ARGUMENT if there is no
    /// such strategy; HR_UNIMPLEMENTED if a body (If, Loop, Scan) draws random numbers, or with zero=1
    /// if the optimizer is lamb, which needs whole gradients.
    pub fn hr_graph_distribute(graph: *mut hr_graph, signature: *const c_char, group: *const c_char, strategy: *const c_char) -> *mut hr_status;
    /// Adds adapters wherever the name of a node, or of its weight, fits one of `patterns` (see
    /// hr_graph_set_trainable_matching), and freezes all other variables. `settings` is a text such as
    /// "rank=8 alpha=16 dropout=0.05", or NULL; the rank is 8, alpha the rank and dropout 0 if they are
    /// not given. A value keeps its name: what the product alone gives is called "\<name\>/base".
    ///
    /// With dropout, inputs are left out at random where the nodes serve the signature `training`, which
    /// may be NULL otherwise: a copy of the signature that serves (hr_graph_copy_signature), of whose
    /// outputs the loss is made afterwards.
    ///
    /// Call it before hr_graph_minimize. *out_count gets the number of nodes; `out_count` may be NULL.
    /// HR_NOT_FOUND, with the nearest names, if a pattern fits nothing; HR_INVALID_ARGUMENT if the rank
    /// is larger than a weight allows; HR_ALREADY_EXISTS if a weight has an adapter.
    pub fn hr_graph_add_lora(graph: *mut hr_graph, patterns: *const c_char, settings: *const c_char, training: *const c_char, out_count: *mut usize) -> *mut hr_status;
    /// Adds the adapters that hr_session_save_adapters has written to `path`, with their values,
    /// wherever a node uses one of their weights, and freezes all other variables. The graph keeps the
    /// file mapped. *out_count gets the number of nodes; `out_count` may be NULL.
    pub fn hr_graph_load_adapters(graph: *mut hr_graph, path: *const c_char, out_count: *mut usize) -> *mut hr_status;
}
