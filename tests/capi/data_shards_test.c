/* Four ranks train on shards of one data set; three go on from their checkpoint. Together they see
 * every example once, in the order of a single rank. */
#include "models.h"

enum { EXAMPLES = 23, EPOCHS = 2, BATCH = 2 };

/* Opens a shard of a data set whose examples have the labels 0 to EXAMPLES - 1. */
typedef hr_dataset* (*opener)(hr_env* env, const char* folder, int32_t index, int32_t count,
                              int drop);

/* ---- Files ---- */

static void put_idx(const char* path, const unsigned char* header, size_t header_bytes,
                    size_t bytes) {
  FILE* file = fopen(path, "wb");
  EXPECT(file != NULL && fwrite(header, 1, header_bytes, file) == header_bytes);
  for (size_t i = 0; i < bytes; ++i) fputc((int)i, file);
  EXPECT(fclose(file) == 0);
}

static void put_files(const char* folder) {
  const unsigned char images[16] = {0, 0, 8, 3, 0, 0, 0, EXAMPLES, 0, 0, 0, 1, 0, 0, 0, 1};
  const unsigned char labels[8] = {0, 0, 8, 1, 0, 0, 0, EXAMPLES};
  put_idx(in_folder(folder, "train-images-idx3-ubyte"), images, sizeof images, EXAMPLES);
  put_idx(in_folder(folder, "train-labels-idx1-ubyte"), labels, sizeof labels, EXAMPLES);
}

static hr_dataset* open_files(hr_env* env, const char* folder, int32_t index, int32_t count,
                              int drop) {
  char uri[8192];
  hr_dataset* data;
  snprintf(uri, sizeof uri,
           "idx:%s/train?batch=%d&shuffle=1&seed=9&repeat=%d&prefetch=2&shard=%d/%d"
           "&drop_remainder=%d",
           folder, BATCH, EPOCHS, index, count, drop);
  CHECK(hr_dataset_open(env, uri, &data));
  return data;
}

/* ---- Tensors ---- */

static hr_dataset_options options_of(int32_t index, int32_t count, int drop) {
  return (hr_dataset_options){.struct_size = sizeof(hr_dataset_options),
                              .batch = BATCH,
                              .repeat = EPOCHS,
                              .drop_remainder = drop,
                              .prefetch = 2,
                              .shard_index = index,
                              .shard_count = count};
}

static hr_dataset* open_tensors(hr_env* env, const char* folder, int32_t index, int32_t count,
                                int drop) {
  const char* names[2] = {"images", "labels"};
  const int64_t dims[1] = {EXAMPLES};
  hr_dataset_options options = options_of(index, count, drop);
  hr_tensor* labels;
  hr_dataset* data;
  (void)folder;
  options.shuffle = 1;
  options.seed = 9;
  CHECK(hr_tensor_create(env, HR_INT64, 1, dims, &labels));
  for (int64_t i = 0; i < EXAMPLES; ++i) ((int64_t*)hr_tensor_data(labels))[i] = i;
  const hr_tensor* both[2] = {labels, labels};
  CHECK(hr_dataset_from_tensors(env, 2, names, both, &options, &data));
  hr_tensor_release(labels);
  return data;
}

/* ---- Functions of the host ---- */

typedef struct tape {
  int64_t epoch, at;
} tape;

/* The order of an epoch is the order of the numbers, but each epoch begins with another. */
static hr_status* next_batch(void* context, int64_t examples, size_t count, hr_tensor** out,
                             int32_t* out_end) {
  tape* t = context;
  *out_end = t->at == EXAMPLES;
  if (t->at == EXAMPLES) return NULL;
  EXPECT(count == 2 && examples <= BATCH && t->at + examples <= EXAMPLES);
  for (int64_t i = 0; i < examples; ++i) {
    ((int64_t*)hr_tensor_data(out[0]))[i] = 0;
    ((int64_t*)hr_tensor_data(out[1]))[i] = (t->at++ + 5 * t->epoch) % EXAMPLES;
  }
  return NULL;
}

static hr_status* seek(void* context, int64_t epoch, int64_t first_example) {
  *(tape*)context = (tape){epoch, first_example};
  return NULL;
}

