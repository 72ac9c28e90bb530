// Inputs are rejected with a message that states expected and actual values, or are read correctly.
// Covers every dtype, rank, size, order, stride and address, with several programs.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/core/dtype.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/method_fixture.h"

namespace belay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kOutOfRange = absl::StatusCode::kOutOfRange;

// The input "x" of a program that returns it.
struct Planned {
  const char* name;
  DType dtype;
  Sizes sizes;
  std::vector<TestConstraint> constraints = {};  // of dynamic dimensions
  DimOrder order = {};                           // {}: row-major
  bool mutated = false;
};

std::vector<Planned> AllPlanned() {
  constexpr DType kF32 = DType::kFloat32;
  return {
      {.name = "matrix", .dtype = kF32, .sizes = {3, 4}},
      {.name = "vector", .dtype = kF32, .sizes = {5}},
      {.name = "scalar", .dtype = kF32, .sizes = {}},
      {.name = "image", .dtype = kF32, .sizes = {2, 3, 4, 5}},
      {.name = "channels_last", .dtype = kF32, .sizes = {2, 3, 4, 5}, .order = {0, 2, 3, 1}},
      {.name = "dynamic",
       .dtype = kF32,
       .sizes = {6, 3, 8},
       .constraints = {{.dim = 0, .min = 2, .max = 6}, {.dim = 2, .min = 0, .max = 8}}},
      {.name = "one_size",
       .dtype = kF32,
       .sizes = {4, 2},
       .constraints = {{.dim = 0, .min = 4, .max = 4}}},
      {.name = "empty", .dtype = kF32, .sizes = {0, 3}},
      {.name = "longs", .dtype = DType::kInt64, .sizes = {3, 4}},
      {.name = "bytes", .dtype = DType::kUint8, .sizes = {3, 4}},
      {.name = "bools", .dtype = DType::kBool, .sizes = {2, 2}},
      {.name = "halves", .dtype = DType::kFloat16, .sizes = {3, 4}},
      {.name = "doubles", .dtype = DType::kFloat64, .sizes = {4, 3}, .order = {1, 0}},
      {.name = "complex", .dtype = DType::kComplex64, .sizes = {3, 2}},
      {.name = "mutated", .dtype = kF32, .sizes = {3, 4}, .mutated = true},
  };
}

Strides RowMajor(const Sizes& sizes) {
  DimOrder order;
  for (int d = 0; d < sizes.size(); ++d) order.push_back(static_cast<uint8_t>(d));
  return DenseStrides(sizes, order);
}

// Returns the elements in row-major order, as bytes.
std::string Elements(const TensorView& view) {
  const size_t width = DTypeSize(view.dtype);
  std::string bytes;
  std::vector<int64_t> index(static_cast<size_t>(view.rank()), 0);
  for (int64_t left = view.numel(); left > 0; --left) {
    int64_t offset = 0;
    for (int d = 0; d < view.rank(); ++d) offset += index[static_cast<size_t>(d)] * view.strides[d];
    bytes.append(static_cast<const char*>(view.data) + offset * static_cast<int64_t>(width), width);
    for (int d = view.rank() - 1; d >= 0; --d) {
      if (++index[static_cast<size_t>(d)] < view.sizes[d]) break;
      index[static_cast<size_t>(d)] = 0;
    }
  }
  return bytes;
}

class InputMismatchTest : public MethodTest {
 protected:
  // Room for every view below, before and after the address.
  static constexpr size_t kRoom = 1 << 16;

  InputMismatchTest() : memory_(2 * kRoom) {
    // Valid for bools, too, and sufficiently varied.
    for (size_t i = 0; i < memory_.size(); ++i) memory_[i] = static_cast<char>(i * 7 / 3 % 2);
  }

  Method LoadPlanned(const Planned& planned) {
    TestProgram program;
    TestMethod forward = program.AddMethod("forward");
    uint32_t x;
    if (planned.mutated) {
      x = forward.MutatedInput("x", planned.dtype, planned.sizes);
    } else if (!planned.order.empty()) {
      x = forward.InputInOrder("x", planned.dtype, planned.sizes, planned.order);
    } else {
      x = forward.Input("x", planned.dtype, planned.sizes, planned.constraints);
    }
    forward.Output(x);
    absl::StatusOr<Method> method = LoadFile(program.Serialize());
    EXPECT_OK(method);
    return *std::move(method);
  }

