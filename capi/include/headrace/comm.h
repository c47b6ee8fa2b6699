/* Communication between processes: groups of ranks that send, receive and reduce. It needs no
 * graph.
 *
 *   hr_group* world;
 *   hr_group_create(env, NULL, NULL, &world);     rank, size and store come from the environment
 *   hr_all_reduce(world, x, x, n, HR_FLOAT32, HR_SUM, NULL);
 */
#ifndef HEADRACE_COMM_H_
#define HEADRACE_COMM_H_

#include "headrace/queue.h"
#include "headrace/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The launch ---------------------------------------------------------------------------- */

/* The rank and size with which a launcher has started this process. Immutable.
 *
 * They are read from environment variables: Headrace's own (HEADRACE_RANK, HEADRACE_SIZE,
 * HEADRACE_LOCAL_RANK, HEADRACE_LOCAL_SIZE, HEADRACE_STORE, HEADRACE_EPOCH, HEADRACE_ELASTIC,
 * HEADRACE_JOIN, HEADRACE_LOSSES), torchrun's (RANK, WORLD_SIZE,
 * LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, TORCHELASTIC_RESTART_COUNT),
 * Open MPI's (OMPI_COMM_WORLD_*), MPICH's (PMI_*, MPI_LOCAL*) and Slurm's (SLURM_PROCID, …; only in
 * a step that srun started). Headrace's variables add what the others do not set. If two variables
 * contradict each other, the call fails with HR_FAILED_PRECONDITION and names both. If none is set,
 * the process is alone: rank 0 of 1. */
typedef struct hr_launch hr_launch;
HR_API hr_status* hr_launch_from_environment(hr_launch** out);
HR_API void hr_launch_release(hr_launch* launch);
HR_API int32_t hr_launch_rank(const hr_launch* launch);
HR_API int32_t hr_launch_size(const hr_launch* launch);
/* Return the rank among the processes of this host and their number; -1 and 0 if they are unknown.
 */
HR_API int32_t hr_launch_local_rank(const hr_launch* launch);
HR_API int32_t hr_launch_local_size(const hr_launch* launch);
/* Returns the number of times that the job has been restarted. */
HR_API uint64_t hr_launch_epoch(const hr_launch* launch);
/* Return the bounds of an elastic job (HEADRACE_ELASTIC=MIN:MAX): with how many ranks at least it
 * goes on when some have died, and up to how many it takes new ones in; 0 if the job is not
 * elastic. */
HR_API int32_t hr_launch_min_ranks(const hr_launch* launch);
HR_API int32_t hr_launch_max_ranks(const hr_launch* launch);
/* Returns the URL of the store where the ranks meet, for hr_store_open; "" if it is unknown. The
 * text lives as long as the launch. */
HR_API const char* hr_launch_store(const hr_launch* launch);
/* Describes the launch as JSON, with the variable that each value came from. */
HR_API hr_status* hr_launch_describe(const hr_launch* launch, hr_text** out);

/* ---- Stores -------------------------------------------------------------------------------- */

/* A small key-value store. Through it the ranks of a group find each other, and it decides which
 * cause a group has failed of. Thread-safe. Groups keep their store alive, so it may be released
 * first. */
typedef struct hr_store hr_store;

/* Opens a store. `url` is one of:
 *
 * "tcp:HOST:PORT", also tcp://HOST:PORT, and HOST may be [IPv6]: a store that one process keeps for
 *   all ranks. Without a secret it works on loopback only. This call opens it as a client, which
 *   connects when it is first used and reconnects if the connection breaks. If a group's options
 *   name the store by store_url, rank 0 keeps it for as long as its env lives.
 * "file:FOLDER": a folder that all ranks can access; it is created if it is missing. A network file
 *   system must support locks.
 * "memory:": a new store for ranks that are threads of this process and share the handle. */
HR_API hr_status* hr_store_open(hr_env* env, const char* url, hr_store** out);

