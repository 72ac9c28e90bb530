#include "runtime/kernels/kernel_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <list>
#include <optional>

#include "gtest/gtest.h"
#include "runtime/core/element.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/reference/reference_kernels.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay {
namespace {

constexpr size_t kGuard = 64;  // bytes
constexpr std::byte kGuardByte{0x5C}, kUnwritten{0xA5};

// A tensor between guard bytes, at a chosen misalignment.
class Block {
 public:
  Block(size_t bytes, size_t misalign)
      : offset_(kGuard + misalign),
        bytes_(bytes),
        memory_(bytes + 2 * kGuard + misalign, kGuardByte) {
    std::fill_n(data(), bytes, kUnwritten);
  }
  std::byte* data() { return memory_.data() + offset_; }
  void Seal() { sealed_ = memory_; }
  bool unchanged() const { return sealed_ == memory_; }
  bool guards_intact() const {
    for (size_t i = 0; i < memory_.size(); ++i) {
      if ((i < offset_ || i >= offset_ + bytes_) && memory_[i] != kGuardByte) return false;
    }
    return true;
  }

 private:
  size_t offset_, bytes_;
  std::vector<std::byte> memory_, sealed_;
};

Strides StridesFor(const Sizes& sizes, Layout layout) {
  DimOrder order = ContiguousOrder(sizes.size());
  if (layout == Layout::kChannelsLast) order = ChannelsLastOrder(sizes.size());
  if (layout == Layout::kReversed) std::reverse(order.begin(), order.end());
  Strides strides = DenseStrides(sizes, order);
  if (layout == Layout::kGaps) {
    for (int64_t& s : strides) s *= 2;
  }
  if (layout == Layout::kRepeated) strides = Strides(sizes.size(), int64_t{0});
  return strides;
}

int64_t Extent(const Sizes& sizes, const Strides& strides) {
  int64_t last = 0;
  for (int d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return 0;
    last += (sizes[d] - 1) * strides[d];
  }
  return last + 1;
}

double ReadDouble(const TensorView& t, int64_t offset) {
  double value = 0;
  DispatchDType<kRealTypes>(t.dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    if constexpr (std::is_same_v<T, bool>) {
      value = t.as<const uint8_t>()[offset];
    } else {
      value = ConvertElement<double>(t.as<const T>()[offset]);
    }
  });
  return value;
}

void WriteDouble(DType dtype, std::byte* data, int64_t offset, double value) {
  DispatchDType<kRealTypes>(dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    if constexpr (std::is_same_v<T, bool>) {
      // A bool may be any byte.
      reinterpret_cast<uint8_t*>(data)[offset] = value > 1.5 ? 7 : value > 0 ? 1 : 0;
    } else {
      const T element = ConvertElement<T>(value);
      std::memcpy(data + offset * static_cast<int64_t>(sizeof(T)), &element, sizeof(T));
    }
  });
}

// Views a complex tensor as a real one with a last dimension of size 2; returns others unchanged.
TensorView PartsOf(const TensorView& t) {
  if (!kComplexTypes.contains(t.dtype)) return t;
  TensorView parts = t;
  parts.dtype = RealPart(t.dtype);
  for (int64_t& stride : parts.strides) stride *= 2;
  parts.sizes.push_back(2);
  parts.strides.push_back(1);
  return parts;
}

// Distance between adjacent representable numbers at `value`.
double Ulp(DType dtype, double value) {
  int bits = 23, least = -126;
  if (dtype == DType::kFloat64) bits = 52, least = -1022;
  if (dtype == DType::kFloat16) bits = 10, least = -14;
  if (dtype == DType::kBFloat16) bits = 7;
  const double size = std::abs(value);
  const int exponent =
      size == 0 || !std::isfinite(size) ? least : std::max(std::ilogb(size), least);
  return std::ldexp(1.0, exponent - bits);
}

