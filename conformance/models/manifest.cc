#include "conformance/models/manifest.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "conformance/json/json.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"

namespace belay::conformance {
namespace {

// Fields of type `any` are not used.
constexpr char kSchema[] = R"json({
 "manifest": {"name?": "string", "archives": "{string}", "cases": "[case]", "atol?": "number", "rtol?": "number",
  "stateful_sequence?": "boolean", "...": "facts"},
 "facts": {"description?": "any", "dialect?": "any", "torch_version?": "any", "inputs?": "any", "outputs?": "any",
  "mutated_buffers?": "any", "mutated_inputs?": "any", "bf16_as_uint16?": "any", "dynamic_dims?": "any",
  "params?": "any", "input_kinds?": "any", "output_kinds?": "any", "ops?": "any", "training_ops?": "any",
  "test_accuracy?": "any", "test_correct?": "any", "test_count?": "any", "extra_files?": "any",
  "initial_buffers?": "any"},
 "case": {"inputs?": "[leaf]", "outputs?": "[leaf]", "buffers_after?": "{leaf}", "inputs_after?": "{leaf}"},
 "leaf": {"kind": "=tensor|=int|=float|=bool|=str|=none", "dtype?": "string", "shape?": "[integer]",
  "file?": "string", "value?": "any", "name?": "any", "strides_in_torch?": "any"}
})json";

absl::StatusOr<Leaf> ReadLeaf(const Json& json) {
  Leaf leaf = {.kind = Text(json, "kind"), .shape = {}, .file = Text(json, "file")};
  for (const Json& size : Member(json, "shape")) leaf.shape.push_back(size.get<int64_t>());
  if (json.contains("dtype")) {
    const std::optional<DType> dtype = DTypeFromName(Text(json, "dtype"));
    if (!dtype.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("unknown dtype ", Text(json, "dtype")));
    }
    leaf.dtype = *dtype;
  }
  return leaf;
}

absl::StatusOr<ModelCase> ReadCase(const Json& json) {
  ModelCase read;
  for (const bool outputs : {false, true}) {
    for (const Json& leaf : Member(json, outputs ? "outputs" : "inputs")) {
      std::vector<Leaf>& leaves = outputs ? read.outputs : read.inputs;
      ABSL_ASSIGN_OR_RETURN(leaves.emplace_back(), ReadLeaf(leaf));
    }
  }
  for (const auto& [name, leaf] : Member(json, "buffers_after").items()) {
    ABSL_ASSIGN_OR_RETURN(read.buffers_after.emplace_back(name, Leaf()).second, ReadLeaf(leaf));
  }
  for (const auto& [index, leaf] : Member(json, "inputs_after").items()) {
    uint32_t i = 0;
    if (!absl::SimpleAtoi(index, &i)) {
      return absl::InvalidArgumentError(absl::StrCat("the key ", index, " is not an index"));
    }
    ABSL_ASSIGN_OR_RETURN(read.inputs_after.emplace_back(i, Leaf()).second, ReadLeaf(leaf));
  }
  return read;
}

}  // namespace

absl::StatusOr<Manifest> ReadManifest(const std::string& path) {
  static const Json& schema = *new Json(Json::parse(kSchema));
  ABSL_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
  ABSL_RETURN_IF_ERROR(Annotate(CheckSchema(json, schema, "manifest"), path));
  if (json["cases"].empty() || json["archives"].empty()) {
    return absl::InvalidArgumentError(path + ": has no cases or no archives");
  }
  Manifest manifest = {.name = Text(json, "name"),
                       .archives = {},
                       .cases = {},
                       .atol = json.value("atol", 0.0),
                       .rtol = json.value("rtol", 0.0),
                       .stateful_sequence = json.value("stateful_sequence", false)};
  for (const auto& [file, dialect] : json["archives"].items()) {
    manifest.archives.emplace_back(file, Text(dialect));
  }
  std::sort(manifest.archives.begin(), manifest.archives.end());
  for (const Json& item : json["cases"]) {
    absl::StatusOr<ModelCase> read = ReadCase(item);
    const std::string place = absl::StrCat(path, ": case ", manifest.cases.size());
    if (!read.ok()) return Annotate(read.status(), place);
    manifest.cases.push_back(*std::move(read));
  }
  return manifest;
}

}  // namespace belay::conformance
