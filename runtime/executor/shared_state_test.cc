#include "runtime/executor/shared_state.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/executor/testing/method_fixture.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr DType kF32 = DType::kFloat32;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kNotFound = absl::StatusCode::kNotFound;

// Two methods that add their input to "s"; the second also has "t".
class SharedStateTest : public MethodTest {
 protected:
  SharedStateTest() {
    const uint32_t initial = program_.AddConstant<float>({10, 20}) + 1;
    AddStep(forward_, "s", {2}, initial);
    second_ = std::make_unique<TestMethod>(program_.AddMethod("second"));
    AddStep(*second_, "s", {2}, initial);
    AddStep(*second_, "t", {2}, 0);
  }
  static void AddStep(TestMethod& method, const std::string& name, const Sizes& sizes,
                      uint32_t initial) {
    const uint32_t x = method.Input("x_" + name, kF32, sizes);
    const uint32_t s = method.State(name, kF32, sizes, initial);
    method.Call("test.add_.Tensor", {s, x}, {s});
  }
  absl::StatusOr<const Program*> Open() {
    ABSL_ASSIGN_OR_RETURN(Program opened, OpenFileBytes(program_.Serialize()));
    opened_.push_back(std::make_unique<Program>(std::move(opened)));
    return opened_.back().get();
  }
  absl::StatusOr<Method> LoadShared(const Program& program, const std::string& name,
                                    SharedState* state) {
    return Method::Load(program, name, kernels_, backends_, {.state = state});
  }
  static void Run(Method& method, const TestTensor& x) {
    for (size_t i = 0; i < method.num_inputs(); ++i) ASSERT_OK(method.SetInput(i, x.view()));
    ASSERT_OK(method.Execute());
  }

  std::unique_ptr<TestMethod> second_;
  const TestTensor x_ = TestTensor::Of<float>({2}, {1, 2});
};

TEST_F(SharedStateTest, MethodsSeeWritesOfOthers) {
  ASSERT_OK_AND_ASSIGN(const Program* program, Open());
  ASSERT_OK_AND_ASSIGN(SharedState state, SharedState::Create(*program));
  ASSERT_OK_AND_ASSIGN(Method first, LoadShared(*program, "forward", &state));
  Run(first, x_);
  // Loading does not change the state.
  ASSERT_OK_AND_ASSIGN(Method second, LoadShared(*program, "second", &state));
  Run(second, x_);
  ASSERT_OK_AND_ASSIGN(const TensorView s, state.Find("s"));
  ASSERT_OK_AND_ASSIGN(const TensorView t, state.Find("t"));
  EXPECT_THAT(ToVector<float>(s), ElementsAre(12, 24));
  EXPECT_THAT(ToVector<float>(t), ElementsAre(1, 2));
  ASSERT_OK_AND_ASSIGN(const TensorView seen, first.GetState("s"));
  EXPECT_EQ(seen.data, s.data);
  // A method that does not share has its own state.
  ASSERT_OK_AND_ASSIGN(Method separate, LoadShared(*program, "forward", nullptr));
  ASSERT_OK_AND_ASSIGN(const TensorView own, separate.GetState("s"));
  EXPECT_THAT(ToVector<float>(own), ElementsAre(10, 20));
}

TEST_F(SharedStateTest, IsResetSavedAndRestored) {
  ASSERT_OK_AND_ASSIGN(const Program* program, Open());
  ASSERT_OK_AND_ASSIGN(SharedState state, SharedState::Create(*program));
  ASSERT_OK_AND_ASSIGN(Method first, LoadShared(*program, "forward", &state));
  ASSERT_OK_AND_ASSIGN(Method second, LoadShared(*program, "second", &state));
  ASSERT_OK_AND_ASSIGN(const TensorView s, state.Find("s"));
  Run(first, x_);
  const std::string saved = state.Save();
  Run(second, x_);
  state.Reset();
  EXPECT_THAT(ToVector<float>(s), ElementsAre(10, 20));
  ASSERT_OK(state.Restore(saved));
  EXPECT_THAT(ToVector<float>(s), ElementsAre(11, 22));
  Run(second, x_);
  EXPECT_THAT(ToVector<float>(s), ElementsAre(12, 24));
  second.ResetState();
  EXPECT_THAT(ToVector<float>(s), ElementsAre(10, 20));
  EXPECT_THAT(state.Restore(saved + "x"), StatusIs(kInvalid, HasSubstr("has 16 bytes, got 17")));
}

