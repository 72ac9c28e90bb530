#include "tools/belay/call_inputs.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/npy.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"

namespace belay::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
constexpr auto kInvalidArgument = absl::StatusCode::kInvalidArgument;
constexpr auto kNotFound = absl::StatusCode::kNotFound;

// forward(x: f32[2], k = 2, none = None, y: f32[2]).
MethodPlan Plan() {
  static constexpr int64_t kSizes[] = {2};  // plans point to it
  MethodPlan plan;
  TensorPlan tensor;
  tensor.dtype = DType::kFloat32;
  tensor.sizes = kSizes;
  plan.values.emplace_back(tensor);
  plan.values.emplace_back(int64_t{2});
  plan.values.emplace_back(None());
  plan.values.emplace_back(tensor);
  const char* names[] = {"x", "k", "none", "y"};
  for (uint32_t i = 0; i < 4; ++i) {
    InputPlan input;
    input.name = names[i];
    input.value = i;
    plan.inputs.push_back(input);
  }
  return plan;
}

class CallInputsTest : public TestInDirectory {
 protected:
  void SetUp() override {
    TestInDirectory::SetUp();
    WriteArray("x.npy", TestTensor::Of<float>({2}, {1, 2}));
    WriteArray("y.npy", TestTensor::Of<float>({2}, {3, 4}));
    WriteArray("two.npy", TestTensor::Of<int64_t>({}, {2}));
    WriteArray("three.npy", TestTensor::Of<int64_t>({}, {3}));
  }
  void WriteArray(const std::string& name, const TestTensor& tensor) const {
    ASSERT_TRUE(WriteNpy(Path(name), tensor.view()).ok());
  }
  absl::StatusOr<CallInputs> FromFiles(const std::vector<std::string>& names) const {
    std::vector<std::string> files;
    for (const std::string& name : names) files.push_back(Path(name));
    return InputsFromFiles(plan_, files);
  }
  void ExpectRight(const absl::StatusOr<CallInputs>& inputs) const {
    ASSERT_OK(inputs.status());
    ASSERT_EQ(inputs->values.size(), 4u);
    EXPECT_EQ(*inputs->values[0].get_if<TensorView>()->as<float>(), 1);
    EXPECT_EQ(*inputs->values[1].get_if<int64_t>(), 2);
    EXPECT_TRUE(inputs->values[2].is_none());
    EXPECT_EQ(*inputs->values[3].get_if<TensorView>()->as<float>(), 3);
  }

  const MethodPlan plan_ = Plan();
};

TEST_F(CallInputsTest, FixedInputsAreOptional) {
  ExpectRight(FromFiles({"x.npy", "y.npy"}));
  ExpectRight(FromFiles({"x.npy", "two.npy", "y.npy"}));
}

TEST_F(CallInputsTest, FixedInputAcceptsOnlyItsValue) {
  EXPECT_THAT(
      FromFiles({"x.npy", "three.npy", "y.npy"}),
      StatusIs(kInvalidArgument, AllOf(HasSubstr("three.npy"), HasSubstr("'k'"), HasSubstr("fixed"),
                                       HasSubstr("expected 2"), HasSubstr("got 3"))));
}

TEST_F(CallInputsTest, RejectsWrongNumberOfFiles) {
  EXPECT_THAT(FromFiles({}), StatusIs(kInvalidArgument, HasSubstr("input 0 'x' is missing")));
  EXPECT_THAT(FromFiles({"x.npy"}),
              StatusIs(kInvalidArgument, HasSubstr("input 3 'y' is missing")));
  EXPECT_THAT(FromFiles({"x.npy", "two.npy", "y.npy", "y.npy"}),
              StatusIs(kInvalidArgument,
                       HasSubstr("expected 2 input files, or 3 with those fixed at export")));
}

TEST_F(CallInputsTest, FolderFilesAreNamedByInputIndex) {
  WriteArray("input_0.npy", TestTensor::Of<float>({2}, {1, 2}));
  EXPECT_THAT(InputsFromFolder(plan_, directory_.string()),
              StatusIs(kNotFound, AllOf(HasSubstr("'y'"), HasSubstr("input_3.npy"))));
  WriteArray("input_3.npy", TestTensor::Of<float>({2}, {3, 4}));
  ExpectRight(InputsFromFolder(plan_, directory_.string()));
  WriteArray("input_1.npy", TestTensor::Of<int64_t>({}, {2}));
  ExpectRight(InputsFromFolder(plan_, directory_.string()));
}

TEST_F(CallInputsTest, RejectsFilesOfNonArrayInputs) {
  WriteArray("input_0.npy", TestTensor::Of<float>({2}, {1, 2}));
  WriteArray("input_3.npy", TestTensor::Of<float>({2}, {3, 4}));
  WriteArray("input_4.npy", TestTensor::Of<float>({2}, {3, 4}));
  EXPECT_THAT(InputsFromFolder(plan_, directory_.string()),
              StatusIs(kInvalidArgument, HasSubstr("the method has 4 inputs")));
  std::filesystem::rename(Path("input_4.npy"), Path("input_2.npy"));
  EXPECT_THAT(InputsFromFolder(plan_, directory_.string()),
              StatusIs(kInvalidArgument, HasSubstr("'none' takes no array")));
}

