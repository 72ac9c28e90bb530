#include "backends/demo/executorch_runtimes.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "backends/demo/chain_runtime.h"
#include "runtime/core/arena.h"
#include "runtime/core/bytes.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::demo {
namespace {

// Consumes a string from the front.
class Reader {
 public:
  explicit Reader(absl::Span<const std::byte> blob) : size_(blob.size()), rest_(AsString(blob)) {}

  bool done() const { return rest_.empty(); }
  // Consumes `text`; returns false if it does not match.
  bool Take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  // Consumes the string up to and including `end` and returns the part before it; nullopt without
  // `end`.
  std::optional<std::string_view> TakeUntil(char end) {
    const size_t size = rest_.find(end);
    if (size == std::string_view::npos) return std::nullopt;
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size + 1);
    return taken;
  }
  std::optional<int64_t> TakeNumber() {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < 0) return std::nullopt;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }
  absl::Status Malformed() const {
    return absl::DataLossError(
        absl::StrCat("the blob is malformed at byte ", size_ - rest_.size()));
  }

 private:
  size_t size_;
  std::string_view rest_;
};

absl::Status UnknownOperator() {
  return absl::UnimplementedError("the blob has an operator that this build does not know");
}

// Maximum memory per byte of the blob. Two bytes ("a" and a line feed) can name an instruction,
// seven (CONSTa+) a constant and its copy, and fifteen an instruction kept as a string; each in a
// list that grows by doubling.
constexpr uint64_t kTableBytesPerByte = 36;
static_assert(3 * sizeof(ChainInstruction) <= 2 * kTableBytesPerByte &&
              3 * (sizeof(absl::Span<const std::byte>) + sizeof(AlignedBuffer)) <=
                  7 * kTableBytesPerByte &&
              3 * sizeof(std::string) + 64 <= 15 * kTableBytesPerByte);

absl::Status CheckTables(const DelegateInitContext& context, absl::Span<const std::byte> blob) {
  MemoryBound bound;
  bound.Add(blob.size(), kTableBytesPerByte);
  bound.Add(1, 1024);  // the handle
  constexpr std::string_view kTables = "the blob's tables";
  ABSL_RETURN_IF_ERROR(context.memory->Take(bound.bytes(), kTables));
  return CheckMemory(bound.bytes(), kTables);
}

absl::StatusOr<std::vector<ChainInstruction>> ParseCompilerDemo(absl::Span<const std::byte> blob) {
  Reader reader(blob);
  const std::optional<int64_t> count = reader.TakeNumber();
  if (!count.has_value() || !reader.Take("version:")) return reader.Malformed();
  const std::optional<int64_t> version = reader.TakeNumber();
  if (!version.has_value() || !reader.Take("#")) return reader.Malformed();
  if (*version != 0) {
    return absl::UnimplementedError(
        absl::StrCat("the blob has version ", *version, ", this build reads version 0"));
  }
  std::vector<ChainInstruction> instructions;
  while (!reader.done()) {
    if (!reader.Take("op:demo::")) return reader.Malformed();
    const std::optional<std::string_view> name = reader.TakeUntil(',');
    if (!name.has_value()) return reader.Malformed();
    const std::optional<ChainOp> op = ChainOpFromName(*name);
    if (op != ChainOp::kSin && op != ChainOp::kMm && op != ChainOp::kAdd) return UnknownOperator();
    if (!reader.Take(" numel:")) return reader.Malformed();
    const std::optional<int64_t> numel = reader.TakeNumber();
    if (!numel.has_value() || !reader.Take(", dtype:torch.float32<debug_handle>")) {
      return reader.Malformed();
    }
    const std::optional<int64_t> handle = reader.TakeNumber();
    if (!handle.has_value() || !reader.Take("#")) return reader.Malformed();
    instructions.push_back({op == ChainOp::kSin ? ChainOp::kSineSeries : *op, *numel, *handle});
  }
  if (static_cast<int64_t>(instructions.size()) != *count) return reader.Malformed();
  return instructions;
}

class MappingDemoHandle final : public DelegateHandle {
 public:
  MappingDemoHandle(EventSink events, std::vector<std::string> instructions)
      : events_(events), instructions_(std::move(instructions)) {}
  // Logs the instructions by their ids.
  absl::Status Execute(KernelContext&) override {
    for (size_t i = 0; i < instructions_.size(); ++i) {
      events_.Step({.id = static_cast<int64_t>(i)}, events_.Begin());
    }
    return absl::UnimplementedError(absl::StrCat(
        "BackendWithDelegateMappingDemo shows delegate mappings and computes nothing; its "
        "instructions are ",
        absl::StrJoin(instructions_, ", ")));
  }