typedef struct hr_store_options {
  size_t struct_size;
  /* 1: this process keeps the store, on a thread of its own, for as long as the handle or a group
   * that uses it lives. If a store is kept at this address already, the call opens that one. PORT
   * may be 0, which means any free port. */
  int32_t serve;
  int32_t trusted_fabric;         /* as in hr_group_options */
  HR_NULLABLE const char* secret; /* as in hr_group_options; NULL: as there */
} hr_store_options;
/* Opens a store with options. `options` may be NULL: the call is hr_store_open then. */
HR_API hr_status* hr_store_open_with(hr_env* env, const char* url,
                                     HR_NULLABLE const hr_store_options* options, hr_store** out);
/* Writes the URL with which other processes open the store, including the port that was taken. It
 * is empty if other processes cannot open the store. */
HR_API hr_status* hr_store_url(const hr_store* store, hr_text** out);

/* A store of the host. The functions may be called from any thread, also threads of the library,
 * several at a time. Keys are texts of at most 512 bytes, values of at most 1 MiB; sizes do not
 * include the NUL. A failure, for example HR_UNAVAILABLE because the store cannot be reached, comes
 * back with its code and message from the call that needed the store; if a group cannot learn from
 * its store why it has ended, it ends with HR_ARBITER_LOST and that message. */
typedef struct hr_store_callbacks {
  size_t struct_size;
  void* context;
  /* Copies the value, or the part of it that fits, and sets *out_size to the size of the whole
   * value; -1 if there is no such key. */
  HR_CALLED_BY(any)
  hr_status* (*get)(void* context, const char* key, HR_BYTES(capacity) char* value, size_t capacity,
                    int64_t* out_size);
  /* Sets the key to `desired` if its value is `expected`. If `expected` is NULL, it sets the key if
   * that does not exist. The step is atomic for all ranks. Sets *out_swapped to 1 if the key was
   * set, and to 0 if it was not. */
  HR_CALLED_BY(any)
  hr_status* (*compare_and_swap)(void* context, const char* key, HR_NULLABLE const char* expected,
                                 size_t expected_size, const char* desired, size_t desired_size,
                                 int32_t* out_swapped);
  /* Removes the key if it exists. */
  HR_CALLED_BY(any) hr_status* (*remove)(void* context, const char* key);
  void (*release)(void* context); /* called when the store and all groups that use it are gone; may
                                     be NULL */
} hr_store_callbacks;
/* Makes a store of the host's functions. */
HR_API hr_status* hr_store_from_callbacks(const hr_store_callbacks* callbacks, hr_store** out);
/* Releases the handle. If it is the last of a store that this process keeps, waits for the end of
 * the store's thread. */
HR_API HR_BLOCKS void hr_store_release(hr_store* store);

/* ---- Groups -----------------------------------------------------------------------------------
 */

/* A set of processes that communicate. Each has a rank from 0 to size - 1.
 *
 * Order: all ranks start the same collective operations in the same order. The group compares what
 * they start; if two ranks differ, it ends and tells both of them. Sends and receives meet by tag
 * instead and need no order relative to the collective operations.
 *
 * Threads: one thread at a time may start operations of a group. A thread that starts one while
 * another thread is doing so gets HR_FAILED_PRECONDITION; give each thread a sub-group
 * (hr_group_split). All other functions may be called by any thread at any time. A thread that
 * waits for an operation moves the data itself; while no thread waits, one thread of the env moves
 * it, and sleeps when nothing arrives. After fork() the child must not use a group.
 *
 * Failure: if a rank dies, freezes, is cut off or starts a different operation, the group ends for
 * all ranks, including the operations in flight. All ranks get the same status, which names the
 * rank at fault:
 *   HR_UNAVAILABLE: the rank is dead, silent or has left;
 *   HR_FAILED_PRECONDITION: the ranks started different operations;
 *   HR_DEADLINE_EXCEEDED, HR_CANCELLED: a rank gave up waiting;
 *   HR_ABORTED: a rank called hr_group_abort;
 *   HR_UNAUTHENTICATED: a rank has a different secret;
 *   HR_ARBITER_LOST: the store, which decides on the cause, could not be reached.
 * Afterwards the group can continue in a new epoch (hr_group_shrink), or all ranks can be started
 * again with the next epoch. */
