#include "conformance/models/manifest.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/status_macros.h"
#include "simdjson.h"

namespace belay::conformance {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

absl::Status Wrong(std::string_view place, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("manifest: ", std::string(place), ": ", std::string(what)));
}

template <class T>
absl::StatusOr<T> As(element value, std::string_view place) {
  T result;
  if (value.get(result) != simdjson::SUCCESS) return Wrong(place, "has another type than expected");
  return result;
}

absl::StatusOr<Leaf> ReadLeaf(element value, const std::string& place) {
  ABSL_ASSIGN_OR_RETURN(object fields, As<object>(value, place));
  Leaf leaf;
  for (auto [key, field] : fields) {
    const std::string at = absl::StrCat(place, ".", std::string(key));
    if (key == "kind") {
      ABSL_ASSIGN_OR_RETURN(std::string_view v, As<std::string_view>(field, at));
      leaf.kind = v;
    } else if (key == "dtype") {
      ABSL_ASSIGN_OR_RETURN(std::string_view v, As<std::string_view>(field, at));
      const std::optional<DType> dtype = DTypeFromName(v);
      if (!dtype.has_value()) return Wrong(at, absl::StrCat("unknown dtype ", std::string(v)));
      leaf.dtype = *dtype;
    } else if (key == "shape") {
      ABSL_ASSIGN_OR_RETURN(array v, As<array>(field, at));
      for (element size : v) {
        ABSL_ASSIGN_OR_RETURN(int64_t n, As<int64_t>(size, at));
        leaf.shape.push_back(n);
      }
    } else if (key == "file") {
      ABSL_ASSIGN_OR_RETURN(std::string_view v, As<std::string_view>(field, at));
      leaf.file = v;
    } else if (key != "value" && key != "name" && key != "strides_in_torch") {
      return Wrong(at, "unknown field");
    }
  }
  constexpr std::string_view kKinds[] = {"tensor", "int", "float", "bool", "str", "none"};
  if (std::find(std::begin(kKinds), std::end(kKinds), leaf.kind) == std::end(kKinds)) {
    return Wrong(place, absl::StrCat("unknown kind '", leaf.kind, "'"));
  }
  return leaf;
}

absl::StatusOr<std::vector<Leaf>> ReadLeaves(element value, const std::string& place) {
  ABSL_ASSIGN_OR_RETURN(array items, As<array>(value, place));
  std::vector<Leaf> leaves;
  for (element item : items) {
    ABSL_ASSIGN_OR_RETURN(Leaf leaf, ReadLeaf(item, absl::StrCat(place, "[", leaves.size(), "]")));
    leaves.push_back(std::move(leaf));
  }
  return leaves;
}

absl::StatusOr<ModelCase> ReadCase(element value, const std::string& place) {
  ABSL_ASSIGN_OR_RETURN(object fields, As<object>(value, place));
  ModelCase result;
  for (auto [key, field] : fields) {
    const std::string at = absl::StrCat(place, ".", std::string(key));
    if (key == "inputs") {
      ABSL_ASSIGN_OR_RETURN(result.inputs, ReadLeaves(field, at));
    } else if (key == "outputs") {
      ABSL_ASSIGN_OR_RETURN(result.outputs, ReadLeaves(field, at));
    } else if (key == "buffers_after") {
      ABSL_ASSIGN_OR_RETURN(object buffers, As<object>(field, at));
      for (auto [name, leaf] : buffers) {
        ABSL_ASSIGN_OR_RETURN(Leaf l, ReadLeaf(leaf, at));
        result.buffers_after.emplace_back(std::string(name), std::move(l));
      }
    } else if (key == "inputs_after") {
      ABSL_ASSIGN_OR_RETURN(object inputs, As<object>(field, at));
      for (auto [index, leaf] : inputs) {
        uint32_t i = 0;
        if (!absl::SimpleAtoi(std::string(index), &i)) return Wrong(at, "the key is not an index");
        ABSL_ASSIGN_OR_RETURN(Leaf l, ReadLeaf(leaf, at));
        result.inputs_after.emplace_back(i, std::move(l));
      }
    } else {
      return Wrong(at, "unknown field");
    }
  }
  return result;
}

}  // namespace

absl::StatusOr<Manifest> ReadManifest(const std::string& path) {
  simdjson::dom::parser parser;
  element root;
  if (const auto error = parser.load(path).get(root); error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", simdjson::error_message(error)));
  }
  ABSL_ASSIGN_OR_RETURN(object fields, As<object>(root, path));
  // Facts about the model that no case depends on.
  constexpr std::string_view kInformative[] = {
      "description",  "dialect",         "torch_version",  "inputs",
      "outputs",      "mutated_buffers", "mutated_inputs", "bf16_as_uint16",
      "dynamic_dims", "params",          "input_kinds",    "output_kinds",
      "ops",          "training_ops",    "test_accuracy",  "test_correct",
      "test_count",   "extra_files",     "initial_buffers"};
  Manifest manifest;
  for (auto [key, field] : fields) {
    const std::string at(key);
    if (key == "name") {
      ABSL_ASSIGN_OR_RETURN(std::string_view v, As<std::string_view>(field, at));
      manifest.name = v;
    } else if (key == "archives") {
      ABSL_ASSIGN_OR_RETURN(object archives, As<object>(field, at));
      for (auto [file, dialect] : archives) {
        ABSL_ASSIGN_OR_RETURN(std::string_view v, As<std::string_view>(dialect, at));
        manifest.archives.emplace_back(std::string(file), std::string(v));
      }
    } else if (key == "cases") {
      ABSL_ASSIGN_OR_RETURN(array cases, As<array>(field, at));
      for (element item : cases) {
        ABSL_ASSIGN_OR_RETURN(ModelCase c,
                              ReadCase(item, absl::StrCat("cases[", manifest.cases.size(), "]")));
        manifest.cases.push_back(std::move(c));
      }
    } else if (key == "atol") {
      ABSL_ASSIGN_OR_RETURN(manifest.atol, As<double>(field, at));
    } else if (key == "rtol") {
      ABSL_ASSIGN_OR_RETURN(manifest.rtol, As<double>(field, at));
    } else if (key == "stateful_sequence") {
      ABSL_ASSIGN_OR_RETURN(manifest.stateful_sequence, As<bool>(field, at));
    } else if (std::find(std::begin(kInformative), std::end(kInformative), key) ==
               std::end(kInformative)) {
      return Wrong(at, "unknown field");
    }
  }
  if (manifest.cases.empty() || manifest.archives.empty())
    return Wrong(path, "has no cases or no archives");
  std::sort(manifest.archives.begin(), manifest.archives.end());
  return manifest;
}

}  // namespace belay::conformance