  TensorView View(DType dtype, const Sizes& sizes, const Strides& strides, size_t shift = 0) {
    TensorView view;
    view.dtype = dtype;
    view.sizes = sizes;
    view.strides = strides;
    view.data = memory_.data() + kRoom + shift;
    return view;
  }
  TensorView Dense(DType dtype, const Sizes& sizes) { return View(dtype, sizes, RowMajor(sizes)); }

  void Refused(Method& method, const EValue& value, absl::StatusCode code,
               const std::string& expected, const std::string& got) {
    ++refused_;
    SCOPED_TRACE(got);
    EXPECT_THAT(
        method.SetInput(0, value),
        StatusIs(code, AllOf(HasSubstr("input 0 'x'"), HasSubstr(expected), HasSubstr(got))));
    // The previous value is still set.
    EXPECT_OK(method.Execute());
    EXPECT_EQ(Elements(*method.GetOutput(0).get_if<TensorView>()), before_);
  }

  void Read(Method& method, const TensorView& view) {
    ++read_;
    SCOPED_TRACE(view.ToString());
    ASSERT_OK(method.SetInput(0, view));
    ASSERT_OK(method.Execute());
    const TensorView& output = *method.GetOutput(0).get_if<TensorView>();
    EXPECT_EQ(output.sizes, view.sizes);
    EXPECT_EQ(output.dtype, view.dtype);
    EXPECT_EQ(Elements(output), Elements(view));
    before_ = Elements(view);
  }

  // The program must write to the caller's memory, not to a copy.
  void ReadOrRefuseMutated(Method& method, const Planned& planned, const TensorView& view) {
    if (!planned.mutated) {
      Read(method, view);
    } else {
      Refused(method, view, kInvalid, "the program writes to it", view.ToString());
    }
  }

  std::vector<char> memory_;
  std::string before_;
  int refused_ = 0, read_ = 0;
};