// Whole pages of `view` that are in memory.
int64_t PagesInMemory(const TensorView& view) {
  const auto page = static_cast<uintptr_t>(getpagesize());
  const auto begin = (reinterpret_cast<uintptr_t>(view.data) + page - 1) / page * page;
  const auto end = (reinterpret_cast<uintptr_t>(view.data) + view.nbytes()) / page * page;
  std::vector<unsigned char> pages((end - begin) / page);
  EXPECT_EQ(mincore(reinterpret_cast<void*>(begin), end - begin, pages.data()), 0);
  return std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) != 0; });
}

TEST_F(SharedStateTest, PagesOfZerosUseNoMemoryUntilTheyAreWritten) {
  constexpr int64_t kSize = int64_t{1} << 20;
  const std::vector<float> zeros(kSize);
  TestMethod method = program_.AddMethod("zeros");
  AddStep(method, "content", {kSize}, program_.AddConstant<float>(zeros) + 1);
  AddStep(method, "none", {kSize}, 0);
  ASSERT_OK_AND_ASSIGN(const Program* program, Open());
  for (const char* name : {"content", "none"}) {
    ASSERT_OK_AND_ASSIGN(SharedState state, SharedState::Create(*program, {"zeros"}));
    ASSERT_OK_AND_ASSIGN(const TensorView view, state.Find(name));
    EXPECT_EQ(PagesInMemory(view), 0);
    float* const data = view.as<float>();
    data[kSize / 2] = 5;
    EXPECT_EQ(PagesInMemory(view), 1);
    const std::string saved = state.Save();
    state.Reset();
    EXPECT_EQ(std::count(data, data + kSize, 0.0f), kSize);
    ASSERT_OK(state.Restore(saved));
    EXPECT_EQ(data[kSize / 2], 5);
    EXPECT_EQ(std::count(data, data + kSize, 0.0f), kSize - 1);
  }
}

TEST_F(SharedStateTest, EmptyBuffersAreShared) {
  for (const char* name : {"third", "third_too"}) {
    TestMethod method = program_.AddMethod(name);
    method.State("a_none", kF32, {0});
    AddStep(method, "u", {2}, 0);
  }
  ASSERT_OK_AND_ASSIGN(const Program* program, Open());
  ASSERT_OK_AND_ASSIGN(SharedState state, SharedState::Create(*program, {"third", "third_too"}));
  ASSERT_OK_AND_ASSIGN(Method third, LoadShared(*program, "third", &state));
  ASSERT_OK_AND_ASSIGN(const TensorView u, state.Find("u"));
  ASSERT_OK_AND_ASSIGN(const TensorView none, state.Find("a_none"));
  EXPECT_EQ(none.data, nullptr);
  Run(third, x_);
  const std::string saved = state.Save();
  EXPECT_EQ(saved.size(), 8u);
  state.Reset();
  EXPECT_THAT(ToVector<float>(u), ElementsAre(0, 0));
  ASSERT_OK(state.Restore(saved));
  EXPECT_THAT(ToVector<float>(u), ElementsAre(1, 2));
}

