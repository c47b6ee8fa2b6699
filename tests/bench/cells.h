// Our side of a sweep: answers CASE/time (ms of a run), CASE/peak (bytes) and CASE/check (numbers
// in which all sides have to agree), where CASE is ROW/MODE/COLUMN. Only the model of the cell that
// was asked for last is in memory.
#pragma once

#include <stdio.h>

#include "side.h"

enum { kMostBatch = 64 };

// Makes a call of a session of the cell, all inputs bound.
typedef const char* bench_start(hr_env* env, const char* row, const char* mode, int batch,
                                hr_call** out);
// Runs the call of a cell of this mode and gives `count` numbers of its results.
typedef const char* bench_check(hr_call* call, const char* mode, int count, double* values);

// Serves until the input ends; the exit status of main.
int bench_serve_cells(bench_start* start, bench_check* check);

// The models and data that the peers' program has written to the scratch folder.

// The graph of ROW-MODE.onnx, simplified; its weights are constants, or else variables.
const char* bench_converted(hr_env* env, const char* row, const char* mode, int constants,
                            hr_graph** out);
// The first `batch` of the kMostBatch parts of ROW-WHAT.pb (along dimension 0).
const char* bench_examples(hr_env* env, const char* row, const char* what, int batch,
                           hr_tensor** out);
// Opens ROW-WHAT.txt.
const char* bench_open(const char* row, const char* what, FILE** out);
// A call of a new session of the graph, which is released.
const char* bench_call_of(hr_graph* graph, const char* signature, hr_call** out);
// Binds the tensor and releases it.
const char* bench_bind_tensor(hr_call* call, const char* name, hr_tensor* tensor);
// The i-th of `count` places among so many elements: each in a part of its own, and at another
// place there, as an even step would meet the same pixel of every image. harness/peer.py has the
// same.
int64_t bench_place(int64_t elements, int i, int count);
// `count` elements of an output of the last run, from first to last.
const char* bench_elements(hr_call* call, const char* output, int count, double* values);
