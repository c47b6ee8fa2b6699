/* Weights of sessions in files of other programs: .safetensors and .npz. */
#include "models.h"

static hr_session* mlp_session(hr_env* env, uint64_t seed) {
  hr_session_options options = {.struct_size = sizeof options, .seed = seed};
  hr_model* model = make_mlp(env);
  hr_session* session;
  CHECK(hr_session_create(model, &options, NULL, &session));
  hr_model_release(model);
  return session;
}

/* Whether all variables of the sessions have the same bits. */
static int same(hr_session* a, hr_session* b) {
  int equal = 1;
  for (size_t i = 0; i < hr_session_variable_count(a); ++i) {
    hr_tensor *x, *y;
    const char* name = hr_session_variable_name(a, i);
    CHECK(hr_session_get_variable(a, name, NULL, &x));
    CHECK(hr_session_get_variable(b, name, NULL, &y));
    equal &= memcmp(hr_tensor_data(x), hr_tensor_data(y), hr_tensor_bytes(x)) == 0;
    hr_tensor_release(x);
    hr_tensor_release(y);
  }
  return equal;
}

static int has(hr_text* text, const char* words) {
  const int found = strstr(hr_text_data(text), words) != NULL;
  hr_text_release(text);
  return found;
}

static void test_there_and_back(hr_env* env) {
  static const char* const names[] = {"weights.safetensors", "weights.npz"};
  char* folder = make_folder();
  for (size_t i = 0; i < 2; ++i) {
    const char* path = in_folder(folder, names[i]);
    hr_session *from = mlp_session(env, 1), *to = mlp_session(env, 2);
    hr_text* text;
    EXPECT(!same(from, to));
    CHECK(hr_session_export_weights(from, path, NULL, NULL, &text));
    EXPECT(has(text, "\"tensors\":"));
    CHECK(hr_weights_describe(path, &text));
    EXPECT(has(text, hr_session_variable_name(from, 0)));
    CHECK(hr_session_import_weights(to, path, NULL, NULL, NULL));
    EXPECT(same(from, to));
    hr_session_release(from);
    hr_session_release(to);
  }
  remove_folder(folder);
}

/* A file of another model changes nothing, and all that does not fit is named. */
static void test_what_does_not_fit(hr_env* env) {
  char* folder = make_folder();
  const char* path = in_folder(folder, "other.safetensors");
  counting other = open_counting(env, 3, NULL);
  hr_session *session = mlp_session(env, 1), *before = mlp_session(env, 1);
  CHECK(hr_session_export_weights(other.session, path, NULL, NULL, NULL));
  FAILS(hr_session_import_weights(session, path, NULL, NULL, NULL), HR_INVALID_ARGUMENT, "a");
  EXPECT(same(session, before));
  hr_text* text;
  FAILS(hr_weights_describe(in_folder(folder, "none.safetensors"), &text), HR_NOT_FOUND, "none");
  FAILS(hr_session_export_weights(session, in_folder(folder, "weights.txt"), NULL, NULL, NULL),
        HR_INVALID_ARGUMENT, ".safetensors");
  hr_session_release(session);
  hr_session_release(before);
  close_counting(&other);
  remove_folder(folder);
}

const test tests[] = {
    {"there_and_back", test_there_and_back},
    {"what_does_not_fit", test_what_does_not_fit},
    {NULL, NULL},
};
