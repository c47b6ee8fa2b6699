/* Folders of images as data sets; the decoder is the plugin libheadrace_images.so. */
#include <sys/stat.h>

#include "support.h"

/* clang-format off */
/* 2 x 2 pixels: red, green; blue, white. */
static const unsigned char kPng[] = {
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 2, 0, 0, 0, 2, 8, 2,
    0, 0, 0, 253, 212, 154, 115, 0, 0, 0, 18, 73, 68, 65, 84, 120, 218, 99, 248, 207, 192, 192,
    0, 194, 12, 255, 129, 0, 0, 31, 238, 5, 251, 241, 171, 186, 119, 0, 0, 0, 0, 73, 69, 78, 68,
    174, 66, 96, 130};
/* The same, but it says that it has 20000 x 20000. */
static const unsigned char kLie[] = {
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 78, 32, 0, 0, 78, 32, 8,
    2, 0, 0, 0, 108, 18, 209, 110, 0, 0, 0, 18, 73, 68, 65, 84, 120, 218, 99, 248, 207, 192,
    192, 0, 194, 12, 255, 129, 0, 0, 31, 238, 5, 251, 241, 171, 186, 119, 0, 0, 0, 0, 73, 69,
    78, 68, 174, 66, 96, 130};
/* The same, but it says that it has 4 x 4. */
static const unsigned char kSmallLie[] = {
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 4, 0, 0, 0, 4, 8, 2,
    0, 0, 0, 38, 147, 9, 41, 0, 0, 0, 18, 73, 68, 65, 84, 120, 218, 99, 248, 207, 192, 192, 0,
    194, 12, 255, 129, 0, 0, 31, 238, 5, 251, 241, 171, 186, 119, 0, 0, 0, 0, 73, 69, 78, 68,
    174, 66, 96, 130};
/* 8 x 8 pixels of the color 200, 100, 50, by libjpeg. */
static const unsigned char kJpeg[] = {
    255, 216, 255, 219, 0, 67, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 255, 219, 0, 67, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 255, 192, 0, 17, 8, 0, 8, 0,
    8, 3, 1, 34, 0, 2, 17, 1, 3, 17, 1, 255, 196, 0, 21, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 6, 255, 196, 0, 20, 16, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    255, 196, 0, 20, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 255, 196, 0, 20, 17,
    1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 218, 0, 12, 3, 1, 0, 2, 17, 3, 17,
    0, 63, 0, 159, 0, 87, 155, 7, 255, 217};
/* clang-format on */

