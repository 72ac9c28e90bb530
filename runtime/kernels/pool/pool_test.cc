// Pooling against the reference kernels.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/kernel_interface/test_outputs.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/kernel_comparison.h"
#include "runtime/kernels/packed/guarded_array.h"
#include "runtime/kernels/pool/pool.h"

namespace belay {
namespace {

using Ints = std::vector<int64_t>;
constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

TEST(PoolTest, WindowsOfAllShapes) {
  KernelComparison comparison;
  for (DType dtype : kDTypes) {
    for (int64_t size : {3, 8, 17, 33, 40}) {
      for (int64_t kernel : {1, 2, 3}) {
        for (int64_t stride : {1, 2, 3}) {
          const int64_t padding = kernel / 2;
          for (bool ceil : {false, true}) {
            for (Values values : {Values::kNormal, Values::kSpecial, Values::kFew}) {
              const TestTensorSpec self = {dtype, {2, size, size}, Layout::kRowMajor, values, 0};
              ASSERT_TRUE(comparison.Compare({"aten.max_pool2d_with_indices.default",
                                              {self, Ints{kernel, kernel}, Ints{stride, stride},
                                               Ints{padding, padding}, Ints{1, 1}, EValue(ceil)},
                                              {dtype, DType::kInt64}}));
            }
            ASSERT_TRUE(comparison.Compare(
                {"aten.avg_pool2d.default",
                 {TestTensorSpec{dtype, {2, size, size}}, Ints{kernel, kernel},
                  Ints{stride, stride}, Ints{padding, padding}, EValue(ceil), EValue(stride == 2),
                  stride == 3 ? EValue(int64_t{7}) : EValue()},
                 {dtype},
                 static_cast<double>(kernel * kernel),
                 UlpOf::kLargest}));
          }
        }
      }
    }
  }
}

TEST(PoolTest, ChannelsLastMaxima) {
  KernelComparison comparison;
  for (int64_t channels : {2, 3, 8, 17, 40}) {
    for (int64_t kernel : {1, 2, 3}) {
      for (int64_t stride : {1, 2, 3}) {
        for (int64_t dilation : {1, 2, 5}) {
          for (Values values : {Values::kNormal, Values::kSpecial, Values::kFew}) {
            const int64_t size = 3 + dilation * (kernel - 1), padding = kernel / 2;
            for (DType dtype : kDTypes) {
              KernelCall call = {
                  "aten.max_pool2d_with_indices.default",
                  {TestTensorSpec{
                       dtype, {2, channels, size, size + 4}, Layout::kChannelsLast, values, 0},
                   Ints{kernel, kernel}, Ints{stride, stride}, Ints{padding, padding},
                   Ints{dilation, dilation}, EValue(stride == 2)},
                  {dtype, DType::kInt64}};
              call.output_layout = Layout::kChannelsLast;
              ASSERT_TRUE(comparison.Compare(call));
            }
          }
        }
      }
    }
  }
}

TEST(PoolTest, MaximaOfVolumes) {
  KernelComparison comparison;
  for (DType dtype : kDTypes) {
    for (Layout layout : {Layout::kRowMajor, Layout::kChannelsLast}) {
      for (int64_t size : {5, 17, 40}) {
        for (int64_t kernel : {1, 2, 3}) {
          for (int64_t stride : {1, 2, 3}) {
            for (int64_t dilation : {1, 2}) {
              for (Values values : {Values::kNormal, Values::kSpecial, Values::kFew}) {
                const auto list = [](int64_t v) { return Ints(3, v); };
                KernelCall call = {
                    "aten.max_pool3d_with_indices.default",
                    {TestTensorSpec{dtype, {2, 3, 5, 6, size}, layout, values, 0}, list(kernel),
                     list(stride), list(kernel / 2), list(dilation), EValue(stride == 2)},
                    {dtype, DType::kInt64}};
                // Only float32 has a kernel for channels-last results.
                if (dtype == DType::kFloat32) call.output_layout = layout;
                ASSERT_TRUE(comparison.Compare(call));
              }
            }
          }
        }
      }
    }
  }
}

TEST(PoolTest, AveragesOfOneAndThreeDimensions) {
  KernelComparison comparison;
  for (DType dtype : kDTypes) {
    for (Layout layout : {Layout::kRowMajor, Layout::kGaps, Layout::kReversed}) {
      for (int64_t size : {3, 8, 17, 40}) {
        for (int64_t kernel : {1, 2, 3}) {
          for (int64_t stride : {1, 2, 3}) {
            const int64_t padding = kernel / 2;
            for (bool ceil : {false, true}) {
              ASSERT_TRUE(comparison.Compare(
                  {"aten.avg_pool1d.default",
                   {TestTensorSpec{dtype, {2, 3, size}, layout, Values::kNormal, 0}, Ints{kernel},
                    Ints{stride}, Ints{padding}, EValue(ceil), EValue(stride == 2)},
                   {dtype},
                   static_cast<double>(kernel),
                   UlpOf::kLargest}));
              ASSERT_TRUE(comparison.Compare(
                  {"aten.avg_pool3d.default",
                   {TestTensorSpec{dtype, {2, 6, 5, size}, layout, Values::kNormal, 0},
                    Ints{kernel, kernel, kernel}, Ints{stride, stride, stride},
                    Ints{padding, padding, padding}, EValue(ceil), EValue(stride == 2),
                    stride == 3 ? EValue(int64_t{7}) : EValue()},
                   {dtype},
                   static_cast<double>(kernel * kernel * kernel),
                   UlpOf::kLargest}));
            }
          }
        }
      }
    }
  }
}

TEST(PoolTest, AdaptiveAveragesOfAllSizesAndLayouts) {
  KernelComparison comparison;
  for (DType dtype : kDTypes) {
    for (Layout layout :
         {Layout::kRowMajor, Layout::kGaps, Layout::kReversed, Layout::kChannelsLast}) {
      for (int64_t size : {1, 5, 16, 33, 70}) {
        for (int64_t count : {1, 3, 7}) {
          const auto compare = [&](const char* op, const Sizes& sizes, const Ints& counts) {
            KernelCall call = {op,
                               {TestTensorSpec{dtype, sizes, layout, Values::kNormal, 0}, counts},
                               {dtype},
                               1,
                               UlpOf::kLargest};
            if (layout == Layout::kChannelsLast) call.output_layout = layout;
            ASSERT_TRUE(comparison.Compare(call));
          };
          compare("aten.adaptive_avg_pool1d.default", {2, 3, size}, {count});
          compare("aten._adaptive_avg_pool2d.default", {2, 3, 9, size}, {count, count});
          compare("aten._adaptive_avg_pool3d.default", {2, 4, 5, size}, {count, 2, count});
        }
      }
    }
  }
}

TEST(PoolTest, AveragesChannelsLast) {
  KernelComparison comparison;
  for (int64_t channels : {2, 7, 8, 15, 16, 17, 35}) {
    for (int64_t kernel : {1, 2, 3}) {
      for (int64_t stride : {1, 2, 3}) {
        const EValue divisor = stride == 3 ? EValue(int64_t{7}) : EValue();
        const auto compare = [&](const char* op, const Sizes& sizes, int spatial) {
          const auto list = [&](int64_t v) { return Ints(static_cast<size_t>(spatial), v); };
          for (DType dtype : kDTypes) {
            KernelCall call = {
                op,
                {TestTensorSpec{dtype, sizes, Layout::kChannelsLast}, list(kernel), list(stride),
                 list(kernel / 2), EValue(stride == 2), EValue(stride == 2), divisor},
                {dtype},
                static_cast<double>(kernel * kernel * kernel),
                UlpOf::kLargest};
            call.output_layout = Layout::kChannelsLast;
            ASSERT_TRUE(comparison.Compare(call));
          }
        };
        compare("aten.avg_pool2d.default", {2, channels, 9, 10}, 2);
        compare("aten.avg_pool3d.default", {2, channels, 4, 5, 6}, 3);
        compare("aten.avg_pool3d.default", {channels, 4, 5, 6}, 3);  // no batch
      }
    }
  }
}

TEST(PoolTest, LargeCallsAreDivided) {
  KernelComparison comparison;
  for (Layout layout : {Layout::kRowMajor, Layout::kChannelsLast}) {
    const TestTensorSpec image = {DType::kFloat32, {2, 64, 40, 41}, layout};
    KernelCall call = {
        "aten.avg_pool2d.default",
        {image, Ints{3, 3}, Ints{2, 2}, Ints{1, 1}, EValue(false), EValue(true), EValue()},
        {DType::kFloat32},
        9,
        UlpOf::kLargest};
    call.output_layout = layout;
    ASSERT_TRUE(comparison.Compare(call));
    call = {"aten._adaptive_avg_pool2d.default",
            {image, Ints{7, 5}},
            {DType::kFloat32},
            1,
            UlpOf::kLargest};
    call.output_layout = layout;
    ASSERT_TRUE(comparison.Compare(call));
  }
}

// Rows of every length, whose image and results end at inaccessible memory.
TEST(PoolTest, WindowsReadAndWriteNothingOutside) {
  std::mt19937_64 random(20261129);
  const std::vector<std::string> sets = InstructionSets();
  for (const std::string& set : sets) {
    ASSERT_TRUE(UseInstructionSet(set).ok());
    for (int64_t width = 1; width <= 75; ++width) {
      const GuardedSide side = width % 2 == 0 ? GuardedSide::kBegin : GuardedSide::kEnd;
      GuardedArray<float> image(static_cast<size_t>(width), 0, side);
      image.Fill(random);
      if (width % 3 == 0) image[static_cast<size_t>(width / 2)] = std::nanf("");
      for (const auto& [kernel, stride, padding] : {std::array<int64_t, 3>{1, 1, 0},
                                                    {1, 2, 0},
                                                    {2, 1, 1},
                                                    {3, 1, 1},
                                                    {5, 2, 2},
                                                    {2, 2, 0},
                                                    {3, 2, 1},
                                                    {3, 3, 0}}) {
        if (width + 2 * padding < kernel) continue;
        PoolRow row = {.volume = image.data(), .height = 1, .width = width, .kernel_height = 1};
        row.kernel_width = kernel;
        row.stride = stride;
        row.padding = padding;
        row.outputs = (width + 2 * padding - kernel) / stride + 1;
        const auto outputs = static_cast<size_t>(row.outputs);
        GuardedArray<float> maxima(outputs), sums(outputs), columns(outputs);
        GuardedArray<int64_t> places(outputs);
        std::fill_n(columns.data(), outputs, 0.5f);
        MaxPoolRowF32(row, maxima.data(), places.data());
        AveragePoolRowF32(row, 2, columns.data(), sums.data());
        // Rows with padding give the same results.
        if (stride <= 2) {
          row.padded_pitch = (row.outputs + 15) / 16 * 16 * stride + kernel;
          const auto size = static_cast<size_t>(padding + row.padded_pitch + kPoolSlack);
          for (bool is_max : {true, false}) {
            GuardedArray<float> padded(size), results(outputs);
            GuardedArray<int64_t> places_of_padded(outputs);
            std::fill_n(padded.data(), size,
                        is_max ? -std::numeric_limits<float>::infinity() : 0.0f);
            std::copy_n(image.data(), std::min(width, row.padded_pitch), padded.data() + padding);
            row.volume = padded.data() + padding;
            if (is_max) {
              MaxPoolRowF32(row, results.data(), places_of_padded.data());
              ASSERT_EQ(
                  std::memcmp(places_of_padded.data(), places.data(), outputs * sizeof(int64_t)),
                  0);
            } else {
              AveragePoolRowF32(row, 2, columns.data(), results.data());
            }
            const float* const same = is_max ? maxima.data() : sums.data();
            ASSERT_EQ(std::memcmp(results.data(), same, outputs * sizeof(float)), 0)
                << set << ' ' << width << ' ' << kernel << ' ' << stride;
          }
        }
        for (int64_t x = 0; x < row.outputs; ++x) {
          float best = -std::numeric_limits<float>::infinity(), sum = 0;
          int64_t at = -1;
          for (int64_t c = std::max<int64_t>(0, x * stride - padding);
               c < std::min(width, x * stride - padding + kernel); ++c) {
            const float value = image[static_cast<size_t>(c)];
            sum += value;
            if (at >= 0 && !(value > best) && !std::isnan(value)) continue;
            best = value;
            at = c;
          }
          const auto i = static_cast<size_t>(x);
          ASSERT_EQ(places[i], at) << set << ' ' << width << ' ' << kernel << ' ' << stride;
          ASSERT_TRUE(maxima[i] == best || std::isnan(best)) << maxima[i] << ' ' << best;
          ASSERT_TRUE(sums[i] == sum || std::isnan(sum)) << sums[i] << ' ' << sum;
        }
      }
    }
  }
  ASSERT_TRUE(UseInstructionSet(sets.front()).ok());
}

// Maxima without positions take whole vectors of channels together, and find NaN apart.
TEST(PoolTest, MaximaWithoutPositionsAreThoseWithPositions) {
  std::mt19937_64 random(20261130);
  const std::vector<std::string> sets = InstructionSets();
  for (const std::string& set : sets) {
    ASSERT_TRUE(UseInstructionSet(set).ok());
    for (int64_t channels : {1, 4, 15, 16, 17, 32, 40}) {
      for (const auto& [kernel, stride, padding, dilation] :
           {std::array<int64_t, 4>{3, 2, 1, 1}, {2, 2, 0, 1}, {3, 1, 1, 2}, {1, 1, 0, 1}}) {
        constexpr int64_t kHeight = 5, kWidth = 7;
        GuardedArray<float> image(static_cast<size_t>(kHeight * kWidth * channels));
        image.Fill(random);
        for (size_t i = 3; i < image.size(); i += 29) image[i] = std::nanf("");
        image[0] = -std::numeric_limits<float>::infinity();
        PoolRow row = {.volume = image.data(), .height = kHeight, .width = kWidth};
        row.kernel_height = row.kernel_width = kernel;
        row.stride = stride;
        row.padding = padding;
        row.dilation = row.row_dilation = dilation;
        row.outputs = (kWidth + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
        for (row.first_row = -padding; row.first_row <= kHeight; ++row.first_row) {
          const auto count = static_cast<size_t>(row.outputs * channels);
          GuardedArray<float> maxima(count), with_places(count);
          GuardedArray<int64_t> places(count);
          MaxPoolChannels(row, channels, maxima.data());
          MaxPoolChannelsF32(row, channels, with_places.data(), places.data());
          ASSERT_EQ(std::memcmp(maxima.data(), with_places.data(), count * sizeof(float)), 0)
              << set << ' ' << channels << ' ' << kernel << ' ' << row.first_row;
        }
      }
    }
  }
  ASSERT_TRUE(UseInstructionSet(sets.front()).ok());
}

// Pools an image of `side` x `side`, windows of 2 x 2 with stride 2, with the working memory that the
// kernel requests for an image of `planned` x `planned`.
absl::StatusOr<std::vector<float>> PoolWithMemoryOf(std::string_view op, int64_t planned,
                                                    int64_t side) {
  FixedOutputs allocator;
  KernelRegistry kernels;
  ABSL_RETURN_IF_ERROR(kernels.Add(PoolHighwayKernels()));
  std::optional<PlannedKernel> kernel;
  std::vector<float> result;
  for (const int64_t size : {planned, side}) {
    std::vector<float> elements(static_cast<size_t>(3 * size * size));
    for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i % 13) - 6;
    const TestTensor x = TestTensor::Of<float>({1, 3, size, size}, elements);
    const TestTensor out = TestTensor::Zeros(DType::kFloat32, {1, 3, size / 2, size / 2});
    const TestTensor index = TestTensor::Zeros(DType::kInt64, {1, 3, size / 2, size / 2});
    EValue one(int64_t{1}), zero(int64_t{0}), two(int64_t{2});
    EValue *const ones[] = {&one, &one}, *const zeros[] = {&zero, &zero},
                  *const twos[] = {&two, &two};
    const bool is_max = op == "aten.max_pool2d_with_indices.default";
    std::vector<EValue> arguments = {EValue(x.view()), EValue(ListView{twos}),
                                     EValue(ListView{twos}), EValue(ListView{zeros})};
    if (is_max) arguments.emplace_back(ListView{ones});
    arguments.emplace_back(false);
    if (!is_max) arguments.insert(arguments.end(), {EValue(true), EValue()});
    std::vector<EValue*> slots;
    for (EValue& argument : arguments) slots.push_back(&argument);
    EValue output(out.view()), places(index.view());
    std::vector<EValue*> outputs = {&output};
    if (is_max) outputs.push_back(&places);
    if (!kernel.has_value()) {
      ABSL_ASSIGN_OR_RETURN(kernel, PlanKernel(kernels, op, slots, outputs, allocator));
      continue;
    }
    ABSL_RETURN_IF_ERROR(kernel->Run(slots, outputs, allocator));
    result.assign(out.view().as<const float>(), out.view().as<const float>() + out.view().numel());
  }
  return result;
}

// Windows of large images do not cross edges; those of small ones are computed with padding.
TEST(PoolTest, WorkingMemorySufficesForSmallerImages) {
  for (const std::string_view op :
       {"aten.max_pool2d_with_indices.default", "aten.avg_pool2d.default"}) {
    for (const int64_t side : {2, 6, 14, 30, 40}) {
      ASSERT_OK_AND_ASSIGN(const std::vector<float> want, PoolWithMemoryOf(op, side, side));
      ASSERT_OK_AND_ASSIGN(const std::vector<float> got, PoolWithMemoryOf(op, 40, side));
      EXPECT_EQ(got, want) << op << ' ' << side;
    }
  }
}

}  // namespace
}  // namespace belay
