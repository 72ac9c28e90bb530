// packed_embedding on tables packed for each linear layer, against the unpacked table and against
// the reference kernel on each instruction set.
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/kernels/call_testing.h"
#include "backends/cpu/kernels/comparison_testing.h"
#include "backends/cpu/table_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/element.h"
#include "runtime/kernels/packed/packed_weights.h"
#include "runtime/kernels/packed/quantized_weights.h"
#include "runtime/kernels/packed/weight_only_weights.h"

namespace belay::cpu {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kIndices[] = {0, 1, 31, 32, 36, 5};
constexpr int64_t kRows = 37;

template <class T>
T* Data(const EValue& value) {
  return value.get_if<TensorView>()->as<T>();
}

EValue Indices() {
  EValue indices = T(DType::kInt64, {2, 3});
  std::memcpy(Data<int64_t>(indices), kIndices, sizeof(kIndices));
  return indices;
}

// Element p of row r: 4-bit integers, all different in a neighborhood.
int8_t Number(int64_t r, int64_t p) { return static_cast<int8_t>((r * 7 + p * 3) % 16 - 8); }
float Scale(int64_t r, int64_t g) { return 0.37f + static_cast<float>(r % 5) + 0.1f * g; }
float Zero(int64_t r, int64_t g) { return static_cast<float>((r + 2 * g) % 9 - 4); }

// Packs the table of integers as the transpose [k, kRows].
EValue Packed(TableLayout layout, int64_t k) {
  const TableLayoutRow& row = RowOf(layout);
  EValue packed = T(row.dtype, {*row.PackedSize(kRows, k)});
  std::vector<int8_t> bytes;
  std::vector<float> floats;
  std::vector<BFloat16> halves;
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t p = 0; p < k; ++p) {
      bytes.push_back(Number(r, p));
      floats.push_back(Number(r, p));
      halves.emplace_back(static_cast<float>(Number(r, p)));
    }
  }
  switch (layout) {
    case TableLayout::kFloat32:
      PackMatrix(floats.data(), k, kRows, 1, k, Data<float>(packed));
      break;
    case TableLayout::kVnni2:
      PackVnni2(halves.data(), k, kRows, 1, k, Data<BFloat16>(packed));
      break;
    case TableLayout::kInt8:
      PackInt8Weights(bytes.data(), k, kRows, 1, k, Data<int8_t>(packed));
      break;
    case TableLayout::kInt4:
      PackInt4Weights(bytes.data(), k, kRows, 1, k,
                      reinterpret_cast<uint32_t*>(Data<int32_t>(packed)));
      break;
    case TableLayout::kBFloat16:
      PackBFloat16Weights(&halves[0].bits, k, kRows, 1, k, &Data<BFloat16>(packed)->bits);
      break;
    case TableLayout::kVnni4:
      PackQuantizedMatrix(bytes.data(), 1, k, kRows, 0, 1, k, Data<int8_t>(packed));
      break;
  }
  return packed;
}

EValue Parameters(float (*of)(int64_t, int64_t), int64_t k, int64_t group) {
  const int64_t groups = (k + group - 1) / group;
  std::vector<float> plain;
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t r = 0; r < kRows; ++r) plain.push_back(of(r, g));
  }
  EValue packed = T(DType::kFloat32, {*PackedScalesSize(k, kRows, group)});
  PackScales(plain.data(), k, kRows, group, kRows, 1, Data<float>(packed));
  return packed;
}

// `group` is 0 without groups.
TestCall CallOf(TableLayout layout, int64_t k, int64_t group, bool zeros) {
  const TableLayoutRow& row = RowOf(layout);
  const bool integers = row.is_integer();
  if (group == 0 && integers) group = k;
  return TestCall("packed_embedding",
                  {Packed(layout, k), integers ? Parameters(&Scale, k, group) : EValue(),
                   zeros && integers ? Parameters(&Zero, k, group) : EValue(), Indices(),
                   Int(kRows), Int(k), Text(row.name), Int(integers ? group : 0)},
                  T(row.result, {2, 3, k}));
}

TEST(PackedEmbeddingKernelTest, ReadsRowsOfEveryLayout) {
  for (const TableLayoutRow& row : kTableLayouts) {
    for (const int64_t k : {2, 8, 16, 30, 64}) {
      for (const int64_t group : {0, 8, 16}) {
        for (const bool zeros : {false, true}) {
          SCOPED_TRACE(absl::StrCat(row.name, " ", k, " ", group, " ", zeros));
          const TestCall call = CallOf(row.layout, k, group, zeros);
          EXPECT_TRUE(call.IsTaken());
          ASSERT_EQ(call.Run(), "");
          for (size_t i = 0; i < std::size(kIndices); ++i) {
            for (int64_t p = 0; p < k; ++p) {
              const int64_t r = kIndices[i], at = static_cast<int64_t>(i) * k + p;
              const int64_t g = group == 0 ? 0 : p / group;
              const float number = Number(r, p);
              const float want =
                  row.is_integer() ? (number - (zeros ? Zero(r, g) : 0)) * Scale(r, g) : number;
              const float got = row.result == DType::kFloat32
                                    ? Data<float>(call.result())[at]
                                    : static_cast<float>(Data<BFloat16>(call.result())[at]);
              ASSERT_EQ(got, want) << r << " " << p;
            }
          }
        }
      }
    }
  }
}