static void put(const char* path, const unsigned char* bytes, size_t count) {
  FILE* file = fopen(path, "wb");
  EXPECT(file != NULL && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
}

static const char* address(const char* folder, const char* place, const char* keys) {
  static char uri[8192];
  snprintf(uri, sizeof uri, "images:%s%s?batch=8%s", folder, place, keys);
  return uri;
}

/* Opens the data set and reads its only batch. */
static void read_batch(hr_env* env, const char* uri, hr_tensor** batch) {
  hr_dataset* data;
  CHECK(hr_dataset_open(env, uri, &data));
  CHECK(hr_dataset_next(data, NULL, batch));
  hr_dataset_release(data);
}

static void expect_failure(hr_env* env, const char* uri, hr_code code, const char* words) {
  hr_dataset* data;
  hr_tensor* batch[2];
  hr_status* failure = hr_dataset_open(env, uri, &data);
  if (failure == NULL) {
    failure = hr_dataset_next(data, NULL, batch);
    hr_dataset_release(data);
  }
  FAILS(failure, code, words);
}

static void classes(hr_env* env) {
  char* folder = make_folder();
  char place[8192];
  hr_tensor* batch[2];
  EXPECT(mkdir(in_folder(folder, "cat"), 0777) == 0 && mkdir(in_folder(folder, "dog"), 0777) == 0);
  snprintf(place, sizeof place, "%s", in_folder(folder, "dog"));
  put(in_folder(place, "a.png"), kPng, sizeof kPng);
  snprintf(place, sizeof place, "%s", in_folder(folder, "cat"));
  put(in_folder(place, "b.JPG"), kJpeg, sizeof kJpeg);
  put(in_folder(place, "notes.txt"), kPng, 4);
  read_batch(env, address(folder, "", "&size=2&raw=1"), batch);
  const unsigned char* pixels = hr_tensor_data(batch[0]);
  const int64_t* labels = hr_tensor_data(batch[1]);
  EXPECT(hr_tensor_elements(batch[0]) == 2 * 3 * 2 * 2 && labels[0] == 0 && labels[1] == 1);
  EXPECT(abs(pixels[0] - 200) < 4 && abs(pixels[4] - 100) < 4 && abs(pixels[8] - 50) < 4);
  const unsigned char planes[12] = {255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255};
  EXPECT(memcmp(pixels + 12, planes, sizeof planes) == 0);
  hr_tensor_release(batch[0]);
  hr_tensor_release(batch[1]);
  remove_folder(folder);
}

static void layouts(hr_env* env) {
  char* folder = make_folder();
  hr_tensor* batch[1];
  put(in_folder(folder, "a.png"), kPng, sizeof kPng);
  read_batch(env, address(folder, "", "&raw=1&channels=bgr&layout=nhwc"), batch);
  const unsigned char bgr[12] = {0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255};
  EXPECT(memcmp(hr_tensor_data(batch[0]), bgr, sizeof bgr) == 0);
  hr_tensor_release(batch[0]);
  read_batch(env, address(folder, "/a.png", "&raw=1&channels=bgr&layout=nhwc"), batch);
  EXPECT(memcmp(hr_tensor_data(batch[0]), bgr, sizeof bgr) == 0);
  hr_tensor_release(batch[0]);
  read_batch(env, address(folder, "", "&channels=gray&normalize=0.5,0.5"), batch);
  EXPECT(hr_tensor_elements(batch[0]) == 4 && ((float*)hr_tensor_data(batch[0]))[3] == 1);
  hr_tensor_release(batch[0]);
  read_batch(env, address(folder, "", "&size=2x6&fit=pad&raw=1"), batch);
  const unsigned char* padded = hr_tensor_data(batch[0]);
  EXPECT(padded[0] == 0 && padded[1] == 0 && padded[2] == 255 && padded[4] == 0);
  hr_tensor_release(batch[0]);
  read_batch(env, address(folder, "", "&size=1x2&fit=crop&raw=1"), batch);
  EXPECT(hr_tensor_elements(batch[0]) == 6);
  hr_tensor_release(batch[0]);
  remove_folder(folder);
}

static void damaged(hr_env* env) {
  char* folder = make_folder();
  const char* file = in_folder(folder, "a.png");
  put(file, kLie, sizeof kLie);
  expect_failure(env, address(folder, "", ""), HR_DATA_LOSS, "a.png': the image announces 20000");
  put(file, kSmallLie, sizeof kSmallLie);
  expect_failure(env, address(folder, "", ""), HR_DATA_LOSS, "a.png'");
  for (size_t length = 0; length < sizeof kPng - 12; length += 3) {
    put(file, kPng, length);
    expect_failure(env, address(folder, "", "&size=2"),
                   length < 8 ? HR_UNIMPLEMENTED : HR_DATA_LOSS, "a.png'");
  }
  for (size_t length = 3; length < sizeof kJpeg; length += 7) {
    put(file, kJpeg, length);
    expect_failure(env, address(folder, "", "&size=2"), HR_DATA_LOSS, "a.png'");
  }
  put(file, kPng, sizeof kPng);
  put(in_folder(folder, "b.png"), kJpeg, sizeof kJpeg);
  expect_failure(env, address(folder, "", ""), HR_INVALID_ARGUMENT, "b.png': the image has 8 x 8");
  expect_failure(env, address(folder, "", "&size=0"), HR_INVALID_ARGUMENT, "pixels as 'size'");
  expect_failure(env, address(folder, "/none", ""), HR_NOT_FOUND, "none");
  remove_folder(folder);
}

const test tests[] = {
    {"classes", classes}, {"layouts", layouts}, {"damaged", damaged}, {NULL, NULL}};
