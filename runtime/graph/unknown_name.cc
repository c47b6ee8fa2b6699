#include "runtime/graph/unknown_name.h"

#include "runtime/base/errors.h"

namespace hr::graph {

Status UnknownName(Literal owner, Literal what, std::string_view name,
                   std::span<const std::string> known) {
  std::string_view close = ClosestWord(name, known);
  std::string hint = !close.empty()     ? Cat("; did you mean '", close, "'?")
                     : known.size() < 9 ? Cat("; there are", ListText(known))
                                        : Cat("; there are ", known.size(), " others");
  return NotFound("the ", owner, " has no ", what, " '", name, "'", hint);
}

}  // namespace hr::graph
