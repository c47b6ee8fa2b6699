/* Communication between processes: groups of ranks that send, receive and reduce. No graph is
 * needed.
 *
 *   hr_group* world;
 *   hr_group_create(env, NULL, NULL, &world);     rank, size and meeting place from the environment
 *   hr_all_reduce(world, x, x, n, HR_FLOAT32, HR_SUM, NULL);
 */
#ifndef HEADRACE_COMM_H_
#define HEADRACE_COMM_H_

#include "headrace/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Who am I ------------------------------------------------------------------------------ */

/* What the process was started as. Immutable.
 *
 * Read from the environment: Headrace's own variables (HEADRACE_RANK, HEADRACE_SIZE,
 * HEADRACE_LOCAL_RANK, HEADRACE_LOCAL_SIZE, HEADRACE_STORE, HEADRACE_EPOCH), torchrun's (RANK,
 * WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, TORCHELASTIC_RESTART_COUNT),
 * Open MPI's (OMPI_COMM_WORLD_*), MPICH's (PMI_*, MPI_LOCAL*) and Slurm's (SLURM_PROCID, …; only in
 * a step that srun started). Those of Headrace say what the others leave open; where two say
 * different things, that is HR_FAILED_PRECONDITION and both are named. With none of them the
 * process is alone: rank 0 of 1. */
typedef struct hr_launch hr_launch;
HR_API hr_status* hr_launch_from_environment(hr_launch** out);
HR_API void hr_launch_release(hr_launch* launch);
HR_API int32_t hr_launch_rank(const hr_launch* launch);
HR_API int32_t hr_launch_size(const hr_launch* launch);
/* Among the processes of this host; -1 and 0 where nothing tells. */
HR_API int32_t hr_launch_local_rank(const hr_launch* launch);
HR_API int32_t hr_launch_local_size(const hr_launch* launch);
/* Counts the restarts of the job. */
HR_API uint64_t hr_launch_epoch(const hr_launch* launch);
/* Where the ranks meet, for hr_store_open; "" where nothing tells. Lives as long as the launch. */
HR_API const char* hr_launch_store(const hr_launch* launch);
/* All of it, and which variable said what, as JSON. */
HR_API hr_status* hr_launch_describe(const hr_launch* launch, hr_text** out);

/* ---- Where ranks meet ------------------------------------------------------------------------ */

/* A small key-value store through which the ranks of a group find each other, and which decides
 * what a group failed of. Thread-safe; groups keep it alive. */
typedef struct hr_store hr_store;

/* "tcp:HOST:PORT" (also tcp://HOST:PORT, and HOST as [IPv6]): a store that one process keeps for
 * all; without a secret on loopback alone. This opens it as a client, which connects when it is
 * first used, and again where a connection breaks. Of a group's own store_url, rank 0 is the one
 * that keeps it, for as long as its env lives. "file:FOLDER": a folder that all ranks see, created
 * where it is missing; network file systems must support locks. "memory:": a new store for ranks
 * that are threads of this process and share the handle. */
HR_API hr_status* hr_store_open(hr_env* env, const char* url, hr_store** out);

typedef struct hr_store_options {
  size_t struct_size;
  /* 1: this process keeps the store, with a thread of its own, for as long as the handle or a group
   * that uses it lives, unless somebody keeps one at this address already. PORT may be 0 then: any
   * free one. */
  int32_t serve;
  int32_t trusted_fabric; /* as in hr_group_options */
  const char* secret;     /* as in hr_group_options */
} hr_store_options;
/* options NULL: as hr_store_open. */
HR_API hr_status* hr_store_open_with(hr_env* env, const char* url, const hr_store_options* options,
                                     hr_store** out);
/* What other processes open, with the port that was taken; empty for a store that is this process's
 * own. */
HR_API hr_status* hr_store_url(const hr_store* store, hr_text** out);

/* A store of the host's. The functions are called from any thread, several at a time. Keys and
 * values are text, at most 512 bytes and 1 MiB; sizes are without the NUL that follows. A negative
 * number (-1 from get aside) says that the store cannot be reached. */
typedef struct hr_store_callbacks {
  size_t struct_size;
  void* context;
  /* Copies the value, or as much of it as fits, and returns its size; -1: there is no such key. */
  int64_t (*get)(void* context, const char* key, char* value, size_t capacity);
  /* Sets the key to `desired` if it holds `expected` (NULL: if it does not exist), in one step for
   * all ranks. 1: done; 0: it holds something else. */
  int (*compare_and_swap)(void* context, const char* key, const char* expected,
                          size_t expected_size, const char* desired, size_t desired_size);
  /* 0, also where there is no such key. */
  int (*remove)(void* context, const char* key);
  void (*release)(void* context); /* may be NULL */
} hr_store_callbacks;
HR_API hr_status* hr_store_from_callbacks(const hr_store_callbacks* callbacks, hr_store** out);
HR_API void hr_store_release(hr_store* store);