// Accepts any output sizes that the kernel requests, or only the planned ones.
class Allocator : public OutputAllocator {
 public:
  Allocator(std::list<Block>& blocks, Layout layout, size_t misalign)
      : blocks_(blocks), layout_(layout), misalign_(misalign) {}
  absl::Status Resize(TensorView& tensor, absl::Span<const int64_t> sizes) override {
    if (tensor.data != nullptr) {
      if (tensor.sizes.span() == sizes) return absl::OkStatus();
      return absl::InvalidArgumentError("expected an output of the planned sizes");
    }
    tensor.sizes = Sizes(sizes);
    tensor.strides = StridesFor(tensor.sizes, layout_);
    Allocate(tensor);
    return absl::OkStatus();
  }
  void Allocate(TensorView& tensor) {
    const size_t bytes =
        static_cast<size_t>(Extent(tensor.sizes, tensor.strides)) * DTypeSize(tensor.dtype);
    blocks_.emplace_back(bytes, misalign_ * DTypeSize(tensor.dtype));
    tensor.data = blocks_.back().data();
  }

 private:
  std::list<Block>& blocks_;
  Layout layout_;
  size_t misalign_;
};

std::string Describe(const KernelCall& call) {
  std::string text = call.op;
  for (const TestArgument& argument : call.arguments) {
    if (const auto* spec = std::get_if<TestTensorSpec>(&argument)) {
      text +=
          " " + std::string(DTypeShortName(spec->dtype)) + FormatSizes(spec->sizes) +
          (spec->layout == Layout::kRowMajor ? "" : "/layout" + std::to_string(int(spec->layout)));
    } else if (const auto* list = std::get_if<std::vector<int64_t>>(&argument)) {
      text += " " + FormatSizes(*list);
    } else if (const auto* value = std::get_if<EValue>(&argument)) {
      text += " " + value->KindName();
      if (const int64_t* i = value->get_if<int64_t>()) text += "=" + std::to_string(*i);
      if (const double* d = value->get_if<double>()) text += "=" + std::to_string(*d);
    }
  }
  return text;
}

}  // namespace

// Operands and results of one run.
struct KernelComparison::Memory {
  std::list<Block> inputs, outputs;
  std::list<EValue> slots;
  std::list<std::vector<EValue*>> lists;
  std::vector<EValue*> arguments, results;
  std::vector<TensorView> views;  // of the outputs, after the run
  size_t misalign = 0;
  std::unique_ptr<Allocator> allocator;
  std::vector<std::byte> scratch;
  const Kernel* kernel = nullptr;
  std::optional<KernelContext> context;

  EValue* New(EValue value) { return &slots.emplace_back(value); }
  // Replaces all finite floating-point operands by their magnitudes. Infinite numbers are bounds
  // and stay.
  void TakeMagnitudes(const KernelCall& call) {
    for (EValue& slot : slots) {
      const double* number = slot.get_if<double>();
      if (number != nullptr && std::isfinite(*number)) slot = EValue(std::abs(*number));
      if (slot.get_if<TensorView>() == nullptr) continue;
      const TensorView tensor = PartsOf(*slot.get_if<TensorView>());
      if (!IsFloatingPoint(tensor.dtype)) continue;
      for (StridedIterator<1> it(tensor.sizes, {tensor.strides}); !it.done(); it.Next()) {
        WriteDouble(tensor.dtype, tensor.as<std::byte>(), it.offset(0),
                    std::abs(ReadDouble(tensor, it.offset(0))));
      }
    }
    if (call.adjust_magnitudes) call.adjust_magnitudes(arguments);
    for (Block& block : inputs) block.Seal();
  }
  EValue* NewList(std::vector<EValue*> elements) {
    return New(EValue(ListView{lists.emplace_back(std::move(elements))}));
  }
  EValue* NewTensor(const TestTensorSpec& spec, std::mt19937& random) {
    const Strides strides = StridesFor(spec.sizes, spec.layout);
    const bool complex = kComplexTypes.contains(spec.dtype);
    const DType part = complex ? RealPart(spec.dtype) : spec.dtype;
    const int64_t extent = Extent(spec.sizes, strides);
    Block& block = inputs.emplace_back(static_cast<size_t>(extent) * DTypeSize(spec.dtype),
                                       misalign * DTypeSize(spec.dtype));
    std::normal_distribution<double> normal(0, 2);
    constexpr double kInf = std::numeric_limits<double>::infinity();
    constexpr double kSpecials[] = {std::numeric_limits<double>::quiet_NaN(),
                                    kInf,
                                    -kInf,
                                    0.0,
                                    -0.0,
                                    1e-40,
                                    -1e-40,
                                    3e38,
                                    -3e38,
                                    88.0,
                                    -104.0,
                                    65504.0,
                                    1e-7,
                                    39001.0,
                                    -1.0,
                                    1.0,
                                    0.5};
    const bool floating = IsFloatingPoint(part);
    for (int64_t i = 0; i < (complex ? 2 * extent : extent); ++i) {
      double x = normal(random);
      if (spec.values == Values::kUnit) x = std::tanh(x);
      if (spec.values == Values::kPositive) x = std::abs(x) + 0.1;
      if (spec.values == Values::kWide) x *= 3000;
      if (spec.values == Values::kFew) x = std::floor(x);
      if (spec.values == Values::kSpecial) x = kSpecials[i % std::size(kSpecials)];
      if (!floating && spec.values != Values::kWide) x = std::floor(x * 12);
      if (!floating && !std::isfinite(x)) x = 5;
      if (!floating && std::abs(x) > 1e6) x = 100;
      if (spec.dtype == DType::kBool) x = std::fmod(std::floor(std::abs(x)), 3);
      if (spec.dtype == DType::kUint8) x = std::abs(x);
      if (spec.below > 0) x = static_cast<double>(random() % static_cast<uint64_t>(spec.below));
      if (spec.below < 0) {
        x = static_cast<double>(random() % static_cast<uint64_t>(-2 * spec.below)) +
            static_cast<double>(spec.below);
      }
      WriteDouble(part, block.data(), i, x);
    }
    block.Seal();
    TensorView view;
    view.dtype = spec.dtype;
    view.sizes = spec.sizes;
    view.strides = strides;
    view.data = block.data();
    return New(EValue(view));
  }
};

