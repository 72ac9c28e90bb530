// Methods whose memory is from an allocator of the application.
#include <cstdint>
#include <memory>

#include "runtime/core/test_allocator.h"
#include "runtime/executor/shared_state.h"
#include "runtime/executor/testing/method_fixture.h"
#include "runtime/executor/testing/program_backend.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr DType kF32 = DType::kFloat32;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

const void* DataOf(const EValue& value) { return value.get_if<TensorView>()->data; }

class MethodAllocatorTest : public MethodTest {
 protected:
  // Adds x to the state, and returns it plus x, which is in the bank "wide", and the state.
  MethodAllocatorTest() {
    const uint32_t x = forward_.Input("x", kF32, {2});
    const uint32_t sum = forward_.State("sum", kF32, {2});
    const uint32_t next = forward_.Arena(kF32, {2});
    forward_.Call("test.add_.Tensor", {sum, x}, {sum});
    forward_.Call("test.add.Tensor", {sum, x}, {next});
    forward_.Output(next);
    forward_.Output(sum);
    forward_.Bank("wide", 64, 4096);
  }

  absl::StatusOr<Method> LoadWith(const MethodOptions& options) {
    ABSL_ASSIGN_OR_RETURN(Program opened, OpenFileBytes(program_.Serialize(), {}));
    opened_.push_back(std::make_unique<Program>(std::move(opened)));
    return Method::Load(*opened_.back(), "forward", kernels_, backends_, options);
  }

  TestAllocator allocator_;
};

TEST_F(MethodAllocatorTest, ActivationsStateAndCopiesAreInItsBlocks) {
  ASSERT_OK_AND_ASSIGN(Method method, LoadWith({.allocator = &allocator_}));
  const size_t loaded = allocator_.allocations;
  float strided[] = {1, 9, 2};
  for (const float times : {1.0f, 2.0f}) {
    // Not dense, so it is copied.
    ASSERT_OK(method.SetInput(
        0, TensorView{.dtype = kF32, .sizes = {2}, .strides = {2}, .data = strided}));
    ASSERT_OK(method.Execute());
    EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(times + 1, 2 * times + 2));
    EXPECT_THAT(Floats(method.GetOutput(1)), ElementsAre(times, 2 * times));
  }
  EXPECT_TRUE(allocator_.Contains(DataOf(method.GetOutput(0))));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(DataOf(method.GetOutput(0))) % 4096, 0u);
  EXPECT_TRUE(allocator_.Contains(DataOf(method.GetOutput(1))));
  EXPECT_EQ(allocator_.allocations, loaded);
}

TEST_F(MethodAllocatorTest, SharedStateHasItsOwn) {
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(program_.Serialize(), {}));
  ASSERT_OK_AND_ASSIGN(SharedState state, SharedState::Create(program, {}, &allocator_));
  ASSERT_OK_AND_ASSIGN(const TensorView sum, state.Find("sum"));
  EXPECT_TRUE(allocator_.Contains(sum.data));
  EXPECT_THAT(ToVector<float>(sum), ElementsAre(0, 0));
  ASSERT_OK_AND_ASSIGN(Method method,
                       Method::Load(program, "forward", kernels_, backends_, {.state = &state}));
  float x[] = {3, 4};
  ASSERT_OK(method.SetInput(0, TensorView::Contiguous(kF32, {2}, x)));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(ToVector<float>(sum), ElementsAre(3, 4));
  EXPECT_FALSE(allocator_.Contains(DataOf(method.GetOutput(0))));
}

TEST_F(MethodAllocatorTest, LoadFailsWithoutMemory) {
  allocator_.largest = 63;
  EXPECT_THAT(LoadWith({.allocator = &allocator_}),
              StatusIs(kExhausted, HasSubstr("no memory for ")));
}

// y = (x + x) + x, in a program in a delegate if `delegated`. Returns the number of blocks.
class NestedAllocatorTest : public MethodTest {
 protected:
  size_t Blocks(bool delegated) {
    TestProgram inner, outer;
    TestMethod method = (delegated ? inner : outer).AddMethod("forward");
    const uint32_t x = method.Input("x", kF32, {2});
    const uint32_t twice = method.Arena(kF32, {2}), sum = method.Arena(kF32, {2});
    method.Call("test.add.Tensor", {x, x}, {twice});
    method.Call("test.add.Tensor", {twice, x}, {sum});
    method.Output(sum);
    if (delegated) {
      TestMethod caller = outer.AddMethod("forward");
      const uint32_t from = caller.Input("x", kF32, {2});
      const uint32_t to = caller.Arena(kF32, {2});
      caller.Delegate("program", outer.AddSegment(schema::Segment::DELEGATE, inner.Serialize()),
                      {from}, {to});
      caller.Output(to);
    }
    const ProgramBackend backend(kernels_, no_backends_);
    BackendRegistry backends;
    EXPECT_OK(backends.Add(&backend));
    const absl::StatusOr<Program> program = OpenFileBytes(outer.Serialize());
    EXPECT_OK(program.status());
    TestAllocator allocator;
    absl::StatusOr<Method> loaded =
        Method::Load(*program, "forward", kernels_, backends, {.allocator = &allocator});
    EXPECT_OK(loaded.status());
    const size_t blocks = allocator.allocations;
    float values[] = {1, 2};
    EXPECT_OK(loaded->SetInput(0, TensorView::Contiguous(kF32, {2}, values)));
    EXPECT_OK(loaded->Execute());
    EXPECT_THAT(Floats(loaded->GetOutput(0)), ElementsAre(3, 6));
    EXPECT_EQ(allocator.allocations, blocks);
    return blocks;
  }

  BackendRegistry no_backends_;
};

TEST_F(NestedAllocatorTest, ProgramsInDelegatesUseTheAllocator) {
  EXPECT_GT(Blocks(true), Blocks(false));
}

}  // namespace
}  // namespace belay
