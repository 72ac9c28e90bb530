#include "tools/belay/program_json.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/core/dtype.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"
#include "runtime/schema/file_format.h"
#include "tools/belay/program_json_memory.h"

namespace belay::tools {
namespace {

using nlohmann::json;

std::string DescribeValue(const ValuePlan& value) {
  if (const auto* tensor = std::get_if<TensorPlan>(&value)) {
    return absl::StrCat(DTypeShortName(tensor->dtype), FormatSizes(tensor->sizes));
  }
  if (const auto* kind = std::get_if<ScalarKind>(&value)) return std::string(ScalarKindName(*kind));
  if (std::holds_alternative<None>(value)) return "None";
  if (std::holds_alternative<std::string>(value))
    return absl::StrCat("\"", std::get<std::string>(value), "\"");
  return "constant";
}

std::string_view SegmentName(SegmentPlan::Kind kind) {
  switch (kind) {
    case SegmentPlan::Kind::kConstants:
      return "constants";
    case SegmentPlan::Kind::kDelegate:
      return "delegate";
    case SegmentPlan::Kind::kNamedData:
      return "named_data";
    case SegmentPlan::Kind::kDebug:
      return "debug";
  }
  return "unknown";
}

std::string Hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    absl::StrAppend(&text, absl::Hex(static_cast<uint8_t>(byte), absl::kZeroPad2));
  }
  return text;
}

// JSON has no infinities and no NaN.
json Number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

// Maps blobs to backends. Empty segments may share one address, so several delegates may share a
// blob; then the last one wins.
using BackendOfBlob = absl::flat_hash_map<std::pair<const std::byte*, size_t>, const std::string*>;
BackendOfBlob BackendsOf(const Program& program) {
  BackendOfBlob backends;
  for (const MethodPlan& method : program.methods()) {
    for (const DelegatePlan& delegate : method.delegates)
      backends[{delegate.blob.data(), delegate.blob.size()}] = &delegate.backend_id;
  }
  return backends;
}

// Assigns every byte of the file to an owner; the sizes add up to the file size.
json SizeByOwner(const Program& program) {
  const BackendOfBlob backends = BackendsOf(program);
  json owners = json::array();
  const auto add = [&](const std::string& owner, uint64_t bytes) {
    owners.push_back({{"owner", owner}, {"bytes", bytes}});
  };
  // Other formats have their header inside the metadata, and segments at any offset.
  const bool own = program.format().empty();
  if (own) add("header", kHeaderBytes);
  add("metadata", program.metadata_bytes());
  uint64_t padding = 0, at = (own ? kHeaderBytes : 0) + program.metadata_bytes();
  std::vector<const SegmentPlan*> segments;
  for (const SegmentPlan& segment : program.segments()) {
    if (segment.companion.empty()) segments.push_back(&segment);
  }
  std::sort(segments.begin(), segments.end(), [](const SegmentPlan* a, const SegmentPlan* b) {
    return a->offset != b->offset ? a->offset < b->offset : a < b;
  });
  for (const SegmentPlan* in_file : segments) {
    const SegmentPlan& segment = *in_file;
    if (segment.offset < at) continue;  // overlaps a counted segment
    padding += segment.offset - at;
    at = segment.offset + segment.bytes.size();
    std::string owner(SegmentName(segment.kind));
    if (segment.kind == SegmentPlan::Kind::kDelegate) {
      const auto backend = backends.find({segment.bytes.data(), segment.bytes.size()});
      if (backend != backends.end()) absl::StrAppend(&owner, " ", *backend->second);
    }
    add(owner, segment.bytes.size());
  }
  padding += program.bytes().size() - at;
  add("padding", padding);
  return owners;
}

// Finds the segments of constants.
class ConstantIndex {
 public:
  explicit ConstantIndex(absl::Span<const SegmentPlan> segments) : segments_(segments) {
    for (size_t i = 0; i < segments.size(); ++i) {
      if (segments[i].kind == SegmentPlan::Kind::kConstants && !segments[i].bytes.empty())
        by_address_.push_back(i);
    }
    std::sort(by_address_.begin(), by_address_.end(), [&](size_t a, size_t b) {
      return std::less<>()(segments_[a].bytes.data(), segments_[b].bytes.data());
    });
  }

