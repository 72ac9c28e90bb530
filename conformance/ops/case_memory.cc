#include "conformance/ops/case_memory.h"

#include <algorithm>
#include <cstring>

#include "absl/status/status.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 30;
constexpr int64_t kUnknownBound = 4096;  // a size without a bound in the meta kernel
constexpr std::byte kGuardByte{0x5C};
constexpr std::byte kUnwrittenByte{0xA5};

// nullopt if an expression needs an unknown symbol.
std::optional<std::vector<int64_t>> Numbers(
    const std::vector<exir::SymInt>& exprs,
    const std::map<std::string, int64_t, std::less<>>& symbols) {
  std::vector<int64_t> numbers;
  for (const exir::SymInt& e : exprs) {
    const std::optional<int64_t> n =
        e.EvaluateInt([&](std::string_view name) -> std::optional<int64_t> {
          const auto it = symbols.find(name);
          return it == symbols.end() ? std::nullopt : std::optional<int64_t>(it->second);
        });
    if (!n.has_value()) return std::nullopt;
    numbers.push_back(*n);
  }
  return numbers;
}

absl::Status CheckRank(const exir::TensorMeta& meta) {
  if (meta.rank() <= kMaxRank && meta.strides.size() == meta.sizes.size()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the meta kernel gave ", meta.sizes.size(), " sizes and ",
                                          meta.strides.size(), " strides"));
}

}  // namespace

absl::StatusOr<GuardedBuffer> GuardedBuffer::Create(uint64_t bytes) {
  if (bytes > kMaxBytes)
    return absl::ResourceExhaustedError(absl::StrCat("a tensor of ", bytes, " bytes"));
  GuardedBuffer buffer;
  ABSL_ASSIGN_OR_RETURN(buffer.buffer_, AlignedBuffer::Create(bytes + 2 * kGuard));
  std::memset(buffer.buffer_.data(), static_cast<int>(kGuardByte), buffer.buffer_.size());
  std::memset(buffer.data(), static_cast<int>(kUnwrittenByte), buffer.size());
  return buffer;
}

bool GuardedBuffer::guards_intact() const {
  const auto intact = [](const std::byte* begin) {
    return std::all_of(begin, begin + kGuard, [](std::byte b) { return b == kGuardByte; });
  };
  return intact(buffer_.data()) && intact(data() + size());
}

exir::SymExpr CaseSymbols::Fresh(exir::SymRange range) {
  const std::string name = absl::StrCat("u", ranges_.size());
  ranges_[name] = range;
  return exir::SymExpr::Symbol(name);
}

EValue* CaseMemory::NewValue(EValue value) { return &values_.emplace_back(std::move(value)); }

EValue* CaseMemory::NewList(std::vector<EValue*> elements) {
  const std::vector<EValue*>& list = lists_.emplace_back(std::move(elements));
  return NewValue(EValue(ListView{absl::MakeConstSpan(list)}));
}

absl::StatusOr<EValue*> CaseMemory::NewInput(const CaseTensor& tensor, bool writable) {
  if (!tensor.data.has_value()) return absl::InvalidArgumentError("an argument without data");
  const std::string& bytes = *tensor.data;
  ABSL_ASSIGN_OR_RETURN(GuardedBuffer created, GuardedBuffer::Create(bytes.size()));
  GuardedBuffer& buffer = buffers_.emplace_back(std::move(created));
  if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
  buffer.Seal();
  inputs_.push_back({&buffer, writable});
  TensorView view;
  view.dtype = tensor.dtype;
  view.sizes = tensor.sizes;
  view.strides = tensor.strides;
  // A tensor without elements has no storage to offset into.
  const int64_t offset =
      bytes.empty() ? 0 : tensor.storage_offset * static_cast<int64_t>(DTypeSize(tensor.dtype));
  view.data = buffer.data() + offset;
  return NewValue(view);
}

absl::Status CaseMemory::Allocate(TensorView& tensor, const Sizes& sizes, const Strides& strides) {
  const std::optional<int64_t> count = NumElements(sizes);
  if (!count.has_value())
    return absl::InvalidArgumentError(absl::StrCat("no tensor has sizes ", FormatSizes(sizes)));
  CheckedInt elements = *count == 0 ? 0 : 1;
  for (int d = 0; *count != 0 && d < sizes.size(); ++d) {
    if (strides[d] < 0)
      return absl::InternalError(absl::StrCat("negative strides ", FormatSizes(strides)));
    elements = elements + CheckedInt(sizes[d] - 1) * strides[d];
  }
  const CheckedInt bytes = elements * static_cast<int64_t>(DTypeSize(tensor.dtype));
  if (!bytes.ok())
    return absl::ResourceExhaustedError(absl::StrCat("a tensor of sizes ", FormatSizes(sizes)));
  ABSL_ASSIGN_OR_RETURN(GuardedBuffer created,
                        GuardedBuffer::Create(static_cast<uint64_t>(bytes.value())));
  GuardedBuffer& buffer = buffers_.emplace_back(std::move(created));
  tensor.sizes = sizes;
  tensor.strides = strides;
  tensor.data = buffer.data();
  return absl::OkStatus();
}