/* ---- Groups -----------------------------------------------------------------------------------
 */

/* A set of processes that communicate, each a rank from 0 to size - 1.
 *
 * All ranks call the same operations in the same order; what they call is compared, and where it
 * differs the group ends and both sides are told. Sends and receives meet by tag instead, and need
 * no order among the other operations.
 *
 * Threads: one thread at a time starts operations of a group, and a second one meanwhile gets
 * HR_FAILED_PRECONDITION; give each thread a sub-group (hr_group_split). Everything else may be
 * called by any thread at any time. Whoever waits moves the data; while nobody waits, one thread of
 * the env does, which sleeps when nothing comes. After fork() a child must not use a group.
 *
 * Failure: a rank that is killed, frozen, cut off, or calls something else ends the group for all
 * ranks, in-flight operations included, with one cause that names it: the same code and sentence on
 * every rank. HR_UNAVAILABLE: it is dead, silent or has left; HR_FAILED_PRECONDITION: the ranks
 * called different operations; HR_DEADLINE_EXCEEDED, HR_CANCELLED: a rank gave up waiting;
 * HR_ABORTED: hr_group_abort; HR_UNAUTHENTICATED: a rank has another secret; HR_ARBITER_LOST: the
 * store, which decides, could not be reached. To go on, see hr_group_shrink, or start all ranks
 * anew with the next epoch. */
typedef struct hr_group hr_group;

typedef struct hr_group_options {
  size_t struct_size;
  int32_t rank;
  int32_t size;     /* 0: rank, size and epoch, and the store where none is given, come from the
                       environment (hr_launch_from_environment) */
  uint64_t epoch;   /* of the job: a new one after each restart of all ranks */
  const char* name; /* NULL: "world". Groups of one store and epoch differ in name */
  hr_store* store;  /* or NULL and … */
  const char* store_url; /* … what hr_store_open takes */
  /* "auto": to each peer the fastest that reaches it, of inproc (threads of one env), shm
   * (processes of one host), ucx (where it has RDMA hardware and trusted_fabric is set) and tcp; or
   * those that may be used, e.g. "shm,tcp". NULL: $HEADRACE_TRANSPORT, or "auto". */
  const char* transport;
  /* The numeric IPv4 or IPv6 address of this host where TCP listens; NULL: the one from which the
   * route to the store leaves, where that is at an address, else 127.0.0.1. */
  const char* address;
  int32_t trusted_fabric; /* 1: TCP off this host may go without a secret, in plain text, as
                             UCX does */
  /* Of calls without limits of their own, creation included; 0: 10 minutes; -1: none. */
  int64_t timeout_nanos;
  /* A peer that is silent for so long is dead; 0: 10 seconds; a day at most. */
  int64_t silence_nanos;
  const char* algorithms; /* pins, e.g. "all_reduce=ring,broadcast=chain"; the same on all ranks */
  /* Where hr_group_dump's text is written, as NAME-EPOCH-RANK.json, when the group fails. Until
   * then NAME-EPOCH-RANK.flight is there (about 200 kB, removed when the group is closed), for
   * hr_dump_read at any time: also when the process hangs, or was killed. NULL:
   * $HEADRACE_DUMP_FOLDER, or nowhere. */
  const char* dump_folder;
  /* The cluster secret, the same on all ranks, at least 16 bytes that nobody can guess (openssl
   * rand -hex 32). With it TCP is TLS 1.3, and only who has it gets in: HR_UNAUTHENTICATED
   * elsewhere. Copied, never shown. NULL: $HEADRACE_SECRET, or the first line of the file
   * $HEADRACE_SECRET_FILE, or none; "": none. */
  const char* secret;
  /* What communication costs here, as 'headrace comm calibrate' has measured it: the path of its
   * file. Rank 0's holds for all ranks. NULL: $HEADRACE_CALIBRATION, or the machine's file in the
   * user's cache folder, where there is one; "": what is usual. A file of another machine, or that
   * makes no sense, is not used, and the log and hr_group_describe say why. */
  const char* calibration;
} hr_group_options;

