#include "exir/ir/mapped_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/sha256.h"
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
  ReleasePages(absl::Span<const std::byte>());
  const auto file = Map(std::string(8 * page_, 3));
  EXPECT_EQ(Sum(file->bytes()), 8 * page_ * 3);
  ReleasePages(file->bytes());  // not an owner's
  EXPECT_EQ(Resident(file->bytes()), 8 * page_);
  OwnerOfMapping(file).reset();  // no longer an owner's
  ReleasePages(file->bytes());
  EXPECT_EQ(Resident(file->bytes()), 8 * page_);
}

TEST_F(MappedPagesTest, FileBytesAreZeroAndLoadAgain) {
  const std::optional<FileBytes> file = CreateFileBytes(64 * page_);
  ASSERT_TRUE(file.has_value());
  ASSERT_EQ(file->bytes.size(), 64 * page_);
  EXPECT_EQ(Sum(file->bytes), 0u);
  for (std::byte& b : file->bytes) b = std::byte{3};
  EXPECT_EQ(Resident(file->bytes), 64 * page_);
  ReleasePages(file->bytes);
  EXPECT_EQ(Resident(file->bytes), 0u);
  EXPECT_EQ(Sum(file->bytes), 64 * page_ * 3);
}

TEST_F(MappedPagesTest, WithoutSpaceOrDirectoryThereAreNoFileBytes) {
  EXPECT_FALSE(CreateFileBytes(uint64_t{1} << 60).has_value());
  EXPECT_FALSE(CreateFileBytes(UINT64_MAX).has_value());
  const char* const earlier = std::getenv("TMPDIR");
  const std::string directory = earlier == nullptr ? "" : earlier;
  ::setenv("TMPDIR", Path("missing").c_str(), 1);
  EXPECT_FALSE(CreateFileBytes(page_).has_value());
  ::setenv("TMPDIR", directory.c_str(), 1);
  EXPECT_TRUE(CreateFileBytes(page_).has_value());
}

TEST_F(MappedPagesTest, ZerosAreInAFileIfLarge) {
  const absl::StatusOr<FileBytes> small = CreateZeros(16 * page_);
  ASSERT_TRUE(small.ok()) << small.status();
  ASSERT_EQ(small->bytes.size(), 16 * page_);
  EXPECT_EQ(Sum(small->bytes), 0u);
  small->bytes[0] = std::byte{3};
  ReleasePages(small->bytes);  // has no effect on memory
  EXPECT_EQ(Sum(small->bytes), 3u);
  const absl::StatusOr<FileBytes> large = CreateZeros(uint64_t{1} << 20);
  ASSERT_TRUE(large.ok()) << large.status();
  EXPECT_EQ(Sum(large->bytes), 0u);
  ReleasePages(large->bytes);
  EXPECT_EQ(Resident(large->bytes), 0u);
  EXPECT_EQ(CreateZeros(uint64_t{1} << 60).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(MappedPagesTest, DigestsReleasePages) {
  const auto file = Map(std::string(64 * page_, 3));
  const std::shared_ptr<const void> owner = OwnerOfMapping(file);
  EXPECT_EQ(Sha256InParts(file->bytes()), Sha256(file->bytes()));
  EXPECT_EQ(Resident(file->bytes()), 64 * page_);  // read again
  EXPECT_EQ(Sha256InParts(file->bytes()), Sha256(std::string(64 * page_, 3)));
  EXPECT_EQ(Resident(file->bytes()), 0u);
}

TEST_F(MappedPagesTest, PartsHaveABoundedSize) {
  const std::string large((size_t{9} << 20) + 1, 'x');
  const std::string_view pieces[] = {"a", "", large};
  std::vector<std::string_view> parts = InParts(pieces);
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts[0], "a");
  EXPECT_EQ(parts[1].data(), large.data());
  EXPECT_EQ(parts[1].size(), size_t{4} << 20);
  EXPECT_EQ(parts[3].size(), (size_t{1} << 20) + 1);
  EXPECT_EQ(parts[3].data() + parts[3].size(), large.data() + large.size());
}

}  // namespace
}  // namespace belay::exir