absl::StatusOr<EValue*> CaseMemory::NewOutput(const exir::TensorMeta& meta,
                                              const exir::SymRanges& ranges) {
  ABSL_RETURN_IF_ERROR(CheckRank(meta));
  TensorView view;
  view.dtype = meta.dtype;
  EValue* value = NewValue(view);
  TensorView& tensor = *value->get_if<TensorView>();
  results_[&tensor] = {&meta, &ranges};
  if (meta.is_static()) {
    const std::optional<std::vector<int64_t>> sizes = Numbers(meta.sizes, {}),
                                              strides = Numbers(meta.strides, {});
    if (!sizes || !strides)
      return absl::ResourceExhaustedError("the result has more elements than an int64 counts");
    ABSL_RETURN_IF_ERROR(Allocate(tensor, Sizes(*sizes), Strides(*strides)));
    return value;
  }
  for (const exir::SymInt& size : meta.sizes) {
    const int64_t bound = size.Range(ranges).max;
    tensor.sizes.push_back(bound == exir::SymRange::kUnboundedAbove ? kUnknownBound
                                                                    : std::max<int64_t>(bound, 0));
  }
  if (!NumElements(tensor.sizes).has_value())
    return absl::InternalError("the meta kernel's bounds overflow");
  tensor.strides = ContiguousStrides(tensor.sizes);
  return value;
}

void CaseMemory::MakeResizable(EValue* argument, const exir::TensorMeta& meta,
                               const exir::SymRanges& ranges) {
  if (const TensorView* tensor = argument->get_if<TensorView>())
    results_[tensor] = {&meta, &ranges};
}

absl::Status CaseMemory::Resize(TensorView& tensor, absl::Span<const int64_t> sizes) {
  if (tensor.data != nullptr && tensor.sizes.span() == sizes) return absl::OkStatus();
  const auto it = results_.find(&tensor);
  const std::optional<Sizes> wanted = Sizes::TryFrom(sizes);
  if (it == results_.end() || !wanted.has_value())
    return absl::InvalidArgumentError("this tensor has no other sizes");
  const exir::TensorMeta& meta = *it->second.meta;
  ABSL_RETURN_IF_ERROR(CheckRank(meta));
  if (wanted->size() != meta.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("the meta kernel gave rank ", meta.rank(),
                                                   ", the kernel ", FormatSizes(*wanted)));
  }
  // A size that is a symbol defines the symbol; all others must agree.
  std::map<std::string, int64_t, std::less<>> symbols;
  for (int d = 0; d < wanted->size(); ++d) {
    const exir::SymRange range = meta.sizes[d].Range(*it->second.ranges);
    if ((*wanted)[d] > range.max) {
      return absl::OutOfRangeError(
          absl::StrCat("dimension ", d, ": bound ", range.max, ", value ", (*wanted)[d]));
    }
    if (meta.sizes[d].kind() == exir::SymExpr::Kind::kSymbol) {
      symbols.emplace(std::string(meta.sizes[d].name()), (*wanted)[d]);
    }
  }
  const std::optional<std::vector<int64_t>> expected = Numbers(meta.sizes, symbols);
  const std::optional<std::vector<int64_t>> strides = Numbers(meta.strides, symbols);
  if (!expected || !strides)
    return absl::InternalError("the meta kernel gave sizes that can't be computed");
  if (absl::MakeConstSpan(*expected) != sizes) {
    return absl::InvalidArgumentError(absl::StrCat("the meta kernel gave sizes ",
                                                   FormatSizes(*expected), ", the kernel ",
                                                   FormatSizes(*wanted)));
  }
  return Allocate(tensor, *wanted, Strides(*strides));
}

absl::Status CaseMemory::CheckUntouched() const {
  for (const GuardedBuffer& buffer : buffers_) {
    if (!buffer.guards_intact()) return absl::InternalError("the kernel wrote outside of a tensor");
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i].writable && !inputs_[i].buffer->unchanged()) {
      return absl::InternalError(absl::StrCat("the kernel wrote to input tensor ", i));
    }
  }
  return absl::OkStatus();
}

}  // namespace belay::conformance
