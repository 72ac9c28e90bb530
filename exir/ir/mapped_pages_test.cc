#include "exir/ir/mapped_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

class MappedPagesTest : public TestInDirectory {
 protected:
  const size_t page_ = static_cast<size_t>(::sysconf(_SC_PAGESIZE));

  std::shared_ptr<const MappedFile> Map(const std::string& content) {
    return MappedFile::Open(Write("archive", content)).value();
  }
  // Bytes of the range that the process has read, by /proc/self/smaps.
  size_t Resident(absl::Span<const std::byte> bytes) {
    const std::string maps = Read("/proc/self/smaps");
    char address[40];
    std::snprintf(address, sizeof address, "%lx-", reinterpret_cast<uintptr_t>(bytes.data()));
    const size_t mapping = maps.find(address);
    EXPECT_NE(mapping, std::string::npos);
    return std::stoul(maps.substr(maps.find("\nRss:", mapping) + 5)) * 1024;
  }
  static size_t Sum(absl::Span<const std::byte> bytes) {
    size_t sum = 0;
    for (const std::byte b : bytes) sum += static_cast<size_t>(b);
    return sum;
  }
};

TEST_F(MappedPagesTest, ReleasedPagesLoadAgain) {
  const std::string content(64 * page_, 3);
  const auto file = Map(content);
  const std::shared_ptr<const void> owner = OwnerOfMapping(file);
  EXPECT_EQ(Sum(file->bytes()), content.size() * 3);
  EXPECT_EQ(Resident(file->bytes()), content.size());
  // Pages that are only partly inside stay.
  ReleasePages(file->bytes().subspan(1, 10 * page_));
  EXPECT_EQ(Resident(file->bytes()), content.size() - 9 * page_);
  ReleasePages(file->bytes().subspan(1, 10));
  EXPECT_EQ(Resident(file->bytes()), content.size() - 9 * page_);
  ReleasePages(file->bytes());
  EXPECT_EQ(Resident(file->bytes()), 0u);
  EXPECT_EQ(Sum(file->bytes()), content.size() * 3);
}

TEST_F(MappedPagesTest, OtherMemoryIsUnchanged) {
  std::vector<std::byte> bytes(8 * page_, std::byte{5});
  ReleasePages(bytes);
  EXPECT_EQ(Sum(bytes), bytes.size() * 5);
  ReleasePages({});
  const auto file = Map(std::string(8 * page_, 3));
  EXPECT_EQ(Sum(file->bytes()), 8 * page_ * 3);
  ReleasePages(file->bytes());  // not an owner's
  EXPECT_EQ(Resident(file->bytes()), 8 * page_);
  OwnerOfMapping(file).reset();  // no longer an owner's
  ReleasePages(file->bytes());
  EXPECT_EQ(Resident(file->bytes()), 8 * page_);
}

}  // namespace
}  // namespace belay::exir
