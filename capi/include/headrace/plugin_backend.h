/* The table of a plugin with an accelerator: devices, their memory, and the regions that run on
 * them. EXPERIMENTAL, see plugin.h.
 *
 * A region is the part of a plan that one device runs: a graph in which all types are known. Its
 * buffers are numbered slots, in this order: inputs, constants, variables, outputs. The host
 * allocates them in the device's memory with the functions of the table, copies data into them, and
 * binds them. A backend therefore uses its own memory only, except in `copy`, where one side may be
 * host memory.
 *
 * The host releases every object with its release function, after all objects that were made from
 * it.
 */
#ifndef HEADRACE_PLUGIN_BACKEND_H_
#define HEADRACE_PLUGIN_BACKEND_H_

#include "headrace/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types that the plugin defines. Devices, executables and events are thread-safe; streams and
 * invocations are used by one thread at a time. */
typedef struct hr_plugin_device hr_plugin_device;
typedef struct hr_plugin_stream hr_plugin_stream;
typedef struct hr_plugin_event hr_plugin_event;
typedef struct hr_plugin_executable hr_plugin_executable;
typedef struct hr_plugin_invocation hr_plugin_invocation;

/* ---- Regions. The structs live as long as the call that gets them. ---- */

/* An attribute of a node. A single value has a count of 1. */
typedef struct hr_plugin_region_attribute {
  const char* name;
  hr_attribute_kind kind;
  size_t count;
  const int64_t* ints;        /* of INT and INTS */
  const double* floats;       /* of FLOAT and FLOATS */
  const char* const* strings; /* of STRING and STRINGS */
  uint32_t index;             /* of TENSOR: a constant of the region; of GRAPH: in the FlatBuffer */
} hr_plugin_region_attribute;

/* A node. Its inputs and outputs are indices of the region's values; UINT32_MAX stands for one that
 * is omitted. */
typedef struct hr_plugin_region_node {
  const char* name;   /* for messages */
  const char* domain; /* "": ONNX */
  const char* op;
  int32_t version; /* of the operator: the opset that defines it */
  size_t input_count;
  const uint32_t* inputs;
  size_t output_count;
  const uint32_t* outputs;
  size_t control_count;
  const uint32_t* controls; /* the nodes that must have finished before this one starts */
  size_t attribute_count;
  const hr_plugin_region_attribute* attributes;
} hr_plugin_region_node;

typedef struct hr_plugin_region_value {
  hr_dtype dtype;
  size_t rank;
  const int64_t* dims;
  uint32_t constant; /* the index of the constant if the value is one, else UINT32_MAX */
} hr_plugin_region_value;

/* A constant, or a variable, which nodes of headrace.state and headrace.train name by its index. */
typedef struct hr_plugin_region_tensor {
  const char* name; /* "" for a constant */
  hr_dtype dtype;
  size_t rank;
  const int64_t* dims;
  const void* host_data; /* the value of a constant, for backends that need it early; NULL for a
                            variable */
} hr_plugin_region_tensor;

typedef struct hr_plugin_region {
  size_t struct_size;
  size_t node_count;
  /* Sorted: a node comes after the nodes whose outputs it uses and after its controls. A
   * headrace.state.Read without controls gives the variable's value at the start of the run, even
   * if that is used after a write. */
  const hr_plugin_region_node* nodes;
  size_t value_count;
  const hr_plugin_region_value* values;
  size_t input_count;
  const uint32_t* inputs; /* indices of values, as are the outputs */
  size_t output_count;
  const uint32_t* outputs;
  size_t constant_count;
  const hr_plugin_region_tensor* constants;
  size_t variable_count;
  const hr_plugin_region_tensor* variables;
  /* Returns the region as a GraphDef FlatBuffer (docs/file_format.md) without the bytes of
   * constants and variables. It is made at the first call and lives as long as the region. */
  hr_status* (*flatbuffer)(const struct hr_plugin_region* region, const void** data, size_t* bytes);
  void* context; /* the host's */
} hr_plugin_region;

/* ---- Arguments of the table's functions ---- */

typedef struct hr_plugin_device_info {
  size_t struct_size;
  const char* name;        /* "TOY:0": unique in an env; graphs place nodes by this name */
  const char* description; /* of the hardware */
  int32_t type;            /* DLPack's DLDeviceType; 12 (kDLExtDev) if DLPack has none for it */
  int32_t ordinal;
  int64_t memory_bytes; /* 0: unknown */
} hr_plugin_device_info;

typedef struct hr_plugin_compile_options {
  size_t struct_size;
  int32_t threads;       /* into how many parts kernels should cut their work */
  int32_t fuse;          /* 0: run every node by itself */
  int32_t deterministic; /* 1: a repeated run must give the same bits */
  int32_t check_memory;  /* 1: check as hr_session_options says; a backend may ignore it */
  int32_t exact_sums;    /* 1: use no algorithm that trades accuracy for speed */
  uint64_t memory_limit; /* the most bytes of working memory; 0: no limit; may be ignored */
} hr_plugin_compile_options;

/* Cancellation and deadline of one call. `check` returns NULL while the call may continue, else the
 * status that it has to return. */
