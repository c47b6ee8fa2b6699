// What the tests of this room share.
#pragma once

#include "tests/unit/data/test_support.h"

namespace hr::train {

using data::Contains;
using data::CountingAllocator;
using data::StatusText;
using data::TempFolder;
using data::WriteText;
using TrainTest = data::DataTest;

}  // namespace hr::train
