#include "raw.h"

#include <vector>

#include "convert.h"
#include "define.h"
#include "limits.h"
#include "memory.h"
#include "objects.h"
#include "operations.h"

namespace nb = nanobind;

namespace hr::python {

#include "generated/raw.inc"

}  // namespace hr::python