static hr_dataset* open_host(hr_env* env, const char* folder, int32_t index, int32_t count,
                             int drop) {
  const int64_t dims[1] = {BATCH};
  const hr_dataset_field fields[2] = {{sizeof *fields, "images", HR_INT64, 1, dims},
                                      {sizeof *fields, "labels", HR_INT64, 1, dims}};
  const hr_dataset_callbacks callbacks = {.struct_size = sizeof callbacks,
                                          .context = calloc(1, sizeof(tape)),
                                          .next = next_batch,
                                          .seek = seek,
                                          .release = free,
                                          .examples = EXAMPLES};
  const hr_dataset_options options = options_of(index, count, drop);
  hr_dataset* data;
  (void)folder;
  CHECK(hr_dataset_from_callbacks(env, &callbacks, 2, fields, &options, &data));
  return data;
}

/* ---- Training together ---- */

typedef struct course {
  int64_t labels[EPOCHS * EXAMPLES];
  int drawn;
} course;

/* Appends the next batch's labels. Returns how many there were; -1: the pass is over. */
static int64_t draw(hr_dataset* data, course* seen) {
  hr_tensor* batch[2];
  if (hr_dataset_done(data, NULL)) return -1;
  CHECK(hr_dataset_next(data, NULL, batch));
  const int64_t count = hr_tensor_elements(batch[1]);
  EXPECT(count <= BATCH && seen->drawn + count <= EPOCHS * EXAMPLES);
  memcpy(seen->labels + seen->drawn, hr_tensor_data(batch[1]), (size_t)count * sizeof(int64_t));
  seen->drawn += (int)count;
  hr_tensor_release(batch[0]);
  hr_tensor_release(batch[1]);
  return count;
}

static void expect_same_position(const hr_dataset* a, const hr_dataset* b) {
  hr_text* texts[2];
  CHECK(hr_dataset_position(a, &texts[0]));
  CHECK(hr_dataset_position(b, &texts[1]));
  EXPECT(strcmp(hr_text_data(texts[0]), hr_text_data(texts[1])) == 0);
  hr_text_release(texts[0]);
  hr_text_release(texts[1]);
}

/* Some ranks restore the checkpoint in `folder` if there is one, and draw `batches` batches each
 * (-1: all). The last one saves. */
static void go_on(hr_env* env, hr_session* session, opener open, const char* folder, int count,
                  int batches, course* seen) {
  hr_dataset* ranks[8] = {NULL};
  char checkpoints[4096];
  snprintf(checkpoints, sizeof checkpoints, "%s", in_folder(folder, "checkpoints"));
  for (int rank = 0; rank < count; ++rank) {
    ranks[rank] = open(env, folder, rank, count, 0);
    const hr_checkpoint_options options = {.struct_size = sizeof options, .dataset = ranks[rank]};
    if (seen->drawn > 0) CHECK(hr_session_restore(session, checkpoints, &options, NULL, NULL));
  }
  for (int64_t drawn = 0; batches != 0 && drawn >= 0; --batches) {
    for (int rank = 0; rank < count; ++rank) {
      drawn = draw(ranks[rank], seen);
      if (rank > 0) expect_same_position(ranks[0], ranks[rank]);
    }
  }
  const hr_checkpoint_options options = {.struct_size = sizeof options,
                                         .dataset = ranks[count - 1]};
  CHECK(hr_session_save(session, checkpoints, &options, NULL));
  for (int rank = 0; rank < count; ++rank) hr_dataset_release(ranks[rank]);
}

static void test_ranks(hr_env* env, opener open) {
  char *folder = make_folder(), *other = make_folder();
  course expected = {.drawn = 0}, seen = {.drawn = 0};
  hr_model* model = make_mlp(env);
  hr_session* session;
  CHECK(hr_session_create(model, NULL, NULL, &session));
  put_files(folder);
  put_files(other);
  go_on(env, session, open, other, 1, -1, &expected);
  EXPECT(expected.drawn == EPOCHS * EXAMPLES);
  go_on(env, session, open, folder, 4, 2, &seen); /* in the midst of the first epoch */
  EXPECT(seen.drawn == 16);
  go_on(env, session, open, folder, 3, 3, &seen); /* beyond its end, where one gets nothing */
  EXPECT(seen.drawn == EXAMPLES + 6);
  go_on(env, session, open, folder, 5, -1, &seen);
  EXPECT(seen.drawn == EPOCHS * EXAMPLES);
  EXPECT(memcmp(expected.labels, seen.labels, sizeof seen.labels) == 0);
  hr_session_release(session);
  hr_model_release(model);
  remove_folder(folder);
  remove_folder(other);
}

