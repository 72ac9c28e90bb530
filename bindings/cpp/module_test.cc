#include "bindings/cpp/module.h"

#include <string>
#include <utility>
#include <vector>

#include "bindings/c/test_programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/dtype.h"
#include "runtime/core/tensor_view.h"
#include "runtime/core/test_allocator.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorView Floats(std::vector<float>& values) {
  return TensorView::Contiguous(DType::kFloat32, {static_cast<int64_t>(values.size())},
                                values.data());
}

std::vector<float> Elements(const EValue& value) {
  const TensorView* tensor = value.get_if<TensorView>();
  if (tensor == nullptr) return {};
  const float* data = tensor->as<const float>();
  return {data, data + tensor->numel()};
}

class ModuleTest : public TestInDirectory {
 protected:
  void SetUp() override {
    TestInDirectory::SetUp();
    size_t size;
    const void* bytes = TestProgramBytes(&size);
    Write("m.belay", std::string(static_cast<const char*>(bytes), size));
    bytes = TestFileBytes(TEST_PTE_PROGRAM, &size);
    Write("m.pte", std::string(static_cast<const char*>(bytes), size));
  }
  std::vector<float> x_ = {1, 2}, y_ = {10, 20};
};

TEST_F(ModuleTest, ExecutesMethods) {
  Module module(Path("m.belay"), {.threads = 2});
  ASSERT_OK_AND_ASSIGN(const auto names, module.method_names());
  EXPECT_THAT(names, Contains("add"));
  ASSERT_OK_AND_ASSIGN(const auto outputs, module.execute("add", {Floats(x_), Floats(y_)}));
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(Elements(outputs[0]), ElementsAre(11, 22));
}

TEST_F(ModuleTest, ForwardExecutesTheMethodOfThatName) {
  Module module(Path("m.pte"));
  std::vector<float> x = {-1, 2, -3, 4, -5, 6};
  ASSERT_OK_AND_ASSIGN(const auto outputs,
                       module.forward({TensorView::Contiguous(DType::kFloat32, {2, 3}, x.data())}));
  EXPECT_THAT(Elements(outputs[0]), ElementsAre(0, 2, 0, 4, 0, 6));
  EXPECT_THAT(Module(Path("m.belay")).forward(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("forward")));
}

TEST_F(ModuleTest, UsesMemoryOfTheCaller) {
  TestAllocator allocator;
  alignas(128) std::byte fast[64];
  {
    Module module(Path("m.belay"), {.banks = {{"count", {{"fast", fast}}}, {"unknown", {}}},
                                    .allocator = &allocator});
    ASSERT_OK_AND_ASSIGN(const auto outputs, module.execute("count", {Floats(x_)}));
    EXPECT_THAT(Elements(outputs[0]), ElementsAre(11, 22));
    EXPECT_EQ(outputs[0].get_if<TensorView>()->data, fast);
    ASSERT_OK_AND_ASSIGN(const auto sums, module.execute("add", {Floats(x_), Floats(y_)}));
    EXPECT_TRUE(allocator.Contains(sums[0].get_if<TensorView>()->data));
  }
  Module small(Path("m.belay"), {.banks = {{"count", {{"fast", absl::MakeSpan(fast, 8)}}}}});
  EXPECT_THAT(small.load_method("count"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at least 64 bytes, got 8")));
}

TEST_F(ModuleTest, KeepsStateBetweenCalls) {
  Module module(Path("m.belay"));  // The sum begins at {10, 20}.
  ASSERT_OK(module.execute("count", {Floats(x_)}).status());
  ASSERT_OK_AND_ASSIGN(const auto twice, module.execute("count", {Floats(x_)}));
  EXPECT_THAT(Elements(twice[0]), ElementsAre(12, 24));
  Module moved = std::move(module);
  moved.reset_state();
  ASSERT_OK_AND_ASSIGN(const auto once, moved.execute("count", {Floats(x_)}));
  EXPECT_THAT(Elements(once[0]), ElementsAre(11, 22));
}

TEST_F(ModuleTest, PassesOptionsToBackends) {
  Module module(Path("m.belay"), {.backend_options = {{"steps", {{"level", int64_t{2}}}}}});
  EXPECT_EQ(module.get_backend_option("steps", "steps", "level").value(), OptionValue(int64_t{2}));
  ASSERT_OK(module.set_backend_option("steps", "steps", "level", int64_t{3}));
  EXPECT_EQ(module.get_backend_option("steps", "steps", "level").value(), OptionValue(int64_t{3}));
  EXPECT_THAT(module.set_backend_option("steps", "steps", "level", int64_t{4}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 to 3")));
  EXPECT_THAT(module.get_backend_option("none", "steps", "level"),
              StatusIs(absl::StatusCode::kNotFound));
  Module unknown(Path("m.belay"), {.backend_options = {{"npu", {}}}});
  EXPECT_THAT(unknown.load_method("add"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'npu'")));
}

TEST_F(ModuleTest, ReportsErrors) {
  Module missing(Path("none"));
  EXPECT_THAT(missing.load(), StatusIs(absl::StatusCode::kNotFound));
  Module threads(Path("m.belay"), {.threads = 0});
  EXPECT_THAT(threads.load(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1 to 256")));
  Module module(Path("m.belay"));
  EXPECT_THAT(module.load_method("none"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(module.execute("add", {Floats(x_)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected 2 inputs, got 1")));
  ExecuteOptions limited;
  limited.executed_instructions = 100;
  EXPECT_THAT(module.execute("forever", {Floats(x_ = {1})}, limited),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace belay
