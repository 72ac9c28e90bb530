#include "executorch/reader/bundled_program.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "executorch/format/bundled_program_generated.h"
#include "executorch/reader/open_any_program.h"
#include "executorch/reader/testing/pte_builder.h"
#include "executorch/reader/testing/table_edits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::pte {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

absl::Span<const std::byte> BytesOf(const std::string& text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

// A program with output x, and one case: [1, 2] -> [1, 2].
struct Bundle {
  Bundle() {
    PteBuilder builder;
    const int32_t x = builder.Tensor({2});
    builder.Input(x);
    builder.Output(x);
    const std::string program = builder.Serialize();
    root.program.assign(program.begin(), program.end());
    root.method_test_suites.push_back(std::make_unique<bpte::TestSuiteT>());
    suite().method_name = "forward";
    suite().test_cases.push_back(std::make_unique<bpte::TestCaseT>());
    test().inputs.push_back(Floats());
    test().expected_outputs.push_back(Floats());
  }
  static std::unique_ptr<bpte::ValueT> Floats() {
    auto value = std::make_unique<bpte::ValueT>();
    value->val.Set(bpte::TensorT());
    bpte::TensorT& tensor = *value->val.AsTensor();
    tensor.scalar_type = kFloatType;
    tensor.sizes = {2};
    tensor.dim_order = {0};
    tensor.data = {0, 0, 0x80, 0x3f, 0, 0, 0, 0x40};
    return value;
  }
  bpte::TestSuiteT& suite() { return *root.method_test_suites[0]; }
  bpte::TestCaseT& test() { return *suite().test_cases[0]; }
  bpte::TensorT& input() { return *test().inputs[0]->val.AsTensor(); }
  std::string Serialize() const {
    flatbuffers::FlatBufferBuilder builder;
    bpte::FinishBundledProgramBuffer(builder, bpte::CreateBundledProgram(builder, &root));
    return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()),
                       builder.GetSize());
  }

  bpte::BundledProgramT root;
};

absl::Status ReadError(const std::string& file, const Limits& limits = {}) {
  return BundledProgram::Read(BytesOf(file), limits).status();
}

TEST(BundledProgramTest, ReadsCasesOfMethods) {
  ASSERT_OK_AND_ASSIGN(const BundledProgram read,
                       BundledProgram::Read(BytesOf(Bundle().Serialize()), {}));
  ASSERT_EQ(read.methods().size(), 1);
  EXPECT_EQ(read.methods()[0].name, "forward");
  ASSERT_EQ(read.methods()[0].cases.size(), 1);
  const BundledCase& test = read.methods()[0].cases[0];
  EXPECT_EQ(ToVector<float>(*test.inputs[0].get_if<TensorView>()), (std::vector<float>{1, 2}));
  EXPECT_EQ(ToVector<float>(*test.expected_outputs[0].get_if<TensorView>()),
            (std::vector<float>{1, 2}));
}

TEST(BundledProgramTest, OpensLikeAProgram) {
  const std::string file = Bundle().Serialize();
  EXPECT_TRUE(IsExecuTorchProgram(BytesOf(file)));
  EXPECT_FALSE(IsExecuTorchProgram(BytesOf("PK")));
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenAnyProgramBytes(BytesOf(file), {}));
  EXPECT_EQ(program.methods()[0].name, "forward");
}

TEST(BundledProgramTest, RejectsDamagedBytes) {
  const std::string file = Bundle().Serialize();
  const std::pair<std::function<void(std::string&)>, std::pair<absl::StatusCode, std::string>>
      cases[] = {
          {[](auto& f) { f.resize(6); }, {absl::StatusCode::kDataLoss, "not a bundled program"}},
          {[](auto& f) { f.replace(4, 4, "ET12"); },
           {absl::StatusCode::kDataLoss, "not a bundled program"}},
          {[](auto& f) { f.replace(4, 4, "BP09"); }, {absl::StatusCode::kUnimplemented, "'BP09'"}},
          {[](auto& f) { Put<uint32_t>(f, 0, 0x7ffffff0); },
           {absl::StatusCode::kDataLoss, "tables are damaged"}},
          {[](auto& f) { f.resize(f.size() - f.size() / 4); },
           {absl::StatusCode::kDataLoss, "tables are damaged"}},
      };
  for (const auto& [damage, expected] : cases) {
    std::string damaged = file;
    damage(damaged);
    EXPECT_THAT(ReadError(damaged), StatusIs(expected.first, HasSubstr(expected.second)));
  }
}

