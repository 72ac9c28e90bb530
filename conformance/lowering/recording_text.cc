#include "conformance/lowering/recording_text.h"

#include <bit>
#include <cmath>

#include "conformance/lowering/program_json.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

std::string FloatText(double value) {
  return absl::StrCat("f:", absl::Hex(std::bit_cast<uint64_t>(value), absl::kZeroPad16));
}

template <class Print>
std::string Join(const Json& list, const char* separator, const Print& print) {
  std::string text;
  for (size_t i = 0; i < list.size(); ++i) {
    absl::StrAppend(&text, i > 0 ? separator : "", print(list[i]));
  }
  return text;
}

std::string RefText(const Json& a) {
  if (a.is_array()) return absl::StrCat("[", Join(a, ",", RefText), "]");
  if (a.is_number_float()) return FloatText(a.get<double>());
  // As json.dumps() of Python writes strings, and numbers, `true` and `null`.
  if (!a.is_object() || a.empty()) return a.dump(-1, ' ', /*ensure_ascii=*/true);
  const std::string& key = a.begin().key();
  const Json& value = a.front();
  if (key == "node" || key == "input") {
    // Several numbers where a result of a result is taken.
    std::string text = absl::StrCat(key == "node" ? "%" : "%in", value.dump());
    const Json& out = Member(a, "out");
    if (out.is_number()) absl::StrAppend(&text, ".", out.dump());
    for (const Json& position : Elements(out)) absl::StrAppend(&text, ".", position.dump());
    return text;
  }
  if (key == "param" || key == "buffer" || key == "const") {
    return absl::StrCat("@", key, ":", value.is_string() ? "" : "sha256:",
                        value.is_string() ? Text(value) : Text(value, "sha256"));
  }
  if (key == "float") {
    return FloatText(value == "nan" ? NAN : value == "inf" ? INFINITY : -INFINITY);
  }
  const bool known = key == "dtype" || key == "device" || key == "memory_format" || key == "layout";
  return known ? absl::StrCat(key, ":", Text(value)) : "?";
}

std::string TypeText(const Json& type) {
  if (type.is_null()) return "none";
  if (type.is_array()) return absl::StrCat("(", Join(type, ";", TypeText), ")");
  if (type.contains("symint")) return "symint";
  if (!type.contains("shape")) return "scalar";
  const auto size = [](const Json& s) { return s.is_string() ? Text(s) : s.dump(); };
  return absl::StrCat(Text(type, "dtype"), "[", Join(type["shape"], ",", size), "]");
}

std::string EntryText(const Json& entry, const std::vector<std::string>& backend_ids) {
  const std::string kind = Text(entry, "kind"), type = TypeText(Member(entry, "type"));
  std::string text;
  if (kind == "placeholder") {
    const std::string input = Text(entry, "input");
    if (input == "user_input")
      return absl::StrCat("input ", entry["index"].dump(), " ", type, "\n");
    const bool named = entry["target"].is_string();
    const char* key = named && input == "parameter" ? "param"
                      : named && input == "buffer"  ? "buffer"
                                                    : "const";
    return absl::StrCat("constant ", RefText({{key, entry["target"]}}), " ", type, "\n");
  }
  if (kind == "output") {
    for (const Json& output : Elements(Member(entry, "outputs"))) {
      const Json& target = Member(output, "target");
      absl::StrAppend(&text, "output ", Text(output, "kind"), target.is_null() ? "" : " ",
                      target.is_object() ? RefText(target) : Text(target), " ",
                      RefText(output["value"]), "\n");
    }
    for (const Json& value : Elements(Member(entry, "args"))) {
      absl::StrAppend(&text, "output ", RefText(value), "\n");
    }
    return text;
  }
  if (kind == "getitem") return "";
  std::string op = Text(entry, "op"), arguments = Join(entry["args"], ", ", RefText);
  for (const auto& [name, value] : Elements(Member(entry, "kwargs")).items()) {
    absl::StrAppend(&arguments, arguments.empty() ? "" : ", ", name, "=", RefText(value));
  }
  const Json& delegate = Member(entry, "delegate");
  if (delegate.is_number() && delegate < backend_ids.size()) {
    op = absl::StrCat("delegate:", backend_ids[delegate.get<size_t>()]);
  }
  return absl::StrCat("%", entry["id"].dump(), " = ", op, "(", arguments, ") : ", type, "\n");
}

}  // namespace

std::string RecordingText(const Json& graphs, const std::vector<std::string>& backend_ids) {
  std::string text;
  for (const auto& [path, entries] : Elements(graphs).items()) {
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
