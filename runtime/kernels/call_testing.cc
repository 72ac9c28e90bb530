#include "runtime/kernels/call_testing.h"

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "runtime/core/arena.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/element.h"
#include "runtime/core/str_cat.h"

namespace belay {
namespace {

[[noreturn]] void Fail(std::string_view what, std::string_view text) {
  ADD_FAILURE() << what << ": " << text;
  std::abort();
}

// Parses "1.5", "nan", "1+2j", "2j".
std::complex<double> Number(std::string_view text) {
  const std::string copy(text);
  const char* at = copy.c_str();
  char* end = nullptr;
  const double first = std::strtod(at, &end);
  if (end == at) Fail("expected a number, got", text);
  if (*end == 'j') return {0, first};
  if (*end == '\0') return {first, 0};
  return {first, std::strtod(end, nullptr)};
}

template <DType kDType>
CppType<kDType> ElementFrom(std::string_view text) {
  using T = CppType<kDType>;
  const std::string copy(text);
  // Not via double, which cannot represent all 64-bit integers.
  if constexpr (std::is_same_v<T, uint64_t>) return std::strtoull(copy.c_str(), nullptr, 10);
  if constexpr (std::is_same_v<T, int64_t>) return std::strtoll(copy.c_str(), nullptr, 10);
  return ConvertElement<T>(Number(text));
}

std::string NumberText(const std::complex<double>& number) {
  if (number.imag() == 0) return absl::StrCat(number.real());
  return absl::StrCat(number.real(), number.imag() < 0 ? "" : "+", number.imag(), "j");
}

template <class T>
std::string ElementText(T element) {
  if constexpr (std::is_same_v<T, bool>) return element ? "1" : "0";
  if constexpr (std::is_integral_v<T>) return absl::StrCat(element);
  return NumberText(ConvertElement<std::complex<double>>(element));
}

std::string ValueText(const EValue& value) {
  if (const auto* tensor = value.get_if<TensorView>()) {
    std::vector<std::string> elements;
    DispatchDType<kRealTypes | kComplexTypes | kUnsignedWideTypes | kFloat8Types>(
        tensor->dtype, [&](auto tag) {
          using T = CppType<tag.value>;
          for (StridedIterator<1> it(tensor->sizes, {tensor->strides}); !it.done(); it.Next()) {
            elements.push_back(ElementText<T>(tensor->as<const T>()[it.offset(0)]));
          }
        });
    return absl::StrCat(DTypeShortName(tensor->dtype), FormatSizes(tensor->sizes), "=",
                        absl::StrJoin(elements, ","));
  }
  if (const auto* list = value.get_if<ListView>()) {
    std::vector<std::string> elements;
    for (const EValue* element : list->elements) {
      elements.push_back(element == nullptr ? "null" : ValueText(*element));
    }
    return absl::StrCat("[", absl::StrJoin(elements, ","), "]");
  }
  if (const auto* integer = value.get_if<int64_t>()) return absl::StrCat(*integer);
  if (const auto* real = value.get_if<double>()) return NumberText(*real);
  if (const auto* boolean = value.get_if<bool>()) return *boolean ? "true" : "false";
  if (const auto* complex = value.get_if<std::complex<double>>()) return NumberText(*complex);
  return value.KindName();
}

Strides LayoutStrides(const Sizes& sizes, char layout) {
  Strides strides = ContiguousStrides(sizes);
  if (layout == 'r') return Strides(sizes.size(), int64_t{0});
  if ((layout == 'l' || layout == 'k') && sizes.size() >= 3) {
    strides = DenseStrides(sizes, ChannelsLastOrder(sizes.size()));
  }
  if (layout == 'g' || layout == 'k') {
    for (int64_t& stride : strides) stride *= 2;
  }
  if (layout == 't') {
    DimOrder order = ContiguousOrder(sizes.size());
    std::reverse(order.begin(), order.end());
    return DenseStrides(sizes, order);
  }
  return strides;
}

// Number of bytes from the first element to the end of the last.
size_t SizeOf(const TensorView& tensor) {
  int64_t last = 0;
  for (int d = 0; d < tensor.rank(); ++d) {
    if (tensor.sizes[d] == 0) return 0;
    last += (tensor.sizes[d] - 1) * tensor.strides[d];
  }
  return static_cast<size_t>(last + 1) * DTypeSize(tensor.dtype);
}

// Allocates outputs in the test's memory.
class Outputs final : public OutputAllocator {
 public:
  Outputs(CallOutcome& outcome, const CallFaults& faults) : outcome_(outcome), faults_(faults) {}
  void AddFixed(const TensorView* tensor) { fixed_.push_back(tensor); }
  void AddLayout(const TensorView* tensor, char layout) { layouts_.emplace_back(tensor, layout); }