  // Returns the segment and the offset in it; only the size if no segment has the constant.
  json Find(absl::Span<const std::byte> constant) const {
    const auto behind =
        std::upper_bound(by_address_.begin(), by_address_.end(), constant.data(),
                         [&](const std::byte* data, size_t segment) {
                           return std::less<>()(data, segments_[segment].bytes.data());
                         });
    if (!constant.empty() && behind != by_address_.begin()) {
      const size_t segment = *(behind - 1);
      const absl::Span<const std::byte> bytes = segments_[segment].bytes;
      if (std::less<>()(constant.data(), bytes.data() + bytes.size())) {
        return {{"segment", segment},
                {"offset", constant.data() - bytes.data()},
                {"bytes", constant.size()}};
      }
    }
    return {{"bytes", constant.size()}};
  }

 private:
  absl::Span<const SegmentPlan> segments_;
  std::vector<size_t> by_address_;  // of nonempty segments
};

// Whether the file names banks of the arena.
bool HasBanks(const MethodPlan& method) { return !method.banks[0].name.empty(); }

json TensorJson(const ConstantIndex& places, const MethodPlan& method, const TensorPlan& tensor) {
  json out{{"kind", "tensor"},
           {"type", absl::StrCat(DTypeShortName(tensor.dtype), FormatSizes(tensor.sizes))},
           {"dim_order", json::array()},
           {"dynamic_dims", tensor.dynamic_dims}};
  for (const uint8_t dim : tensor.dim_order) out["dim_order"].push_back(dim);
  switch (tensor.location) {
    case TensorPlan::Location::kConstant:
      out["constant"] = places.Find(tensor.constant);
      break;
    case TensorPlan::Location::kArena:
      out["arena"] = tensor.offset;
      if (HasBanks(method)) {
        out["bank"] = method.banks[BankAt(method.banks, tensor.offset)].name;
      }
      break;
    case TensorPlan::Location::kState:
      out["state"] = tensor.offset;
      break;
    case TensorPlan::Location::kExternal:
      out["external"] = true;
      break;
  }
  return out;
}

json ValueJson(const ConstantIndex& places, const MethodPlan& method, const ValuePlan& value) {
  struct Visitor {
    const ConstantIndex& places;
    const MethodPlan& method;
    json operator()(None) const { return {{"kind", "none"}}; }
    json operator()(int64_t v) const { return {{"kind", "int"}, {"value", v}}; }
    json operator()(double v) const { return {{"kind", "double"}, {"value", Number(v)}}; }
    json operator()(bool v) const { return {{"kind", "bool"}, {"value", v}}; }
    json operator()(const std::string& v) const { return {{"kind", "string"}, {"value", v}}; }
    json operator()(const TensorPlan& v) const { return TensorJson(places, method, v); }
    json operator()(const ListPlan& v) const {
      return {{"kind", "list"}, {"elements", v.elements}};
    }
    json operator()(DType v) const {
      return {{"kind", "dtype"}, {"value", std::string(DTypeShortName(v))}};
    }
    json operator()(MemoryFormat v) const {
      return {{"kind", "memory_format"}, {"value", static_cast<int>(v)}};
    }
    json operator()(const std::complex<double>& v) const {
      return {{"kind", "complex"}, {"real", Number(v.real())}, {"imag", Number(v.imag())}};
    }
    json operator()(ScalarKind v) const {
      return {{"kind", "slot"}, {"type", std::string(ScalarKindName(v))}};
    }
  };
  return std::visit(Visitor{places, method}, value);
}

json InstructionJson(const MethodPlan& method, const InstructionPlan& instruction) {
  struct Visitor {
    const MethodPlan& method;
    json operator()(const KernelCallPlan& v) const {
      return {{"kernel", method.operators[v.op]},
              {"arguments", method.arguments_of(v.operands)},
              {"outputs", method.outputs_of(v.operands)}};
    }
    json operator()(const DelegateCallPlan& v) const {
      return {{"delegate", v.delegate},
              {"arguments", method.arguments_of(v.operands)},
              {"outputs", method.outputs_of(v.operands)}};
    }
    json operator()(const MovePlan& v) const { return {{"move", {v.from, v.to}}}; }
    json operator()(const JumpIfFalsePlan& v) const {
      return {{"jump_if_false", v.condition}, {"target", v.target}};
    }
    json operator()(const JumpPlan& v) const { return {{"jump", v.target}}; }
  };
  return std::visit(Visitor{method}, instruction);
}

