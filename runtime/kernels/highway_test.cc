// Highway kernels against the reference kernels: every instruction set that this machine has, every
// length around the vectors' sizes, misaligned data, NaN and infinities.
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/evalue.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/reference/reference_kernels.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay {
namespace {

// Lets outputs take any sizes that fit their memory.
class TestAllocator : public OutputAllocator {
 public:
  absl::Status Resize(TensorView& tensor, absl::Span<const int64_t> sizes) override {
    tensor.sizes = Sizes(sizes);
    tensor.strides = ContiguousStrides(sizes);
    return absl::OkStatus();
  }
};

// Floats at a chosen misalignment, with what a kernel must not touch around them.
class Floats {
 public:
  Floats(std::vector<float> values, size_t misalign)
      : misalign_(misalign), size_(values.size()), data_(values.size() + 64, kGuard) {
    std::copy(values.begin(), values.end(), data_.begin() + 16 + misalign);
  }
  float* data() { return data_.data() + 16 + misalign_; }
  std::vector<float> values() const {
    return {data_.begin() + 16 + misalign_, data_.begin() + 16 + misalign_ + size_};
  }
  bool intact() const {
    for (size_t i = 0; i < data_.size(); ++i) {
      if ((i < 16 + misalign_ || i >= 16 + misalign_ + size_) && data_[i] != kGuard) return false;
    }
    return true;
  }

 private:
  static constexpr float kGuard = 12345.0f;
  size_t misalign_, size_;
  std::vector<float> data_;
};

struct Case {
  std::string op;
  std::vector<Sizes> inputs;      // of the leading tensor arguments
  std::vector<EValue> arguments;  // after them
  std::vector<Sizes> outputs;
  double tolerance = 0;  // relative to max(1, |want|)
  bool positive = false;
  bool index_output = false;  // the last output is int64
};

std::string Describe(const Case& c) {
  std::string s = c.op;
  for (const Sizes& sizes : c.inputs) s += " " + FormatSizes(sizes);
  return s;
}

class HighwayTest : public testing::Test {
 protected:
  HighwayTest() : seed_(std::random_device()()), random_(seed_) {
    EXPECT_TRUE(AddReferenceKernels(reference_).ok());
    EXPECT_TRUE(AddHighwayKernels(highway_).ok());
  }

  std::vector<float> Draw(int64_t count, bool positive) {
    std::normal_distribution<float> normal(0, 2);
    std::vector<float> values(count);
    for (float& v : values) v = positive ? std::abs(normal(random_)) + 0.1f : normal(random_);
    return values;
  }

  // Runs the case on one registry. Returns the outputs' values, indices as floats.
  std::vector<std::vector<float>> Run(const KernelRegistry& registry, const Case& c,
                                      const std::vector<std::vector<float>>& values,
                                      size_t misalign, bool* found) {
    std::vector<Floats> inputs;
    for (const auto& v : values) inputs.emplace_back(v, misalign);
    std::vector<EValue> slots;
    for (size_t i = 0; i < inputs.size(); ++i)
      slots.emplace_back(TensorView::Contiguous(DType::kFloat32, c.inputs[i], inputs[i].data()));
    for (const EValue& a : c.arguments) slots.push_back(a);
    std::vector<Floats> outputs;
    std::vector<int64_t> indices(4096);
    std::vector<EValue> out_slots;
    for (size_t i = 0; i < c.outputs.size(); ++i)
      outputs.emplace_back(std::vector<float>(*NumElements(c.outputs[i])), misalign);
    for (size_t i = 0; i < c.outputs.size(); ++i) {
      const bool index = c.index_output && i + 1 == c.outputs.size();
      out_slots.emplace_back(
          index ? TensorView::Contiguous(DType::kInt64, c.outputs[i], indices.data())
                : TensorView::Contiguous(DType::kFloat32, c.outputs[i], outputs[i].data()));
    }
    std::vector<EValue*> arguments, results;
    for (EValue& s : slots) arguments.push_back(&s);
    for (EValue& s : out_slots) results.push_back(&s);
    TestAllocator allocator;
    KernelContext planning(arguments, results, &allocator, {});
    const Kernel* kernel = registry.Find(c.op, planning);
    *found = kernel != nullptr;
    if (kernel == nullptr) return {};
    std::vector<std::byte> scratch(
        kernel->scratch_bytes == nullptr ? 0 : kernel->scratch_bytes(planning) + 64);
    std::byte* aligned =
        scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
    KernelContext context(
        arguments, results, &allocator,
        absl::MakeSpan(aligned, scratch.empty() ? 0 : scratch.size() - (aligned - scratch.data())));
    const absl::Status status = kernel->run(context);
    EXPECT_TRUE(status.ok()) << status << " " << Describe(c);
    std::vector<std::vector<float>> result;
    for (size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_TRUE(outputs[i].intact()) << "wrote outside its output: " << Describe(c);
      result.push_back(outputs[i].values());
      if (c.index_output && i + 1 == outputs.size()) {
        for (size_t k = 0; k < result[i].size(); ++k) result[i][k] = static_cast<float>(indices[k]);
      }
    }
    for (const Floats& input : inputs) EXPECT_TRUE(input.intact());
    return result;
  }

  void Compare(const Case& c, bool special = false) {
    std::vector<std::vector<float>> values;
    for (const Sizes& sizes : c.inputs) values.push_back(Draw(*NumElements(sizes), c.positive));
    if (special && !values.empty()) {
      constexpr float kInf = std::numeric_limits<float>::infinity(),
                      kNan = std::numeric_limits<float>::quiet_NaN();
      const float samples[] = {kNan,   kInf,  -kInf,  0.0f,  -0.0f,
                               1e-40f, 3e38f, -3e38f, 88.0f, -104.0f};
      for (size_t i = 0; i < values[0].size(); ++i) values[0][i] = samples[i % std::size(samples)];
    }
    for (size_t misalign : {0, 1, 3}) {
      bool found = false;
      const auto want = Run(reference_, c, values, misalign, &found);
      ASSERT_TRUE(found) << "no reference kernel for " << c.op;
      const auto got = Run(highway_, c, values, misalign, &found);
      ASSERT_TRUE(found) << "the Highway kernel refuses " << Describe(c);
      for (size_t o = 0; o < want.size(); ++o) {
        for (size_t i = 0; i < want[o].size(); ++i) {
          const float w = want[o][i], g = got[o][i];
          if (std::isnan(w) ? std::isnan(g) : w == g) continue;
          ASSERT_LE(std::abs(w - g), c.tolerance * std::max(1.0f, std::abs(w)))
              << Describe(c) << " output " << o << " element " << i << ": want " << w << ", got "
              << g << "; seed " << seed_;
        }
      }
    }
  }

  uint32_t seed_;
  std::mt19937 random_;
  KernelRegistry reference_, highway_;
};

void ForEachInstructionSet(const std::function<void()>& test) {
  for (const std::string& name : InstructionSets()) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(UseInstructionSet(name).ok());
    test();
  }
  ASSERT_TRUE(UseInstructionSet(InstructionSets().front()).ok());
}

TEST_F(HighwayTest, MatrixProductsOfAllTileRemainders) {
  ForEachInstructionSet([&] {
    for (int64_t m : {1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 25, 30}) {
      for (int64_t n : {1, 3, 4, 7, 8, 9, 16, 17, 31, 32, 33, 65}) {
        const int64_t k = 1 + (m * 7 + n * 3) % 40;
        Compare({"aten.mm.default", {{m, k}, {k, n}}, {}, {{m, n}}, 1e-4});
        if (n > 1) {
          Compare({"aten.addmm.default",
                   {{n}, {m, k}, {k, n}},
                   {EValue(int64_t{1}), EValue(int64_t{1})},
                   {{m, n}},
                   1e-4});
        }
      }
    }
    Compare({"aten.bmm.default", {{3, 5, 6}, {3, 6, 19}}, {}, {{3, 5, 19}}, 1e-4});
  });
}

// Lists of integers, whose elements stand in slots.
class IntLists {
 public:
  EValue Of(std::vector<int64_t> values) {
    auto& numbers = numbers_.emplace_back(std::make_unique<std::vector<EValue>>());
    auto& slots = slots_.emplace_back(std::make_unique<std::vector<EValue*>>());
    for (int64_t v : values) numbers->emplace_back(v);
    for (EValue& e : *numbers) slots->push_back(&e);
    return EValue(ListView{*slots});
  }

 private:
  std::vector<std::unique_ptr<std::vector<EValue>>> numbers_;
  std::vector<std::unique_ptr<std::vector<EValue*>>> slots_;
};

TEST_F(HighwayTest, ConvolutionsOfAllKinds) {
  struct Conv {
    int64_t channels, filters, groups, size, kernel, stride, padding, dilation;
  };
  ForEachInstructionSet([&] {
    for (const Conv& v : std::vector<Conv>{{1, 1, 1, 5, 3, 1, 1, 1},
                                           {3, 8, 1, 9, 3, 1, 1, 1},
                                           {3, 13, 1, 12, 3, 2, 1, 1},
                                           {4, 6, 2, 10, 3, 1, 2, 2},
                                           {8, 8, 8, 19, 3, 1, 1, 1},
                                           {8, 16, 8, 20, 3, 2, 1, 1},
                                           {5, 7, 1, 33, 1, 1, 0, 1},
                                           {5, 7, 1, 9, 1, 2, 0, 1},
                                           {2, 2, 2, 40, 5, 2, 2, 1},
                                           {6, 6, 6, 17, 3, 3, 1, 2},
                                           {1, 40, 1, 8, 8, 1, 7, 1}}) {
      const int64_t out = (v.size + 2 * v.padding - v.dilation * (v.kernel - 1) - 1) / v.stride + 1;
      IntLists lists;
      Compare(
          {"aten.convolution.default",
           {{2, v.channels, v.size, v.size},
            {v.filters, v.channels / v.groups, v.kernel, v.kernel},
            {v.filters}},
           {lists.Of({v.stride, v.stride}), lists.Of({v.padding, v.padding}),
            lists.Of({v.dilation, v.dilation}), EValue(false), lists.Of({0, 0}), EValue(v.groups)},
           {{2, v.filters, out, out}},
           1e-4});
      const int64_t out1 =
          (v.size + 2 * v.padding - v.dilation * (v.kernel - 1) - 1) / v.stride + 1;
      Compare({"aten.convolution.default",
               {{2, v.channels, v.size}, {v.filters, v.channels / v.groups, v.kernel}, {v.filters}},
               {lists.Of({v.stride}), lists.Of({v.padding}), lists.Of({v.dilation}), EValue(false),
                lists.Of({0}), EValue(v.groups)},
               {{2, v.filters, out1}},
               1e-4});
    }
  });
}

TEST_F(HighwayTest, PoolingOfAllWindowShapes) {
  ForEachInstructionSet([&] {
    for (int64_t size : {3, 8, 17, 33, 40}) {
      for (int64_t kernel : {1, 2, 3}) {
        for (int64_t stride : {1, 2, 3}) {
          const int64_t padding = kernel / 2;
          const int64_t out = (size + 2 * padding - kernel) / stride + 1;
          IntLists lists;
          const std::vector<EValue> window = {
              lists.Of({kernel, kernel}), lists.Of({stride, stride}), lists.Of({padding, padding})};
          std::vector<EValue> max = window, avg = window;
          max.insert(max.end(), {lists.Of({1, 1}), EValue(false)});
          avg.insert(avg.end(), {EValue(false), EValue(stride == 2), EValue()});
          const Sizes in = {1, 2, size, size}, result = {1, 2, out, out};
          if (*NumElements(result) <= 4096) {
            Compare({"aten.max_pool2d_with_indices.default",
                     {in},
                     max,
                     {result, result},
                     0,
                     false,
                     true});
            Compare({"aten.max_pool2d_with_indices.default",
                     {in},
                     max,
                     {result, result},
                     0,
                     false,
                     true},
                    /*special=*/true);
          }
          Compare({"aten.avg_pool2d.default", {in}, avg, {result}, 1e-5});
        }
      }
    }
  });
}

}  // namespace
}  // namespace belay
