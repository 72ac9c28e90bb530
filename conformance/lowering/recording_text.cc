#include "conformance/lowering/recording_text.h"

#include <bit>
#include <cstdint>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "conformance/lowering/program_json.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

std::string FloatText(double value) {
  return absl::StrCat("f:", absl::Hex(std::bit_cast<uint64_t>(value), absl::kZeroPad16));
}

template <class Print>
std::string Join(const Json& list, const char* separator, const Print& print) {
  return absl::StrJoin(list, separator,
                       [&](std::string* text, const Json& a) { *text += print(a); });
}

std::string RefText(const Json& a) {
  static const std::map<std::string, std::string> kPrefixes = {
      {"node", "%"},          {"input", "%in"},      {"param", "@param:"},
      {"buffer", "@buffer:"}, {"const", "@const:"},  {"dtype", "dtype:"},
      {"device", "device:"},  {"layout", "layout:"}, {"memory_format", "memory_format:"}};
  if (a.is_array()) return absl::StrCat("[", Join(a, ",", RefText), "]");
  if (a.is_number_float()) return FloatText(a.get<double>());
  // Formats strings, numbers, `true` and `null` like Python's json.dumps().
  if (!a.is_object() || a.empty()) return a.dump(-1, ' ', /*ensure_ascii=*/true);
  const std::string& key = a.begin().key();
  const Json &value = a.front(), &out = Member(a, "out");
  double number = 0;
  if (key == "float" && absl::SimpleAtod(Text(value), &number)) return FloatText(number);
  const auto prefix = kPrefixes.find(key);
  if (prefix == kPrefixes.end()) return "?";
  const std::string name = value.is_string()   ? Text(value)
                           : value.is_object() ? "sha256:" + Text(value, "sha256")
                                               : value.dump();
  // A result of a result has several indices.
  return absl::StrCat(prefix->second, name, out.empty() ? "" : ".",
                      out.is_array() ? Join(out, ".", RefText)
                      : out.empty()  ? ""
                                     : out.dump());
}

std::string TypeText(const Json& type) {
  if (type.is_null()) return "none";
  if (type.is_array()) return absl::StrCat("(", Join(type, ";", TypeText), ")");
  if (!type.contains("shape")) return type.contains("symint") ? "symint" : "scalar";
  const auto size = [](const Json& s) { return s.is_string() ? Text(s) : s.dump(); };
  return absl::StrCat(Text(type, "dtype"), "[", Join(type["shape"], ",", size), "]");
}

std::string EntryText(const Json& entry, const std::vector<std::string>& backend_ids) {
  const std::string kind = Text(entry, "kind"), input = Text(entry, "input");
  const std::string type = absl::StrCat(" ", TypeText(Member(entry, "type")), "\n");
  if (kind == "getitem") return "";
  if (input == "user_input") return absl::StrCat("input ", entry["index"].dump(), type);
  if (kind == "placeholder") {
    const Json& target = entry["target"];
    const char* key = input == "parameter" ? "param" : input == "buffer" ? "buffer" : "const";
    return absl::StrCat("constant ", RefText({{target.is_string() ? key : "const", target}}), type);
  }
  std::string text;
  for (const Json& output : Member(entry, "outputs")) {
    const Json& target = Member(output, "target");
    absl::StrAppend(&text, "output ", Text(output, "kind"), target.is_null() ? "" : " ",
                    target.is_object() ? RefText(target) : Text(target), " ",
                    RefText(output["value"]), "\n");
  }
  if (kind == "output") {
    for (const Json& value : Member(entry, "args")) {
      absl::StrAppend(&text, "output ", RefText(value), "\n");
    }
    return text;
  }
  std::string op = Text(entry, "op"), arguments = Join(entry["args"], ", ", RefText);
  for (const auto& [name, value] : Member(entry, "kwargs").items()) {
    absl::StrAppend(&arguments, arguments.empty() ? "" : ", ", name, "=", RefText(value));
  }
  const Json& delegate = Member(entry, "delegate");
  if (delegate.is_number() && delegate < backend_ids.size()) {
    op = absl::StrCat("delegate:", backend_ids[delegate.get<size_t>()]);
  }
  return absl::StrCat("%", entry["id"].dump(), " = ", op, "(", arguments, ") :", type);
}

}  // namespace

std::string RecordingText(const Json& graphs, const std::vector<std::string>& backend_ids) {
  std::string text;
  for (const auto& [path, entries] : graphs.items()) {
    if (!path.empty()) absl::StrAppend(&text, "graph ", path, "\n");
    for (const Json& entry : entries) text += EntryText(entry, backend_ids);
  }
  return text.empty() ? "\n" : text;
}

std::string RecordingText(const exir::ExportedProgram& program, const std::set<std::string>& fqns) {
  std::vector<std::string> backend_ids;
  const Json json = ProgramJson(program, fqns, [&](const exir::LoweredBackendModule& module) {
    backend_ids.push_back(module.backend_id);
    return static_cast<int64_t>(backend_ids.size() - 1);
  });
  return RecordingText(json["graphs"], backend_ids);
}

}  // namespace belay::conformance
