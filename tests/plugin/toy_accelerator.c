/* A toy accelerator, as a vendor would ship one: a C plugin that sees Headrace's plugin headers
 * alone and links nothing of it. It runs Add, Mul, MatMul, Relu, reads of variables and plain SGD
 * in float32, one node after the other.
 *
 * Its memory is not the host's: addresses that it gives out point nowhere that a program may touch;
 * only its own code, which knows the offset, can. TOY_FAIL in the environment makes a call fail:
 * "device", "supports", "compile", "instantiate", "copy" or "run". */
#include <headrace/plugin_backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct toy {
  const hr_plugin_host* host;
  hr_plugin_device* devices;
} toy;

struct hr_plugin_device {
  toy* owner;
  char name[16];
};

/* ---- Memory ---- */

/* In the half of the address space that belongs to no program. */
#define FAR ((uintptr_t)1 << 63)

static void* far_away(void* data) { return data == NULL ? NULL : (void*)((uintptr_t)data | FAR); }
static char* near_by(const void* data) { return (char*)((uintptr_t)data & ~FAR); }

static hr_status* failure(const toy* owner, const char* where, const char* node) {
  const char* wanted = getenv("TOY_FAIL");
  char message[64];
  if (wanted == NULL || strcmp(wanted, where) != 0) return NULL;
  snprintf(message, sizeof message, "the toy was told to fail in %s", where);
  return owner->host->make_status(HR_INTERNAL, message, node);
}

static void* allocate(hr_plugin_device* device, size_t bytes, size_t alignment) {
  const hr_plugin_host* host = device->owner->host;
  return far_away(host->allocate(host->context, bytes, alignment));
}

static void deallocate(hr_plugin_device* device, void* data, size_t bytes, size_t alignment) {
  const hr_plugin_host* host = device->owner->host;
  host->deallocate(host->context, near_by(data), bytes, alignment);
}

static int is_far(const void* data) { return ((uintptr_t)data & FAR) != 0; }

static hr_status* copy(hr_plugin_device* device, void* to, const void* from, size_t bytes,
                       hr_plugin_copy_kind kind, hr_plugin_stream* stream) {
  hr_status* status = failure(device->owner, "copy", NULL);
  (void)stream;
  if (status != NULL || bytes == 0) return status;
  if (is_far(to) != (kind != HR_PLUGIN_COPY_DEVICE_TO_HOST) ||
      is_far(from) != (kind != HR_PLUGIN_COPY_HOST_TO_DEVICE)) {
    return device->owner->host->make_status(HR_INVALID_ARGUMENT, "memory of the wrong side", NULL);
  }
  memcpy(near_by(to), near_by(from), bytes);
  return NULL;
}

/* ---- Devices ---- */

enum { DEVICES = 2 };

static size_t device_count(void* self) {
  (void)self;
  return DEVICES;
}

static hr_status* get_device(void* self, size_t i, hr_plugin_device_info* info,
                             hr_plugin_device** out) {
  toy* owner = self;
  hr_status* status = failure(owner, "device", NULL);
  if (status != NULL) return status;
  *out = &owner->devices[i];
  info->name = owner->devices[i].name;
  info->description = "a toy";
  info->type = 12;
  info->ordinal = (int32_t)i;
  return NULL;
}

/* ---- Which nodes ---- */

typedef enum kind { READ, ADD, MUL, MATMUL, RELU, SGD, UNKNOWN } kind;

static kind kind_of(const hr_plugin_region_node* node) {
  static const char* const names[][2] = {
      {"headrace.state", "Read"}, {"", "Add"}, {"", "Mul"}, {"", "MatMul"}, {"", "Relu"},
      {"headrace.train", "SGD"}};
  for (int i = 0; i < UNKNOWN; ++i) {
    if (strcmp(node->domain, names[i][0]) == 0 && strcmp(node->op, names[i][1]) == 0) {
      return (kind)i;
    }
  }
  return UNKNOWN;
}

