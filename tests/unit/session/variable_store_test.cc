#include "runtime/session/variable_store.h"

#include <gtest/gtest.h>

namespace hr::session {
namespace {

// Counts how often its memory is given back.
class CountedBuffer final : public Buffer {
 public:
  explicit CountedBuffer(std::span<std::byte> memory)
      : Buffer(memory.data(), memory.size(), DeviceId{}, true) {}
  void Forget(size_t, size_t) const override { ++given_back; }
  mutable int given_back = 0;
};

TEST(VariableStore, GivesBackWhatIsNotReadAgain) {
  alignas(64) float numbers[2][16] = {};
  VariableStore store(3);  // the last one has no value yet
  std::shared_ptr<CountedBuffer> buffers[2];
  for (uint32_t i = 0; i < 2; ++i) {
    buffers[i] = std::make_shared<CountedBuffer>(std::as_writable_bytes(std::span(numbers[i])));
    store.SetInitial(i, Tensor::View(buffers[i], 0, DType::kFloat32, {16}).value());
  }
  store.NotReadAgain(numbers[1]);
  store.NotReadAgain(numbers[1] + 1);  // within a variable
  EXPECT_EQ(buffers[0]->given_back, 0);
  EXPECT_EQ(buffers[1]->given_back, 1);
  ASSERT_TRUE(store.MakeWritable(SystemAllocator(), 1).ok());
  buffers[1]->given_back = 0;
  store.NotReadAgain(store.Get(1).data());  // memory of the session's
  EXPECT_EQ(buffers[1]->given_back, 0);
}

}  // namespace
}  // namespace hr::session
