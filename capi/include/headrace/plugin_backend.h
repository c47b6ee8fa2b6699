/* What a plugin with an accelerator fills in: devices, their memory, and regions that run on them.
 * EXPERIMENTAL, see plugin.h.
 *
 * A region is the part of a plan that one device runs: a graph whose types are all concrete. Its
 * buffers are numbered slots, in this order: inputs, constants, variables, outputs. The host
 * allocates them in the device's memory with the table's functions, copies what has to be there,
 * and binds them. So a backend sees its own memory only, but for `copy`, one side of which may be
 * the host's.
 *
 * Objects are released by their release function, each after everything that was made from it.
 */
#ifndef HEADRACE_PLUGIN_BACKEND_H_
#define HEADRACE_PLUGIN_BACKEND_H_

#include "headrace/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types of the plugin's own. Devices, executables and events are thread-safe; streams and
 * invocations are used by one thread at a time. */
typedef struct hr_device hr_device;
typedef struct hr_stream hr_stream;
typedef struct hr_event hr_event;
typedef struct hr_executable hr_executable;
typedef struct hr_invocation hr_invocation;

/* ---- Regions, as plain structs that live as long as the call that gets them ---- */

/* Single values have a count of 1. */
typedef struct hr_region_attribute {
  const char* name;
  hr_attribute_kind kind;
  size_t count;
  const int64_t* ints;        /* of INT and INTS */
  const double* floats;       /* of FLOAT and FLOATS */
  const char* const* strings; /* of STRING and STRINGS */
  uint32_t index;             /* of TENSOR: the region's constant; of GRAPH: in the FlatBuffer */
} hr_region_attribute;

/* Values are indices into the region's; UINT32_MAX stands for an omitted one. */
typedef struct hr_region_node {
  const char* name;   /* for messages */
  const char* domain; /* "" is ONNX's */
  const char* op;
  int32_t version; /* of the operator: the opset that defines it */
  size_t input_count;
  const uint32_t* inputs;
  size_t output_count;
  const uint32_t* outputs;
  size_t control_count;
  const uint32_t* controls; /* nodes that must have finished first */
  size_t attribute_count;
  const hr_region_attribute* attributes;
} hr_region_node;

typedef struct hr_region_value {
  hr_dtype dtype;
  size_t rank;
  const int64_t* dims;
  uint32_t constant; /* its index where it is one; UINT32_MAX otherwise */
} hr_region_value;

/* A variable (nodes of headrace.state and headrace.train name it by its number) or a constant. */
typedef struct hr_region_tensor {
  const char* name; /* "" for a constant */
  hr_dtype dtype;
  size_t rank;
  const int64_t* dims;
  const void* host_data; /* of a constant, for backends that must know it early; not of variables */
} hr_region_tensor;

typedef struct hr_region {
  size_t struct_size;
  size_t node_count;
  /* In an order that respects inputs and controls. A headrace.state.Read without controls gives
   * what the variable was when the run began, even if its value is used after a write. */
  const hr_region_node* nodes;
  size_t value_count;
  const hr_region_value* values;
  size_t input_count;
  const uint32_t* inputs; /* values */
  size_t output_count;
  const uint32_t* outputs;
  size_t constant_count;
  const hr_region_tensor* constants;
  size_t variable_count;
  const hr_region_tensor* variables;
  /* The same as a GraphDef FlatBuffer (docs/file_format.md) without the bytes of constants and
   * variables; made when first asked for, and valid as long as the region. */
  hr_status* (*flatbuffer)(const struct hr_region* region, const void** data, size_t* bytes);
  void* context; /* the host's */
} hr_region;

/* ---- What calls are given ---- */

typedef struct hr_device_info {
  size_t struct_size;
  const char* name;        /* "TOY:0": unique in an env; the name that graphs place nodes by */
  const char* description; /* of the hardware */
  int32_t type;            /* DLPack's DLDeviceType; 12 (kDLExtDev) where it has none of its own */
  int32_t ordinal;
  int64_t memory_bytes; /* 0: unknown */
} hr_device_info;

typedef struct hr_compile_options {
  size_t struct_size;
  int32_t threads;       /* how finely work on the host's threads is cut */
  int32_t fuse;          /* 0: one node after the other */
  int32_t deterministic; /* bit-equal reruns */
  int32_t check_memory;  /* as hr_session_options says; a backend may ignore it */
  int32_t exact_sums;    /* no algorithm that trades accuracy for speed */
} hr_compile_options;

