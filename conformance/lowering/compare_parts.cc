#include "conformance/lowering/compare_parts.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>

#include "absl/strings/ascii.h"
#include "conformance/lowering/normal_form.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {

Json NormalGraphs(const Json& graphs) {
  Json::Object normal;
  for (const auto& [path, entries] : graphs.object()) normal[path] = Normalise(entries.array());
  return normal;
}

std::string CompareGraphs(const Json& expected, const Json& came) {
  if (expected.object().size() != came.object().size()) {
    return absl::StrCat("expected ", expected.object().size(), " graphs, came ",
                        came.object().size());
  }
  for (const auto& [path, entries] : expected.object()) {
    const std::string difference =
        FirstDifference(Normalise(entries.array()), Normalise(came[path].array()));
    if (!difference.empty()) return absl::StrCat("graph '", path, "'", difference);
  }
  return "";
}

std::string CompareState(const Json& expected, const Json& came) {
  Json::Object wanted = expected.object();
  wanted["unreferenced_other"] = 0;
  return FirstDifference(wanted, came, ".state");
}

std::string ComparePartitions(const Json::Array& wanted, const Json::Array& proposals) {
  const auto normal = [](const Json::Array& partitions) {
    std::set<std::string> texts;
    for (const Json& partition : partitions) {
      Json::Object copy = partition.object();
      Json::Array nodes;
      for (const Json& node : partition["nodes"].array()) {
        if (node["op"].text() != "getitem") nodes.push_back(node);
      }
      copy["nodes"] = std::move(nodes);
      texts.insert(Json(copy).Dump());
    }
    return texts;
  };
  const std::set<std::string> expected = normal(wanted), came = normal(proposals);
  if (expected == came) return "";
  std::string text = "partitions: expected";
  for (const std::string& line : expected) absl::StrAppend(&text, " ", line);
  text += ", came";
  for (const std::string& line : came) absl::StrAppend(&text, " ", line);
  return text;
}

std::string CompareDigest(const Json& delegate) {
  if (!delegate.contains("processed_text")) return "";
  const std::string& text = delegate["processed_text"].text();
  const std::string digest = Sha256(text);
  if (delegate["processed_bytes_sha256"].text() == digest) return "";
  return absl::StrCat("the expected digest ", delegate["processed_bytes_sha256"].text(),
                      " is not that of the expected blob, ", digest);
}

Json AlignedForAll(const Json& merged, const Json::Array& delegates) {
  const auto align = [&](const Json& entries, const std::string& tag) {
    Json::Object aligned = entries.object();
    for (auto& [key, entry] : aligned) {
      int64_t alignment = entry["alignment"].number();
      for (const Json& delegate : delegates) {
        const Json& data = delegate["named_data"];
        const Json& own = tag.empty() ? data["pte"][key] : data["external"][tag][key];
        const int64_t wanted = own["alignment"].number();
        if (alignment > 0 && wanted > 0) alignment = std::lcm(alignment, wanted);
      }
      (*entry.get_if<Json::Object>())["alignment"] = alignment;
    }
    return aligned;
  };
  Json::Object result = merged.object();
  result["pte"] = align(merged["pte"], "");
  Json::Object external;
  for (const auto& [tag, entries] : merged["external"].object()) {
    external[tag] = align(entries, tag);
  }
  result["external"] = std::move(external);
  return result;
}

Json WithoutBufferNumbers(const Json& data) {
  Json::Object copy = data.object();
  if (data["buffer"].get_if<int64_t>() != nullptr) copy.erase("buffer");  // no key of that name
  for (auto& [key, value] : copy) {
    if (value.get_if<Json::Object>() != nullptr) value = WithoutBufferNumbers(value);
  }
  return copy;
}

std::vector<std::string> WordsOf(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    if (absl::ascii_isalnum(c) || std::string_view("_.%@").find(c) != std::string_view::npos) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(word[0] == '%' ? "%" : word);
      word.clear();
    }
  }
  std::sort(words.begin(), words.end());
  return words;
}

}  // namespace belay::conformance
