#include "tools/belay/program_diff.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/core/annotate.h"
#include "runtime/core/sha256.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/header.h"
#include "runtime/program/metadata_path.h"
#include "tools/belay/program_json.h"
#include "tools/belay/program_named_data.h"

namespace belay::tools {
namespace {

using nlohmann::json;

// "12 bytes, 0123456789abcdef".
std::string Content(absl::Span<const std::byte> bytes) {
  std::string digits;
  for (const char byte : Sha256(bytes).substr(0, 8)) {
    absl::StrAppend(&digits, absl::Hex(static_cast<uint8_t>(byte), absl::kZeroPad2));
  }
  return absl::StrCat(bytes.size(), " bytes, ", digits);
}

// Adds to the number under a name.
void Count(const std::string& name, uint64_t count, ProgramPart& part) {
  json& sum = part.facts[name];
  sum = (sum.is_null() ? 0 : sum.get<uint64_t>()) + count;
}

ProgramPart FilePart(const Program& program, const json& description) {
  ProgramPart part{"file", {}};
  part.facts["format"] = description["format"];
  part.facts["producer"] = description["producer"];
  part.facts["bytes"] = description["file_bytes"];
  if (!program.debug_info().empty()) {
    part.facts["debug information"] = Content(program.debug_info());
  }
  for (const json& entry : description["size"]) {
    Count(absl::StrCat("bytes of ", entry["owner"].get<std::string>()),
          entry["bytes"].get<uint64_t>(), part);
  }
  return part;
}

ProgramPart ConstantsPart(const Program& program, const json& description) {
  ProgramPart part{"constants", {}};
  // Values with the same bytes are one constant.
  std::set<std::pair<const std::byte*, size_t>> seen;
  for (size_t m = 0; m < program.methods().size(); ++m) {
    const std::vector<ValuePlan>& values = program.methods()[m].values;
    for (size_t i = 0; i < values.size(); ++i) {
      const auto* tensor = std::get_if<TensorPlan>(&values[i]);
      if (tensor == nullptr || tensor->location != TensorPlan::Location::kConstant ||
          !seen.insert({tensor->constant.data(), tensor->constant.size()}).second) {
        continue;
      }
      const json& type = description["methods"][m]["values"][i]["type"];
      Count(absl::StrCat(type.get<std::string>(), ", ", Content(tensor->constant)), 1, part);
    }
  }
  return part;
}

ProgramPart NamedDataPart(const Program& program) {
  ProgramPart part{"named data", {}};
  for (const NamedDataPlan& data : program.named_data()) part.facts[data.key] = Content(data.bytes);
  return part;
}

void AddMethod(const MethodPlan& method, const json& description, ProgramPart& part) {
  part.facts["arena bytes"] = method.arena_bytes;
  part.facts["state bytes"] = method.state_bytes;
  part.facts["instructions"] = method.instructions.size();
  size_t index = 0;
  for (const json& input : description["inputs"]) {
    std::string text =
        absl::StrCat(input["type"].get<std::string>(), " ", input["name"].get<std::string>());
    if (input.contains("constraints")) {
      absl::StrAppend(&text, " ",
                      input["constraints"].dump(-1, ' ', /*ensure_ascii=*/false,
                                                json::error_handler_t::replace));
    }
    part.facts[absl::StrCat("input ", index++)] = std::move(text);
  }
  index = 0;
  for (const json& output : description["outputs"]) {
    part.facts[absl::StrCat("output ", index++)] = output;
  }
  index = 0;
  for (const json& state : description["state"]) {
    const auto& initial = method.state[index++].initial;
    part.facts[absl::StrCat("state ", state["name"].get<std::string>())] =
        absl::StrCat(state["type"].get<std::string>(),
                     initial.has_value() ? absl::StrCat(", ", Content(*initial)) : "");
  }
  for (const auto& [op, calls] : description["operators"].items()) {
    part.facts[absl::StrCat("calls of ", op)] = calls;
  }
}

// Appends a part for each method, followed by those of its delegates.
absl::Status AddMethods(const Program& program, const json& description, const NamedDataMap& data,
                        const std::string& prefix, int depth, std::vector<ProgramPart>& parts) {
  for (size_t m = 0; m < program.methods().size(); ++m) {
    const MethodPlan& method = program.methods()[m];
    const std::string name = absl::StrCat(prefix, "method ", Quoted(method.name));
    ProgramPart part{name, {}};
    AddMethod(method, description["methods"][m], part);
    std::vector<ProgramPart> inner;
    for (size_t i = 0; i < method.delegates.size(); ++i) {
      const DelegatePlan& delegate = method.delegates[i];
      const std::string position = absl::StrCat("delegate ", i);
      part.facts[position] = absl::StrCat(delegate.backend_id, ", ", Content(delegate.blob));
      if (!HasProgramMagic(delegate.blob) || depth == kMaxNesting) continue;
      const auto add = [&]() -> absl::Status {
        Program::Options options;
        options.named_data = &data;
        ABSL_ASSIGN_OR_RETURN(const Program opened,
                              Program::OpenBytes(nullptr, delegate.blob, options));
        ABSL_ASSIGN_OR_RETURN(const json inner_description, ProgramJson(opened));
        return AddMethods(opened, inner_description, data, absl::StrCat(name, ", ", position, ", "),
                          depth + 1, inner);
      };
      const absl::Status added = add();
      if (!added.ok()) return Annotate(added, absl::StrCat(name, ", ", position));
    }
    parts.push_back(std::move(part));
    for (ProgramPart& delegate : inner) parts.push_back(std::move(delegate));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<ProgramPart>> DescribeParts(const Program& program) {
  ABSL_ASSIGN_OR_RETURN(const json description, ProgramJson(program));
  std::vector<ProgramPart> parts = {FilePart(program, description)};
  ABSL_RETURN_IF_ERROR(
      AddMethods(program, description, ProgramNamedData(program), "", /*depth=*/0, parts));
  parts.push_back(ConstantsPart(program, description));
  parts.push_back(NamedDataPart(program));
  return parts;
}

std::vector<PartDiff> DiffParts(const std::vector<ProgramPart>& before,
                                const std::vector<ProgramPart>& after) {
  std::map<std::string_view, const ProgramPart*> others;
  for (const ProgramPart& part : after) others.emplace(part.name, &part);
  std::vector<PartDiff> diffs;
  for (const ProgramPart& part : before) {
    const auto other = others.find(part.name);
    if (other == others.end()) {
      diffs.push_back({.name = part.name, .only_before = true});
      continue;
    }
    PartDiff diff{.name = part.name};
    const auto& a = part.facts;
    const auto& b = other->second->facts;
    others.erase(other);
    for (const auto& [name, fact] : a) {
      const auto same = b.find(name);
      if (same == b.end()) {
        diff.differences.push_back({name, fact, nullptr});
      } else if (same->second != fact) {
        diff.differences.push_back({name, fact, same->second});
      }
    }
    for (const auto& [name, fact] : b) {
      if (!a.contains(name)) diff.differences.push_back({name, nullptr, fact});
    }
    if (!diff.differences.empty()) diffs.push_back(std::move(diff));
  }
  for (const ProgramPart& part : after) {
    if (others.contains(part.name)) diffs.push_back({.name = part.name, .only_after = true});
  }
  return diffs;
}

}  // namespace belay::tools