typedef struct hr_group hr_group;

typedef struct hr_group_options {
  size_t struct_size;
  int32_t rank;
  int32_t size;   /* 0: rank, size and epoch come from the environment
                     (hr_launch_from_environment), and so does the store if none is given */
  uint64_t epoch; /* of the job; each restart of all ranks needs a new one */
  /* Must be unique among the groups of one store and epoch. NULL: "world". */
  HR_NULLABLE const char* name;
  HR_NULLABLE hr_store* store;       /* the store; NULL: the one that store_url names */
  HR_NULLABLE const char* store_url; /* as for hr_store_open; must be NULL if there is a store */
  /* The transports that may be used, such as "shm,tcp", or "auto" for all: inproc (threads of one
   * env), shm (processes of one host), ucx (if it has RDMA hardware and trusted_fabric is set) and
   * tcp. Each peer is connected by the fastest of them that reaches it. NULL: $HEADRACE_TRANSPORT,
   * or "auto" if that is not set. */
  HR_NULLABLE const char* transport;
  /* The numeric IPv4 or IPv6 address of this host where TCP listens. NULL: if the store has a
   * network address, the address from which the route to it leaves; otherwise 127.0.0.1. */
  HR_NULLABLE const char* address;
  int32_t trusted_fabric; /* 1: TCP may leave this host without a secret, in plain text; UCX always
                             does */
  /* The timeout of calls that are given no limits, including the creation; 0: 10 minutes; -1: none.
   */
  int64_t timeout_nanos;
  /* A peer that sends nothing for so long counts as dead; 0: 10 seconds; at most one day. */
  int64_t silence_nanos;
  /* Fixes algorithms, such as "all_reduce=ring,broadcast=chain"; the same on all ranks. NULL: the
   * cost model chooses. */
  HR_NULLABLE const char* algorithms;
  /* The folder of the flight recorder. When the group fails, the text of hr_group_dump is written
   * there as NAME-EPOCH-RANK.json. Until then the folder contains NAME-EPOCH-RANK.flight (about
   * 200 kB, removed when the group is closed), which hr_dump_read reads at any time, even if the
   * process hangs or was killed. NULL: $HEADRACE_DUMP_FOLDER, or no files if that is not set. */
  HR_NULLABLE const char* dump_folder;
  /* The cluster secret, the same on all ranks: at least 16 bytes that nobody can guess (openssl
   * rand -hex 32). With it TCP is TLS 1.3, and a process with another secret, or none, gets
   * HR_UNAUTHENTICATED. The secret is copied and never shown. NULL: $HEADRACE_SECRET, or the first
   * line of the file $HEADRACE_SECRET_FILE, or none; "": none. */
  HR_NULLABLE const char* secret;
  /* The path of a file in which 'headrace comm calibrate' has written what communication costs on
   * this machine. The file of rank 0 counts for all ranks. NULL: $HEADRACE_CALIBRATION, or the
   * machine's file in the user's cache folder if it exists; "": built-in costs. A file of another
   * machine, or an invalid one, is not used, and the log and hr_group_describe say why. */
  HR_NULLABLE const char* calibration;
} hr_group_options;

/* Creates a group and waits until all ranks are connected to each other. All ranks call it.
 * `options` may be NULL, which means that everything comes from the environment. `limits` may be
 * NULL, which means options->timeout_nanos. The group keeps its env and store alive.
 *   HR_DEADLINE_EXCEEDED: some ranks, which the message names, did not come;
 *   HR_UNAVAILABLE: a rank that had connected is gone, or nothing was heard from it for
 *     silence_nanos;
 *   HR_ALREADY_EXISTS: another process has this rank, or the group has met without this process;
 *   HR_RESOURCE_EXHAUSTED: there is no memory or no file descriptor left;
 *   HR_FAILED_PRECONDITION: the launch variables contradict each other, or the group has gone on to
 *     a later epoch.
 * Ranks that failed to meet may try again with the same options.
 *
 * If everything comes from the environment and HEADRACE_JOIN is 1, this process replaces one that
 * has ended: the call is hr_group_join, if the group runs already. So a program need not know
 * whether it is there from the beginning. Under 'headrace launch --elastic' (HEADRACE_LOSSES) a
 * rank that dies before the group has met is replaced there, too, or the others meet without it. */
