#include "runtime/executor/bank_memory.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/core/arena.h"
#include "runtime/executor/testing/method_fixture.h"

namespace belay {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// "fast" has 128 bytes, "slow" 256 that are aligned to 256, "unused" none.
MethodPlan ThreeBanks() {
  MethodPlan plan;
  plan.name = "forward";
  plan.arena_bytes = 384;
  plan.banks = {{.name = "fast", .begin = 0, .bytes = 128, .alignment = 64},
                {.name = "slow", .begin = 128, .bytes = 256, .alignment = 256},
                {.name = "unused", .begin = 384, .bytes = 0, .alignment = 64}};
  return plan;
}

struct alignas(256) Memory {
  std::byte bytes[1024];
  absl::Span<std::byte> Part(size_t begin, size_t size) {
    return absl::MakeSpan(bytes).subspan(begin, size);
  }
};

TEST(AddressesOfBanksTest, ReturnsAddressesByBank) {
  Memory memory;
  const MethodPlan plan = ThreeBanks();
  ASSERT_OK_AND_ASSIGN(const std::vector<std::byte*> none, AddressesOfBanks(plan, {}));
  EXPECT_THAT(none, ElementsAre(nullptr, nullptr, nullptr));
  const BankMemory banks[] = {{"slow", memory.Part(256, 300)}, {"unused", {}}};
  ASSERT_OK_AND_ASSIGN(const std::vector<std::byte*> addresses, AddressesOfBanks(plan, banks));
  EXPECT_THAT(addresses, ElementsAre(nullptr, memory.bytes + 256, nullptr));
}

TEST(AddressesOfBanksTest, RejectsUnknownBanks) {
  Memory memory;
  const BankMemory banks[] = {{"dram", memory.Part(0, 1024)}};
  EXPECT_THAT(AddressesOfBanks(ThreeBanks(), banks),
              StatusIs(kInvalid, HasSubstr("method 'forward', memory of bank 'dram': unknown bank; "
                                           "the method has: 'fast', 'slow', 'unused'")));
}

TEST(AddressesOfBanksTest, RejectsRepeatedBanks) {
  Memory memory;
  const BankMemory banks[] = {{"fast", memory.Part(0, 128)}, {"fast", memory.Part(512, 128)}};
  EXPECT_THAT(AddressesOfBanks(ThreeBanks(), banks),
              StatusIs(kInvalid, HasSubstr("memory of bank 'fast': given twice")));
}

TEST(AddressesOfBanksTest, RejectsTooLittleMemory) {
  Memory memory;
  const BankMemory banks[] = {{"fast", memory.Part(0, 127)}};
  EXPECT_THAT(
      AddressesOfBanks(ThreeBanks(), banks),
      StatusIs(kInvalid, HasSubstr("memory of bank 'fast': expected at least 128 bytes, got 127")));
}

TEST(AddressesOfBanksTest, RejectsMisalignedMemory) {
  Memory memory;
  const BankMemory banks[] = {{"slow", memory.Part(64, 512)}};
  EXPECT_THAT(AddressesOfBanks(ThreeBanks(), banks),
              StatusIs(kInvalid, HasSubstr("memory of bank 'slow': expected an address that is a "
                                           "multiple of 256, got 0x")));
}

TEST(AddressesOfBanksTest, RejectsOverlappingMemory) {
  Memory memory;
  const BankMemory banks[] = {{"slow", memory.Part(256, 256)}, {"fast", memory.Part(448, 128)}};
  EXPECT_THAT(AddressesOfBanks(ThreeBanks(), banks),
              StatusIs(kInvalid, HasSubstr("memory of bank 'fast': overlaps that of bank 'slow'")));
  // Bytes after those that the bank uses may be shared.
  const BankMemory apart[] = {{"slow", memory.Part(256, 768)}, {"fast", memory.Part(512, 128)}};
  EXPECT_OK(AddressesOfBanks(ThreeBanks(), apart));
}

// z = (x + y) + y: the first sum is in the bank "fast", the second one in "slow".
class MethodInBanksTest : public MethodTest {
 protected:
  MethodInBanksTest() {
    const uint32_t x = forward_.Input("x", DType::kFloat32, {32});
    const uint32_t y = forward_.Input("y", DType::kFloat32, {32});
    const uint32_t sum = forward_.Arena(DType::kFloat32, {32});
    const uint32_t result = forward_.Arena(DType::kFloat32, {32});
    forward_.Call("test.add.Tensor", {x, y}, {sum});
    forward_.Call("test.add.Tensor", {sum, y}, {result});
    forward_.Output(result);
    forward_.Bank("fast", 128);
    forward_.Bank("slow", 128, 4096);
  }

