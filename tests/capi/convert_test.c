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
  EXPECT(strstr(hr_text_data(report), "simplified") == NULL);
  hr_text_release(report);
  const hr_convert_options less = {.struct_size = sizeof less, .simplify = 1};
  CHECK(hr_model_convert(env, in_folder(folder, "neg.onnx"), path, &less, NULL, &report));
  EXPECT(strstr(hr_text_data(report), "\"simplified\":{\"nodes\":1,") != NULL);
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

/* A TensorProto of the package onnx: numpy_helper.from_array(numpy.array([1, -2], numpy.int32),
 * "t"). */
static const unsigned char two_numbers[] = {0x08, 0x02, 0x10, 0x06, 0x42, 0x01, 0x74, 0x4a, 0x08,
                                            0x01, 0x00, 0x00, 0x00, 0xfe, 0xff, 0xff, 0xff};

static void reads_tensors(hr_env* env) {
  char* folder = make_folder();
  hr_tensor* tensor;
  hr_text* name;
  FAILS(hr_tensor_load(env, "tensor.png", &tensor, NULL), HR_INVALID_ARGUMENT, "there is .pb");
  if (!has_converter(env)) return remove_folder(folder);
  write_file(in_folder(folder, "t.pb"), two_numbers, sizeof two_numbers);
  CHECK(hr_tensor_load(env, in_folder(folder, "t.pb"), &tensor, &name));
  EXPECT(strcmp(hr_text_data(name), "t") == 0);
  EXPECT(hr_tensor_dtype(tensor) == HR_INT32 && hr_tensor_rank(tensor) == 1);
  EXPECT(((const int32_t*)hr_tensor_data(tensor))[1] == -2);
  hr_text_release(name);
  hr_tensor_release(tensor);
  write_file(in_folder(folder, "cut.pb"), two_numbers, 12);
  FAILS(hr_tensor_load(env, in_folder(folder, "cut.pb"), &tensor, NULL), HR_INVALID_ARGUMENT,
        "cut.pb");
  remove_folder(folder);
}

static void writes_what_it_has_read(hr_env* env) {
  char* folder = make_folder();
  char first[512], second[512];
  hr_text* report;
  if (!has_converter(env)) return remove_folder(folder);
  snprintf(first, sizeof first, "%s", in_folder(folder, "neg.onnx"));
  write_file(first, neg, sizeof neg);
  CHECK(convert(env, first, in_folder(folder, "neg.hrg")));
  snprintf(second, sizeof second, "%s", in_folder(folder, "again.onnx"));
  CHECK(hr_model_export(env, in_folder(folder, "neg.hrg"), second, NULL, NULL, &report));
  EXPECT(strstr(hr_text_data(report), "\"Neg\":1") != NULL);
  EXPECT(strstr(hr_text_data(report), "\"ai.onnx\":17") != NULL);
  hr_text_release(report);
  CHECK(convert(env, second, in_folder(folder, "again.hrg")));
  const hr_export_options options = {.struct_size = sizeof options, .signature = "train"};
  FAILS(hr_model_export(env, in_folder(folder, "neg.hrg"), second, &options, NULL, NULL),
        HR_NOT_FOUND, "no signature 'train'");
  FAILS(hr_model_export(env, in_folder(folder, "neg.hrg"), "neg.pt", NULL, NULL, NULL),
        HR_INVALID_ARGUMENT, "there is .onnx");
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
  FAILS(hr_model_export(env, "neg.hrg", "never.onnx", NULL, &limits, NULL), HR_CANCELLED, "");
  hr_cancel_release(cancel);
  remove_folder(folder);
}

const test tests[] = {{"converts and runs", converts_and_runs},
                      {"says what is wrong", says_what_is_wrong},
                      {"reads tensors", reads_tensors},
                      {"writes what it has read", writes_what_it_has_read},
                      {"ends if it is cancelled", ends_if_it_is_cancelled},
                      {NULL, NULL}};
