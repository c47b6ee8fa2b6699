/* What a host sees of plugins that cannot be loaded. */
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
  FAILS(hr_env_load_plugin(env, plugin("other_version")), HR_FAILED_PRECONDITION,
        "plugin 'other' has plugin interface 2, this library 1; use a newer library");
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

const test tests[] = {
    {"a missing plugin costs a sentence", missing},
    {"a file that is no shared object", garbage},
    {"a shared object that is no plugin", no_entry},
    {"a plugin of another version", other_version},
    {"a plugin without its driver", no_driver},
    {"the env works on after failed loads", goes_on},
    {NULL, NULL},
};