  absl::StatusOr<Method> LoadIn(absl::Span<const BankMemory> banks,
                                const Program::Options& options = {}) {
    ABSL_ASSIGN_OR_RETURN(Program opened, OpenFileBytes(program_.Serialize(), options));
    opened_.push_back(std::make_unique<Program>(std::move(opened)));
    return Method::Load(*opened_.back(), "forward", kernels_, backends_, {.banks = banks});
  }

  void ExpectResult(Method& method) {
    std::vector<float> x(32, 1), y(32, 2);
    ASSERT_OK(method.SetInput(0, TensorView::Contiguous(DType::kFloat32, {32}, x.data())));
    ASSERT_OK(method.SetInput(1, TensorView::Contiguous(DType::kFloat32, {32}, y.data())));
    ASSERT_OK(method.Execute());
    EXPECT_THAT(Floats(method.GetOutput(0)), Each(5.0f));
  }

  static const void* OutputOf(const Method& method) {
    return method.GetOutput(0).get_if<TensorView>()->data;
  }
};

TEST_F(MethodInBanksTest, RuntimeAllocatesBanksAtTheirAlignment) {
  ASSERT_OK_AND_ASSIGN(Method method, LoadIn({}));
  ExpectResult(method);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(OutputOf(method)) % 4096, 0u);
}

TEST_F(MethodInBanksTest, TensorsAreInTheCallersMemory) {
  alignas(64) std::byte fast[128];
  alignas(4096) std::byte slow[128];
  std::memset(fast, 0xff, sizeof(fast));
  std::memset(slow, 0xff, sizeof(slow));
  const BankMemory banks[] = {{"slow", slow}, {"fast", fast}};
  ASSERT_OK_AND_ASSIGN(Method method, LoadIn(banks));
  EXPECT_THAT(fast, Each(std::byte{0}));
  EXPECT_THAT(slow, Each(std::byte{0}));
  ExpectResult(method);
  EXPECT_EQ(OutputOf(method), slow);
  std::vector<float> sum(32);
  std::memcpy(sum.data(), fast, sizeof(fast));
  EXPECT_THAT(sum, Each(3.0f));
}

TEST_F(MethodInBanksTest, RuntimeAllocatesOtherBanks) {
  alignas(64) std::byte fast[192];
  std::memset(fast, 0xff, sizeof(fast));
  const BankMemory banks[] = {{"fast", fast}};
  ASSERT_OK_AND_ASSIGN(Method method, LoadIn(banks));
  ExpectResult(method);
  EXPECT_THAT(absl::MakeConstSpan(fast).subspan(128), Each(std::byte{0xff}));  // unused
}

TEST_F(MethodInBanksTest, MethodsThatExecuteInTurnMayShareMemory) {
  alignas(4096) std::byte slow[128];
  const BankMemory banks[] = {{"slow", slow}};
  ASSERT_OK_AND_ASSIGN(Method first, LoadIn(banks));
  ASSERT_OK_AND_ASSIGN(Method second, LoadIn(banks));
  for (int i = 0; i < 2; ++i) {
    ExpectResult(first);
    ExpectResult(second);
  }
}