TEST_F(CallInputsTest, IgnoresOtherFileNames) {
  WriteArray("input_0.npy", TestTensor::Of<float>({2}, {1, 2}));
  WriteArray("input_3.npy", TestTensor::Of<float>({2}, {3, 4}));
  // All of these would replace the array of x.
  for (const char* name : {"input_.npy", "input_00.npy", "input_+0.npy", "input_0.npz", "npy",
                           "input_x.npy", "output_0.npy", "input_18446744073709551616.npy"}) {
    WriteArray(name, TestTensor::Of<float>({2}, {9, 9}));
  }
  ExpectRight(InputsFromFolder(plan_, directory_.string()));
}

TEST_F(CallInputsTest, NamesMismatchedArray) {
  WriteArray("i64.npy", TestTensor::Of<int64_t>({2}, {1, 2}));
  EXPECT_THAT(FromFiles({"x.npy", "i64.npy", "y.npy"}),
              StatusIs(kInvalidArgument, HasSubstr("i64.npy: ")));
  Write("text.npy", "no array");
  EXPECT_THAT(FromFiles({"text.npy", "y.npy"}), ::testing::Not(IsOk()));
}

// Fixed scalars of each kind: compared bitwise, including NaN.
TEST_F(CallInputsTest, FixedScalarsOfAllKinds) {
  struct Case {
    ValuePlan fixed;
    TestTensor same, other;
    std::string said;
  };
  const Case cases[] = {
      {2.5, TestTensor::Of<double>({}, {2.5}), TestTensor::Of<double>({}, {3}),
       "expected 2.5, got 3"},
      {true, TestTensor::Of<bool>({}, {true}), TestTensor::Of<bool>({}, {false}),
       "expected true, got false"},
      {false, TestTensor::Of<bool>({}, {false}), TestTensor::Of<bool>({}, {true}),
       "expected false, got true"},
  };
  for (const Case& c : cases) {
    MethodPlan plan = Plan();
    plan.values[1] = c.fixed;
    WriteArray("same.npy", c.same);
    WriteArray("other.npy", c.other);
    EXPECT_OK(InputsFromFiles(plan, {Path("x.npy"), Path("same.npy"), Path("y.npy")}));
    EXPECT_THAT(InputsFromFiles(plan, {Path("x.npy"), Path("other.npy"), Path("y.npy")}),
                StatusIs(kInvalidArgument, HasSubstr(c.said)));
  }
}

TEST_F(CallInputsTest, RandomInputsSkipFixedInputs) {
  ASSERT_OK_AND_ASSIGN(const CallInputs inputs, RandomInputs(plan_, /*seed=*/1, 0));
  ASSERT_EQ(inputs.values.size(), 4u);
  EXPECT_NE(inputs.values[0].get_if<TensorView>(), nullptr);
  EXPECT_EQ(*inputs.values[1].get_if<int64_t>(), 2);
  EXPECT_TRUE(inputs.values[2].is_none());
}

TEST_F(CallInputsTest, RandomInputSizesFitInt64) {
  MethodPlan dynamic = Plan();
  SizeConstraint size;
  size.min = 1;
  size.max = 4;
  size.symbol = "s0";
  size.multiplier = INT64_MAX;
  dynamic.inputs[3].constraints.push_back(size);
  EXPECT_THAT(RandomInputs(dynamic, 1, /*dynamic_size=*/2),
              StatusIs(kInvalidArgument, HasSubstr("input 3 'y': the size of dimension 0")));
}

TEST_F(CallInputsTest, NamesMissingFolder) {
  EXPECT_THAT(InputsFromFolder(plan_, Path("nosuchdir")),
              StatusIs(kNotFound, HasSubstr("nosuchdir")));
}

TEST(DescribeValueTest, SmallTensorsShowTheirElements) {
  const auto describe = [](const TestTensor& tensor) {
    return DescribeElements(EValue(tensor.view()));
  };
  EXPECT_EQ(describe(TestTensor::Of<float>({3}, {0.5, -1, 2})), "f32[3] = [0.5, -1, 2]");
  EXPECT_EQ(describe(TestTensor::Of<int64_t>({2, 1}, {7, INT64_MIN})),
            "i64[2,1] = [7, -9223372036854775808]");
  EXPECT_EQ(describe(TestTensor::Of<float>({0}, {})), "f32[0] = []");
  EXPECT_EQ(describe(TestTensor::Of<float>({17}, std::vector<float>(17))), "f32[17]");
  EXPECT_EQ(describe(TestTensor::Zeros(DType::kComplex64, {2})), "c64[2]");
  EXPECT_EQ(DescribeElements(EValue(int64_t{3})), "int 3");
  EXPECT_EQ(describe(TestTensor::Of<bool>({2}, {true, false})), "b8[2] = [1, 0]");
  EXPECT_EQ(DescribeValue(EValue(true)), "bool true");
  EXPECT_EQ(DescribeValue(EValue(false)), "bool false");
  EXPECT_EQ(DescribeValue(EValue(0.25)), "float 0.25");
  EXPECT_EQ(DescribeValue(EValue()), "none");
  EXPECT_EQ(DescribeValue(EValue(std::string_view("naïve\n\"x\""))),
            "string \"naïve\\n\\\"x\\\"\"");
}

}  // namespace
}  // namespace belay::tools