TEST_F(SharedStateTest, NamesBuffersThatCanNotBeShared) {
  TestMethod other_size = program_.AddMethod("third");
  AddStep(other_size, "s", {3}, 0);
  TestMethod other_content = program_.AddMethod("unlike");
  AddStep(other_content, "s", {2}, 0);
  ASSERT_OK_AND_ASSIGN(const Program* program, Open());
  EXPECT_THAT(SharedState::Create(*program, {"forward", "third"}),
              StatusIs(kInvalid, HasSubstr("state 's' can't be shared: it is f32[2] in method "
                                           "'forward' and f32[3] in method 'third'")));
  EXPECT_THAT(SharedState::Create(*program, {"forward", "unlike"}),
              StatusIs(kInvalid, HasSubstr("with other initial content")));
  EXPECT_THAT(SharedState::Create(*program, {"nothing"}), StatusIs(kNotFound));
  ASSERT_OK_AND_ASSIGN(SharedState state, SharedState::Create(*program, {"forward", "second"}));
  EXPECT_THAT(state.Find("u"), StatusIs(kNotFound, HasSubstr("the state has: 's', 't'")));
  EXPECT_THAT(
      LoadShared(*program, "third", &state),
      StatusIs(kInvalid,
               HasSubstr("method 'third' has the state 's', f32[3]; the shared state has")));
  TestProgram ints;
  ints.AddMethod("ints").State("s", DType::kInt32, {2});
  ASSERT_OK_AND_ASSIGN(const Program of_ints, OpenFileBytes(ints.Serialize()));
  EXPECT_THAT(
      LoadShared(of_ints, "ints", &state),
      StatusIs(kInvalid, HasSubstr("method 'ints' has the state 's', i32[2]; the shared state has "
                                   "f32[2]")));
  ASSERT_OK_AND_ASSIGN(SharedState small, SharedState::Create(*program, {"forward"}));
  EXPECT_THAT(LoadShared(*program, "second", &small),
              StatusIs(kInvalid, HasSubstr("the shared state has none of this name")));
}

// The same sizes in another order: elements would be permuted.
TEST_F(SharedStateTest, RejectsDifferentStrides) {
  for (const auto& [name, order] :
       {std::pair("t_columns", std::string("\1\0", 2)), {"t_rows", std::string("\0\1", 2)}}) {
    TestMethod method = program_.AddMethod(name);
    const uint32_t m = method.State("m", kF32, {2, 3});
    method.proto().mutable_values(static_cast<int>(m))->mutable_tensor()->set_dim_order(order);
  }
  ASSERT_OK_AND_ASSIGN(const Program* program, Open());
  EXPECT_THAT(SharedState::Create(*program, {"t_columns", "t_rows"}),
              StatusIs(kInvalid, HasSubstr("f32[2,3] in method 't_columns' and f32[2,3] in method "
                                           "'t_rows', in another order")));
  ASSERT_OK_AND_ASSIGN(SharedState rows, SharedState::Create(*program, {"t_rows"}));
  EXPECT_OK(LoadShared(*program, "t_rows", &rows).status());
  EXPECT_THAT(LoadShared(*program, "t_columns", &rows),
              StatusIs(kInvalid, HasSubstr("method 't_columns' has the state 'm', f32[2,3]")));
}

TEST_F(SharedStateTest, RejectsDifferentDTypes) {
  program_.AddMethod("third").State("s", DType::kInt32, {2});
  ASSERT_OK_AND_ASSIGN(const Program* program, Open());
  EXPECT_THAT(SharedState::Create(*program, {"forward", "third"}),
              StatusIs(kInvalid, EndsWith("it is f32[2] in method 'forward' and i32[2] in method "
                                          "'third'")));
}

// Contents of two sizes start at one address, and two empty ones at two addresses.
TEST(SharedStateContentTest, ContentsMayStartAtTheSameAddress) {
  TestProgram made;
  const uint32_t segment =
      made.AddSegment(schema::Segment::CONSTANTS, std::string(8, '\1') + std::string(120, '\2'));
  struct Place {
    uint64_t offset, size;
  };
  for (const Place& place : {Place{0, 8}, {0, 4}, {64, 4}, {0, 0}, {64, 0}}) {
    schema::Constant* constant = made.metadata().add_constants();
    constant->set_segment(segment);
    constant->set_offset(place.offset);
    constant->set_size(place.size);
  }
  const auto add = [&](const std::string& name, uint32_t half, uint32_t none) {
    TestMethod method = made.AddMethod(name);
    method.State("none", kF32, {0}, none + 1);
    method.State("s", kF32, {2}, 1);
    method.State("t", kF32, {1}, half + 1);
  };
  add("a", 1, 3);
  add("b", 1, 4);
  add("unlike", 2, 3);
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(made.Serialize()));
  EXPECT_OK(SharedState::Create(program, {"a", "b"}).status());
  EXPECT_THAT(SharedState::Create(program, {"a", "unlike"}),
              StatusIs(kInvalid, HasSubstr("state 't' can't be shared")));
}

