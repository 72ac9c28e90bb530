#include <cstdint>

#include "bazel/testing/mlp_bytes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/testing.h"
#include "runtime/program/program.h"

namespace belay {
namespace {

TEST(EmbedTest, ProgramFileIsEmbeddedInBinary) {
  const absl::Span<const std::byte> bytes = testing::mlp_bytes();
  ASSERT_OK_AND_ASSIGN(const auto file, MappedFile::Open("bazel/testing/mlp.belay"));
  EXPECT_EQ(bytes, file->bytes());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % 4096, 0);
  ASSERT_OK_AND_ASSIGN(const Program program, Program::OpenBytes(nullptr, bytes, {}));
  EXPECT_OK(program.FindMethod("forward").status());
  EXPECT_OK(program.FindMethod("get_version").status());
}

}  // namespace
}  // namespace belay
