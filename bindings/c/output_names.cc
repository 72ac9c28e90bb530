#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bindings/c/handles.h"
#include "nlohmann/json.hpp"

namespace belay::c {
namespace {

using nlohmann::json;

constexpr int kMaxNesting = 64;

// Returns the keys of a dict node: its context is a JSON list of strings in a string.
std::vector<std::string> Keys(const json& node, size_t count) {
  std::vector<std::string> keys;
  const auto type = node.find("type"), context = node.find("context");
  if (type != node.end() && *type == "builtins.dict" && context != node.end() &&
      context->is_string()) {
    const json list = json::parse(context->get_ref<const std::string&>(), nullptr, false);
    for (const json& key : list) {
      if (key.is_string()) keys.push_back(key.get<std::string>());
    }
  }
  if (keys.size() != count) {
    keys.clear();
    for (size_t i = 0; i < count; ++i) keys.push_back(absl::StrCat(i));
  }
  return keys;
}

// Appends the names of the leaves below `node`; returns false if it is not a spec, or has more than
// `count` leaves.
bool AddLeaves(const json& node, const std::string& path, int depth, size_t count,
               std::vector<std::string>& names) {
  if (!node.is_object() || depth > kMaxNesting || names.size() >= count) return false;
  const auto children = node.find("children_spec");
  if (children == node.end() || !children->is_array()) return false;
  const auto type = node.find("type");
  if (children->empty() && type != node.end() && type->is_null()) {
    names.push_back(path);
    return true;
  }
  const std::vector<std::string> keys = Keys(node, children->size());
  for (size_t i = 0; i < children->size(); ++i) {
    const std::string name = path.empty() ? keys[i] : absl::StrCat(path, ".", keys[i]);
    if (!AddLeaves((*children)[i], name, depth + 1, count, names)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> OutputNames(std::string_view out_spec, size_t count) {
  std::vector<std::string> names;
  const json spec = json::parse(out_spec, nullptr, /*allow_exceptions=*/false);
  const bool is_spec =
      spec.is_array() && spec.size() == 2 && AddLeaves(spec[1], "", /*depth=*/0, count, names);
  if (is_spec && names.size() == count) {
    if (count == 1 && names[0].empty()) names[0] = "output";
    return names;
  }
  names.clear();
  for (size_t i = 0; i < count; ++i) names.push_back(absl::StrCat(i));
  return names;
}

}  // namespace belay::c