typedef struct hr_plugin_limits {
  void* context;
  hr_status* (*check)(void* context);
} hr_plugin_limits;

/* One run. It lives as long as the call. */
typedef struct hr_plugin_run {
  size_t struct_size;
  const hr_plugin_limits* limits; /* to be checked between steps, until the update begins */
  hr_plugin_stream* stream;       /* NULL: the run must be complete when the call returns */
  uint64_t seed;                  /* of the session */
  int64_t step; /* the session's number of runs that draw random numbers or write variables */
  /* Grows whenever variables may have changed: data that was derived from variables, such as
   * packed weights, must then be derived again. Always 0 in runs that write variables. */
  uint64_t variables_version;
  /* The backend sets it to 1 before it writes the first variable. A failure after that leaves the
   * variables half updated. */
  int32_t* update_begun;
  /* Threads of the host. `parallel_for` calls fn(fn_context, task) once for each task in [0,
   * tasks), on at most `threads` threads including the calling one. */
  int32_t threads;
  void (*parallel_for)(const struct hr_plugin_run* run, int32_t tasks,
                       void (*fn)(void* fn_context, int task), void* fn_context);
  void* context; /* the host's */
} hr_plugin_run;

typedef int32_t hr_plugin_copy_kind;
enum {
  HR_PLUGIN_COPY_HOST_TO_DEVICE = 1,
  HR_PLUGIN_COPY_DEVICE_TO_HOST = 2,
  HR_PLUGIN_COPY_DEVICE_TO_DEVICE = 3 /* within one device */
};

/* Receives a text piece by piece. */
typedef void (*hr_plugin_write_function)(void* context, const char* text, size_t bytes);

/* ---- The table. A function may be NULL only if its description says so. ---- */

typedef struct hr_plugin_backend_table {
  size_t struct_size;

  /* `self` is hr_plugin.self. Devices live until the plugin is released. */
  size_t (*device_count)(void* self);
  hr_status* (*device)(void* self, size_t i, hr_plugin_device_info* info, hr_plugin_device** out);

  /* Memory of the device. `alignment` is a power of two and at least 64. `allocate` returns NULL if
   * there is no memory left. The host does not read or write the memory, so its addresses need not
   * be valid on the host's processor; but the host adds offsets to them. */
  void* (*allocate)(hr_plugin_device* device, size_t bytes, size_t alignment);
  void (*deallocate)(hr_plugin_device* device, void* data, size_t bytes, size_t alignment);
  /* Copies `bytes` bytes. stream NULL: the copy must be complete when the call returns. */
  hr_status* (*copy)(hr_plugin_device* device, void* to, const void* from, size_t bytes,
                     hr_plugin_copy_kind kind, hr_plugin_stream* stream);

  /* Streams are queues of work that is executed in order; events mark places in them. If a device
   * has no streams, all of these functions are NULL, and no call gets a stream. */
  hr_status* (*create_stream)(hr_plugin_device* device, hr_plugin_stream** out);
  void (*release_stream)(hr_plugin_stream* stream);
  void* (*native_stream)(hr_plugin_stream* stream); /* such as its cudaStream_t */
  hr_status* (*record)(hr_plugin_stream* stream, hr_plugin_event* event);
  hr_status* (*wait)(hr_plugin_stream* stream,
                     hr_plugin_event* event); /* queues a wait for the event */
  hr_status* (*synchronize_stream)(hr_plugin_stream* stream, const hr_plugin_limits* limits);
  hr_status* (*create_event)(hr_plugin_device* device, hr_plugin_event** out);
  void (*release_event)(hr_plugin_event* event);
  void* (*native_event)(hr_plugin_event* event);
  int (*event_done)(hr_plugin_event* event);
  hr_status* (*synchronize_event)(hr_plugin_event* event, const hr_plugin_limits* limits);

  /* Sets takes[i] to 1 for each node that the device can run, 0 otherwise. */
  hr_status* (*supports)(hr_plugin_device* device, const hr_plugin_region* region, uint8_t* takes);
  hr_status* (*compile)(hr_plugin_device* device, const hr_plugin_region* region,
                        const hr_plugin_compile_options* options, hr_plugin_executable** out);
  void (*release_executable)(hr_plugin_executable* executable);
  size_t (*arena_bytes)(
      const hr_plugin_executable* executable); /* of device memory, for each instance */
  /* Writes one JSON value that describes steps, kernels and memory. */
  void (*describe)(const hr_plugin_executable* executable, hr_plugin_write_function write,
                   void* context);

  hr_status* (*instantiate)(hr_plugin_executable* executable, hr_plugin_invocation** out);
  void (*release_invocation)(hr_plugin_invocation* invocation);
  /* Sets the memory of a slot until the next bind of the same slot. */
  void (*bind)(hr_plugin_invocation* invocation, uint32_t slot, void* data);
  /* Runs the region. All slots that the region uses are bound. */
  hr_status* (*run)(hr_plugin_invocation* invocation, const hr_plugin_run* run);
} hr_plugin_backend_table;

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_PLUGIN_BACKEND_H_ */
