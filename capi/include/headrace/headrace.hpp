// A header-only C++17 wrapper of the C interface, with RAII handles and exceptions. Each class owns
// one C handle and is movable; get() returns the handle, for C functions that have no wrapper. A
// failure is thrown as hr::Error. C functions that create nothing and cannot fail (hr_version_text,
// hr_dtype_name) are called directly. Ownership, threads and failures are those of the C functions.
//
//   hr::Env env;
//   hr::Model model = hr::Model::load(env, "lenet.hrg");
//   hr::Session session(model);
//   hr::Dataset data(env, "idx:fashion-mnist/train?batch=64&shuffle=1&seed=7");
//   hr::Call step(session, "train");
//   float loss;
//   step.bind(data).bind("learning_rate", 0.05).output("loss", &loss, sizeof loss);
//   while (!data.done()) step.run();
#ifndef HEADRACE_HEADRACE_HPP_
#define HEADRACE_HEADRACE_HPP_

#include "headrace/cpp/base.hpp"
#include "headrace/cpp/comm.hpp"
#include "headrace/cpp/dataset.hpp"
#include "headrace/cpp/env.hpp"
#include "headrace/cpp/graph.hpp"
#include "headrace/cpp/model.hpp"
#include "headrace/cpp/operator.hpp"
#include "headrace/cpp/queue.hpp"
#include "headrace/cpp/session.hpp"
#include "headrace/cpp/tensor.hpp"
#include "headrace/cpp/train.hpp"
#include "headrace/headrace.h"

#endif  // HEADRACE_HEADRACE_HPP_
