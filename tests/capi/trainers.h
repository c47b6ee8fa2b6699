/* A network in float64 that one process or ranks train, and what they compare. */
#ifndef HEADRACE_TESTS_CAPI_TRAINERS_H_
#define HEADRACE_TESTS_CAPI_TRAINERS_H_

#include "comm_support.h"
#include "models.h"

/* A variable of float64 with numbers that follow from `salt`, and its value. */
hr_value weight(hr_env* env, hr_graph* graph, const char* name, int64_t rows, int64_t columns,
                int salt);

/* Signature "train": x [batch, 5], y [batch, 1], rate; loss, the mean squared error of a network
 * with the weights w1, w2, w3. `layers`: of "dropout", "noise" (of every random operator) and
 * "norm" (batch normalization) those that it has, apart by spaces; and "batch=N" if its batches
 * have a fixed size. */
hr_graph* make_network(hr_env* env, const char* layers, const char* optimizer);

typedef struct trainer {
  hr_session* session;
  hr_call* call;
  double loss;
} trainer;
trainer open_trainer(hr_session* session);
/* The same network of all ranks, trained together. */
trainer open_mirrored(hr_env* env, hr_group* world, const char* layers, const char* optimizer,
                      const char* strategy);
void close_trainer(trainer* t);
/* A step on the examples from `first` on. */
hr_status* step(hr_env* env, trainer* t, int64_t first, int64_t rows);

/* Within 1e-10, relative where numbers are large. */
void expect_close(double a, double b);
/* A variable of float64 is close to the reference's; the bits are the same on all ranks. */
void expect_equal_variable(hr_session* session, hr_session* reference, const char* name,
                           hr_group* world);
/* All variables of float64 are close to those of the reference that have their name, and the same
 * bits on all ranks. */
void expect_equal_variables(hr_session* session, hr_session* reference, hr_group* world);

#endif