static const hr_plugin_region_attribute* find(const hr_plugin_region_node* node, const char* name) {
  for (size_t i = 0; i < node->attribute_count; ++i) {
    if (strcmp(node->attributes[i].name, name) == 0) return &node->attributes[i];
  }
  return NULL;
}

static size_t elements(const hr_plugin_region_value* value) {
  size_t count = 1;
  for (size_t i = 0; i < value->rank; ++i) count *= (size_t)value->dims[i];
  return count;
}

/* Element-wise operators take a second operand that is the first's last dimensions. */
static int is_suffix(const hr_plugin_region_value* b, const hr_plugin_region_value* a) {
  if (b->rank > a->rank) return 0;
  for (size_t i = 0; i < b->rank; ++i) {
    if (b->dims[b->rank - 1 - i] != a->dims[a->rank - 1 - i]) return 0;
  }
  return 1;
}

static int takes(const hr_plugin_region* region, const hr_plugin_region_node* node) {
  const kind what = kind_of(node);
  if (what == UNKNOWN || node->output_count != (what == SGD ? 0 : 1)) return 0;
  for (size_t i = 0; i < node->input_count; ++i) {
    if (region->values[node->inputs[i]].dtype != HR_FLOAT32) return 0;
  }
  if (what == READ) return region->values[node->outputs[0]].dtype == HR_FLOAT32;
  if (what == RELU) return 1;
  if (what == SGD) return node->attribute_count == 1; /* neither momentum nor weight decay */
  const hr_plugin_region_value* a = &region->values[node->inputs[0]];
  const hr_plugin_region_value* b = &region->values[node->inputs[1]];
  return what == MATMUL ? a->rank == 2 && b->rank == 2 : is_suffix(b, a);
}

static hr_status* supports(hr_plugin_device* device, const hr_plugin_region* region, uint8_t* out) {
  for (size_t i = 0; i < region->node_count; ++i) {
    out[i] = (uint8_t)takes(region, &region->nodes[i]);
  }
  return failure(device->owner, "supports", NULL);
}

/* ---- Compiled regions ---- */

/* Where a value is: bound to a slot, or at an offset of the arena. */
typedef struct place {
  int64_t slot; /* -1: in the arena */
  size_t offset;
} place;

typedef struct step {
  kind what;
  char name[64];
  place a, b, out;
  size_t bytes; /* of the output */
  size_t rows, inner, columns;
  size_t count, period; /* of an element-wise operator: elements, and those of b */
} step;

struct hr_plugin_executable {
  hr_plugin_device* device;
  size_t slot_count, step_count, arena_bytes;
  step* steps; /* those that copy outputs last */
};

struct hr_plugin_invocation {
  const hr_plugin_executable* executable;
  char* arena;
  void** slots;
};

static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

static place slot_of_variable(const hr_plugin_region* region, const hr_plugin_region_node* node) {
  const int64_t variable = find(node, "variable")->ints[0];
  return (place){.slot = (int64_t)(region->input_count + region->constant_count) + variable};
}

static void fill(step* s, const hr_plugin_region* region, const hr_plugin_region_node* node,
                 const place* places) {
  s->what = kind_of(node);
  snprintf(s->name, sizeof s->name, "%s", node->name);
  if (s->what == SGD) {
    s->a = places[node->inputs[0]];
    s->b = places[node->inputs[1]];
    s->out = slot_of_variable(region, node);
    s->count = elements(&region->values[node->inputs[1]]);
    return;
  }
  const hr_plugin_region_value* out = &region->values[node->outputs[0]];
  s->out = places[node->outputs[0]];
  s->count = s->period = elements(out);
  s->bytes = s->count * sizeof(float);
  s->a = s->what == READ ? slot_of_variable(region, node) : places[node->inputs[0]];
  if (s->what == READ || s->what == RELU) return;
  s->b = places[node->inputs[1]];
  s->period = elements(&region->values[node->inputs[1]]);
  if (s->what == MATMUL) {
    s->rows = (size_t)out->dims[0];
    s->columns = (size_t)out->dims[1];
    s->inner = (size_t)region->values[node->inputs[0]].dims[1];
  }
}

