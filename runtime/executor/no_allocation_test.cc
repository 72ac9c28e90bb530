// Execute() allocates nothing. A separate binary, since it replaces the allocator.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/executor/testing/fake_backend.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/executor/testing/test_kernels.h"

namespace {

thread_local bool counting = false;
thread_local int allocations = 0;

void Count() {
  if (counting) ++allocations;
}

}  // namespace

void* operator new(size_t size) {
  Count();
  void* data = std::malloc(size == 0 ? 1 : size);
  if (data == nullptr) std::abort();
  return data;
}
void* operator new[](size_t size) { return operator new(size); }
void operator delete(void* data) noexcept { std::free(data); }
void operator delete[](void* data) noexcept { std::free(data); }
void operator delete(void* data, size_t) noexcept { std::free(data); }
void operator delete[](void* data, size_t) noexcept { std::free(data); }

// Sanitizers replace the allocator, so that glibc's is not accessible.
#if defined(__GLIBC__) && !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* data, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  Count();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  Count();
  return __libc_calloc(count, size);
}
void* realloc(void* data, size_t size) {
  Count();
  return __libc_realloc(data, size);
}
int posix_memalign(void** data, size_t alignment, size_t size) {
  Count();
  *data = __libc_memalign(alignment, size);
  return *data == nullptr ? ENOMEM : 0;
}
}  // extern "C"
#endif

namespace belay {
namespace {

TEST(AllocationCounterTest, Counts) {
  counting = true;
  auto* volatile data = new int(3);
  counting = false;
  delete data;
  EXPECT_GT(allocations, 0);
}

// With and without an event log.
class NoAllocationTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Logged, NoAllocationTest, ::testing::Bool());

TEST_P(NoAllocationTest, ExecuteAllocatesNothing) {
  constexpr DType kF32 = DType::kFloat32;
  TestProgram program;
  const uint32_t blob = program.AddSegment(schema::Segment::DELEGATE, "add 1");
  TestMethod method = program.AddMethod("forward");
  const TestConstraint rows = {.dim = 0, .min = 0, .max = 8, .symbol = "rows"};
  const uint32_t x = method.Input("x", kF32, {8, 2}, {rows});
  const uint32_t y = method.Input("y", kF32, {8, 2}, {rows});
  const uint32_t n = method.ScalarInput("n", schema::ScalarSlot::INT, {});
  const uint32_t state = method.State("s", kF32, {2});
  const uint32_t step = method.Constant(program.AddConstant<float>({1, 2}), kF32, {2});
  const uint32_t sum = method.Arena(kF32, {8, 2}, 1), moved = method.Arena(kF32, {8, 2}, 1);
  const uint32_t delegated = method.Arena(kF32, {8, 2}, 1);
  const uint32_t worked = method.Arena(kF32, {8, 2}, 1);
  const uint32_t i = method.Slot(schema::ScalarSlot::INT);
  const uint32_t next = method.Slot(schema::ScalarSlot::INT);
  const uint32_t more = method.Slot(schema::ScalarSlot::BOOL);
  method.Move(method.Int(0), i);
  const uint32_t head = method.Call("test.less.default", {i, n}, {more});
  const uint32_t leave = method.JumpIfFalse(more);
  method.Call("test.add.Tensor", {x, y}, {sum});
  method.Move(sum, moved);
  method.Delegate("fake", blob, {moved}, {delegated});
  method.Call("test.scratch.default", {delegated}, {worked});
  method.Call("test.add_.Tensor", {state, step}, {state});
  method.Call("test.add_int.default", {i, method.Int(1)}, {next});
  method.Move(next, i);
  method.Jump(head);
  method.LandHere(leave);
  method.Output(worked);

  KernelRegistry kernels;
  ASSERT_OK(kernels.Add(TestKernels()));
  const FakeBackend fake;
  BackendRegistry backends;
  ASSERT_OK(backends.Add(&fake));
  ASSERT_OK_AND_ASSIGN(const Program opened, OpenFileBytes(program.Serialize()));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<EventLog> log, EventLog::Create(50));
  ASSERT_OK_AND_ASSIGN(Method loaded,
                       Method::Load(opened, "forward", kernels, backends,
                                    {.events = {.log = GetParam() ? log.get() : nullptr}}));
  const TestTensor contiguous = TestTensor::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const TestTensor transposed = TestTensor::Dense<float>({3, 2}, {1, 0}, {1, 2, 3, 4, 5, 6});
  const int allocated_before = allocations;

  counting = true;
  absl::Status status = loaded.SetInput(0, contiguous.view());
  if (status.ok()) status = loaded.SetInput(1, transposed.view());
  if (status.ok()) status = loaded.SetInput(2, int64_t{10});
  const std::atomic<bool> cancel = false;
  const ExecuteOptions options = {
      .deadline = std::chrono::steady_clock::now() + std::chrono::hours(1), .cancel = &cancel};
  for (int k = 0; k < 3 && status.ok(); ++k) status = loaded.Execute(options);
  counting = false;
  EXPECT_OK(status);
  EXPECT_EQ(allocations, allocated_before);
  EXPECT_THAT(ToVector<float>(*loaded.GetOutput(0).get_if<TensorView>()),
              ::testing::ElementsAre(4, 6, 8, 10, 12, 14));
  EXPECT_EQ(log->dropped() > 0, GetParam());  // the log was filled
  EXPECT_THAT(ToVector<float>(*loaded.GetState("s")), ::testing::ElementsAre(30, 60));
}

}  // namespace
}  // namespace belay
