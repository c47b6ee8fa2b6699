/* Headrace: an embeddable dataflow runtime that trains and serves. This header includes all others.
 */
#ifndef HEADRACE_HEADRACE_H_
#define HEADRACE_HEADRACE_H_

#include "headrace/base.h"
#include "headrace/comm.h"
#include "headrace/control.h"
#include "headrace/env.h"
#include "headrace/graph.h"
#include "headrace/model.h"
#include "headrace/operator.h"
#include "headrace/queue.h"
#include "headrace/session.h"
#include "headrace/tensor.h"
#include "headrace/train.h"
#include "headrace/training_graph.h"

#endif /* HEADRACE_HEADRACE_H_ */
