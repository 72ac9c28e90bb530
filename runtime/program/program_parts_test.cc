#include "runtime/program/program_parts.h"

#include <memory>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/program/digest.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

// Returns a method whose output is a tensor of two floats at `offset` in a 16-byte arena.
std::string Metadata(uint64_t offset) {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  const uint32_t y = method.Arena(DType::kFloat32, {2});
  method.Output(y);
  method.proto().mutable_values(y)->mutable_tensor()->set_arena_offset(offset);
  method.proto().set_arena_bytes(16);
  return program.metadata().SerializeAsString();
}

absl::StatusOr<Program> FromParts(const std::string& metadata, const Limits& limits = {}) {
  ProgramParts parts;
  parts.metadata =
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(metadata.data()), metadata.size());
  parts.segments.emplace_back().kind = SegmentPlan::Kind::kDelegate;
  parts.format = "other";
  return Program::FromParts(std::move(parts), limits);
}

TEST(ProgramPartsTest, TensorsAreAlignedToTheirElement) {
  ASSERT_OK_AND_ASSIGN(const Program program, FromParts(Metadata(4)));
  EXPECT_EQ(program.format(), "other");
  ASSERT_OK_AND_ASSIGN(const MethodPlan* method, program.FindMethod("forward"));
  EXPECT_EQ(std::get<TensorPlan>(method->values[0]).offset, 4u);
  EXPECT_THAT(FromParts(Metadata(2)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2 is not a multiple of 4")));
  EXPECT_THAT(FromParts(Metadata(12)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not inside the arena")));
}

TEST(ProgramPartsTest, RulesAndLimitsApplyAsForFiles) {
  EXPECT_THAT(FromParts("\xff"), StatusIs(absl::StatusCode::kDataLoss));
  TestProgram nameless;
  nameless.AddMethod("");
  EXPECT_THAT(FromParts(nameless.metadata().SerializeAsString()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("methods[0].name: is empty")));
  Limits limits;
  limits.arena_bytes = 15;
  EXPECT_THAT(FromParts(Metadata(0), limits),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("arena_bytes")));
}

TEST(ProgramPartsTest, SegmentsWithoutDigestsAreUnimplemented) {
  ASSERT_OK_AND_ASSIGN(const Program program, FromParts(Metadata(0)));
  EXPECT_THAT(VerifyDigests(program),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("segment 0 has no digest")));
}

}  // namespace
}  // namespace belay