/* Returns when all ranks are connected to each other. options NULL: all from the environment;
 * limits NULL: options->timeout_nanos. HR_DEADLINE_EXCEEDED names the ranks that did not come,
 * HR_ALREADY_EXISTS says that another process has this rank, or that the group has met without it,
 * HR_RESOURCE_EXHAUSTED that memory or file descriptors ran out; HR_FAILED_PRECONDITION also that
 * the group has gone on to a later epoch. Ranks that failed to meet may try again with the same
 * options. The group keeps its env and store alive. */
HR_API hr_status* hr_group_create(hr_env* env, const hr_group_options* options,
                                  const hr_limits* limits, hr_group** out);
/* Gives the handle back. With the last one of a group and its sub-groups, it is closed. */
HR_API void hr_group_release(hr_group* group);
/* Says goodbye for this group and all that share its connections (by hr_group_split): what is in
 * flight ends with HR_CANCELLED, ranks that still need this one with HR_UNAVAILABLE. Not from a
 * callback. */
HR_API void hr_group_close(hr_group* group);
/* Ends the group, and all that share its connections, on all ranks with HR_ABORTED and `cause` (or
 * its first 1,200 bytes). Does not wait. */
HR_API hr_status* hr_group_abort(hr_group* group, const char* cause);

HR_API int32_t hr_group_rank(const hr_group* group);
HR_API int32_t hr_group_size(const hr_group* group);
HR_API uint64_t hr_group_epoch(const hr_group* group);
/* NULL, or why the group has ended: the same on all ranks. */
HR_API hr_status* hr_group_status(hr_group* group);
/* Name, rank, members with their transports, algorithms, cost model and where it comes from, as
 * JSON. */
HR_API hr_status* hr_group_describe(hr_group* group, hr_text** out);
/* The last 2,000 operations with sizes, states and times, oldest first, as JSON. */
HR_API hr_status* hr_group_dump(hr_group* group, hr_text** out);
/* The same of a group of another process, from its .flight file: see dump_folder. HR_DATA_LOSS
 * where it is none, or of another version of the library. */
HR_API hr_status* hr_dump_read(const char* path, hr_text** out);

/* Sub-groups of the ranks with the same `color`, ordered by `key`, then by rank; *out is NULL for a
 * negative color. All ranks call it. A sub-group shares the connections and the fate of its group
 * and may be used by another thread. */
HR_API hr_status* hr_group_split(hr_group* group, int32_t color, int32_t key,
                                 const hr_limits* limits, hr_group** out);

/* ---- Groups that go on -------------------------------------------------------------------------
 */

/* A group that has ended goes on in a new epoch, without the rank that its cause names (dead,
 * frozen, or one that gave up) and without those that do not call this within silence_nanos after
 * the first: the others are a new group, its ranks in their old order. Where one of them fails
 * meanwhile, the rest goes on without it, too. *out is the new group; the old one is closed, and is
 * still the caller's to release.
 *
 * An epoch has one successor, decided by a compare-and-swap in the store: of a network that was
 * split, the largest side that reaches the store goes on, and the others never do.
 * HR_FAILED_PRECONDITION: the others go on without this rank, or the group has not ended;
 * HR_ARBITER_LOST: the store went with the process that kept it, so that nothing can be decided:
 * start all ranks anew. Not for sub-groups: let the group that they were split from go on. */
HR_API hr_status* hr_group_shrink(hr_group* group, const hr_limits* limits, hr_group** out);
/* As many ranks as make `new_size` in all join: all ranks of the group call this, and the new ones
 * hr_group_join; they come behind the old ones. Where the group has ended, it goes on as by
 * hr_group_shrink and is filled up at once. Waits for the new ranks as long as `limits` allow
 * (NULL: the group's timeout); where they do not come, HR_DEADLINE_EXCEEDED, and the group is as
 * before. One that fails while it comes in is left out: look at the size of *out. Once the ranks
 * have agreed, they meet, whatever `limits` say. */
HR_API hr_status* hr_group_grow(hr_group* group, int32_t new_size, const hr_limits* limits,
                                hr_group** out);
/* Waits for the group to grow, and becomes a rank of it. Of the options, rank, size and epoch do
 * not matter, and name and algorithms are the group's; NULL: all from the environment, where a
 * store (HEADRACE_STORE, or MASTER_ADDR and MASTER_PORT) is enough. So a process that was started
 * again calls hr_group_create, and where that says that the group is there without it
 * (HR_ALREADY_EXISTS, HR_FAILED_PRECONDITION, or the cause that ended the epoch), this. */
HR_API hr_status* hr_group_join(hr_env* env, const hr_group_options* options,
                                const hr_limits* limits, hr_group** out);

