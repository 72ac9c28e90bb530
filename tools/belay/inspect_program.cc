#include "tools/belay/inspect_program.h"

#include <iostream>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/digest.h"
#include "runtime/program/program.h"
#include "tools/belay/inspect_graph.h"
#include "tools/belay/printing.h"
#include "tools/belay/program_file.h"
#include "tools/belay/program_json.h"
#include "tools/graph/draw_program_file.h"

namespace belay::tools {
namespace {

using nlohmann::json;

// A string from the file.
std::string Text(const json& text) { return OneLine(text.get<std::string>()); }

// A number, or a list or object of numbers in a value's field.
std::string FieldText(const json& field) {
  return field.dump(-1, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace);
}

// "%1, %2".
std::string Values(const json& indices) {
  std::string list;
  for (const json& index : indices) {
    absl::StrAppend(&list, list.empty() ? "%" : ", %", index.get<uint64_t>());
  }
  return list;
}

std::string CallText(std::string_view callee, const json& instruction) {
  const std::string outputs = Values(instruction["outputs"]);
  return absl::StrCat(outputs, outputs.empty() ? "" : " = ", std::string(callee), "(",
                      Values(instruction["arguments"]), ")");
}

std::string InstructionText(const json& method, const json& instruction) {
  if (instruction.contains("kernel")) return CallText(Text(instruction["kernel"]), instruction);
  if (instruction.contains("delegate")) {
    const size_t delegate = instruction["delegate"].get<size_t>();
    return CallText(
        absl::StrCat("delegate ", delegate, " of ", Text(method["delegates"][delegate]["backend"])),
        instruction);
  }
  if (instruction.contains("move")) {
    return absl::StrCat("%", instruction["move"][1].get<uint64_t>(), " = %",
                        instruction["move"][0].get<uint64_t>());
  }
  const uint64_t target =
      instruction[instruction.contains("jump") ? "jump" : "target"].get<uint64_t>();
  if (instruction.contains("jump")) return absl::StrCat("go to ", target);
  return absl::StrCat("unless %", instruction["jump_if_false"].get<uint64_t>(), " go to ", target);
}

// Prints values with their descriptions, then instructions.
void PrintCode(const json& method) {
  size_t index = 0;
  for (const json& value : method["values"]) {
    std::string text = Text(value["kind"]);
    for (const auto& [key, field] : value.items()) {
      if (key != "kind") absl::StrAppend(&text, " ", key, " ", OneLine(FieldText(field)));
    }
    std::cout << "  %" << index++ << ": " << text << "\n";
  }
  index = 0;
  for (const json& instruction : method["code"]) {
    std::cout << "  " << index++ << ": " << InstructionText(method, instruction) << "\n";
  }
}

// ", dimension 0 from 1 to 4 (2*s0 + 1)" for each dynamic dimension.
std::string RangesText(const json& input) {
  std::string text;
  if (!input.contains("constraints")) return text;
  const bool is_tensor = absl::StrContains(input["type"].get<std::string>(), "[");
  for (const json& c : input["constraints"]) {
    absl::StrAppend(&text, ", ");
    if (is_tensor) absl::StrAppend(&text, "dimension ", c["dim"].get<uint64_t>(), " ");
    absl::StrAppend(&text, "from ", c["min"].get<int64_t>(), " to ", c["max"].get<int64_t>());
    const std::string symbol = Text(c["symbol"]);
    if (symbol.empty()) continue;
    const int64_t multiplier = c["multiplier"].get<int64_t>(), offset = c["offset"].get<int64_t>();
    absl::StrAppend(&text, " (", multiplier == 1 ? "" : absl::StrCat(multiplier, "*"), symbol,
                    offset == 0 ? "" : absl::StrCat(" + ", offset), ")");
  }
  return text;
}

void PrintMethod(const json& method) {
  std::cout << "method " << Text(method["name"]) << ": " << method["instructions"]
            << " instructions, arena " << method["arena_bytes"] << " bytes, state "
            << method["state_bytes"] << " bytes\n";
  if (method.contains("banks")) {
    for (const json& bank : method["banks"]) {
      std::cout << "  bank " << Text(bank["name"]) << ": " << bank["bytes"] << " bytes, alignment "
                << bank["alignment"] << "\n";
    }
  }
  for (const json& input : method["inputs"]) {
    std::cout << "  input " << Text(input["name"]) << ": " << Text(input["type"])
              << RangesText(input) << "\n";
  }
  for (const json& output : method["outputs"]) std::cout << "  output " << Text(output) << "\n";
  for (const json& state : method["state"]) {
    std::cout << "  state " << Text(state["name"]) << ": " << Text(state["type"]) << "\n";
  }
  for (const auto& [op, count] : method["operators"].items())
    std::cout << "  " << count << " x " << OneLine(op) << "\n";
  for (const json& delegate : method["delegates"]) {
    std::cout << "  delegate " << Text(delegate["backend"]) << ": " << delegate["bytes"]
              << " bytes\n";
  }
}

absl::Status DrawGraphs(const InspectOptions& options, const Program& program) {
  if (!WantsGraph(options)) return absl::OkStatus();
  const absl::StatusOr<DrawnProgram> drawn = DrawProgramFile(program);
  if (!drawn.ok()) return Annotate(drawn.status(), options.file);
  return WriteGraphs(options, *drawn);
}

}  // namespace

absl::Status InspectProgram(const InspectOptions& options) {
  ABSL_ASSIGN_OR_RETURN(
      const Program program,
      OpenProgramFile(options.file, {options.limits.ForPrograms(), options.data}));
  if (options.verify) {
    const absl::Status status = VerifyDigests(program);
    if (!status.ok()) return Annotate(status, options.file);
  }
  const absl::StatusOr<json> out = ProgramJson(program);
  if (!out.ok()) return Annotate(out.status(), options.file);
  if (options.json) {
    std::cout << JsonText(*out);
    return DrawGraphs(options, program);
  }
  std::cout << OneLine(options.file) << ": program, " << program.bytes().size() << " bytes, by "
            << OneLine(program.producer()) << "\n";
  if (options.verify) std::cout << "  all digests match\n";
  for (const json& method : (*out)["methods"]) {
    PrintMethod(method);
    if (options.graph) PrintCode(method);
  }
  if (options.size) {
    for (const json& entry : (*out)["size"]) {
      std::cout << "  " << entry["bytes"] << " bytes: " << Text(entry["owner"]) << "\n";
    }
    std::cout << "  " << program.bytes().size() << " bytes in total (100 %)\n";
  }
  return DrawGraphs(options, program);
}

}  // namespace belay::tools
