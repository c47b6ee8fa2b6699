// Groups of trainings that go on when ranks die or come.
#pragma once

#include <memory>
#include <string>

#include "headrace/comm.h"
#include "runtime/session/session.h"
#include "runtime/train/elastic.h"

namespace hr::capi {

// The handle outlives the object, and stands for the latest group, too. UNIMPLEMENTED in a build
// without communication.
Result<std::shared_ptr<train::ElasticGroup>> ElasticGroupOf(
    hr_group* group, std::shared_ptr<session::Session> session, std::string name);

}  // namespace hr::capi