TEST_F(MethodInBanksTest, OutputsMoveBackToTheirBank) {
  alignas(4096) std::byte slow[128];
  const BankMemory banks[] = {{"slow", slow}};
  ASSERT_OK_AND_ASSIGN(Method method, LoadIn(banks));
  std::vector<float> own(32);
  EXPECT_TRUE(method.SetOutputMemory(0, TensorView::Contiguous(DType::kFloat32, {32}, own.data())));
  ExpectResult(method);
  EXPECT_EQ(OutputOf(method), own.data());
  EXPECT_FALSE(method.SetOutputMemory(0, {}));
  ExpectResult(method);
  EXPECT_EQ(OutputOf(method), slow);
}

TEST_F(MethodInBanksTest, LimitDoesNotCountTheCallersMemory) {
  Program::Options options;
  options.limits.arena_bytes = 128 + 256;  // "fast", and copies of inputs
  EXPECT_THAT(LoadIn({}, options), StatusIs(absl::StatusCode::kResourceExhausted,
                                            AllOf(HasSubstr("'arena_bytes'"), HasSubstr("384"))));
  alignas(4096) std::byte slow[128];
  const BankMemory banks[] = {{"slow", slow}};
  EXPECT_OK(LoadIn(banks, options));
}

TEST_F(MethodInBanksTest, LoadRejectsInvalidMemory) {
  alignas(64) std::byte fast[64];
  const BankMemory banks[] = {{"fast", fast}};
  EXPECT_THAT(LoadIn(banks), StatusIs(kInvalid, HasSubstr("expected at least 128 bytes, got 64")));
}

// The arena of a program without banks is the bank "".
TEST_F(AddTest, ArenaWithoutBanksIsInTheCallersMemory) {
  Build({32});
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(program_.Serialize()));
  alignas(64) std::byte arena[128];
  const BankMemory banks[] = {{"", arena}};
  ASSERT_OK_AND_ASSIGN(Method method,
                       Method::Load(program, "forward", kernels_, backends_, {.banks = banks}));
  std::vector<float> x(32, 1);
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_OK(method.SetInput(i, TensorView::Contiguous(DType::kFloat32, {32}, x.data())));
  }
  ASSERT_OK(method.Execute());
  EXPECT_EQ(method.GetOutput(0).get_if<TensorView>()->data, arena);
  EXPECT_THAT(Floats(method.GetOutput(0)), Each(2.0f));
}

// Without the caller's memory, only address space would be reserved for 40 MiB.
TEST_F(AddTest, CallersMemoryHoldsLargestDynamicSizes) {
  constexpr int64_t kMost = 10 << 20;
  Build({kMost}, {{.dim = 0, .min = 0, .max = kMost, .symbol = "s0"}});
  Program::Options options;
  options.limits.arena_bytes = 1 << 20;
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(program_.Serialize(), options));
  ASSERT_TRUE(program.methods()[0].reserves_arena);
  ASSERT_OK_AND_ASSIGN(const AlignedBuffer arena, AlignedBuffer::Create(kMost * sizeof(float)));
  const BankMemory small[] = {{"", arena.span().first(4096)}};
  EXPECT_THAT(Method::Load(program, "forward", kernels_, backends_, {.banks = small}),
              StatusIs(kInvalid, HasSubstr("expected at least 41943040 bytes, got 4096")));
  const BankMemory banks[] = {{"", arena.span()}};
  ASSERT_OK_AND_ASSIGN(Method method,
                       Method::Load(program, "forward", kernels_, backends_, {.banks = banks}));
  std::vector<float> x(3, 1);
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_OK(method.SetInput(i, TensorView::Contiguous(DType::kFloat32, {3}, x.data())));
  }
  ASSERT_OK(method.Execute());
  EXPECT_EQ(method.GetOutput(0).get_if<TensorView>()->data, arena.data());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(2, 2, 2));
}

}  // namespace
}  // namespace belay