TEST_F(InputMismatchTest, IsRejectedOrReadCorrectly) {
  for (const Planned& planned : AllPlanned()) {
    SCOPED_TRACE(planned.name);
    Method method = LoadPlanned(planned);
    const DType dtype = planned.dtype;
    const Sizes& sizes = planned.sizes;
    const int rank = sizes.size();
    const std::string short_name(DTypeShortName(dtype));
    const Strides planned_strides =
        planned.order.empty() ? RowMajor(sizes) : DenseStrides(sizes, planned.order);
    const bool has_elements = NumElements(sizes).value_or(0) > 0;
    Read(method, View(dtype, sizes, planned_strides));

    // Other dtypes.
    for (int type = 0; type < kNumDTypes; ++type) {
      const DType other = static_cast<DType>(type);
      if (!kAllTypes.contains(other) || other == dtype) continue;
      Refused(method, Dense(other, sizes), kInvalid, "expected " + short_name,
              std::string("got ") + std::string(DTypeShortName(other)) + "[");
    }
    // Other kinds.
    for (const auto& [value, got] : std::vector<std::pair<EValue, std::string>>{
             {EValue(), "got none"},
             {EValue(int64_t{3}), "got int 3"},
             {EValue(0.5), "got float 0.5"},
             {EValue(true), "got bool true"},
             {EValue(std::string_view("x")), "got string 'x'"},
             {EValue(ListView{}), "got "}}) {
      Refused(method, value, kInvalid, "expected " + short_name, got);
    }
    // Other ranks: one more at the front or the back, one less.
    std::vector<Sizes> ranks(2);
    ranks[0].push_back(1);
    for (const int64_t size : sizes) {
      ranks[0].push_back(size);
      ranks[1].push_back(size);
    }
    ranks[1].push_back(1);
    if (rank > 0) {
      ranks.emplace_back();
      for (int d = 1; d < rank; ++d) ranks.back().push_back(sizes[d]);
    }
    for (const Sizes& other : ranks) {
      Refused(method, Dense(dtype, other), kInvalid, "expected " + short_name,
              "rank " + std::to_string(other.size()) + " instead of " + std::to_string(rank));
    }
    // Each dimension at its bounds and just outside.
    for (int d = 0; d < rank; ++d) {
      const std::string dimension = "dimension " + std::to_string(d) + " is ";
      int64_t min = sizes[d], max = sizes[d];
      bool dynamic = false;
      for (const TestConstraint& c : planned.constraints) {
        if (static_cast<int>(c.dim) != d) continue;
        min = c.min;
        max = c.max;
        dynamic = true;
      }
      for (const int64_t size : {min - 1, max + 1, max + 1000, int64_t{0}, int64_t{1}}) {
        if (size < 0 || (size >= min && size <= max)) continue;
        Sizes other = sizes;
        other[d] = size;
        Refused(method, Dense(dtype, other), dynamic ? kOutOfRange : kInvalid,
                "expected " + short_name,
                dimension + std::to_string(size) +
                    (dynamic ? ", allowed are " + std::to_string(min) + " to " + std::to_string(max)
                             : " instead of " + std::to_string(min)));
      }
      for (int64_t size = min; dynamic && size <= max; ++size) {
        Sizes other = sizes;
        other[d] = size;
        Read(method, Dense(dtype, other));
      }
    }
    Read(method, View(dtype, sizes, planned_strides));
    // Too few and too many strides.
    for (const int count : {rank - 1, rank + 1}) {
      if (count < 0) continue;
      TensorView view = View(dtype, sizes, planned_strides);
      view.strides.clear();
      for (int d = 0; d < count; ++d) view.strides.push_back(1);
      Refused(method, view, kInvalid, std::to_string(rank) + " sizes",
              std::to_string(count) + " strides");
    }
    if (!has_elements) continue;
    // Every order of the dimensions.
    DimOrder order;
    for (int d = 0; d < rank; ++d) order.push_back(static_cast<uint8_t>(d));
    do {
      const TensorView view = View(dtype, sizes, DenseStrides(sizes, order));
      if (view.strides == planned_strides) {
        Read(method, view);
      } else {
        ReadOrRefuseMutated(method, planned, view);
      }
    } while (std::next_permutation(order.begin(), order.end()));
    // Each dimension sliced, repeated, reversed.
    for (int d = 0; d < rank; ++d) {
      for (const int64_t factor : {2, 3, 0, -1}) {
        Strides strides = planned_strides;
        for (int k = 0; k < rank; ++k) {
          // Outer strides grow with the inner ones.
          if (factor > 1 && planned_strides[k] >= planned_strides[d]) strides[k] *= factor;
        }
        if (factor <= 0) strides[d] *= factor;
        const TensorView view = View(dtype, sizes, strides);
        if (factor < 0) {
          Refused(method, view, kInvalid, "expected " + short_name, "a stride is negative");
        } else {
          ReadOrRefuseMutated(method, planned, view);
        }
      }
    }
    // Null, and an address between elements.
    TensorView nowhere = View(dtype, sizes, planned_strides);
    nowhere.data = nullptr;
    Refused(method, nowhere, kInvalid, "expected " + short_name, "without data");
    for (const size_t shift : {1, 2, 3}) {
      const TensorView view = View(dtype, sizes, planned_strides, shift);
      const size_t alignment = IsComplex(dtype) ? DTypeSize(dtype) / 2 : DTypeSize(dtype);
      if (shift % alignment == 0) {
        Read(method, view);
      } else {
        ReadOrRefuseMutated(method, planned, view);
      }
    }
  }
  std::printf("%d mismatches refused, %d inputs read\n", refused_, read_);
  EXPECT_GT(refused_, 400);
  EXPECT_GT(read_, 150);
}

// The same for computed values: a kernel reads the caller's elements.
TEST_F(AddTest, StridesDoNotChangeResults) {
  Build({2, 3, 2});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  std::vector<float> memory(1000);
  std::iota(memory.begin(), memory.end(), 0.0f);
  std::vector<TensorView> views;
  DimOrder order = {0, 1, 2};
  const Sizes sizes = {2, 3, 2};
  do {
    for (const int64_t factor : {1, 2, 5}) {
      TensorView view;
      view.dtype = DType::kFloat32;
      view.sizes = sizes;
      view.strides = DenseStrides(sizes, order);
      for (int d = 0; d < 3; ++d) view.strides[d] *= factor;
      view.data = memory.data() + factor;
      views.push_back(view);
    }
  } while (std::next_permutation(order.begin(), order.end()));
  for (const TensorView& a : views) {
    ASSERT_OK(method.SetInput(0, a));
    const std::vector<float> x = ToVector<float>(a);
    for (const TensorView& b : views) {
      ASSERT_OK(method.SetInput(1, b));
      ASSERT_OK(method.Execute());
      std::vector<float> sum = ToVector<float>(b);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += x[i];
      ASSERT_EQ(Floats(method.GetOutput(0)), sum) << a.ToString() << " " << b.ToString();
    }
  }
}

}  // namespace
}  // namespace belay
