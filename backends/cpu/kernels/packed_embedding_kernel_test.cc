// packed_embedding on tables packed for each linear layer, against the unpacked table and against
// the reference kernel on each instruction set.
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "backends/cpu/kernels/comparison_testing.h"
#include "backends/cpu/kernels/valid_calls_testing.h"
#include "backends/cpu/table_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/element.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/packed/packed_weights.h"
#include "runtime/kernels/packed/quantized_weights.h"
#include "runtime/kernels/packed/weight_only_weights.h"

namespace belay::cpu {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int64_t kIndices[] = {0, 1, 31, 32, 36, 5};
constexpr int64_t kRows = 37;

constexpr std::string_view kIndicesText = "i64[2,3]=0,1,31,32,36,5";

// A tensor of one dimension. The digits of floats are exact.
template <class T>
std::string Tensor(const std::vector<T>& elements) {
  std::string text = absl::StrCat(DTypeShortName(DTypeOf<T>), "[", elements.size(), "]=");
  for (const T& element : elements) {
    if constexpr (std::is_integral_v<T>) {
      absl::StrAppend(&text, element, ",");
    } else {
      absl::StrAppendFormat(&text, "%.9g,", static_cast<float>(element));
    }
  }
  text.pop_back();
  return text;
}

// Element p of row r: 4-bit integers, all different in a neighborhood.
int8_t Number(int64_t r, int64_t p) { return static_cast<int8_t>((r * 7 + p * 3) % 16 - 8); }
float Scale(int64_t r, int64_t g) { return 0.37f + static_cast<float>(r % 5) + 0.1f * g; }
float Zero(int64_t r, int64_t g) { return static_cast<float>((r + 2 * g) % 9 - 4); }

// Packs the table of integers as the transpose [k, kRows].
std::string Packed(TableLayout layout, int64_t k) {
  const auto size = static_cast<size_t>(*RowOf(layout).PackedSize(kRows, k));
  std::vector<int8_t> bytes, packed_bytes(size);
  std::vector<float> floats, packed_floats(size);
  std::vector<BFloat16> halves, packed_halves(size);
  std::vector<int32_t> packed_words(size);
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t p = 0; p < k; ++p) {
      bytes.push_back(Number(r, p));
      floats.push_back(Number(r, p));
      halves.emplace_back(static_cast<float>(Number(r, p)));
    }
  }
  switch (layout) {
    case TableLayout::kFloat32:
      PackMatrix(floats.data(), k, kRows, 1, k, packed_floats.data());
      return Tensor(packed_floats);
    case TableLayout::kVnni2:
      PackVnni2(halves.data(), k, kRows, 1, k, packed_halves.data());
      return Tensor(packed_halves);
    case TableLayout::kInt8:
      PackInt8Weights(bytes.data(), k, kRows, 1, k, packed_bytes.data());
      return Tensor(packed_bytes);
    case TableLayout::kInt4:
      PackInt4Weights(bytes.data(), k, kRows, 1, k,
                      reinterpret_cast<uint32_t*>(packed_words.data()));
      return Tensor(packed_words);
    case TableLayout::kBFloat16:
      PackBFloat16Weights(&halves[0].bits, k, kRows, 1, k, &packed_halves.data()->bits);
      return Tensor(packed_halves);
    case TableLayout::kVnni4:
      PackQuantizedMatrix(bytes.data(), 1, k, kRows, 0, 1, k, packed_bytes.data());
      return Tensor(packed_bytes);
  }
  return "";
}

std::string Parameters(float (*of)(int64_t, int64_t), int64_t k, int64_t group) {
  const int64_t groups = (k + group - 1) / group;
  std::vector<float> plain;
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t r = 0; r < kRows; ++r) plain.push_back(of(r, g));
  }
  std::vector<float> packed(static_cast<size_t>(*PackedScalesSize(k, kRows, group)));
  PackScales(plain.data(), k, kRows, group, kRows, 1, packed.data());
  return Tensor(packed);
}