HR_API hr_status* hr_group_create(hr_env* env, HR_NULLABLE const hr_group_options* options,
                                  const hr_limits* limits, hr_group** out);
/* Releases the handle. When the last handle of a group and of its sub-groups is released, they are
 * closed, which waits as hr_group_close does. */
HR_API HR_BLOCKS void hr_group_release(hr_group* group);
/* Leaves this group and all groups that share its connections (by hr_group_split). Operations in
 * flight end with HR_CANCELLED. Ranks that still need this one fail with HR_UNAVAILABLE. Waits two
 * seconds at most: until the ranks agree on a failure that this one has found, and until what was
 * sent has left. */
HR_API HR_BLOCKS void hr_group_close(hr_group* group);
/* Ends the group and all groups that share its connections, on all ranks, with HR_ABORTED and the
 * first 1,200 bytes of `cause`. Does not wait. */
HR_API hr_status* hr_group_abort(hr_group* group, const char* cause);

HR_API int32_t hr_group_rank(const hr_group* group);
HR_API int32_t hr_group_size(const hr_group* group);
HR_API uint64_t hr_group_epoch(const hr_group* group);
/* Returns why the group has ended, the same on all ranks; NULL while it has not. */
HR_API HR_RESULT HR_OR_NULL hr_status* hr_group_status(hr_group* group);
/* Describes name, rank, members with their transports, algorithms, and the cost model with its
 * origin as JSON. */
HR_API hr_status* hr_group_describe(hr_group* group, hr_text** out);
/* Writes the last 2,000 operations with sizes, states and times as JSON, the oldest first. */
HR_API hr_status* hr_group_dump(hr_group* group, hr_text** out);
/* Writes the same for a group of another process, from its .flight file (see dump_folder).
 * HR_DATA_LOSS: the file is not a .flight file, or another version of the library wrote it. */
HR_API hr_status* hr_dump_read(const char* path, hr_text** out);

/* Splits the group: ranks with the same `color` form a sub-group, in which they are ordered by
 * `key` and then by rank. All ranks of the group call it. If `color` is negative, the rank gets no
 * sub-group and *out is NULL. A sub-group shares the connections of its group, ends together with
 * it, and may be used by another thread. */
HR_API hr_status* hr_group_split(hr_group* group, int32_t color, int32_t key,
                                 const hr_limits* limits, HR_OR_NULL hr_group** out);

/* ---- Shrinking and growing ---------------------------------------------------------------------
 */

/* Continues a group that has ended, as a new group in a new epoch. It leaves out the rank that the
 * cause names (dead, frozen, or one that gave up) and the ranks that do not call this function
 * within silence_nanos after the first. The remaining ranks keep their order. If one of them fails
 * meanwhile, it is left out, too. *out is the new group; the old one is closed, and the caller
 * still has to release it.
 *
 * An epoch has one successor, because a compare-and-swap in the store decides on it. If the network
 * was split, the largest side that reaches the store goes on, and the other sides cannot.
 *   HR_FAILED_PRECONDITION: the others have gone on without this rank, or the group has not ended;
 *   HR_INVALID_ARGUMENT: it is a sub-group; shrink the group that it was split from;
 *   HR_ARBITER_LOST: the process that kept the store is gone, so nothing can be decided; start all
 *     ranks again. */
HR_API hr_status* hr_group_shrink(hr_group* group, const hr_limits* limits, hr_group** out);
/* Adds ranks to a group until there are `new_size`, as a new group in a new epoch. All ranks of the
 * group call this, and each new process calls hr_group_join; the new ranks follow the old ones. If
 * the group has ended, it is first shrunk as by hr_group_shrink and then filled up.
 *
 * The call waits for the new ranks within `limits` (NULL: the group's timeout). If they do not
 * come, it fails with HR_DEADLINE_EXCEEDED and the group is as before. A new rank that fails while
 * it joins is left out, so check the size of *out. After the ranks have agreed, the limits do not
 * end the connecting any more. */
