/* Event files: what is refused, and that it leaves the file as it was. What TensorBoard reads in
 * them is the business of tests/train/tensorboard_test.py. */
#include <dirent.h>
#include <sys/stat.h>

#include "models.h"

/* Of all files in the folder. */
static long long bytes_in(const char* folder) {
  DIR* directory = opendir(folder);
  struct dirent* entry;
  struct stat file;
  long long bytes = 0;
  EXPECT(directory != NULL);
  while ((entry = readdir(directory)) != NULL) {
    EXPECT(stat(in_folder(folder, entry->d_name), &file) == 0);
    if (S_ISREG(file.st_mode)) bytes += file.st_size;
  }
  closedir(directory);
  return bytes;
}

static hr_tensor* zeros(hr_env* env, hr_dtype dtype, size_t rank, const int64_t* dims) {
  hr_tensor* tensor;
  CHECK(hr_tensor_create(env, dtype, rank, dims, &tensor));
  memset(hr_tensor_data(tensor), 0, hr_tensor_bytes(tensor));
  return tensor;
}

static void refuse_images(hr_env* env, hr_summary* events) {
  const struct {
    hr_dtype dtype;
    size_t rank;
    int64_t dims[5], most;
    const char* words;
  } wrong[] = {
      {HR_UINT8, 2, {8, 8}, 1, "with 1 to 4 channels, got number 0 of uint8[8, 8]"},
      {HR_UINT8, 5, {1, 1, 1, 8, 8}, 1, "expected an image as a contiguous tensor"},
      {HR_UINT8, 4, {1, 5, 8, 8}, 1, "with 1 to 4 channels, got number 0 of uint8[1, 5, 8, 8]"},
      {HR_UINT8, 4, {1, 0, 8, 8}, 1, "with 1 to 4 channels"},
      {HR_UINT8, 3, {1, 8, 0}, 1, "got number 0 of uint8[1, 8, 0]"},
      {HR_UINT8, 4, {0, 1, 8, 8}, 1, "expected at least one image for 'pictures'"},
      {HR_UINT8, 4, {1, 1, 8, 8}, 0, "expected at least one image for 'pictures'"},
      {HR_UINT8, 4, {1, 1, 8, 8}, -1, "expected at least one image for 'pictures'"},
      {HR_INT64,
       4,
       {1, 1, 8, 8},
       1,
       "expected an image of uint8, float32 or float64, got int64[1, 1, 8, 8]"},
      {HR_FLOAT16, 3, {1, 8, 8}, 1, "got float16[1, 8, 8]"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    hr_tensor* images = zeros(env, wrong[i].dtype, wrong[i].rank, wrong[i].dims);
    FAILS(hr_summary_images(events, "pictures", 1, images, wrong[i].most), HR_INVALID_ARGUMENT,
          wrong[i].words);
    hr_tensor_release(images);
  }
}

/* The second of two columns, a view with gaps. */
static hr_tensor* column(hr_env* env) {
  const int64_t dims[2] = {3, 2};
  hr_tensor *whole = zeros(env, HR_FLOAT32, 2, dims), *out;
  hr_dlpack* managed;
  CHECK(hr_tensor_to_dlpack(whole, &managed));
  managed->dl_tensor.ndim = 1; /* of the three rows; the stride of a row stays */
  managed->dl_tensor.byte_offset = sizeof(float);
  CHECK(hr_tensor_from_dlpack(managed, &out));
  hr_tensor_release(whole);
  return out;
}

static void refuse_histograms(hr_env* env, hr_summary* events) {
  const int64_t three = 3;
  hr_tensor* halves = zeros(env, HR_FLOAT16, 1, &three);
  hr_tensor* strided = column(env);
  FAILS(hr_summary_histogram(events, "weights", 1, halves), HR_INVALID_ARGUMENT,
        "expected float32, float64, int64, int32 or uint8 for a histogram, got float16[3]");
  FAILS(hr_summary_histogram(events, "weights", 1, strided), HR_INVALID_ARGUMENT,
        "a histogram needs a contiguous tensor");
  FAILS(hr_summary_histogram(events, "weights", 1, NULL), HR_INVALID_ARGUMENT, "'values'");
  hr_tensor_release(strided);
  hr_tensor_release(halves);
}

static void test_refused(hr_env* env) {
  const int64_t none = 0;
  char* folder = make_folder();
  hr_summary* events;
  CHECK(hr_summary_open(folder, &events));
  const long long empty = bytes_in(folder);
  EXPECT(empty > 0); /* the version */
  refuse_images(env, events);
  refuse_histograms(env, events);
  hr_tensor* nothing = zeros(env, HR_FLOAT32, 1, &none);
  FAILS(hr_summary_scalar(events, "", 1, 1), HR_INVALID_ARGUMENT,
        "the tag of a summary must be UTF-8 and not empty");
  FAILS(hr_summary_histogram(events, "\xff", 1, nothing), HR_INVALID_ARGUMENT, "tag of a summary");
  FAILS(hr_summary_text(events, "notes", 1, "\xff"), HR_INVALID_ARGUMENT,
        "the text of 'notes' must be UTF-8");
  FAILS(hr_summary_text(events, NULL, 1, "text"), HR_INVALID_ARGUMENT, "'tag'");
  FAILS(hr_summary_graph(events, NULL), HR_INVALID_ARGUMENT, "'model'");
  CHECK(hr_summary_flush(events));
  EXPECT(bytes_in(folder) == empty);
  CHECK(hr_summary_scalar(events, "loss", 1, 1)); /* and it works on */
  CHECK(hr_summary_flush(events));
  EXPECT(bytes_in(folder) > empty);
  hr_tensor_release(nothing);
  hr_summary_release(events);
  remove_folder(folder);
}

static void test_folders(hr_env* env) {
  char* folder = make_folder();
  char below[8192];
  hr_summary *first, *second;
  (void)env;
  snprintf(below, sizeof below, "%s", in_folder(folder, "a/b"));
  CHECK(hr_summary_open(below, &first)); /* missing ones are made */
  CHECK(hr_summary_open(below, &second));
  EXPECT(count_entries(below) == 4); /* a file for each, with "." and ".." */
  hr_summary_release(first);
  hr_summary_release(second);
  FILE* file = fopen(in_folder(folder, "file"), "w");
  EXPECT(file != NULL && fclose(file) == 0);
  snprintf(below, sizeof below, "%s", in_folder(folder, "file/events"));
  FAILS(hr_summary_open(below, &first), HR_NOT_FOUND, "Not a directory");
  FAILS(hr_summary_open("/proc/events", &first), HR_NOT_FOUND, "/proc/events");
  remove_folder(folder);
}

/* Released while it still holds events in memory: they are in the file then. */
static void test_release_flushes(hr_env* env) {
  char* folder = make_folder();
  hr_summary* events;
  (void)env;
  CHECK(hr_summary_open(folder, &events));
  CHECK(hr_summary_scalar(events, "a", 1, 1));
  CHECK(hr_summary_flush(events));
  const long long before = bytes_in(folder);
  CHECK(hr_summary_scalar(events, "a", 2, 1));
  EXPECT(bytes_in(folder) == before);
  hr_summary_release(events);
  EXPECT(bytes_in(folder) > before);
  remove_folder(folder);
}

const test tests[] = {{"refused", test_refused},
                      {"folders", test_folders},
                      {"release flushes", test_release_flushes},
                      {NULL, NULL}};