// `group` is 0 without groups.
TextCall CallOf(TableLayout layout, int64_t k, int64_t group, bool zeros) {
  const TableLayoutRow& row = RowOf(layout);
  const bool integers = row.is_integer();
  if (group == 0 && integers) group = k;
  return ValidCall("packed_embedding")
      .With("weight", Packed(layout, k))
      .With("scales", integers ? Parameters(&Scale, k, group) : "none")
      .With("zeros", zeros && integers ? Parameters(&Zero, k, group) : "none")
      .With("indices", kIndicesText)
      .With("rows", absl::StrCat(kRows))
      .With("features", absl::StrCat(k))
      .With("layout", absl::StrCat("'", row.name, "'"))
      .With("group", absl::StrCat(integers ? group : 0))
      .WithOutput(0, absl::StrCat(DTypeShortName(row.result), "[2,3,", k, "]"));
}

TEST(PackedEmbeddingKernelTest, ReadsRowsOfEveryLayout) {
  for (const TableLayoutRow& row : kTableLayouts) {
    for (const int64_t k : {2, 8, 16, 30, 64}) {
      for (const int64_t group : {0, 8, 16}) {
        for (const bool zeros : {false, true}) {
          SCOPED_TRACE(absl::StrCat(row.name, " ", k, " ", group, " ", zeros));
          const TextCall call = CallOf(row.layout, k, group, zeros);
          EXPECT_TRUE(IsAccepted(call));
          const CallOutcome outcome = RunKernel(call);
          ASSERT_OK(outcome.status);
          const TensorView& result = *outcome.outputs[0].get_if<TensorView>();
          for (size_t i = 0; i < std::size(kIndices); ++i) {
            for (int64_t p = 0; p < k; ++p) {
              const int64_t r = kIndices[i], at = static_cast<int64_t>(i) * k + p;
              const int64_t g = group == 0 ? 0 : p / group;
              const float number = Number(r, p);
              const float want =
                  row.is_integer() ? (number - (zeros ? Zero(r, g) : 0)) * Scale(r, g) : number;
              const float got = row.result == DType::kFloat32
                                    ? result.as<const float>()[at]
                                    : static_cast<float>(result.as<const BFloat16>()[at]);
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
  const TextCall call = CallOf(TableLayout::kFloat32, 8, 0, false);
  const std::string rows = RunKernel(call).ToString();
  EXPECT_THAT(rows, StartsWith("f32[2,3,8]="));
  EXPECT_EQ(RunKernel(call.With("indices", "i64[2,3]:g=0,1,31,32,36,5")).ToString(), rows);
}

TEST(PackedEmbeddingKernelTest, RejectsInconsistentCalls) {
  const TextCall call = CallOf(TableLayout::kInt8, 16, 8, true);
  EXPECT_EQ(ErrorOf(call.With("layout", "'int3'")),
            "layout: expected 'f32', 'vnni2', 'int8', 'int4', 'bf16' or 'vnni4', got 'int3'");
  EXPECT_THAT(ErrorOf(call.With("scales", "none")), HasSubstr("expected scales of integers"));
  EXPECT_THAT(ErrorOf(call.With("rows", "65")), HasSubstr("weight: expected the packed shape"));
  EXPECT_THAT(ErrorOf(call.With("group", "4")), HasSubstr("group: expected a multiple of 8"));
  EXPECT_THAT(ErrorOf(call.With("group", "0")), HasSubstr("group: expected at least 1"));
  EXPECT_THAT(ErrorOf(call.With("group", "16")), HasSubstr("scales: expected the packed shape"));
  EXPECT_THAT(ErrorOf(call.With("zeros", "f32[3]")), HasSubstr("zeros: expected the packed shape"));
  const TextCall floats = CallOf(TableLayout::kFloat32, 16, 0, false);
  EXPECT_THAT(ErrorOf(floats.With("zeros", "f32[64]")),
              HasSubstr("neither scales nor zeros of floats"));
  EXPECT_THAT(ErrorOf(floats.With("group", "8")), HasSubstr("0 of floats, got 8"));
  EXPECT_THAT(ErrorOf(CallOf(TableLayout::kVnni2, 8, 0, false).With("features", "7")),
              HasSubstr("its packed form is too large"));
}

}  // namespace
}  // namespace belay::cpu