HR_API hr_status* hr_group_grow(hr_group* group, int32_t new_size, const hr_limits* limits,
                                hr_group** out);
/* Returns how many processes wait in hr_group_join: a loop asks one rank now and then, at the edge
 * of a step, and has all ranks call hr_group_grow if somebody waits. One that has died while it
 * waited may be counted until a hr_group_grow has waited for it in vain. Asks the store, within
 * `limits` (NULL: the group's timeout). */
HR_API hr_status* hr_group_waiting(hr_group* group, const hr_limits* limits, int32_t* out);
/* Waits until a group grows, and becomes one of its ranks. Of the options, rank, size and epoch are
 * ignored; name and algorithms must be the group's. `options` may be NULL, which means that
 * everything comes from the environment; a store (HEADRACE_STORE, or MASTER_ADDR and MASTER_PORT)
 * is enough. A process that was restarted calls hr_group_create first. If that fails because the
 * group has formed without the process (HR_ALREADY_EXISTS, HR_FAILED_PRECONDITION, or the cause
 * that ended the epoch), it calls this function.
 *   HR_OUT_OF_RANGE: an hr_train with elastic_group is over, so the process has nothing to do. */
HR_API hr_status* hr_group_join(hr_env* env, HR_NULLABLE const hr_group_options* options,
                                const hr_limits* limits, hr_group** out);

/* ---- Operations --------------------------------------------------------------------------------
 */

typedef int32_t hr_reduce_op;
enum {
  HR_SUM = 0,
  HR_PRODUCT = 1,
  HR_MIN = 2,
  HR_MAX = 3,
  HR_AVERAGE = 4,            /* sum / size; integers round towards zero */
  HR_PRE_MULTIPLIED_SUM = 5, /* sum of factor * input; the factor is a field of hr_operation */
};

/* The functions of this section wait for the end of the operation, within `limits` (NULL: the
 * group's timeout). When they return, the buffers belong to the caller again, in every case.
 *
 * If the limits end the wait, the effect depends on the operation. A receive has no effect, as if
 * it had not been called; but if its message is arriving at that moment, the receive completes, and
 * if that takes more than half a second, the group ends. Every other operation ends the group,
 * because the other ranks cannot complete it without this one.
 *
 * Counts: `count` is a number of elements and may be 0. It counts one rank's contribution (gather,
 * all_gather), one rank's result (scatter, reduce_scatter), what one rank sends to another
 * (all_to_all), or the buffer (all others).
 *
 * Buffers: input and output may be the same buffer if they have the same size. Otherwise they may
 * overlap in one way: for gather and all_gather the input may be block `rank` of the output, for
 * scatter and reduce_scatter the output may be block `rank` of the input.
 *
 * Types: all dtypes can be sent; all except HR_BOOL can be reduced. Sums of float16 and bfloat16
 * are computed in float32; integers wrap around. The result has the same bits on all ranks. */

/* Send a message to a rank, and receive one from a rank. A receive takes the first message with its
 * tag, in the order of sending. Its count and dtype must be those of the send. */
HR_API hr_status* hr_send(hr_group* group, HR_ELEMENTS(count) const void* data, uint64_t count,
                          hr_dtype dtype, int32_t to, uint32_t tag, const hr_limits* limits);
HR_API hr_status* hr_recv(hr_group* group, HR_ELEMENTS(count) void* data, uint64_t count,
                          hr_dtype dtype, int32_t from, uint32_t tag, const hr_limits* limits);

/* Waits until all ranks have called it. */
HR_API hr_status* hr_barrier(hr_group* group, const hr_limits* limits);
/* On every rank: output [count] = the root's input [count]. On the other ranks
 * `input` may be NULL. */
HR_API hr_status* hr_broadcast(hr_group* group, HR_NULLABLE HR_ELEMENTS(count) const void* input,
                               HR_ELEMENTS(count) void* output, uint64_t count, hr_dtype dtype,
                               int32_t root, const hr_limits* limits);
