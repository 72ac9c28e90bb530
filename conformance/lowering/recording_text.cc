#include "conformance/lowering/recording_text.h"

#include <bit>
#include <cmath>

#include "conformance/lowering/lowered_form.h"
#include "conformance/lowering/normal_form.h"
#include "exir/ir/lowered_backend_module.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

std::string FloatText(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  return absl::StrCat("f:", absl::Hex(bits, absl::kZeroPad16));
}

// ".0", ".0.1" where ExecuTorch takes a result of a result, or "".
std::string ResultText(const Json& out) {
  if (out.get_if<int64_t>() != nullptr) return absl::StrCat(".", out.number());
  std::string text;
  for (const Json& position : out.array()) absl::StrAppend(&text, ".", position.number());
  return text;
}

std::string RefText(const Json& a) {
  if (const auto* list = a.get_if<Json::Array>()) {
    std::string text;
    for (size_t i = 0; i < list->size(); ++i) {
      absl::StrAppend(&text, i > 0 ? "," : "", RefText((*list)[i]));
    }
    return absl::StrCat("[", text, "]");
  }
  if (a.contains("node")) return absl::StrCat("%", a["node"].number(), ResultText(a["out"]));
  if (a.contains("input")) return absl::StrCat("%in", a["input"].number(), ResultText(a["out"]));
  if (a.contains("param")) return absl::StrCat("@param:", a["param"].text());
  if (a.contains("buffer")) return absl::StrCat("@buffer:", a["buffer"].text());
  if (a.contains("const")) {
    const Json& constant = a["const"];
    return absl::StrCat("@const:", constant.get_if<std::string>() != nullptr
                                       ? constant.text()
                                       : absl::StrCat("sha256:", constant["sha256"].text()));
  }
  if (a.contains("float")) {
    const std::string& text = a["float"].text();
    return FloatText(text == "nan" ? NAN : text == "inf" ? INFINITY : -INFINITY);
  }
  for (const char* key : {"dtype", "device", "memory_format", "layout"}) {
    if (a.contains(key)) return absl::StrCat(key, ":", a[key].text());
  }
  if (const double* v = a.get_if<double>()) return FloatText(*v);
  return a.Dump();
}

std::string TypeText(const Json& type) {
  if (type.is_null()) return "none";
  if (const auto* list = type.get_if<Json::Array>()) {
    std::string text;
    for (size_t i = 0; i < list->size(); ++i) {
      absl::StrAppend(&text, i > 0 ? ";" : "", TypeText((*list)[i]));
    }
    return absl::StrCat("(", text, ")");
  }
  if (type.contains("symint")) return "symint";
  if (!type.contains("shape")) return "scalar";
  std::string text;
  for (const Json& size : type["shape"].array()) {
    absl::StrAppend(&text, text.empty() ? "" : ",",
                    size.get_if<std::string>() != nullptr ? size.text() : size.Dump());
  }
  return absl::StrCat(type["dtype"].text(), "[", text, "]");
}

}  // namespace

std::string RecordingText(const exir::ExportedProgram& program, const std::set<std::string>& fqns) {
  std::vector<std::string> backend_ids;
  const NormalForm form =
      ToNormalForm(program, fqns, [&](const exir::LoweredBackendModule* module) {
        backend_ids.push_back(module->backend_id);
        return static_cast<int64_t>(backend_ids.size() - 1);
      });
  Json::Object graphs;
  for (const auto& [path, entries] : form.graphs) graphs[path] = entries;
  return RecordingText(graphs, backend_ids);
}

std::string RecordingText(const Json& graphs, const std::vector<std::string>& backend_ids) {
  std::string text;
  for (const std::string& path : GraphOrder(graphs)) {
    if (!path.empty()) absl::StrAppend(&text, "graph ", path, "\n");
    for (const Json& entry : graphs[path].array()) {
      const std::string& kind = entry["kind"].text();
      if (kind == "placeholder") {
        if (entry["input"].text() == "user_input") {
          absl::StrAppend(&text, "input ", entry["index"].number());
        } else {
          const std::string& input = entry["input"].text();
          const char* key = entry["target"].get_if<std::string>() == nullptr ? "const"
                            : input == "parameter"                           ? "param"
                            : input == "buffer"                              ? "buffer"
                                                                             : "const";
          absl::StrAppend(&text, "constant ", RefText(Json::Object{{key, entry["target"]}}));
        }
        absl::StrAppend(&text, " ", TypeText(entry["type"]), "\n");
      } else if (kind == "output") {
        for (const Json& output : entry["outputs"].array()) {
          absl::StrAppend(&text, "output ", output["kind"].text());
          if (output.contains("target")) {
            const Json& target = output["target"];
            absl::StrAppend(&text, " ",
                            target.get_if<std::string>() ? target.text() : RefText(target));
          }
          absl::StrAppend(&text, " ", RefText(output["value"]), "\n");
        }
        for (const Json& value : entry["args"].array()) {
          absl::StrAppend(&text, "output ", RefText(value), "\n");
        }
      } else {
        std::string arguments;
        for (const Json& argument : entry["args"].array()) {
          absl::StrAppend(&arguments, arguments.empty() ? "" : ", ", RefText(argument));
        }
        for (const Json& name : entry["keyword_order"].array()) {
          absl::StrAppend(&arguments, arguments.empty() ? "" : ", ", name.text(), "=",
                          RefText(entry["kwargs"][name.text()]));
        }
        const std::string op =
            kind == "delegate" ? absl::StrCat("delegate:", backend_ids[entry["delegate"].number()])
                               : entry["op"].text();
        absl::StrAppend(&text, "%", entry["id"].number(), " = ", op, "(", arguments,
                        ") : ", TypeText(entry["type"]), "\n");
      }
    }
  }
  return text.empty() ? "\n" : text;
}

}  // namespace belay::conformance
