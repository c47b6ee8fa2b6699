/* What a host sees of plugins that cannot be loaded, and of one that brings a transport. */
#include <pthread.h>

#include <headrace/plugin.h>

#include "support.h"

static const char* plugin(const char* name) {
  static char path[1024];
  snprintf(path, sizeof path, "%s/libheadrace_%s.so", HEADRACE_TEST_PLUGINS, name);
  return path;
}

static void missing(hr_env* env) {
  FAILS(hr_env_load_plugin(env, "atlantis"), HR_UNAVAILABLE, "plugin 'atlantis'");
  FAILS(hr_env_load_plugin(env, "atlantis"), HR_UNAVAILABLE, "libheadrace_atlantis.so");
  FAILS(hr_env_load_plugin(env, "./atlantis.so"), HR_UNAVAILABLE, "./atlantis.so");
  FAILS(hr_env_load_plugin(env, ""), HR_UNAVAILABLE, "plugin ''");
  FAILS(hr_env_load_plugin(env, NULL), HR_INVALID_ARGUMENT, "name_or_path");
  FAILS(hr_env_load_plugin(NULL, "x"), HR_INVALID_ARGUMENT, "env");
}

static void garbage(hr_env* env) {
  FAILS(hr_env_load_plugin(env, plugin("garbage")), HR_UNAVAILABLE, "libheadrace_garbage.so");
}

static void no_entry(hr_env* env) {
  FAILS(hr_env_load_plugin(env, plugin("no_entry")), HR_INVALID_ARGUMENT, "hr_plugin_entry");
}

static void other_version(hr_env* env) {
  char words[128];
  snprintf(words, sizeof words,
           "plugin 'other' has plugin interface %d, this library %d; use a newer",
           HR_PLUGIN_VERSION + 1, HR_PLUGIN_VERSION);
  FAILS(hr_env_load_plugin(env, plugin("other_version")), HR_FAILED_PRECONDITION, words);
}

static void no_driver(hr_env* env) {
  FAILS(hr_env_load_plugin(env, plugin("no_driver")), HR_UNAVAILABLE,
        "this machine has no wheel to turn");
}

static void goes_on(hr_env* env) {
  const int64_t dims[] = {2};
  hr_tensor* tensor;
  hr_text* text;
  missing(env);
  other_version(env);
  CHECK(hr_env_describe(env, &text));
  EXPECT(strstr(hr_text_data(text), "\"plugins\":[]") != NULL);
  hr_text_release(text);
  CHECK(hr_tensor_create(env, HR_FLOAT32, 1, dims, &tensor));
  hr_tensor_release(tensor);
}

typedef struct member {
  hr_env* env;
  hr_group_options options;
} member;

/* One rank of a group over the plugin's transport, which `auto` prefers to TCP. */
static void* sum_over_wire(void* self) {
  const member* m = self;
  hr_group* group;
  hr_text* text;
  int32_t one = 1, sum = 0;
  CHECK(hr_group_create(m->env, &m->options, NULL, &group));
  CHECK(hr_all_reduce(group, &one, &sum, 1, HR_INT32, HR_SUM, NULL));
  EXPECT(sum == 2);
  CHECK(hr_group_describe(group, &text));
  EXPECT(strstr(hr_text_data(text), "\"transport\":\"wire\"") != NULL);
  hr_text_release(text);
  hr_group_release(group);
  return NULL;
}

static void brings_a_transport(hr_env* env) {
  member members[2];
  pthread_t threads[2];
  hr_store* store;
  (void)env;
  hr_env* own = make_env(1);
  CHECK(hr_env_load_plugin(own, plugin("wire")));
  CHECK(hr_env_load_plugin(own, plugin("wire")));
  CHECK(hr_env_load_plugin(own, "net")); /* whose transport is there anyway */
  for (const char* wanted = "wire"; wanted != NULL;
       wanted = strcmp(wanted, "wire") == 0 ? "wire,tcp" : NULL) {
    CHECK(hr_store_open(own, "memory:", &store));
    for (int rank = 0; rank < 2; ++rank) {
      members[rank] = (member){own,
                               {.struct_size = sizeof(hr_group_options),
                                .rank = rank,
                                .size = 2,
                                .store = store,
                                .transport = wanted}};
      EXPECT(pthread_create(&threads[rank], NULL, sum_over_wire, &members[rank]) == 0);
    }
    for (int rank = 0; rank < 2; ++rank) pthread_join(threads[rank], NULL);
    hr_store_release(store);
  }
  hr_env_release(own);
}

static void comes_too_late(hr_env* env) {
  hr_group_options options = {.struct_size = sizeof options, .size = 1};
  hr_group* group;
  (void)env;
  hr_env* own = make_env(1);
  CHECK(hr_group_create(own, &options, NULL, &group));
  FAILS(hr_env_load_plugin(own, plugin("wire")), HR_FAILED_PRECONDITION, "before the first group");
  hr_group_release(group);
  hr_env_release(own);
}

const test tests[] = {
    {"a missing plugin costs a sentence", missing},
    {"a file that is no shared object", garbage},
    {"a shared object that is no plugin", no_entry},
    {"a plugin of another version", other_version},
    {"a plugin without its driver", no_driver},
    {"the env works on after failed loads", goes_on},
    {"a transport for groups", brings_a_transport},
    {"a transport after the first group", comes_too_late},
    {NULL, NULL},
};