TEST(SharedStateContentTest, EqualContentsMayHaveDifferentAddresses) {
  TestProgram made;
  const std::vector<std::vector<float>> contents = {{1, 2}, {1, 2}, {3, 4}, {1, 2}};
  std::vector<uint32_t> initial;
  for (const std::vector<float>& content : contents) {
    initial.push_back(made.AddConstant(content) + 1);
  }
  const auto add = [&](const std::string& name, uint32_t s, uint32_t t) {
    TestMethod method = made.AddMethod(name);
    method.State("s", kF32, {2}, initial[s]);
    method.State("t", kF32, {2}, initial[t]);
  };
  add("a", 0, 1);
  add("b", 1, 3);
  add("c", 3, 0);
  add("unlike", 0, 2);
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(made.Serialize()));
  ASSERT_OK_AND_ASSIGN(const SharedState state, SharedState::Create(program, {"a", "b", "c"}));
  ASSERT_OK_AND_ASSIGN(const TensorView t, state.Find("t"));
  EXPECT_THAT(ToVector<float>(t), ElementsAre(1, 2));
  EXPECT_THAT(SharedState::Create(program),
              StatusIs(kInvalid, HasSubstr("state 't' can't be shared: it is f32[2] in method 'a' "
                                           "and f32[2] in method 'unlike', with other initial "
                                           "content")));
}

// Each of 256 methods has 512 buffers of 64 MiB: proving all equal would compare 8 TiB.
TEST(SharedStateContentTest, BoundsComparisonOfOverlappingConstants) {
  constexpr uint64_t kMethods = 256, kBuffers = 512, kBytes = uint64_t{1} << 26;
  TestProgram made;
  const uint32_t segment = made.AddSegment(schema::Segment::CONSTANTS,
                                           std::string(kBytes + kMethods * kBuffers * 64, '\0'));
  for (uint64_t i = 0; i < kMethods * kBuffers; ++i) {
    schema::Constant* constant = made.metadata().add_constants();
    constant->set_segment(segment);
    constant->set_offset(i * 64);
    constant->set_size(kBytes);
  }
  for (uint64_t m = 0; m < kMethods; ++m) {
    TestMethod method = made.AddMethod(std::to_string(1000 + m));
    for (uint64_t b = 0; b < kBuffers; ++b) {
      method.State(std::to_string(b), DType::kUint8, {static_cast<int64_t>(kBytes)},
                   static_cast<uint32_t>(m * kBuffers + b + 1));
    }
  }
  Program::Options options;
  options.limits.arena_bytes = uint64_t{1} << 40;  // not tested here
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(made.Serialize(), options));
  EXPECT_THAT(SharedState::Create(program),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("constants overlap")));
}

// Each method is within the limit, but not both together.
TEST(SharedStateLimitTest, MemoryIsLimited) {
  TestProgram made;
  for (const char* name : {"s", "t"}) made.AddMethod(name).State(name, kF32, {2});
  Program::Options options;
  options.limits.arena_bytes = 64;
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(made.Serialize(), options));
  EXPECT_OK(SharedState::Create(program, {"s"}));
  EXPECT_THAT(SharedState::Create(program),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("'arena_bytes' of 64")));
}

TEST(SharedStateLimitTest, TotalMemoryDoesNotWrap) {
  TestProgram made;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    made.AddMethod(name).State(name, kF32, {int64_t{1} << 60});
  }
  Program::Options options;
  options.limits.arena_bytes = UINT64_MAX - 1;
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(made.Serialize(), options));
  EXPECT_THAT(SharedState::Create(program),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("state up to 'd' exceeds the limit 'arena_bytes'")));
}