 private:
  EventSink events_;
  std::vector<std::string> instructions_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DelegateHandle>> CompilerDemoRuntime::Init(
    const DelegateInitContext& context, absl::Span<const std::byte> blob) const {
  ABSL_RETURN_IF_ERROR(CheckTables(context, blob));
  ABSL_ASSIGN_OR_RETURN(std::vector<ChainInstruction> instructions, ParseCompilerDemo(blob));
  for (const CompileSpecView& spec : context.compile_specs) {
    if (spec.key != "max_value" || spec.value.size() != 1) continue;
    const int64_t max_value = static_cast<unsigned char>(spec.value[0]);
    for (const ChainInstruction& instruction : instructions) {
      if (instruction.numel > max_value) {
        return absl::InvalidArgumentError(absl::StrCat("a result has ", instruction.numel,
                                                       " elements, max_value is ", max_value));
      }
    }
  }
  return MakeChain(context, std::move(instructions));
}

absl::StatusOr<std::unique_ptr<DelegateHandle>> DelegateMappingDemoRuntime::Init(
    const DelegateInitContext& context, absl::Span<const std::byte> blob) const {
  ABSL_RETURN_IF_ERROR(CheckTables(context, blob));
  static constexpr std::string_view kNames[] = {"conv_relu_op", "sin_decomp_from_tan",
                                                "cos_decomp_from_tan", "div_decomp_from_tan"};
  Reader reader(blob);
  const std::optional<int64_t> count = reader.TakeNumber();
  if (!count.has_value() || !reader.Take("#")) return reader.Malformed();
  std::vector<std::string> instructions;
  while (!reader.done()) {
    const std::optional<std::string_view> name = reader.TakeUntil(',');
    bool known = false;
    for (std::string_view candidate : kNames) known = known || name == candidate;
    // Ids are generated: 0, 1, 2, …
    if (!known || reader.TakeNumber() != static_cast<int64_t>(instructions.size()) ||
        !reader.Take(",")) {
      return reader.Malformed();
    }
    instructions.push_back(absl::StrCat(*name, " (", instructions.size(), ")"));
  }
  if (static_cast<int64_t>(instructions.size()) != *count) return reader.Malformed();
  return std::make_unique<MappingDemoHandle>(context.events, std::move(instructions));
}

absl::StatusOr<std::unique_ptr<DelegateHandle>> NamedDataDemoRuntime::Init(
    const DelegateInitContext& context, absl::Span<const std::byte> blob) const {
  ABSL_RETURN_IF_ERROR(CheckTables(context, blob));
  ABSL_ASSIGN_OR_RETURN(const int64_t numel, ChainNumel(context));
  std::vector<ChainInstruction> instructions;
  for (absl::string_view line :
       absl::StrSplit(absl::string_view(AsString(blob).data(), blob.size()), '\n')) {
    ABSL_ASSIGN_OR_RETURN(const absl::Span<const std::byte> data,
                          context.named_data->Find(std::string_view(line.data(), line.size())));
    std::string_view definition = AsString(data);
    if (!definition.starts_with("op:")) return UnknownOperator();
    definition.remove_prefix(3);
    const std::optional<ChainOp> op = ChainOpFromName(definition);
    if (!op.has_value()) return UnknownOperator();
    instructions.push_back({*op, numel});
  }
  return MakeChain(context, std::move(instructions));
}

absl::StatusOr<std::unique_ptr<DelegateHandle>> PreprocessAllDemoRuntime::Init(
    const DelegateInitContext& context, absl::Span<const std::byte> blob) const {
  ABSL_RETURN_IF_ERROR(CheckTables(context, blob));
  ABSL_ASSIGN_OR_RETURN(const int64_t numel, ChainNumel(context));
  Reader reader(blob);
  if (!reader.Take(id_) || !reader.Take("#") || !reader.TakeNumber().has_value() ||
      !reader.Take("#")) {
    return reader.Malformed();
  }
  const std::optional<std::string_view> ops = reader.TakeUntil('#');
  if (!ops.has_value()) return reader.Malformed();
  std::vector<ChainInstruction> instructions;
  std::vector<absl::Span<const std::byte>> constants;
  for (absl::string_view part : absl::StrSplit(absl::string_view(ops->data(), ops->size()), '+')) {
    std::string_view name(part.data(), part.size());
    if (name.starts_with("CONST")) {
      name.remove_prefix(5);
      ABSL_ASSIGN_OR_RETURN(constants.emplace_back(), context.named_data->Find(name));
      continue;
    }
    const std::optional<ChainOp> op = ChainOpFromName(name);
    if (!op.has_value()) return UnknownOperator();
    instructions.push_back({*op, numel});
  }
  return MakeChain(context, std::move(instructions), std::move(constants));
}

}  // namespace belay::demo