KernelComparison::KernelComparison(absl::Span<const Kernel> reference,
                                   absl::Span<const Kernel> highway)
    : random_(TestSeed()) {
  EXPECT_TRUE(AddReferenceKernels(reference_).ok());
  EXPECT_TRUE(AddHighwayKernels(highway_).ok());
  EXPECT_TRUE(reference_.Add(reference).ok());
  EXPECT_TRUE(highway_.Add(highway).ok());
}

std::vector<int64_t> KernelComparison::Lengths(DType dtype) {
  // Two of the longest vectors plus three elements.
  const int64_t last = 2 * 64 / static_cast<int64_t>(DTypeSize(dtype)) + 3;
  std::vector<int64_t> lengths;
  for (int64_t n = 0; n <= std::min<int64_t>(last, 35); ++n) lengths.push_back(n);
  for (int64_t n : {63, 64, 65, 127, 128, 129, 130, 131, 1023, 1025, 2500}) lengths.push_back(n);
  return lengths;
}

namespace {

// Returns whether the fixed call gives the same results; true if the call cannot be fixed.
bool ComputesFixed(const Kernel& kernel, const KernelContext& context,
                   absl::Span<const TensorView> results) {
  alignas(kCallAlignment) std::byte call[kMaxCallBytes];
  if (kernel.fix_call == nullptr || !kernel.read_call(context, kernel.signature, call).ok() ||
      !kernel.fix_call(context, call)) {
    return true;
  }
  std::vector<std::string> want;
  for (const TensorView& view : results) {
    want.emplace_back(static_cast<const char*>(view.data), view.nbytes());
    std::memset(view.data, 0x5a, view.nbytes());
  }
  kernel.run_fixed_call(call);
  for (size_t i = 0; i < results.size(); ++i) {
    if (std::memcmp(results[i].data, want[i].data(), want[i].size()) != 0) return false;
  }
  return true;
}

}  // namespace

