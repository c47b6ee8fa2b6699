/* hr_model_convert through the C interface: tests/conformance/onnx has the models. */
#include <stdio.h>
#include <string.h>

#include "support.h"

/* Neg of float32[2], by the package onnx:
 *   value = helper.make_tensor_value_info
 *   graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g",
 *                             [value("x", 1, [2])], [value("y", 1, [2])])
 *   helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="t")
 * with ir_version 8 */
static const unsigned char neg[] = {
    0x08, 0x08, 0x12, 0x01, 0x74, 0x3a, 0x32, 0x0a, 0x0b, 0x0a, 0x01, 0x78, 0x12, 0x01, 0x79, 0x22,
    0x03, 0x4e, 0x65, 0x67, 0x12, 0x01, 0x67, 0x5a, 0x0f, 0x0a, 0x01, 0x78, 0x12, 0x0a, 0x0a, 0x08,
    0x08, 0x01, 0x12, 0x04, 0x0a, 0x02, 0x08, 0x02, 0x62, 0x0f, 0x0a, 0x01, 0x79, 0x12, 0x0a, 0x0a,
    0x08, 0x08, 0x01, 0x12, 0x04, 0x0a, 0x02, 0x08, 0x02, 0x42, 0x04, 0x0a, 0x00, 0x10, 0x11};

static void write_file(const char* path, const void* data, size_t bytes) {
  FILE* file = fopen(path, "wb");
  EXPECT(file != NULL);
  EXPECT(fwrite(data, 1, bytes, file) == bytes);
  EXPECT(fclose(file) == 0);
}

static hr_status* convert(hr_env* env, const char* from, const char* to) {
  return hr_model_convert(env, from, to, NULL, NULL, NULL);
}

static int has_converter(hr_env* env) {
  hr_status* status = hr_env_load_plugin(env, "onnx");
  const int has = status == NULL;
  hr_status_release(status);
  return has;
}

static void converts_and_runs(hr_env* env) {
  char* folder = make_folder();
  const char* const to = "neg.hrg";
  char path[512];
  hr_text* report;
  hr_model* model;
  hr_session* session;
  hr_call* call;
  if (!has_converter(env)) return remove_folder(folder);
  write_file(in_folder(folder, "neg.onnx"), neg, sizeof neg);
  snprintf(path, sizeof path, "%s", in_folder(folder, to));
  const hr_convert_options options = {.struct_size = sizeof options, .constants = 1};
  CHECK(hr_model_convert(env, in_folder(folder, "neg.onnx"), path, &options, NULL, &report));
  EXPECT(strstr(hr_text_data(report), "\"Neg\":1") != NULL);
  hr_text_release(report);
  CHECK(hr_model_load(env, path, NULL, &model));
  CHECK(hr_session_create(model, NULL, NULL, &session));
  CHECK(hr_call_create(session, "infer", &call));
  float x[2] = {1.5f, -2}, y[2];
  const int64_t dims[1] = {2};
  hr_tensor* input;
  CHECK(hr_tensor_copy_of(env, HR_FLOAT32, 1, dims, x, sizeof x, &input));
  CHECK(hr_call_bind(call, "x", input));
  CHECK(hr_call_output(call, "y", y, sizeof y));
  CHECK(hr_call_run(call, NULL));
  EXPECT(y[0] == -1.5f && y[1] == 2);
  hr_tensor_release(input);
  hr_call_release(call);
  hr_session_release(session);
  hr_model_release(model);
  remove_folder(folder);
}

static void says_what_is_wrong(hr_env* env) {
  char* folder = make_folder();
  FAILS(convert(env, "model.pb", "model.hrg"), HR_INVALID_ARGUMENT, "there is .onnx");
  if (has_converter(env)) {
    FAILS(convert(env, in_folder(folder, "absent.onnx"), "model.hrg"), HR_NOT_FOUND, "absent.onnx");
    write_file(in_folder(folder, "cut.onnx"), neg, 40);
    FAILS(convert(env, in_folder(folder, "cut.onnx"), "model.hrg"), HR_INVALID_ARGUMENT, "cut");
  } else {
    FAILS(convert(env, "model.onnx", "model.hrg"), HR_UNAVAILABLE, "onnx");
  }
  remove_folder(folder);
}

static void ends_if_it_is_cancelled(hr_env* env) {
  char* folder = make_folder();
  hr_cancel* cancel;
  if (!has_converter(env)) return remove_folder(folder);
  write_file(in_folder(folder, "neg.onnx"), neg, sizeof neg);
  CHECK(hr_cancel_create(&cancel));
  hr_cancel_trigger(cancel);
  const hr_limits limits = {.struct_size = sizeof limits, .cancel = cancel};
  FAILS(hr_model_convert(env, in_folder(folder, "neg.onnx"), "never.hrg", NULL, &limits, NULL),
        HR_CANCELLED, "");
  hr_cancel_release(cancel);
  remove_folder(folder);
}

const test tests[] = {{"converts and runs", converts_and_runs},
                      {"says what is wrong", says_what_is_wrong},
                      {"ends if it is cancelled", ends_if_it_is_cancelled},
                      {NULL, NULL}};