  absl::Status Resize(TensorView& tensor, absl::Span<const int64_t> sizes) override {
    if (outcome_.resizes++ == faults_.failing_resize)
      return absl::ResourceExhaustedError("allocation failed");
    if (std::find(fixed_.begin(), fixed_.end(), &tensor) != fixed_.end()) {
      if (tensor.sizes.span() == sizes) return absl::OkStatus();
      return absl::InvalidArgumentError(
          absl::StrCat("has the sizes ", FormatSizes(tensor.sizes), ", got ", FormatSizes(sizes)));
    }
    const std::optional<int64_t> count = NumElements(sizes);
    if (!count.has_value() || *count > kMostTestElements) {
      return absl::OutOfRangeError("too many elements for a test");
    }
    if (tensor.data != nullptr && tensor.sizes.span() == sizes) return absl::OkStatus();  // "self"
    tensor.sizes = Sizes(sizes);
    tensor.strides = ContiguousStrides(sizes);
    for (const auto& [of, layout] : layouts_) {
      if (of == &tensor) tensor.strides = LayoutStrides(tensor.sizes, layout);
    }
    tensor.data = outcome_.memory->Bytes(SizeOf(tensor));
    fixed_.push_back(&tensor);  // only for this call
    return absl::OkStatus();
  }
  absl::Status CheckMutable(const EValue& argument) override {
    return faults_.constant_arguments ? absl::InvalidArgumentError("is constant")
                                      : absl::OkStatus();
  }

 private:
  CallOutcome& outcome_;
  const CallFaults& faults_;
  std::vector<const TensorView*> fixed_;
  std::vector<std::pair<const TensorView*, char>> layouts_;
};

// `planned`: planned sizes of the resizable outputs.
CallOutcome Run(const KernelRegistry* kernels, const Kernel* kernel, const TextCall& call,
                const CallFaults& faults, const std::vector<Sizes>& planned) {
  CallOutcome outcome;
  outcome.memory = std::make_shared<ValueMemory>();
  ValueMemory& memory = *outcome.memory;
  Outputs allocator(outcome, faults);
  std::vector<EValue*> arguments, outputs;
  for (const std::string& argument : call.arguments) {
    arguments.push_back(memory.Slot(argument.front() == '@' ? EValue() : memory.Value(argument)));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    // "@2" is the tensor of argument 2 in a separate slot.
    const std::string& argument = call.arguments[i];
    if (argument.front() == '@') *arguments[i] = *arguments.at(std::stoul(argument.substr(1)));
  }
  size_t next = 0;
  const auto output = [&](const std::string& text) -> EValue* {
    if (text == "self") return arguments.empty() ? memory.Slot(EValue()) : arguments[0];
    if (text.front() == '@') return arguments.at(std::stoul(text.substr(1)));
    const std::optional<DType> dtype = DTypeFromShortName(text.substr(0, text.find(':')));
    if (dtype.has_value()) {
      const Sizes sizes = next < planned.size() ? planned[next] : Sizes({0});
      ++next;
      const char layout = text.find(':') == std::string::npos ? ' ' : text.back();
      TensorView tensor = TensorView::Contiguous(*dtype, sizes, nullptr);
      tensor.strides = LayoutStrides(sizes, layout);
      EValue* const slot = memory.Slot(tensor);
      allocator.AddLayout(slot->get_if<TensorView>(), layout);
      return slot;
    }
    EValue* const slot = memory.Slot(memory.Value(text));
    if (slot->is_tensor()) allocator.AddFixed(slot->get_if<TensorView>());
    return slot;
  };
  for (const std::string& text : call.outputs) {
    if (!text.starts_with("[")) {
      outputs.push_back(output(text));
      continue;
    }
    std::vector<EValue*> elements;
    for (const std::string& element :
         SplitOutsideOfBrackets(std::string_view(text).substr(1, text.size() - 2), ',')) {
      elements.push_back(element == "null" ? nullptr : output(element));
    }
    outputs.push_back(memory.Slot(memory.List(std::move(elements))));
  }
  const KernelContext plan(arguments, outputs, &allocator, {}, faults.threads);
  if (kernel == nullptr) kernel = kernels->Find(call.op, plan);
  if (kernel == nullptr) {
    outcome.status =
        absl::NotFoundError(absl::StrCat("no kernel of ", call.op, " accepts the call"));
    return outcome;
  }
  outcome.kernel =
      absl::StrCat(std::string(KernelEngineName(kernel->engine)), " ", std::string(kernel->name));
  if (!faults.scratch_if_accepted || kernel->Accepts(plan)) {
    outcome.scratch_bytes = kernel->ScratchBytes(plan);
  }
  if (faults.plan_only) return outcome;
  if (outcome.scratch_bytes > uint64_t{1} << 30 && !faults.no_scratch) {
    outcome.status = absl::UnavailableError("too much scratch memory for a test");
    return outcome;
  }
  absl::StatusOr<AlignedBuffer> scratch =
      AlignedBuffer::Create(faults.no_scratch ? 0 : outcome.scratch_bytes);
  if (!scratch.ok()) Fail("cannot allocate scratch memory", call.ToString());
  KernelContext context(arguments, outputs, &allocator, scratch->span(), faults.threads);
  outcome.status = kernel->Run(context);
  for (const EValue* slot : outputs) outcome.outputs.push_back(*slot);
  return outcome;
}

void AddSizes(const EValue& value, std::vector<Sizes>& sizes) {
  if (const auto* tensor = value.get_if<TensorView>()) sizes.push_back(tensor->sizes);
  const auto* list = value.get_if<ListView>();
  if (list == nullptr) return;
  for (const EValue* element : list->elements) {
    if (element != nullptr) AddSizes(*element, sizes);
  }
}

// The first run determines the output sizes, which the scratch size of the second run depends on.
CallOutcome RunTwice(const KernelRegistry* kernels, const Kernel* kernel, const TextCall& call,
                     const CallFaults& faults) {
  if (faults.plan_only) return Run(kernels, kernel, call, faults, {});
  const CallOutcome first =
      Run(kernels, kernel, call,
          {.scratch_if_accepted = faults.scratch_if_accepted, .threads = faults.threads}, {});
  std::vector<Sizes> sizes;
  for (size_t i = 0; i < first.outputs.size(); ++i) {
    // Outputs of fixed sizes have no planned sizes.
    const std::string& text = call.outputs[i];
    if (DTypeFromShortName(text.substr(0, text.find(':'))).has_value() || text.front() == '[') {
      AddSizes(first.outputs[i], sizes);
    }
  }
  return Run(kernels, kernel, call, faults, sizes);
}

}  // namespace

std::vector<std::string> SplitOutsideOfBrackets(std::string_view text, char separator) {
  std::vector<std::string> parts;
  int depth = 0;
  bool elements = false;  // inside "]=…", whose commas separate elements of a tensor
  bool quoted = false;
  std::string part;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\'') quoted = !quoted;
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (depth == 0 && c == separator && !elements && !quoted) {
      parts.push_back(std::exchange(part, ""));
    } else if (c == ';' && elements && depth == 0) {
      elements = false;  // "[f32[2]=1,2;,none]": the elements end here
    } else {
      if (c == '=' && depth == 0 && separator == ',') elements = true;
      part += c;
    }
  }
  if (!part.empty()) parts.push_back(part);
  return parts;
}