bool KernelComparison::Run(const KernelRegistry& registry, const KernelCall& call, Memory& memory,
                           const std::vector<Sizes>* planned, ThreadPool* threads,
                           std::string* error) {
  memory.allocator =
      std::make_unique<Allocator>(memory.outputs, call.output_layout, memory.misalign);
  Allocator& allocator = *memory.allocator;
  // Without planned sizes, an output has no memory yet and accepts any sizes.
  size_t next = 0;
  const auto output = [&](DType dtype) {
    TensorView view;
    view.dtype = dtype;
    if (planned != nullptr) {
      view.sizes = (*planned)[next++];
      view.strides = StridesFor(view.sizes, call.output_layout);
      allocator.Allocate(view);
    }
    return memory.New(EValue(view));
  };
  memory.results.clear();
  std::vector<EValue*> tensors;
  if (call.pieces > 0) {
    for (int k = 0; k < call.pieces; ++k) tensors.push_back(output(call.outputs[0]));
    memory.results.push_back(memory.NewList(tensors));
  } else {
    for (DType dtype : call.outputs) tensors.push_back(output(dtype));
    memory.results = tensors;
  }
  const KernelContext plan(memory.arguments, memory.results, &allocator, {}, threads);
  const Kernel* kernel = registry.Find(call.op, plan);
  if (kernel == nullptr) {
    *error = "no kernel accepts the call";
    return false;
  }
  const size_t bytes = kernel->ScratchBytes(plan);
  std::vector<std::byte>& scratch = memory.scratch;
  scratch.assign(bytes + 64, kGuardByte);
  std::byte* aligned =
      scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
  memory.kernel = kernel;
  memory.context.emplace(memory.arguments, memory.results, &allocator,
                         absl::MakeSpan(aligned, bytes), threads);
  const absl::Status status = kernel->Run(*memory.context);
  memory.views.clear();
  for (EValue* t : tensors) memory.views.push_back(*t->get_if<TensorView>());
  if (!status.ok()) {
    *error = status.ToString();
    return false;
  }
  if (planned != nullptr && !ComputesFixed(*kernel, *memory.context, memory.views)) {
    *error = "the fixed call gives another result";
  }
  for (Block& block : memory.outputs) {
    if (!block.guards_intact()) *error = "wrote outside of its output";
  }
  for (Block& block : memory.inputs) {
    if (!block.unchanged()) *error = "wrote to an input";
  }
  return error->empty();
}

void KernelComparison::MakeArguments(const KernelCall& call, Memory& memory) {
  for (const TestArgument& argument : call.arguments) {
    if (const auto* spec = std::get_if<TestTensorSpec>(&argument)) {
      memory.arguments.push_back(memory.NewTensor(*spec, random_));
    } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&argument)) {
      std::vector<EValue*> elements;
      for (int64_t v : *ints) elements.push_back(memory.New(EValue(v)));
      memory.arguments.push_back(memory.NewList(std::move(elements)));
    } else if (const auto* specs = std::get_if<std::vector<TestTensorSpec>>(&argument)) {
      std::vector<EValue*> elements;
      for (const TestTensorSpec& spec : *specs) elements.push_back(memory.NewTensor(spec, random_));
      memory.arguments.push_back(memory.NewList(std::move(elements)));
    } else if (const auto* some =
                   std::get_if<std::vector<std::optional<TestTensorSpec>>>(&argument)) {
      std::vector<EValue*> elements;
      for (const std::optional<TestTensorSpec>& spec : *some) {
        elements.push_back(spec.has_value() ? memory.NewTensor(*spec, random_)
                                            : memory.New(EValue()));
      }
      memory.arguments.push_back(memory.NewList(std::move(elements)));
    } else {
      memory.arguments.push_back(memory.New(std::get<EValue>(argument)));
    }
  }
}

class KernelComparison::PreparedPair : public KernelComparison::Pair {
 public:
  void RunReference() override { (void)reference.kernel->Run(*reference.context); }
  void RunHighway() override { (void)highway.kernel->Run(*highway.context); }
  Memory reference, highway;
};

std::unique_ptr<KernelComparison::Pair> KernelComparison::Prepare(const KernelCall& call) {
  auto pair = std::make_unique<PreparedPair>();
  MakeArguments(call, pair->reference);
  MakeArguments(call, pair->highway);
  std::string error;
  bool ok = Run(reference_, call, pair->reference, nullptr, nullptr, &error);
  std::vector<Sizes> planned;
  for (const TensorView& view : pair->reference.views) planned.push_back(view.sizes);
  ok = ok && Run(highway_, call, pair->highway, &planned, nullptr, &error);
  if (!ok) {
    ADD_FAILURE() << Describe(call) << ": " << error;
    return nullptr;
  }
  return pair;
}