json InputJson(const MethodPlan& method, const InputPlan& input) {
  json out{{"name", input.name},
           {"value", input.value},
           {"type", DescribeValue(method.values[input.value])}};
  if (input.mutated) out["mutated"] = true;
  for (const SizeConstraint& c : input.constraints) {
    out["constraints"].push_back({{"dim", c.dim},
                                  {"min", c.min},
                                  {"max", c.max},
                                  {"symbol", c.symbol},
                                  {"multiplier", c.multiplier},
                                  {"offset", c.offset}});
  }
  return out;
}

json DelegateJson(const DelegatePlan& delegate) {
  json out{{"backend", delegate.backend_id}, {"bytes", delegate.blob.size()}};
  for (const CompileSpecPlan& spec : delegate.compile_specs) {
    out["compile_specs"].push_back({{"key", spec.key}, {"value", Hex(spec.value)}});
  }
  return out;
}

json MethodJson(const ConstantIndex& places, const MethodPlan& method) {
  json out{{"name", method.name},
           {"arena_bytes", method.arena_bytes},
           {"state_bytes", method.state_bytes},
           {"instructions", method.instructions.size()},
           {"in_spec", method.in_spec},
           {"out_spec", method.out_spec},
           {"output_values", method.outputs}};
  for (const char* list : {"inputs", "outputs", "values", "code", "delegates", "state"}) {
    out[list] = json::array();
  }
  for (size_t i = 0; HasBanks(method) && i < method.banks.size(); ++i) {
    const BankPlan& bank = method.banks[i];
    out["banks"].push_back(
        {{"name", bank.name}, {"bytes", bank.bytes}, {"alignment", bank.alignment}});
  }
  for (const InputPlan& input : method.inputs) out["inputs"].push_back(InputJson(method, input));
  for (const uint32_t output : method.outputs)
    out["outputs"].push_back(DescribeValue(method.values[output]));
  for (const ValuePlan& value : method.values)
    out["values"].push_back(ValueJson(places, method, value));
  std::map<std::string, int> calls;
  int delegate_calls = 0;
  for (const InstructionPlan& instruction : method.instructions) {
    out["code"].push_back(InstructionJson(method, instruction));
    if (const auto* call = std::get_if<KernelCallPlan>(&instruction))
      ++calls[method.operators[call->op]];
    if (std::holds_alternative<DelegateCallPlan>(instruction)) ++delegate_calls;
  }
  out["operators"] = calls;
  out["delegate_calls"] = delegate_calls;
  for (const DelegatePlan& delegate : method.delegates)
    out["delegates"].push_back(DelegateJson(delegate));
  for (const StatePlan& state : method.state) {
    json entry{{"name", state.name},
               {"value", state.value},
               {"type", DescribeValue(method.values[state.value])}};
    if (state.initial.has_value()) entry["initial"] = places.Find(*state.initial);
    out["state"].push_back(std::move(entry));
  }
  return out;
}

}  // namespace

absl::StatusOr<json> ProgramJson(const Program& program) {
  ABSL_RETURN_IF_ERROR(
      CheckMemory(ProgramJsonMemory(program), "the description of the program as JSON"));
  const ConstantIndex places(program.segments());
  json out{
      {"kind", "program"},
      {"producer", program.producer()},
      {"format", program.format().empty() ? absl::StrCat(kFormatMajor, ".", program.minor_version())
                                          : program.format()},
      {"file_bytes", program.bytes().size()},
      {"debug_bytes", program.debug_info().size()},
      {"size", SizeByOwner(program)}};
  for (const char* list : {"methods", "named_data", "segments"}) out[list] = json::array();
  for (const MethodPlan& method : program.methods())
    out["methods"].push_back(MethodJson(places, method));
  for (const NamedDataPlan& data : program.named_data()) {
    out["named_data"].push_back(
        {{"key", data.key}, {"bytes", data.bytes.size()}, {"alignment", data.alignment}});
    if (data.replaceable) out["named_data"].back()["replaceable"] = true;
  }
  for (const SegmentPlan& segment : program.segments()) {
    json entry{{"kind", std::string(SegmentName(segment.kind))},
               {"offset", segment.offset},
               {"bytes", segment.bytes.size()},
               {"alignment", segment.alignment},
               {"sha256", Hex(segment.sha256)}};
    if (!segment.companion.empty()) entry["companion"] = segment.companion;
    out["segments"].push_back(std::move(entry));
  }
  return out;
}

}  // namespace belay::tools