/* ---- Operations --------------------------------------------------------------------------------
 */

typedef enum hr_reduce_op HR_ENUM {
  HR_SUM = 0,
  HR_PRODUCT = 1,
  HR_MIN = 2,
  HR_MAX = 3,
  HR_AVERAGE = 4,            /* sum / size; integers round towards zero */
  HR_PRE_MULTIPLIED_SUM = 5, /* sum of factor * input; hr_operation has the factor */
} hr_reduce_op;

/* Calls of this part wait for the end of the operation, within `limits` (NULL: the group's
 * timeout). When they return, the buffers are the caller's again, whatever happened: where limits
 * end the wait, a receive is as if never called, and anything else ends the group, because the
 * other ranks cannot go on without this one. A receive whose message is on its way just then gets
 * it, unless the rest takes more than half a second: that ends the group, too.
 *
 * Counts are of elements, 64 bits wide, and may be 0: of one rank's contribution (gather,
 * all_gather), of one rank's result (scatter, reduce_scatter), of what one rank sends another
 * (all_to_all), else of the buffer. In place: input and output may be the same where both have the
 * same size; of gather and all_gather the input may be block `rank` of the output, of scatter and
 * reduce_scatter the output block `rank` of the input. Buffers that a rank does not need (the input
 * of a broadcast off its root) may be NULL.
 *
 * All dtypes can be moved; all but HR_BOOL can be reduced. float16 and bfloat16 are computed in
 * float32, integers wrap around, and the result has the same bits on all ranks. */

/* Messages between two ranks: a receive takes the first message with its tag, in the order in which
 * they were sent. Count and dtype must be the sender's. */
HR_API hr_status* hr_send(hr_group* group, const void* data, uint64_t count, hr_dtype dtype,
                          int32_t to, uint32_t tag, const hr_limits* limits);
HR_API hr_status* hr_recv(hr_group* group, void* data, uint64_t count, hr_dtype dtype, int32_t from,
                          uint32_t tag, const hr_limits* limits);

HR_API hr_status* hr_barrier(hr_group* group, const hr_limits* limits);
/* output = the root's input [count]. */
HR_API hr_status* hr_broadcast(hr_group* group, const void* input, void* output, uint64_t count,
                               hr_dtype dtype, int32_t root, const hr_limits* limits);
/* The root's output [count] = the reduction of all inputs [count]. */
HR_API hr_status* hr_reduce(hr_group* group, const void* input, void* output, uint64_t count,
                            hr_dtype dtype, hr_reduce_op op, int32_t root, const hr_limits* limits);
/* output [count] = the reduction of all inputs [count]. */
HR_API hr_status* hr_all_reduce(hr_group* group, const void* input, void* output, uint64_t count,
                                hr_dtype dtype, hr_reduce_op op, const hr_limits* limits);
/* The root's output [size, count] = all inputs [count]. */
HR_API hr_status* hr_gather(hr_group* group, const void* input, void* output, uint64_t count,
                            hr_dtype dtype, int32_t root, const hr_limits* limits);
/* output [size, count] = all inputs [count]. */
HR_API hr_status* hr_all_gather(hr_group* group, const void* input, void* output, uint64_t count,
                                hr_dtype dtype, const hr_limits* limits);
/* output [count] = block `rank` of the root's input [size, count]. */
HR_API hr_status* hr_scatter(hr_group* group, const void* input, void* output, uint64_t count,
                             hr_dtype dtype, int32_t root, const hr_limits* limits);
/* output [count] = block `rank` of the reduction of all inputs [size, count]. */
HR_API hr_status* hr_reduce_scatter(hr_group* group, const void* input, void* output,
                                    uint64_t count, hr_dtype dtype, hr_reduce_op op,
                                    const hr_limits* limits);
/* Block r of output [size, count] = block `rank` of rank r's input [size, count]. */
HR_API hr_status* hr_all_to_all(hr_group* group, const void* input, void* output, uint64_t count,
                                hr_dtype dtype, const hr_limits* limits);

/* ---- Operations in flight -----------------------------------------------------------------------
 */

/* An operation that was started and goes on by itself; its buffers are in use until it is done. Any
 * number may be in flight. Thread-safe. Releasing it does not end the operation. */
typedef struct hr_work hr_work;

HR_API void hr_work_release(hr_work* work);
/* 1 where it has ended, well or not. Does not wait, and moves the group on a little, so that it can
 * be called in a loop. */