bool KernelComparison::Compare(const KernelCall& call, bool may_refuse) {
  // All elements would share one address; the last write would win.
  EXPECT_NE(call.output_layout, Layout::kRepeated) << Describe(call);
  Memory memory, magnitudes;
  memory.misalign = random_() % 4;
  const std::mt19937 before = random_;
  MakeArguments(call, memory);
  std::string error;
  if (call.ulp_of == UlpOf::kMagnitudes || call.ulp_of == UlpOf::kLargestMagnitude) {
    random_ = before;
    MakeArguments(call, magnitudes);
    magnitudes.TakeMagnitudes(call);
    if (!Run(reference_, call, magnitudes, nullptr, nullptr, &error)) {
      ADD_FAILURE() << Describe(call) << ": the reference kernel on magnitudes: " << error;
      return false;
    }
  }
  if (!Run(reference_, call, memory, nullptr, nullptr, &error)) {
    ADD_FAILURE() << Describe(call) << ": the reference kernel: " << error;
    return false;
  }
  const std::vector<TensorView> want = memory.views;
  std::vector<Sizes> planned;
  for (const TensorView& view : want) planned.push_back(view.sizes);
  for (const std::string& set : InstructionSets()) {
    EXPECT_TRUE(UseInstructionSet(set).ok());
    error.clear();
    if (!Run(highway_, call, memory, &planned, &threads_, &error)) {
      if (!may_refuse || error != "no kernel accepts the call") {
        ADD_FAILURE() << Describe(call) << " on " << set << ": " << error;
      }
      return false;
    }
    for (size_t o = 0; o < want.size(); ++o) {
      const TensorView w = PartsOf(want[o]), g = PartsOf(memory.views[o]);
      const TensorView m = PartsOf(magnitudes.views.empty() ? want[o] : magnitudes.views[o]);
      double largest = 0;
      const TensorView& l = call.ulp_of == UlpOf::kLargestMagnitude ? m : w;
      for (StridedIterator<1> it(l.sizes, {l.strides}); !it.done(); it.Next()) {
        const double x = std::abs(ReadDouble(l, it.offset(0)));
        if (std::isfinite(x)) largest = std::max(largest, x);
      }
      const bool half = w.dtype == DType::kFloat16 || w.dtype == DType::kBFloat16;
      const double allowed = !IsFloatingPoint(w.dtype)   ? 0
                             : half && call.max_ulp != 0 ? 1
                                                         : call.max_ulp;
      int64_t index = 0;
      for (StridedIterator<3> it(w.sizes, {w.strides, g.strides, m.strides}); !it.done();
           it.Next(), ++index) {
        const double x = ReadDouble(w, it.offset(0)), y = ReadDouble(g, it.offset(1));
        if (std::isnan(x) ? std::isnan(y) : x == y) continue;
        double at = call.ulp_of == UlpOf::kElement ? x : largest;
        if (call.ulp_of == UlpOf::kMagnitudes) {
          const double magnitude = ReadDouble(m, it.offset(2));
          at = std::isfinite(magnitude) ? std::max(std::abs(x), magnitude) : largest;
        }
        // One result may overflow where the other is just below the limit.
        const bool same_limit =
            std::isinf(x) != std::isinf(y) && x * y > 0 && allowed > 0 &&
            std::min(std::abs(x), std::abs(y)) > (w.dtype == DType::kFloat16 ? 65000 : 3.3e38);
        if (same_limit) continue;
        if (!(std::abs(x - y) <= allowed * Ulp(w.dtype, at))) {
          ADD_FAILURE() << Describe(call) << " on " << set << ": output " << o << ", element "
                        << index << ": want " << x << ", got " << y << " ("
                        << std::abs(x - y) / Ulp(w.dtype, at) << " ULP, allowed " << allowed << ")";
          return false;
        }
      }
    }
  }
  EXPECT_TRUE(UseInstructionSet(InstructionSets().front()).ok());
  return true;
}

}  // namespace belay