TextCall TextCall::Parse(std::string_view text) {
  TextCall call;
  bool outputs = false;
  for (std::string& word : SplitOutsideOfBrackets(text, ' ')) {
    if (word.empty()) continue;
    if (word == "->") {
      outputs = true;
    } else if (call.op.empty()) {
      call.op = word;
    } else {
      (outputs ? call.outputs : call.arguments).push_back(std::move(word));
    }
  }
  if (!outputs) Fail("expected a call, got", text);
  return call;
}

TextCall TextCall::Parse(std::string_view text, const KernelRegistry& kernels) {
  TextCall call = Parse(text);
  const std::vector<const Kernel*> candidates = kernels.Candidates(call.op);
  if (candidates.empty()) Fail("unknown operator", text);
  const std::string signature(candidates[0]->signature);
  call.names = absl::StrSplit(signature.substr(0, signature.find("->")), ' ', absl::SkipEmpty());
  if (call.names.size() != call.arguments.size()) Fail("wrong number of arguments", text);
  return call;
}

bool TextCall::Has(std::string_view name) const {
  return std::find(names.begin(), names.end(), name) != names.end();
}
const std::string& TextCall::operator[](std::string_view name) const {
  if (!Has(name)) Fail("the call has no such argument", name);
  return arguments[static_cast<size_t>(std::find(names.begin(), names.end(), name) -
                                       names.begin())];
}

TextCall TextCall::With(std::string_view name, std::string_view value) const {
  return With(static_cast<size_t>(&(*this)[name] - arguments.data()), value);
}
TextCall TextCall::With(size_t argument, std::string_view value) const {
  TextCall call = *this;
  call.arguments.at(argument) = std::string(value);
  return call;
}
TextCall TextCall::WithOutput(size_t output, std::string_view value) const {
  TextCall call = *this;
  call.outputs.at(output) = std::string(value);
  return call;
}
std::string TextCall::ToString() const {
  return absl::StrCat(op, " ", absl::StrJoin(arguments, " "), " -> ", absl::StrJoin(outputs, " "));
}