/* Reads that wait for nothing give what was there when the run began: they come first. */
static int comes_first(const hr_plugin_region_node* node) {
  return kind_of(node) == READ && node->control_count == 0;
}

static hr_status* compile(hr_plugin_device* device, const hr_plugin_region* region,
                          const hr_plugin_compile_options* options, hr_plugin_executable** out) {
  hr_status* status = failure(device->owner, "compile", NULL);
  (void)options;
  if (status != NULL) return status;
  hr_plugin_executable* made = calloc(1, sizeof *made);
  place* places = calloc(region->value_count + 1, sizeof *places);
  size_t slot = 0;
  made->device = device;
  for (size_t i = 0; i < region->value_count; ++i) {
    const hr_plugin_region_value* value = &region->values[i];
    places[i].slot = -1;
    if (value->constant != UINT32_MAX) {
      places[i].slot = (int64_t)(region->input_count + value->constant);
      continue;
    }
    places[i].offset = made->arena_bytes;
    made->arena_bytes += aligned(elements(value) * sizeof(float));
  }
  for (size_t i = 0; i < region->input_count; ++i) places[region->inputs[i]].slot = (int64_t)i;
  slot = region->input_count + region->constant_count + region->variable_count;
  made->slot_count = slot + region->output_count;
  made->steps = calloc(region->node_count + region->output_count, sizeof *made->steps);
  for (int first = 1; first >= 0; --first) {
    for (size_t i = 0; i < region->node_count; ++i) {
      if (comes_first(&region->nodes[i]) != first) continue;
      fill(&made->steps[made->step_count++], region, &region->nodes[i], places);
    }
  }
  for (size_t i = 0; i < region->output_count; ++i) {
    step* s = &made->steps[made->step_count++];
    s->what = READ; /* a copy */
    s->a = places[region->outputs[i]];
    s->out.slot = (int64_t)(slot + i);
    s->bytes = elements(&region->values[region->outputs[i]]) * sizeof(float);
  }
  free(places);
  *out = made;
  return NULL;
}

static void release_executable(hr_plugin_executable* executable) {
  free(executable->steps);
  free(executable);
}

static size_t arena_bytes(const hr_plugin_executable* executable) {
  return executable->arena_bytes;
}

static void describe(const hr_plugin_executable* executable, hr_plugin_write_function write,
                     void* context) {
  static const char* const names[] = {"copy", "add", "mul", "matmul", "relu", "sgd"};
  char text[192];
  snprintf(text, sizeof text, "{\"arena_bytes\":%zu,\"steps\":[", executable->arena_bytes);
  write(context, text, strlen(text));
  for (size_t i = 0; i < executable->step_count; ++i) {
    const step* s = &executable->steps[i];
    snprintf(text, sizeof text, "%s{\"node\":\"%s\",\"kernel\":\"toy_%s\",\"writes_variables\":%s}",
             i == 0 ? "" : ",", s->name, names[s->what], s->what == SGD ? "true" : "false");
    write(context, text, strlen(text));
  }
  write(context, "]}", 2);
}

static hr_status* instantiate(hr_plugin_executable* executable, hr_plugin_invocation** out) {
  const toy* owner = executable->device->owner;
  hr_status* status = failure(owner, "instantiate", NULL);
  if (status != NULL) return status;
  hr_plugin_invocation* made = calloc(1, sizeof *made);
  made->executable = executable;
  made->slots = calloc(executable->slot_count + 1, sizeof *made->slots);
  made->arena = allocate(executable->device, executable->arena_bytes, 64);
  if (made->arena == NULL) {
    free(made->slots);
    free(made);
    return owner->host->make_status(HR_RESOURCE_EXHAUSTED, "the toy's memory is full", NULL);
  }
  *out = made;
  return NULL;
}

