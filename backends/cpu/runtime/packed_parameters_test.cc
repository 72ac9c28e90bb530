#include "backends/cpu/runtime/packed_parameters.h"

#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/test_named_data.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay::cpu {
namespace {

using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class PackedParametersTest : public ::testing::Test {
 protected:
  PackedParametersTest() : budget_("delegate_bytes", uint64_t{1} << 20) {
    for (int i = 0; i < 15; ++i) weight_.push_back(static_cast<float>(i));
    data_.entries["w"] = std::string(reinterpret_cast<const char*>(weight_.data()), 60);
  }
  // The weight packed as [k, n] with these strides.
  std::string Packed(int64_t k, int64_t n, int64_t row_stride, int64_t column_stride) const {
    std::vector<float> packed(static_cast<size_t>(*PackedMatrixSize(k, n)));
    PackMatrix(weight_.data(), k, n, row_stride, column_stride, packed.data());
    return std::string(reinterpret_cast<const char*>(packed.data()), packed.size() * 4);
  }
  static std::string Text(absl::Span<const std::byte> bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  std::vector<float> weight_;  // 15 numbers
  TestNamedData data_;
  MemoryBudget budget_;
};

TEST_F(PackedParametersTest, PacksByName) {
  const PackedParameters parameters(data_, budget_);
  ASSERT_OK_AND_ASSIGN(const auto plain, parameters.Find("belay_cpu.packed/f32/3/5/n/w"));
  EXPECT_EQ(Text(plain), Packed(3, 5, 5, 1));
  ASSERT_OK_AND_ASSIGN(const auto transposed, parameters.Find("belay_cpu.packed/f32/3/5/t/w"));
  EXPECT_EQ(Text(transposed), Packed(3, 5, 1, 3));
  EXPECT_EQ(Text(plain), Packed(3, 5, 5, 1));  // still valid
  ASSERT_OK_AND_ASSIGN(const auto other, parameters.Find("w"));
  EXPECT_EQ(Text(other), data_.entries["w"]);
}

TEST_F(PackedParametersTest, MisalignedDataArePacked) {
  class Shifted final : public NamedDataMap {
   public:
    explicit Shifted(absl::Span<const std::byte> bytes) : bytes_(bytes) {}
    absl::StatusOr<absl::Span<const std::byte>> Find(std::string_view) const override {
      return bytes_;
    }
    absl::Span<const std::byte> bytes_;
  };
  std::vector<float> memory(32);
  auto* bytes = reinterpret_cast<std::byte*>(memory.data()) + 1;
  std::memcpy(bytes, weight_.data(), 60);
  const Shifted data(absl::MakeConstSpan(bytes, 60));
  const PackedParameters parameters(data, budget_);
  ASSERT_OK_AND_ASSIGN(const auto packed, parameters.Find("belay_cpu.packed/f32/5/3/n/w"));
  EXPECT_EQ(Text(packed), Packed(5, 3, 3, 1));
}

TEST_F(PackedParametersTest, RejectsNamesThatDoNotFitTheData) {
  const PackedParameters parameters(data_, budget_);
  EXPECT_THAT(parameters.Find("belay_cpu.packed/f32/3/4/n/w"),
              StatusIs(kInvalid, HasSubstr("expected elements 3 x 4 of 4 bytes, the program has "
                                           "60 bytes")));
  EXPECT_THAT(parameters.Find("belay_cpu.packed/f32/4611686018427387904/4611686018427387904/n/w"),
              StatusIs(kInvalid, HasSubstr("the program has 60 bytes")));
  EXPECT_THAT(parameters.Find("belay_cpu.packed/f32/3/5/q/w"),
              StatusIs(kInvalid, HasSubstr("expected layout, sizes, order and name")));
  EXPECT_THAT(parameters.Find("belay_cpu.packed/vnni2/15/2/n/w"),  // an odd k
              StatusIs(kInvalid, HasSubstr("can't be packed")));
  EXPECT_THAT(parameters.Find("belay_cpu.packed/f32/3/5/n/v"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no such key")));
}

TEST_F(PackedParametersTest, ChargesTheBudget) {
  MemoryBudget small("delegate_bytes", 100);
  const PackedParameters parameters(data_, small);
  EXPECT_THAT(parameters.Find("belay_cpu.packed/f32/3/5/n/w"),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("'delegate_bytes'")));
}

}  // namespace
}  // namespace belay::cpu