HR_API int hr_work_test(hr_work* work);
/* Waits for the end and returns how it ended. Limits (NULL: the group's timeout) end the waiting,
 * not the operation: it can be waited for again. */
HR_API hr_status* hr_work_wait(hr_work* work, const hr_limits* limits);
/* Calls `callback` once it has ended, at once where it has; `status` is NULL or why it failed, and
 * is valid during the call. Called on any thread that moves the group on: it should be short, may
 * start operations and release works, but must neither wait nor close the group. */
HR_API hr_status* hr_work_on_done(hr_work* work,
                                  void (*callback)(void* context, const hr_status* status),
                                  void* context);
/* Ends it with HR_CANCELLED: a receive is as if never started, unless its message is on its way,
 * which it then gets; anything else ends the group. No effect on what has ended. */
HR_API hr_status* hr_work_cancel(hr_work* work);

/* As the calls without _start, but they return as soon as the operation is under way. The caller
 * releases the work. */
HR_API hr_status* hr_send_start(hr_group* group, const void* data, uint64_t count, hr_dtype dtype,
                                int32_t to, uint32_t tag, hr_work** out);
HR_API hr_status* hr_recv_start(hr_group* group, void* data, uint64_t count, hr_dtype dtype,
                                int32_t from, uint32_t tag, hr_work** out);
HR_API hr_status* hr_barrier_start(hr_group* group, hr_work** out);
HR_API hr_status* hr_broadcast_start(hr_group* group, const void* input, void* output,
                                     uint64_t count, hr_dtype dtype, int32_t root, hr_work** out);
HR_API hr_status* hr_reduce_start(hr_group* group, const void* input, void* output, uint64_t count,
                                  hr_dtype dtype, hr_reduce_op op, int32_t root, hr_work** out);
HR_API hr_status* hr_all_reduce_start(hr_group* group, const void* input, void* output,
                                      uint64_t count, hr_dtype dtype, hr_reduce_op op,
                                      hr_work** out);
HR_API hr_status* hr_gather_start(hr_group* group, const void* input, void* output, uint64_t count,
                                  hr_dtype dtype, int32_t root, hr_work** out);
HR_API hr_status* hr_all_gather_start(hr_group* group, const void* input, void* output,
                                      uint64_t count, hr_dtype dtype, hr_work** out);
HR_API hr_status* hr_scatter_start(hr_group* group, const void* input, void* output, uint64_t count,
                                   hr_dtype dtype, int32_t root, hr_work** out);
HR_API hr_status* hr_reduce_scatter_start(hr_group* group, const void* input, void* output,
                                          uint64_t count, hr_dtype dtype, hr_reduce_op op,
                                          hr_work** out);
HR_API hr_status* hr_all_to_all_start(hr_group* group, const void* input, void* output,
                                      uint64_t count, hr_dtype dtype, hr_work** out);

/* ---- The general form ---------------------------------------------------------------------------
 */

typedef enum hr_operation_kind HR_ENUM {
  HR_OPERATION_SEND = 0,
  HR_OPERATION_RECV = 1,
  HR_OPERATION_BARRIER = 2,
  HR_OPERATION_BROADCAST = 3,
  HR_OPERATION_REDUCE = 4,
  HR_OPERATION_ALL_REDUCE = 5,
  HR_OPERATION_GATHER = 6,
  HR_OPERATION_ALL_GATHER = 7,
  HR_OPERATION_SCATTER = 8,
  HR_OPERATION_REDUCE_SCATTER = 9,
  HR_OPERATION_ALL_TO_ALL = 10,
} hr_operation_kind;

/* Any of the operations above. */
typedef struct hr_operation {
  size_t struct_size;
  hr_operation_kind kind;
  hr_dtype dtype;
  uint64_t count;
  const void* input;
  void* output;
  hr_reduce_op op;
  int32_t peer;  /* the root, or whom to send to or receive from */
  uint32_t tag;  /* of sends and receives */
  double factor; /* of HR_PRE_MULTIPLIED_SUM; each rank's own */
} hr_operation;

HR_API hr_status* hr_group_start(hr_group* group, const hr_operation* operation, hr_work** out);
HR_API hr_status* hr_group_run(hr_group* group, const hr_operation* operation,
                               const hr_limits* limits);
/* How the group would carry out `operation` (whose buffers are ignored): the algorithm, whether it
 * is pinned, and what each algorithm would cost by the group's cost model, as JSON. Sends nothing,
 * so a rank may call it alone. */
HR_API hr_status* hr_group_explain(hr_group* group, const hr_operation* operation, hr_text** out);

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_COMM_H_ */