TEST(BundledProgramTest, RejectsNewerVersions) {
  Bundle bundle;
  bundle.root.version = 3;
  EXPECT_THAT(ReadError(bundle.Serialize()),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("version 3")));
}

TEST(BundledProgramTest, ReportsAllBrokenRules) {
  Bundle bundle;
  bundle.root.program.clear();
  bundle.input().sizes = {3};
  bundle.test().inputs.push_back(std::make_unique<bpte::ValueT>());
  bundle.test().inputs.push_back(Bundle::Floats());
  bundle.test().inputs.back()->val.AsTensor()->sizes = {-2};
  bundle.root.method_test_suites.push_back(std::make_unique<bpte::TestSuiteT>());
  bundle.root.method_test_suites.back()->method_name = "forward";
  bundle.root.method_test_suites.push_back(std::make_unique<bpte::TestSuiteT>());
  EXPECT_THAT(
      ReadError(bundle.Serialize()),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("the bundled program has no program"),
                     HasSubstr("test cases of method 'forward', case 0, inputs[0]: a tensor of 12 "
                               "bytes, its data has 8"),
                     HasSubstr("inputs[1]: a value without content"),
                     HasSubstr("inputs[2]: sizes[0] is -2"),
                     HasSubstr("'forward': the method has two lists of test cases"),
                     HasSubstr("method '': the name is missing or not UTF-8"))));
}

TEST(BundledProgramTest, RejectsTypesWithoutContent) {
  std::string file = Bundle().Serialize();
  const bpte::Value* value = bpte::GetBundledProgram(file.data())
                                 ->method_test_suites()
                                 ->Get(0)
                                 ->test_cases()
                                 ->Get(0)
                                 ->inputs()
                                 ->Get(0);
  std::string unknown = file;
  Put<uint8_t>(unknown, FieldIn(file, value, bpte::Value::VT_VAL_TYPE), 77);
  EXPECT_THAT(ReadError(unknown), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("inputs[0]: a value of the unknown kind 77")));
  // Removes the content from the table's description.
  const size_t table = OffsetIn(file, value);
  const size_t description =
      table - static_cast<size_t>(flatbuffers::ReadScalar<int32_t>(&file[table]));
  Put<uint16_t>(file, description + bpte::Value::VT_VAL, 0);
  EXPECT_THAT(ReadError(file), StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr("inputs[0]: a value without content")));
}

TEST(BundledProgramTest, RejectsMisalignedData) {
  Bundle bundle;
  bundle.input().sizes = {0};
  bundle.input().data.assign(16, 0);
  std::string file = bundle.Serialize();
  const bpte::Tensor* tensor = bpte::GetBundledProgram(file.data())
                                   ->method_test_suites()
                                   ->Get(0)
                                   ->test_cases()
                                   ->Get(0)
                                   ->inputs()
                                   ->Get(0)
                                   ->val_as_Tensor();
  // A vector of 8 bytes begins inside the elements of the old one. Lengths are aligned to 4, so
  // only elements of 8 bytes can be misaligned.
  const size_t at = OffsetIn(file, tensor->data()) + 4;
  Put<uint32_t>(file, at, 8);
  Refer(file, FieldIn(file, tensor, bpte::Tensor::VT_DATA), at);
  Put<int8_t>(file, FieldIn(file, tensor, bpte::Tensor::VT_SCALAR_TYPE), kLongType);
  EXPECT_THAT(ReadError(file),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not aligned to its dtype")));
}

TEST(BundledProgramTest, RejectsUnknownDtypes) {
  Bundle bundle;
  bundle.input().scalar_type = 12;
  EXPECT_THAT(ReadError(bundle.Serialize()),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("scalar_type 12")));
}

TEST(BundledProgramTest, EnforcesLimits) {
  const std::string file = Bundle().Serialize();
  Limits limits;
  limits.file_bytes = 100;
  EXPECT_THAT(ReadError(file, limits),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("'file_bytes' is 100")));
}

}  // namespace
}  // namespace belay::pte
