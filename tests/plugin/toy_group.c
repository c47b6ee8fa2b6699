/* A native group as a vendor would bring one: sums of float32 among ranks that are threads of one
 * process. Everything else is the library's to do. It tells the host's log what it has done. */
#include <headrace/plugin_group.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_ROOMS = 16, MOST_RANKS = 8, SLOTS = 64, FAILS_FROM = 700 };

/* One operation: what each rank gave, until all have finished it. */
typedef struct slot {
  int arrived, finished, done;
  uint64_t count;
  const float* input[MOST_RANKS];
  float* output[MOST_RANKS];
} slot;

typedef struct room {
  uint8_t id[HR_PLUGIN_GROUP_ID_BYTES];
  int size, joined, left, aborted, used;
  slot slots[SLOTS];
} room;

struct hr_plugin_group {
  room* room;
  const hr_plugin_host* host;
  int rank;
  uint64_t posted;
};
struct hr_plugin_work {
  hr_plugin_group* group;
  slot* slot;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static room rooms[MOST_ROOMS];
static unsigned last_id;

/* Waits with the mutex held; 0 after `until`. */
static int wait_until(const struct timespec* until) {
  return pthread_cond_timedwait(&changed, &mutex, until) == 0;
}

static struct timespec after(int64_t nanos) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  nanos += t.tv_nsec;
  t.tv_sec += nanos / 1000000000;
  t.tv_nsec = nanos % 1000000000;
  return t;
}

static hr_status* create_id(void* self, uint8_t id[HR_PLUGIN_GROUP_ID_BYTES]) {
  (void)self;
  memset(id, 0, HR_PLUGIN_GROUP_ID_BYTES);
  pthread_mutex_lock(&mutex);
  snprintf((char*)id, HR_PLUGIN_GROUP_ID_BYTES, "toy group %u", ++last_id);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static room* room_of(const uint8_t* id) {
  room* free_room = NULL;
  for (int i = 0; i < MOST_ROOMS; ++i) {
    if (rooms[i].used && memcmp(rooms[i].id, id, HR_PLUGIN_GROUP_ID_BYTES) == 0) return &rooms[i];
    if (!rooms[i].used) free_room = &rooms[i];
  }
  if (free_room != NULL) {
    memset(free_room, 0, sizeof *free_room);
    memcpy(free_room->id, id, HR_PLUGIN_GROUP_ID_BYTES);
    free_room->used = 1;
  }
  return free_room;
}

static hr_status* create(void* self, const uint8_t id[HR_PLUGIN_GROUP_ID_BYTES], int32_t rank,
                         int32_t size, int64_t timeout_nanos, hr_plugin_group** out) {
  const hr_plugin_host* host = self;
  const struct timespec until = after(timeout_nanos);
  if (size > MOST_RANKS) return host->make_status(HR_UNIMPLEMENTED, "at most 8 ranks", NULL);
  pthread_mutex_lock(&mutex);
  room* r = room_of(id);
  int met = r != NULL;
  if (met) {
    r->size = size;
    ++r->joined;
    pthread_cond_broadcast(&changed);
    while (r->joined < size && met) met = wait_until(&until);
  }
  pthread_mutex_unlock(&mutex);
  if (!met)
    return host->make_status(HR_DEADLINE_EXCEEDED, "not all ranks of this process came", NULL);
  *out = calloc(1, sizeof **out);
  **out = (hr_plugin_group){.room = r, .host = host, .rank = rank};
  return NULL;
}

static void release(hr_plugin_group* group) {
  char text[100];
  snprintf(text, sizeof text, "toy rank %d made %d sums", group->rank, (int)group->posted);
  group->host->log(group->host->context, HR_LOG_INFO, text);
  pthread_mutex_lock(&mutex);
  if (++group->room->left == group->room->size) group->room->used = 0;
  pthread_mutex_unlock(&mutex);
  free(group);
}

static int32_t supports(const hr_plugin_group* group, const hr_plugin_operation* operation) {
  (void)group;
  return operation->kind == HR_OPERATION_ALL_REDUCE && operation->dtype == HR_FLOAT32 &&
         operation->op == HR_SUM && operation->input.device_type == 1;
}

static void add_up(room* r, slot* s) {
  for (uint64_t i = 0; i < s->count; ++i) {
    float sum = 0;
    for (int rank = 0; rank < r->size; ++rank) sum += s->input[rank][i];
    for (int rank = 0; rank < r->size; ++rank) s->output[rank][i] = sum; /* perhaps in place */
  }
}

static hr_status* post(hr_plugin_group* group, const hr_plugin_operation* operation,
                       hr_plugin_work** out) {
  if (operation->count >= FAILS_FROM) {
    return group->host->make_status(HR_UNAVAILABLE, "the toy does not like so many", NULL);
  }
  pthread_mutex_lock(&mutex);
  room* r = group->room;
  slot* s = &r->slots[group->posted++ % SLOTS];
  s->count = operation->count;
  s->input[group->rank] = operation->input.data;
  s->output[group->rank] = operation->output.data;
  if (++s->arrived == r->size && !r->aborted) {
    add_up(r, s);
    s->done = 1;
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&mutex);
  *out = malloc(sizeof **out);
  **out = (hr_plugin_work){group, s};
  return NULL;
}

static int32_t wait_for(hr_plugin_work* work, int64_t timeout_nanos) {
  const struct timespec until = after(timeout_nanos);
  pthread_mutex_lock(&mutex);
  while (!work->slot->done && !work->group->room->aborted && wait_until(&until)) continue;
  const int ended = work->slot->done || work->group->room->aborted;
  pthread_mutex_unlock(&mutex);
  return ended;
}

static int32_t test(hr_plugin_work* work) { return wait_for(work, 0); }

static hr_status* finish(hr_plugin_work* work) {
  const hr_plugin_host* host = work->group->host;
  pthread_mutex_lock(&mutex);
  const int done = work->slot->done;
  if (++work->slot->finished == work->group->room->size) memset(work->slot, 0, sizeof(slot));
  pthread_mutex_unlock(&mutex);
  free(work);
  return done ? NULL : host->make_status(HR_ABORTED, "the toy group was aborted", NULL);
}

static void abort_all(hr_plugin_group* group) {
  pthread_mutex_lock(&mutex);
  group->room->aborted = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

static const hr_plugin_group_table table = {.struct_size = sizeof table,
                                            .name = "toy",
                                            .create_id = create_id,
                                            .create = create,
                                            .release = release,
                                            .supports = supports,
                                            .post = post,
                                            .test = test,
                                            .wait = wait_for,
                                            .finish = finish,
                                            .abort = abort_all};

HR_PLUGIN_EXPORT hr_status* hr_plugin_entry(const hr_plugin_host* host, hr_plugin* out) {
  if (!hr_plugin_matches(host, out, "toy_group")) return NULL;
  out->self = (void*)host;
  out->group = &table;
  return NULL;
}
