#include "executorch/writer/bundled_program_writer.h"

#include <cstdint>
#include <string>
#include <vector>

#include "executorch/reader/bundled_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::pte {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

absl::Span<const std::byte> BytesOf(const std::string& text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

TEST(SerializeBundledProgramTest, ReaderReturnsTheSameValues) {
  const TestTensor x = TestTensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6}),
                   columns = TestTensor::Dense<float>({2, 2}, {1, 0}, {1, 2, 3, 4}),
                   empty = TestTensor::Of<int64_t>({0, 2}, {}),
                   scalar = TestTensor::Of<double>({}, {0.5});
  const std::string program(1000, 'p');
  const std::vector<BundledMethod> methods = {
      {"second", {{{EValue(int64_t{7}), EValue(true), EValue(0.25)}, {EValue(scalar.view())}}}},
      {"first", {{{EValue(x.view())}, {EValue(columns.view()), EValue(empty.view())}}, {{}, {}}}},
  };
  ASSERT_OK_AND_ASSIGN(const std::string file, SerializeBundledProgram(BytesOf(program), methods));
  EXPECT_TRUE(IsBundledProgram(BytesOf(file)));
  ASSERT_OK_AND_ASSIGN(const BundledProgram read, BundledProgram::Read(BytesOf(file), {}));
  EXPECT_EQ(
      std::string(reinterpret_cast<const char*>(read.program().data()), read.program().size()),
      program);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(read.program().data()) % 32, 0);
  ASSERT_EQ(read.methods().size(), 2);
  const BundledMethod &first = read.methods()[0], &second = read.methods()[1];
  EXPECT_EQ(first.name, "first");
  ASSERT_EQ(first.cases.size(), 2);
  const TensorView* tensor = first.cases[0].inputs[0].get_if<TensorView>();
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data) % 16, 0);
  EXPECT_EQ(tensor->ToString(), "f32[2,3]");
  EXPECT_EQ(ToVector<float>(*tensor), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  tensor = first.cases[0].expected_outputs[0].get_if<TensorView>();
  ASSERT_NE(tensor, nullptr);
  EXPECT_TRUE(tensor->is_contiguous());
  EXPECT_EQ(ToVector<float>(*tensor), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(first.cases[0].expected_outputs[1].get_if<TensorView>()->ToString(), "i64[0,2]");
  ASSERT_EQ(second.cases.size(), 1);
  EXPECT_EQ(*second.cases[0].inputs[0].get_if<int64_t>(), 7);
  EXPECT_EQ(*second.cases[0].inputs[1].get_if<bool>(), true);
  EXPECT_EQ(*second.cases[0].inputs[2].get_if<double>(), 0.25);
  EXPECT_EQ(*second.cases[0].expected_outputs[0].get_if<TensorView>()->as<double>(), 0.5);
}

TEST(SerializeBundledProgramTest, ListsAllUnsupportedValues) {
  const TestTensor x = TestTensor::Of<float>({1}, {1});
  const std::vector<BundledMethod> methods = {
      {"forward",
       {{{EValue(), EValue(std::string_view("text")), EValue(x.view())},
         {EValue(int64_t{3}), EValue(x.view())}}}}};
  EXPECT_THAT(
      SerializeBundledProgram({}, methods),
      StatusIs(absl::StatusCode::kUnimplemented,
               AllOf(HasSubstr("method 'forward', case 0, inputs[0]: none, expected a tensor"),
                     HasSubstr("inputs[1]: "), HasSubstr("expected_outputs[0]: int"),
                     Not(HasSubstr("inputs[2]")), Not(HasSubstr("expected_outputs[1]")))));
}

}  // namespace
}  // namespace belay::pte
