// Constants in the named data of the enclosing program (runtime/schema/file_format.md §4).
#include <string>
#include <vector>

#include "runtime/core/testing.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/program/program.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kMissing = absl::StatusCode::kNotFound;

// Named data with 24 bytes under "w".
class EnclosingData final : public NamedDataMap {
 public:
  absl::StatusOr<absl::Span<const std::byte>> Find(std::string_view key) const override {
    if (key != "w") return absl::NotFoundError("no such data");
    return absl::MakeConstSpan(bytes_);
  }
  const std::byte* data() const { return bytes_.data(); }

 private:
  std::vector<std::byte> bytes_ = std::vector<std::byte>(24, std::byte{7});
};

// A program that returns a constant f32[2,3] stored as named data.
class NamedConstantsTest : public ::testing::Test {
 protected:
  NamedConstantsTest() {
    program_.AddNamedConstant("w", 24);
    TestMethod method = program_.AddMethod("forward");
    method.Output(method.Constant(0, DType::kFloat32, {2, 3}));
  }
  schema::Constant& constant() { return *program_.metadata().mutable_constants(0); }
  absl::StatusOr<Program> Open() {
    return OpenFileBytes(program_.Serialize(), {.named_data = &around_});
  }

  EnclosingData around_;
  TestProgram program_;
};

TEST_F(NamedConstantsTest, AreUsedInPlace) {
  ASSERT_OK_AND_ASSIGN(const Program program, Open());
  const auto& tensor = std::get<TensorPlan>(program.methods()[0].values[0]);
  EXPECT_EQ(tensor.constant.data(), around_.data());
  EXPECT_EQ(tensor.constant.size(), 24u);
}

TEST_F(NamedConstantsTest, NeedAnEnclosingProgram) {
  EXPECT_THAT(OpenFileBytes(program_.Serialize()),
              StatusIs(kMissing, HasSubstr("constants[0]: named data 'w': not in the program")));
}

TEST_F(NamedConstantsTest, ErrorNamesMissingKey) {
  constant().set_named_data("v");
  EXPECT_THAT(Open(), StatusIs(kMissing, HasSubstr("constants[0]: named data 'v': no such data")));
}

// A program's own data hides those of the enclosing program.
TEST_F(NamedConstantsTest, MayBeTheProgramsOwnData) {
  program_.AddNamedData("v", std::string(8, 'v'));
  program_.AddNamedData("w", std::string(24, 'w'));
  ASSERT_OK_AND_ASSIGN(const Program program, Open());
  const auto& tensor = std::get<TensorPlan>(program.methods()[0].values[0]);
  EXPECT_EQ(tensor.constant.data(), program.named_data()[1].bytes.data());
  EXPECT_OK(OpenFileBytes(program_.Serialize()).status());
}

TEST_F(NamedConstantsTest, SizeMustMatchData) {
  for (const uint64_t size : {uint64_t{0}, uint64_t{20}, uint64_t{25}, UINT64_MAX}) {
    constant().set_size(size);
    EXPECT_THAT(Open(), StatusIs(kInvalid, HasSubstr("named data 'w' has 24 bytes, expected ")));
  }
}

TEST_F(NamedConstantsTest, TensorMustFillTheData) {
  program_.metadata().mutable_methods(0)->mutable_values(0)->mutable_tensor()->set_sizes(0, 3);
  EXPECT_THAT(Open(), StatusIs(kInvalid, HasSubstr("24")));
}

TEST_F(NamedConstantsTest, HaveNoSegment) {
  constant().set_segment(1);
  EXPECT_THAT(Open(), StatusIs(kInvalid, HasSubstr("has segment 1 at 0, expected 0 and 0")));
  constant().set_segment(0);
  constant().set_offset(64);
  EXPECT_THAT(Open(), StatusIs(kInvalid, HasSubstr("has segment 0 at 64, expected 0 and 0")));
}

TEST_F(NamedConstantsTest, NeedTheRequiredFeature) {
  program_.metadata().clear_required_features();
  EXPECT_THAT(Open(), StatusIs(kInvalid, HasSubstr("does not require the feature "
                                                   "'named_constants'")));
}

TEST_F(NamedConstantsTest, UnknownFeatureIsNamed) {
  program_.metadata().add_required_features("time travel");
  EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("know: 'time travel'")));
}

}  // namespace
}  // namespace belay
