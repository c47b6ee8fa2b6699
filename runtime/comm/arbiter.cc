#include "runtime/comm/arbiter.h"

#include <charconv>

#include "runtime/base/errors.h"

namespace hr::comm {
namespace {

// Takes a decimal number and the space behind it off `text`.
bool TakeNumber(std::string_view& text, int& number) {
  auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || at == text.data() + text.size() || *at != ' ') return false;
  text.remove_prefix(at - text.data() + 1);
  return true;
}

class StoreArbiter final : public Arbiter {
 public:
  StoreArbiter(Store& store, std::string key) : store_(store), key_(std::move(key)) {}

  Result<Verdict> Decide(const Verdict& accusation, const CallLimits& limits) override {
    Result<std::string> held =
        store_.CompareAndSwap(key_, std::nullopt, accusation.Encode(), limits);
    if (!held.ok()) return Lost(held.status());
    return Verdict::Decode(*held);
  }
  Result<std::optional<Verdict>> Look(const CallLimits& limits) override {
    Result<std::optional<std::string>> held = store_.TryGet(key_, limits);
    if (!held.ok()) return Lost(held.status());
    if (!held->has_value()) return std::optional<Verdict>();
    HR_ASSIGN_OR_RETURN(Verdict verdict, Verdict::Decode(**held));
    return std::optional<Verdict>(std::move(verdict));
  }

 private:
  Status Lost(const Status& status) const {
    return ArbiterLost("the group's arbiter, the ", store_.Describe(),
                       ", cannot be reached, so start all ranks again: ", status.message());
  }

  Store& store_;
  const std::string key_;
};

}  // namespace

std::string Verdict::Encode() const {
  return Cat(culprit, " ", static_cast<int>(code), " ", cause);
}

Result<Verdict> Verdict::Decode(std::string_view text) {
  Verdict verdict;
  int code = 0;
  if (!TakeNumber(text, verdict.culprit) || !TakeNumber(text, code) || code <= 0 ||
      code > static_cast<int>(Code::kDeviceLost)) {
    return DataLoss("the group's verdict cannot be read");
  }
  verdict.code = static_cast<Code>(code);
  verdict.cause = text;
  return verdict;
}

Status EndedBy(const MeshOptions& options, const Verdict& verdict) {
  return Status(verdict.code,
                Cat("group '", options.name, "', epoch ", options.epoch, ", ended because of rank ",
                    verdict.culprit, ": ", verdict.cause));
}

std::unique_ptr<Arbiter> CreateStoreArbiter(Store& store, std::string key) {
  return std::make_unique<StoreArbiter>(store, std::move(key));
}

}  // namespace hr::comm
