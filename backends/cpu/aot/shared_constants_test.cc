#include "backends/cpu/aot/shared_constants.h"

#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/sha256.h"

namespace belay::cpu {
namespace {

TEST(SharedConstantsTest, EqualBytesShareTheFirstStorage) {
  SharedConstants constants;
  const exir::Storage a = exir::Storage::Own(std::vector<std::byte>(100, std::byte{1})),
                      b = exir::Storage::Own(std::vector<std::byte>(100, std::byte{1})),
                      c = exir::Storage::Own(std::vector<std::byte>(100, std::byte{2}));
  const SharedConstants::Entry first = constants.Add(a), again = constants.Add(b),
                               other = constants.Add(c);
  EXPECT_EQ(first.bytes.bytes.data(), a.bytes.data());
  EXPECT_EQ(again.bytes.bytes.data(), a.bytes.data());
  EXPECT_EQ(other.bytes.bytes.data(), c.bytes.data());
  EXPECT_EQ(first.sha256, Sha256(a.bytes));
  EXPECT_EQ(again.sha256, first.sha256);
  EXPECT_NE(other.sha256, first.sha256);
}

}  // namespace
}  // namespace belay::cpu