using PackedEmbeddingComparisonTest = CpuKernelComparisonTest;

TEST_F(PackedEmbeddingComparisonTest, EqualsTheReferenceBitwise) {
  for (const TableLayoutRow& row : kTableLayouts) {
    for (const int64_t k : {2, 24, 40}) {
      for (const int64_t group : {int64_t{8}, k}) {
        for (const bool zeros : {false, true}) {
          if (!row.is_integer() && (zeros || group != k)) continue;
          if (group > k) continue;
          TestTensorSpec weight = {row.dtype, {*row.PackedSize(kRows, k)}};
          if (row.dtype == DType::kInt8) weight.below = -128;
          if (row.dtype == DType::kInt32) weight.below = std::numeric_limits<int32_t>::min();
          const int64_t scales = row.is_integer() ? *PackedScalesSize(k, kRows, group) : 0;
          KernelCall call;
          call.op = "belay_cpu.packed_embedding.default";
          call.arguments = {
              std::move(weight),
              row.is_integer() ? TestArgument(TestTensorSpec{DType::kFloat32, {scales}})
                               : TestArgument(EValue()),
              zeros ? TestArgument(TestTensorSpec{DType::kFloat32, {scales}})
                    : TestArgument(EValue()),
              TestTensorSpec{.dtype = DType::kInt64, .sizes = {3, 5}, .below = kRows},
              EValue(kRows),
              EValue(k),
              EValue(row.name),
              EValue(row.is_integer() ? group : int64_t{0}),
          };
          call.outputs = {row.result};
          call.max_ulp = 0;
          ASSERT_TRUE(comparison_.Compare(call));
        }
      }
    }
  }
}

TEST(PackedEmbeddingKernelTest, ReadsIndicesWithGaps) {
  const TestCall call = CallOf(TableLayout::kFloat32, 8, 0, false);
  EValue indices = WithGaps(Indices());  // the layout, without the elements
  for (size_t i = 0; i < std::size(kIndices); ++i) Data<int64_t>(indices)[2 * i] = kIndices[i];
  const TestCall gaps = call.With("indices", indices).WithResult(T(DType::kFloat32, {2, 3, 8}));
  ASSERT_EQ(call.Run(), "");
  ASSERT_EQ(gaps.Run(), "");
  EXPECT_EQ(std::memcmp(Data<float>(gaps.result()), Data<float>(call.result()),
                        std::size(kIndices) * 8 * sizeof(float)),
            0);
}

TEST(PackedEmbeddingKernelTest, RejectsInconsistentCalls) {
  const TestCall call = CallOf(TableLayout::kInt8, 16, 8, true);
  EXPECT_EQ(call.With("layout", Text("int3")).Run(),
            "layout: expected 'f32', 'vnni2', 'int8', 'int4', 'bf16' or 'vnni4', got 'int3'");
  EXPECT_THAT(call.With("scales", EValue()).Run(), HasSubstr("expected scales of integers"));
  EXPECT_THAT(call.With("rows", Int(65)).Run(), HasSubstr("weight: expected the packed shape"));
  EXPECT_THAT(call.With("group", Int(4)).Run(), HasSubstr("group: expected a multiple of 8"));
  EXPECT_THAT(call.With("group", Int(0)).Run(), HasSubstr("group: expected at least 1"));
  EXPECT_THAT(call.With("group", Int(16)).Run(), HasSubstr("scales: expected the packed shape"));
  EXPECT_THAT(call.With("zeros", T(DType::kFloat32, {3})).Run(),
              HasSubstr("zeros: expected the packed shape"));
  const TestCall floats = CallOf(TableLayout::kFloat32, 16, 0, false);
  EXPECT_THAT(floats.With("zeros", T(DType::kFloat32, {64})).Run(),
              HasSubstr("neither scales nor zeros of floats"));
  EXPECT_THAT(floats.With("group", Int(8)).Run(), HasSubstr("0 of floats, got 8"));
  EXPECT_THAT(CallOf(TableLayout::kVnni2, 8, 0, false).With("features", Int(7)).Run(),
              HasSubstr("its packed form is too large"));
}

}  // namespace
}  // namespace belay::cpu
