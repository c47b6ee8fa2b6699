#include "tools/headrace/library.h"

template class nlohmann::basic_json<nlohmann::ordered_map>;