static void release_invocation(hr_plugin_invocation* invocation) {
  deallocate(invocation->executable->device, invocation->arena, invocation->executable->arena_bytes,
             64);
  free(invocation->slots);
  free(invocation);
}

static void bind(hr_plugin_invocation* invocation, uint32_t slot, void* data) {
  invocation->slots[slot] = data;
}

/* ---- Running ---- */

static float* at(const hr_plugin_invocation* invocation, const place* where) {
  const void* data =
      where->slot < 0 ? invocation->arena + where->offset : invocation->slots[where->slot];
  return (float*)near_by(data);
}

/* Sums in double, as good as any order of float. */
static void matmul(const step* s, const float* a, const float* b, float* out) {
  for (size_t i = 0; i < s->rows; ++i) {
    for (size_t j = 0; j < s->columns; ++j) {
      double sum = 0;
      for (size_t k = 0; k < s->inner; ++k) {
        sum += (double)a[i * s->inner + k] * b[k * s->columns + j];
      }
      out[i * s->columns + j] = (float)sum;
    }
  }
}

static void run_step(const hr_plugin_invocation* invocation, const step* s) {
  const float* a = at(invocation, &s->a);
  const float* b = at(invocation, &s->b);
  float* out = at(invocation, &s->out);
  switch (s->what) {
    case READ: memmove(out, a, s->bytes); break;
    case MATMUL: matmul(s, a, b, out); break;
    case RELU:
      for (size_t i = 0; i < s->count; ++i) out[i] = a[i] > 0 ? a[i] : 0;
      break;
    case SGD:
      for (size_t i = 0; i < s->count; ++i) out[i] -= a[0] * b[i];
      break;
    case ADD:
      for (size_t i = 0; i < s->count; ++i) out[i] = a[i] + b[i % s->period];
      break;
    default:
      for (size_t i = 0; i < s->count; ++i) out[i] = a[i] * b[i % s->period];
  }
}

static hr_status* run(hr_plugin_invocation* invocation, const hr_plugin_run* given) {
  const hr_plugin_executable* executable = invocation->executable;
  for (size_t i = 0; i < executable->step_count; ++i) {
    const step* s = &executable->steps[i];
    hr_status* status = failure(executable->device->owner, "run", s->name);
    if (status == NULL && !*given->update_begun) {
      status = given->limits->check(given->limits->context);
    }
    if (status != NULL) return status;
    if (s->what == SGD) *given->update_begun = 1;
    run_step(invocation, s);
  }
  return NULL;
}

/* ---- The entry ---- */

static const hr_plugin_backend_table table = {
    .struct_size = sizeof(hr_plugin_backend_table),
    .device_count = device_count,
    .device = get_device,
    .allocate = allocate,
    .deallocate = deallocate,
    .copy = copy,
    .supports = supports,
    .compile = compile,
    .release_executable = release_executable,
    .arena_bytes = arena_bytes,
    .describe = describe,
    .instantiate = instantiate,
    .release_invocation = release_invocation,
    .bind = bind,
    .run = run,
};

static void release(void* self) {
  toy* owner = self;
  free(owner->devices);
  free(owner);
}

HR_PLUGIN_EXPORT hr_status* hr_plugin_entry(const hr_plugin_host* host, hr_plugin* out) {
  if (!hr_plugin_matches(host, out, "toy")) return NULL;
  toy* owner = calloc(1, sizeof *owner);
  owner->host = host;
  owner->devices = calloc(DEVICES, sizeof *owner->devices);
  for (int i = 0; i < DEVICES; ++i) {
    owner->devices[i].owner = owner;
    snprintf(owner->devices[i].name, sizeof owner->devices[i].name, "TOY:%d", i);
  }
  out->self = owner;
  out->release = release;
  out->backend = &table;
  return NULL;
}
