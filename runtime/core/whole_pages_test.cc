#include "runtime/core/whole_pages.h"

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace belay {
namespace {

TEST(WholePagesTest, ExcludesPartialPages) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<std::byte> memory(6 * page);
  const size_t skipped = (page - reinterpret_cast<uintptr_t>(memory.data()) % page) % page;
  // Five pages that begin at a page.
  const auto bytes = absl::MakeConstSpan(memory).subspan(skipped, 5 * page);
  const auto expect = [&](size_t first, size_t size, size_t pages_first, size_t pages) {
    const absl::Span<const std::byte> whole = WholePages(bytes.subspan(first, size));
    EXPECT_EQ(whole.size(), pages * page);
    if (pages > 0) EXPECT_EQ(whole.data(), bytes.data() + pages_first * page);
  };
  expect(0, 5 * page, 0, 5);
  expect(1, 5 * page - 1, 1, 4);
  expect(0, 5 * page - 1, 0, 4);
  expect(1, 2 * page - 1, 1, 1);
  expect(1, 2 * page - 2, 1, 0);
  expect(1, 10, 0, 0);
  EXPECT_TRUE(WholePages({}).empty());
}

}  // namespace
}  // namespace belay
