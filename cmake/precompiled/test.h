// What most tests over GoogleTest include, compiled once; see room.h.
#pragma once

#include <gtest/gtest.h>

#include <random>

#include "cmake/precompiled/room.h"