/* Cancellation and deadline of one call. check gives NULL while it may go on, else what to return.
 */
typedef struct hr_plugin_limits {
  void* context;
  hr_status* (*check)(void* context);
} hr_plugin_limits;

/* One run. Lives as long as the call. */
typedef struct hr_plugin_run {
  size_t struct_size;
  const hr_plugin_limits* limits; /* looked at between steps, until the update began */
  hr_stream* stream;              /* NULL: everything is done when the call returns */
  uint64_t seed;                  /* of the session */
  int64_t step;                   /* counts its runs that draw random numbers or write variables */
  /* Grows whenever variables may have changed, so that what was made of them beforehand is made
   * again; always 0 in runs that write variables. */
  uint64_t variables_version;
  /* Set to 1 before the first variable is written: failures from then on leave variables half
   * updated. */
  int32_t* update_begun;
  /* Threads of the host: calls fn(fn_context, task) once for each task in [0, tasks), on at most
   * `threads` threads of which the caller is one. */
  int32_t threads;
  void (*parallel_for)(const struct hr_plugin_run* run, int32_t tasks,
                       void (*fn)(void* fn_context, int task), void* fn_context);
  void* context; /* the host's */
} hr_plugin_run;

typedef enum hr_copy_kind HR_ENUM {
  HR_COPY_HOST_TO_DEVICE = 1,
  HR_COPY_DEVICE_TO_HOST = 2,
  HR_COPY_DEVICE_TO_DEVICE = 3 /* within one device */
} hr_copy_kind;

/* Takes text piece by piece. */
typedef void (*hr_write_function)(void* context, const char* text, size_t bytes);

/* ---- The table. No function may be NULL, unless it says so. ---- */

typedef struct hr_backend_table {
  size_t struct_size;

  /* `self` is that of hr_plugin. Devices live until the plugin's release. */
  size_t (*device_count)(void* self);
  hr_status* (*device)(void* self, size_t i, hr_device_info* info, hr_device** out);

  /* Memory of the device. NULL where there is none left; alignment is a power of two, 64 at least.
   * The host never reads or writes it: an address may mean nothing to the host's processor. But it
   * adds offsets to it. */
  void* (*allocate)(hr_device* device, size_t bytes, size_t alignment);
  void (*deallocate)(hr_device* device, void* data, size_t bytes, size_t alignment);
  /* stream NULL: done when the call returns. */
  hr_status* (*copy)(hr_device* device, void* to, const void* from, size_t bytes, hr_copy_kind kind,
                     hr_stream* stream);

  /* Queues of work, executed in order, and marks in them. A device without them leaves all of these
   * NULL, and is never given a stream. */
  hr_status* (*create_stream)(hr_device* device, hr_stream** out);
  void (*release_stream)(hr_stream* stream);
  void* (*native_stream)(hr_stream* stream); /* e.g. its cudaStream_t */
  hr_status* (*record)(hr_stream* stream, hr_event* event);
  hr_status* (*wait)(hr_stream* stream, hr_event* event); /* queues the wait */
  hr_status* (*synchronize_stream)(hr_stream* stream, const hr_plugin_limits* limits);
  hr_status* (*create_event)(hr_device* device, hr_event** out);
  void (*release_event)(hr_event* event);
  void* (*native_event)(hr_event* event);
  int (*event_done)(hr_event* event);
  hr_status* (*synchronize_event)(hr_event* event, const hr_plugin_limits* limits);

  /* Sets takes[i] to 1 for each node that the device can run, 0 otherwise. */
  hr_status* (*supports)(hr_device* device, const hr_region* region, uint8_t* takes);
  hr_status* (*compile)(hr_device* device, const hr_region* region,
                        const hr_compile_options* options, hr_executable** out);
  void (*release_executable)(hr_executable* executable);
  size_t (*arena_bytes)(const hr_executable* executable); /* of device memory, for each instance */
  /* One JSON value: steps, kernels, memory. */
  void (*describe)(const hr_executable* executable, hr_write_function write, void* context);

  hr_status* (*instantiate)(hr_executable* executable, hr_invocation** out);
  void (*release_invocation)(hr_invocation* invocation);
  /* The memory of a slot until the next bind of it. */
  void (*bind)(hr_invocation* invocation, uint32_t slot, void* data);
  /* All slots that the region uses are bound. */
  hr_status* (*run)(hr_invocation* invocation, const hr_plugin_run* run);
} hr_backend_table;

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_PLUGIN_BACKEND_H_ */