std::byte* ValueMemory::Bytes(size_t count) {
  std::byte* const bytes = bytes_.emplace_back(new std::byte[count]).get();
  std::fill_n(bytes, count, std::byte{0});
  return bytes;
}

EValue ValueMemory::Tensor(DType dtype, const Sizes& sizes, char layout,
                           std::string_view elements) {
  TensorView view = TensorView::Contiguous(dtype, sizes, nullptr);
  view.strides = LayoutStrides(sizes, layout);
  if (layout == 'n') return view;
  if (!NumElements(sizes).has_value()) Fail("too many elements", FormatSizes(sizes));
  view.data = Bytes(SizeOf(view));
  if (elements == "0") return view;
  const Sizes one(sizes.size(), 1);
  std::vector<std::string> words;
  if (!elements.empty()) words = absl::StrSplit(std::string(elements), ',');
  DispatchDType<kRealTypes | kComplexTypes | kUnsignedWideTypes | kFloat8Types>(
      dtype, [&](auto tag) {
        using T = CppType<tag.value>;
        std::vector<T> given;
        for (const std::string& word : words) given.push_back(ElementFrom<tag.value>(word));
        size_t i = 0;
        // Writes repeated elements once, since there may be very many.
        for (StridedIterator<1> it(layout == 'r' && view.numel() > 0 ? one : sizes, {view.strides});
             !it.done(); it.Next(), ++i) {
          view.as<T>()[it.offset(0)] = given.empty()
                                           ? ConvertElement<T>(static_cast<int64_t>(i + 1))
                                           : T(given[i % given.size()]);
        }
      });
  return view;
}

EValue ValueMemory::Value(std::string_view text) {
  if (text.empty()) Fail("expected a value, got", text);
  if (text == "none") return EValue();
  if (text == "true" || text == "false") return EValue(text == "true");
  if (text.front() == '\'') {
    return EValue(std::string_view(strings_.emplace_back(text.substr(1, text.size() - 2))));
  }
  if (text == "<contiguous>") return EValue(MemoryFormat::kContiguous);
  if (text == "<channels_last>") return EValue(MemoryFormat::kChannelsLast);
  if (text == "<channels_last_3d>") return EValue(MemoryFormat::kChannelsLast3d);
  if (text == "<preserve>") return EValue(MemoryFormat::kPreserve);
  if (text.front() == '[') {
    std::vector<EValue*> elements;
    for (const std::string& element :
         SplitOutsideOfBrackets(text.substr(1, text.size() - 2), ',')) {
      elements.push_back(element == "null" ? nullptr : Slot(Value(element)));
    }
    return List(std::move(elements));
  }
  if (const std::optional<DType> dtype = DTypeFromName(text)) return EValue(*dtype);
  const size_t open = text.find('['), close = text.find(']');
  if (open != std::string_view::npos && close != std::string_view::npos) {
    const std::optional<DType> dtype = DTypeFromShortName(text.substr(0, open));
    if (!dtype.has_value()) Fail("unknown dtype", text);
    Sizes sizes;
    for (const std::string& size :
         SplitOutsideOfBrackets(text.substr(open + 1, close - open - 1), ',')) {
      sizes.push_back(std::strtoll(size.c_str(), nullptr, 10));
    }
    std::string_view rest = text.substr(close + 1);
    char layout = ' ';
    if (rest.starts_with(":")) {
      layout = rest[1];
      rest.remove_prefix(2);
    }
    if (rest.starts_with("=")) rest.remove_prefix(1);
    return Tensor(*dtype, sizes, layout, rest);
  }
  if (text.back() == 'j') return EValue(Number(text));
  if (text.find_first_of(".einf") == std::string_view::npos) {
    return EValue(static_cast<int64_t>(std::strtoll(std::string(text).c_str(), nullptr, 10)));
  }
  return EValue(Number(text).real());
}

std::string CallOutcome::ToString() const {
  if (!status.ok()) {
    return absl::StrCat(absl::StatusCodeToString(status.code()), ": ", status.message());
  }
  std::vector<std::string> texts;
  for (const EValue& output : outputs) texts.push_back(ValueText(output));
  return absl::StrJoin(texts, "; ");
}

CallOutcome RunCall(const KernelRegistry& kernels, const TextCall& call, const CallFaults& faults) {
  return RunTwice(&kernels, nullptr, call, faults);
}
CallOutcome RunCall(const Kernel& kernel, const TextCall& call, const CallFaults& faults) {
  return RunTwice(nullptr, &kernel, call, faults);
}

std::vector<std::string> LinesOf(const std::string& path) {
  std::ifstream file(path);
  if (!file.is_open()) Fail("cannot read", path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  }
  return lines;
}

}  // namespace belay