// Method "one" adds its input to c, f32[1,16]; "two" to batch.c and d, f32[2,16] each.
class SharedStateRowTest : public MethodTest {
 protected:
  SharedStateRowTest() {
    Add("one", {"c"}, 1);
    Add("two", {"batch.c"}, 2);
    Add("two_same", {"c"}, 2);
  }
  void Add(const std::string& name, const std::vector<std::string>& states, int64_t rows,
           int64_t size = 16) {
    TestMethod method = program_.AddMethod(name);
    for (const std::string& state : states) {
      const uint32_t x = method.Input("x", kF32, {rows, size});
      const uint32_t s = method.State(state, kF32, {rows, size}, 0);
      method.Call("test.add_.Tensor", {s, x}, {s});
    }
  }
  absl::StatusOr<Method> LoadOf(const Program& program, const std::string& name,
                                SharedState& state) {
    return Method::Load(program, name, kernels_, backends_, {.state = &state});
  }
};

TEST_F(SharedStateRowTest, RowsShareTheMemoryOfAllRows) {
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(program_.Serialize()));
  for (const std::string name : {"two", "two_same"}) {
    ASSERT_OK_AND_ASSIGN(SharedState all, SharedState::Create(program, {name}));
    ASSERT_OK_AND_ASSIGN(SharedState row, SharedState::CreateRow(program, {"one"}, all, 1));
    EXPECT_EQ(row.memory_bytes(), 0u);
    ASSERT_OK_AND_ASSIGN(Method two, LoadOf(program, name, all));
    ASSERT_OK_AND_ASSIGN(Method one, LoadOf(program, "one", row));
    const TestTensor x = TestTensor::Of<float>({1, 16}, std::vector<float>(16, 3));
    const TestTensor xs = TestTensor::Of<float>({2, 16}, std::vector<float>(32, 1));
    ASSERT_OK(one.SetInput(0, x.view()));
    ASSERT_OK(one.Execute());
    ASSERT_OK(two.SetInput(0, xs.view()));
    ASSERT_OK(two.Execute());
    ASSERT_OK_AND_ASSIGN(const TensorView both, all.Find(name == "two" ? "batch.c" : "c"));
    ASSERT_OK_AND_ASSIGN(const TensorView second, row.Find("c"));
    EXPECT_EQ(ToVector<float>(both)[0], 1);
    EXPECT_EQ(ToVector<float>(second), std::vector<float>(16, 4));
    // Reset and Restore only write to the row.
    const std::string saved = row.Save();
    row.Reset();
    EXPECT_EQ(ToVector<float>(second)[15], 0);
    EXPECT_EQ(ToVector<float>(both)[15], 1);
    ASSERT_OK(row.Restore(saved));
    EXPECT_EQ(ToVector<float>(both)[16], 4);
  }
}

TEST_F(SharedStateRowTest, RejectsOtherStates) {
  Add("v_other", {"d"}, 1);
  Add("v_size", {"c"}, 1, 32);
  Add("v_unaligned", {"e"}, 1, 3);
  Add("w_unaligned", {"e"}, 2, 3);
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(program_.Serialize()));
  ASSERT_OK_AND_ASSIGN(SharedState all, SharedState::Create(program, {"two"}));
  ASSERT_OK_AND_ASSIGN(SharedState small, SharedState::Create(program, {"w_unaligned"}));
  EXPECT_THAT(SharedState::CreateRow(program, {"one"}, all, 2),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("a row in [0, 2), got 2")));
  EXPECT_THAT(SharedState::CreateRow(program, {"one"}, all, -1),
              StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(SharedState::CreateRow(program, {"v_other"}, all, 0),
              StatusIs(kInvalid, HasSubstr("state 'd': expected 'd' or 'batch.d'")));
  EXPECT_THAT(SharedState::CreateRow(program, {"v_size"}, all, 0),
              StatusIs(kInvalid, HasSubstr("state 'c': expected sizes [1, n, ...]")));
  EXPECT_THAT(SharedState::CreateRow(program, {"v_unaligned"}, small, 0),
              StatusIs(kInvalid, HasSubstr("a multiple of 64 bytes")));
  EXPECT_THAT(SharedState::CreateRow(program, {"nothing"}, all, 0), StatusIs(kNotFound));
}

}  // namespace
}  // namespace belay