/* The same with data sets that become shards of another number, in the midst of their passes. */
static void test_resharded(hr_env* env, opener open) {
  static const int counts[3] = {4, 3, 5}, batches[3] = {2, 3, -1};
  char* folder = make_folder();
  course expected = {.drawn = 0}, seen = {.drawn = 0};
  hr_dataset* ranks[5];
  hr_text* position;
  put_files(folder);
  hr_dataset* whole = open(env, folder, 0, 1, 0);
  while (draw(whole, &expected) >= 0) continue;
  for (int rank = 0; rank < 5; ++rank) ranks[rank] = open(env, folder, 0, 1, 0);
  for (int part = 0; part < 3; ++part) {
    CHECK(hr_dataset_position(ranks[0], &position));
    for (int rank = 0; rank < counts[part]; ++rank) {
      CHECK(hr_dataset_reshard(ranks[rank], rank, counts[part], NULL));
      CHECK(hr_dataset_seek(ranks[rank], hr_text_data(position), NULL));
    }
    hr_text_release(position);
    int64_t drawn = 0;
    for (int batch = 0; batch != batches[part] && drawn >= 0; ++batch) {
      for (int rank = 0; rank < counts[part]; ++rank) {
        hr_dataset_done(ranks[rank], NULL); /* which reads ahead */
        drawn = draw(ranks[rank], &seen);
        if (rank > 0) expect_same_position(ranks[0], ranks[rank]);
      }
    }
  }
  EXPECT(seen.drawn == EPOCHS * EXAMPLES);
  EXPECT(memcmp(expected.labels, seen.labels, sizeof seen.labels) == 0);
  FAILS(hr_dataset_reshard(ranks[0], 3, 3, NULL), HR_INVALID_ARGUMENT, "INDEX < COUNT");
  for (int rank = 0; rank < 5; ++rank) hr_dataset_release(ranks[rank]);
  hr_dataset_release(whole);
  remove_folder(folder);
}

/* With drop_remainder the last examples of an epoch are left out, by all. */
static void test_remainder(hr_env* env, opener open) {
  char* folder = make_folder();
  put_files(folder);
  for (int rank = 0; rank < 3; ++rank) {
    course seen = {.drawn = 0};
    hr_dataset* data = open(env, folder, rank, 3, 1);
    EXPECT(hr_dataset_batches(data) == 3);
    for (int batch = 0; batch < EPOCHS * 3; ++batch) EXPECT(draw(data, &seen) == BATCH);
    EXPECT(hr_dataset_done(data, NULL));
    hr_dataset_release(data);
  }
  remove_folder(folder);
}

static void test_files(hr_env* env) {
  test_ranks(env, open_files);
  test_resharded(env, open_files);
  test_remainder(env, open_files);
}

static void test_tensors(hr_env* env) {
  test_ranks(env, open_tensors);
  test_resharded(env, open_tensors);
  test_remainder(env, open_tensors);
}

static void test_host(hr_env* env) {
  test_ranks(env, open_host);
  test_resharded(env, open_host);
  test_remainder(env, open_host);
}

static void test_wrong_shards(hr_env* env) {
  const char* names[1] = {"x"};
  const int64_t dims[1] = {3};
  hr_tensor* x;
  hr_dataset* data;
  CHECK(hr_tensor_create(env, HR_INT64, 1, dims, &x));
  const hr_tensor* tensors[1] = {x};
  hr_dataset_options options = options_of(2, 2, 0);
  FAILS(hr_dataset_from_tensors(env, 1, names, tensors, &options, &data), HR_INVALID_ARGUMENT,
        "0 <= INDEX < COUNT, got 2/2");
  options.shard_count = 0;
  FAILS(hr_dataset_from_tensors(env, 1, names, tensors, &options, &data), HR_INVALID_ARGUMENT,
        "got 2/1");
  options.shard_index = 0;
  CHECK(hr_dataset_from_tensors(env, 1, names, tensors, &options, &data));
  hr_dataset_release(data);
  hr_tensor_release(x);
}

const test tests[] = {{"shards of files", test_files},
                      {"shards of tensors", test_tensors},
                      {"shards of a host's data", test_host},
                      {"wrong shards", test_wrong_shards},
                      {NULL, NULL}};