/* On the root: output [count] = the reduction of all inputs [count]. On the other
 * ranks `output` may be NULL. */
HR_API hr_status* hr_reduce(hr_group* group, HR_ELEMENTS(count) const void* input,
                            HR_NULLABLE HR_ELEMENTS(count) void* output, uint64_t count,
                            hr_dtype dtype, hr_reduce_op op, int32_t root, const hr_limits* limits);
/* On every rank: output [count] = the reduction of all inputs [count]. */
HR_API hr_status* hr_all_reduce(hr_group* group, HR_ELEMENTS(count) const void* input,
                                HR_ELEMENTS(count) void* output, uint64_t count, hr_dtype dtype,
                                hr_reduce_op op, const hr_limits* limits);
/* On the root: output [size, count] = the inputs [count] of all ranks. On the other ranks
 * `output` may be NULL. */
HR_API hr_status* hr_gather(hr_group* group, HR_ELEMENTS(count) const void* input,
                            HR_NULLABLE HR_ELEMENTS_PER_RANK(count) void* output, uint64_t count,
                            hr_dtype dtype, int32_t root, const hr_limits* limits);
/* On every rank: output [size, count] = the inputs [count] of all ranks. */
HR_API hr_status* hr_all_gather(hr_group* group, HR_ELEMENTS(count) const void* input,
                                HR_ELEMENTS_PER_RANK(count) void* output, uint64_t count,
                                hr_dtype dtype, const hr_limits* limits);
/* On every rank: output [count] = block `rank` of the root's input [size, count]. On the other
 * ranks `input` may be NULL. */
HR_API hr_status* hr_scatter(hr_group* group,
                             HR_NULLABLE HR_ELEMENTS_PER_RANK(count) const void* input,
                             HR_ELEMENTS(count) void* output, uint64_t count, hr_dtype dtype,
                             int32_t root, const hr_limits* limits);
/* On every rank: output [count] = block `rank` of the reduction of all inputs [size, count]. */
HR_API hr_status* hr_reduce_scatter(hr_group* group, HR_ELEMENTS_PER_RANK(count) const void* input,
                                    HR_ELEMENTS(count) void* output, uint64_t count, hr_dtype dtype,
                                    hr_reduce_op op, const hr_limits* limits);
/* On every rank: block r of output [size, count] = block `rank` of rank r's input [size, count]. */
HR_API hr_status* hr_all_to_all(hr_group* group, HR_ELEMENTS_PER_RANK(count) const void* input,
                                HR_ELEMENTS_PER_RANK(count) void* output, uint64_t count,
                                hr_dtype dtype, const hr_limits* limits);

/* ---- Operations in flight -----------------------------------------------------------------------
 */

/* An operation in flight. Its buffers are in use until it has ended. Any number may be in flight.
 * Thread-safe. Releasing the work does not end the operation. */
typedef struct hr_work hr_work;

HR_API void hr_work_release(hr_work* work);
/* Returns 1 if the operation has ended, whether it succeeded or failed; else 0. Does not wait, but
 * moves data that can be moved now, so a loop of this call makes progress. */
HR_API int hr_work_test(hr_work* work);
/* Waits for the end of the operation and returns its result. `limits` (NULL: the group's timeout)
 * end the waiting, not the operation; it can be waited for again. */
HR_API hr_status* hr_work_wait(hr_work* work, const hr_limits* limits);
/* Calls `callback` once when the operation has ended, or soon if it has ended already, on a thread
 * for callbacks (see hr_env). `status` is NULL or the failure; it is valid during the callback. The
 * callback may call any function, and it may wait: that delays neither the group nor other
 * callbacks. Callbacks of several operations may run at one time and in any order. */
HR_API hr_status* hr_work_on_done(
    hr_work* work,
    HR_CALLED_BY(callback) void (*callback)(void* context, HR_NULLABLE const hr_status* status),
    void* context);
/* Puts the operation into a queue when it has ended; at once if it has ended already. */
HR_API hr_status* hr_work_enqueue(hr_work* work, hr_queue* queue, uint64_t key);
/* Ends the operation with HR_CANCELLED. A cancelled receive has no effect; but if its message is
 * arriving at that moment, the receive completes. Any other operation ends the group. An operation
 * that has ended is left as it is. */
HR_API hr_status* hr_work_cancel(hr_work* work);

/* Start the operation that the function without _start performs, and return at once. The caller
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

typedef int32_t hr_operation_kind;
enum {
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
};

/* The description of any of the operations above. */
typedef struct hr_operation {
  size_t struct_size;
  hr_operation_kind kind;
  hr_dtype dtype;
  uint64_t count;
  HR_NULLABLE HR_KEEPS const void* input; /* NULL if this rank needs none */
  HR_NULLABLE HR_KEEPS void* output;      /* NULL if this rank needs none */
  hr_reduce_op op;
  int32_t peer;  /* the root; of a send the receiver, of a receive the sender */
  uint32_t tag;  /* of sends and receives */
  double factor; /* of HR_PRE_MULTIPLIED_SUM; it may differ between ranks */
} hr_operation;

/* Start an operation, and perform one (waiting for its end within `limits`). */
HR_API hr_status* hr_group_start(hr_group* group, const hr_operation* operation, hr_work** out);
HR_API hr_status* hr_group_run(hr_group* group, const hr_operation* operation,
                               const hr_limits* limits);
/* Describes as JSON how the group would perform `operation`: the algorithm, whether it is fixed by
 * the options, and what each algorithm costs by the group's cost model. The buffers are ignored.
 * Sends nothing, so one rank may call it alone. */
HR_API hr_status* hr_group_explain(hr_group* group, const hr_operation* operation, hr_text** out);

/* ---- Graphs that communicate --------------------------------------------------------------------
 *
 * The operators of headrace.comm (docs/operators.md), and the training steps that
 * hr_graph_distribute makes, communicate in groups that they call by name. A session needs to be
 * told which groups these are. A run that fails while others wait for it ends the group for all
 * ranks, with the node at fault in the message. */

/* Lets the nodes of the session's graphs that name the group `name` communicate in a sub-group of
 * `group` from now on. All ranks of the group call it, within `limits` (NULL: the group's timeout),
 * and afterwards run the same signatures in the same order. Binding another group, after
 * hr_group_shrink for example, takes the place of the one before; `group` NULL takes it away, and
 * then no other rank need call it. Waits until no run of the session goes on. The session keeps the
 * group until it is released. A run keeps the threads of its env while it waits for other ranks, so
 * ranks of one process need an env each.
 *   HR_FAILED_PRECONDITION: a rank has another graph, another strategy (hr_graph_distribute),
 *     another seed or another version of the library; all ranks get the same message, which names
 *     the rank; or the graph divides the optimizer's state among another number of ranks (zero=1);
 *   HR_NOT_FOUND: no node of the model names this group. */
HR_API hr_status* hr_session_bind_group(hr_session* session, const char* name,
                                        HR_NULLABLE hr_group* group, const hr_limits* limits);

/* A rank that gives the others what it has. */
typedef int32_t hr_root;
enum {
  HR_FURTHEST = -1, /* the rank that has made the most steps */
};

/* Gives all variables of the session, its step and its seed the values that they have on the rank
 * `root` of the bound group `name`: after initial values were drawn or restored on one rank. If
 * `root` is HR_FURTHEST, it is the rank whose session has made the most steps, of those that are
 * not tainted, and of these the lowest. A rank that died in the last operations of a step may leave
 * some of the others with the step made and some without it; after hr_group_shrink, this gives all
 * the step. All ranks call it, within `limits` (NULL: the group's timeout). A call that fails
 * leaves the session as it was; one that succeeds makes a tainted session usable again. HR_TAINTED,
 * on all ranks: the root is tainted, or all ranks are; restore a checkpoint on one. */
HR_API hr_status* hr_session_broadcast(hr_session* session, const char* name, hr_root root,
                                       const hr_limits* limits);

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_COMM_H_ */
