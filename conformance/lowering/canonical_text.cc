#include "conformance/lowering/canonical_text.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <regex>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "conformance/lowering/recording_text.h"
#include "exir/symbolic/sym_expr.h"
#include "runtime/core/sha256.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

using SortedJson = nlohmann::json;  // members by name
using Strings = std::vector<std::string>;

template <class AnyJson>
std::optional<int64_t> Number(const AnyJson& json, const char* key) {
  const bool there = json.is_object() && json.contains(key) && json[key].is_number_integer();
  return there ? std::optional(json[key].template get<int64_t>()) : std::nullopt;
}

// --- Names of unnamed objects ---
//
// In a line, "‹7›" is a placeholder for the rank of the eighth object, and "‹=2*x7 + x8›" for a
// size whose symbols are such objects.
constexpr std::string_view kBegin = "‹", kEnd = "›";

// Returns the line with each placeholder replaced by `name` of the object.
std::string Named(std::string_view line, const std::function<std::string(size_t)>& name) {
  const auto name_of = [&](std::string_view digits) {
    size_t thing = 0;
    return absl::SimpleAtoi(ToAbsl(digits), &thing) ? name(thing) : std::string(digits);
  };
  std::string text;
  for (size_t begin; (begin = line.find(kBegin)) != line.npos;) {
    text += line.substr(0, begin);
    line.remove_prefix(begin + kBegin.size());
    const std::string_view mark = line.substr(0, line.find(kEnd));
    line.remove_prefix(std::min(line.size(), mark.size() + kEnd.size()));
    const absl::StatusOr<exir::SymExpr> size =
        mark.starts_with('=') ? exir::ParseSymExpr(mark.substr(1)) : exir::SymExpr();
    const auto symbol = [&](std::string_view x) {
      return std::optional(exir::SymExpr::Symbol(absl::StrCat("d", name_of(x.substr(1)))));
    };
    text +=
        mark.starts_with('=') && size.ok() ? size->Substitute(symbol).ToString() : name_of(mark);
  }
  return text.append(line);
}

// Returns a rank within its group for each object, by the color refinement described in the header.
std::vector<size_t> RankObjects(const Strings& lines, const Strings& groups) {
  std::vector<size_t> numbers(groups.size());
  for (size_t known = 0; true;) {
    std::vector<Strings> views(groups.size());  // the lines that name an object, relative to it
    for (const std::string& line : lines) {
      std::set<size_t> named;
      Named(line, [&](size_t thing) { return named.insert(thing), ""; });
      for (const size_t self : named) {
        views[self].push_back(Named(line, [&](size_t thing) {
          return thing == self ? "self" : absl::StrCat(numbers[thing]);
        }));
      }
    }
    std::map<std::string, std::map<std::pair<size_t, Strings>, std::vector<size_t>>> alike;
    for (size_t i = 0; i < groups.size(); ++i) {
      std::sort(views[i].begin(), views[i].end());
      alike[groups[i]][{numbers[i], views[i]}].push_back(i);
    }
    size_t distinguished = 0;
    std::optional<std::pair<Strings, size_t>> next;  // the object to individualize
    for (const auto& [group, ranks] : alike) {
      size_t rank = 0;
      for (const auto& [view, things] : ranks) {
        for (const size_t thing : things) numbers[thing] = rank;
        rank += things.size();
        const bool first = !next.has_value() || view.second < next->first;
        if (things.size() > 1 && first) next.emplace(view.second, things.front());
      }
      distinguished += ranks.size();
    }
    if (!next.has_value()) return numbers;
    // Increments the ranks of the others, which places them after the individualized object.
    if (distinguished == known) {
      for (size_t i = 0; i < groups.size(); ++i) {
        const bool same = groups[i] == groups[next->second] && numbers[i] == numbers[next->second];
        if (same && i != next->second) ++numbers[i];
      }
    }
    known = distinguished;
  }
}

// --- Ignored orders ---

struct Freedom {
  std::set<std::pair<std::string, std::string>> graphs;  // of methods, unordered
  std::set<size_t> delegates;                            // unordered
  std::set<size_t> counted;  // their debug maps are compared by the number of handles
  bool numbers = false;      // an unordered graph calls delegates, so their numbers are arbitrary
  bool moved = false;        // an order differs for that reason
};

Freedom FreedomOf(const Json& document, const CompareOptions& options) {
  Freedom freedom;
  const auto is_open = [&](const Json& order, const Json& entries) {
    const bool open = !options.order_is_known || order == "topological_only";
    for (const Json& entry : entries) freedom.numbers |= open && entry.contains("delegate");
    return open;
  };
  for (const auto& [name, method] : Member(document, "methods").items()) {
    for (const auto& [path, entries] : Member(method, "graphs").items()) {
      if (is_open(Member(Member(method, "order"), path), entries))
        freedom.graphs.emplace(name, path);
    }
  }
  const Json& delegates = Member(document, "delegates");
  for (size_t d = 0; d < delegates.size(); ++d) {
    for (const Json& entries : Member(delegates[d], "program")) {
      if (is_open(Member(delegates[d], "order"), entries)) freedom.delegates.insert(d);
    }
    const Json& nodes = Member(Member(delegates[d], "debug_handle_map"), "nodes");
    const auto is_empty = [](const Json& list) { return list.empty(); };
    const bool unknown = !nodes.empty() && std::all_of(nodes.begin(), nodes.end(), is_empty);
    if (!options.handles_are_known || unknown) freedom.counted.insert(d);
  }
  // Delegates with arbitrary numbers cannot be identified, so the property applies to all
  // delegates.
  for (std::set<size_t>* some : {&freedom.delegates, &freedom.counted}) {
    const size_t all = freedom.numbers && !some->empty() ? delegates.size() : 0;
    for (size_t d = 0; d < all; ++d) some->insert(d);
  }
  return freedom;
}

// Returns the stored data, if any. If the order differs, omits buffer numbers, which follow the
// order.
Json StoredData(Json data, bool moved) {
  if (data.contains("error")) return {{"error", true}};
  if (Member(data, "buffers") == 0) return Json();
  if (moved && Member(data, "buffer").is_number()) data.erase("buffer");
  for (auto& [key, value] : data.items()) {
    if (value.is_object()) value = StoredData(value, moved);
  }
  return data;
}

// --- The lines of a document ---

struct GraphKey {
  size_t owner;  // a delegate's index; methods follow the delegates
  std::string path;
  auto operator<=>(const GraphKey&) const = default;
};

class Writer {
 public:
  Writer(const Json& document, const Freedom& freedom) : freedom_(freedom) {
    const Json& methods = Member(document, "methods");
    for (const Json& delegate : Member(document, "delegates")) {
      delegates_.push_back(&delegate);
      for (const auto& [path, entries] : Member(delegate, "program").items()) {
        graphs_[{delegates_.size() - 1, path}] = &entries;
      }
    }
    for (const auto& [name, method] : methods.items()) {
      for (const auto& [path, entries] : Member(method, "graphs").items()) {
        graphs_[{delegates_.size() + methods_.size(), path}] = &entries;
      }
      methods_.push_back(name);
    }
    for (const auto& [graph, entries] : graphs_) {
      size_t nodes = 0;
      for (const Json& entry : *entries) {
        if (entry.contains("id")) places_[&entry] = nodes++;
        if (const auto delegate = Callee(entry)) callers_.emplace(*delegate, graph);
        for (const auto& [label, body] : Member(entry, "graphs").items()) {
          // Paths get longer, so a graph cannot contain itself.
          const bool inner = Text(body).size() > graph.path.size();
          if (inner) bodies_[{graph.owner, Text(body)}] = {graph, &entry, label};
        }
      }
    }
    for (const auto& [graph, entries] : graphs_) AddGraph(graph, *entries);
    for (size_t d = 0; d < delegates_.size(); ++d) AddDelegate(d);
    for (const auto& [name, method] : methods.items()) {
      for (const char* of : {"signature", "state"}) {
        for (const auto& [what, value] : Member(method, of).items()) {
          if (what != "unreferenced_other") Add(absl::StrCat(of, " of method ", name), what, value);
        }
      }
      for (const auto& [path, order] : Member(method, "order").items()) {
        if (!method["graphs"].contains(path)) Add("method " + name, "order of no graph", path);
      }
    }
    if (freedom_.numbers) AddResultsOrder();
    Add("blobs", "words", words_);
    std::set<SortedJson> partitions;
    for (SortedJson partition : Member(document, "partitions")) {
      auto& nodes = partition["nodes"].get_ref<SortedJson::array_t&>();
      std::erase_if(nodes, [](const SortedJson& node) { return node["op"] == "getitem"; });
      partitions.insert(std::move(partition));
    }
    Add("partitioners", "partitions", partitions);
    Add("merged", "named data", StoredData(Member(document, "merged_named_data"), freedom_.moved));
    numbers_ = RankObjects(lines_, groups_);
  }

  // Returns all compared lines, sorted.
  Strings Lines() const {
    Strings lines;
    for (const std::string& line : lines_) lines.push_back(Final(line));
    std::sort(lines.begin(), lines.end());
    return lines;
  }
  // Returns the names of the objects whose order may be ignored, in the document's order.
  std::string Order() const { return Final(order_); }

 private:
  bool IsDelegate(size_t owner) const { return owner < delegates_.size(); }
  bool IsOpen(const GraphKey& graph) const {
    const auto& [owner, path] = graph;
    return IsDelegate(owner)
               ? freedom_.delegates.contains(owner)
               : freedom_.graphs.contains({methods_[owner - delegates_.size()], path});
  }
  // Returns the delegate that an entry calls, if any.
  std::optional<size_t> Callee(const Json& entry) const {
    const std::optional<int64_t> number = Number(entry, "delegate");
    const bool there = number.has_value() && IsDelegate(static_cast<size_t>(*number));
    return there ? std::optional<size_t>(*number) : std::nullopt;
  }
  // Returns the results of a graph.
  static Json Results(const Json& entries) {
    for (const Json& entry : entries) {
      if (entry["kind"] != "output") continue;
      return entry.value("outputs", entry.value("args", Json::array()));
    }
    return Json::array();
  }

  // --- Names: "%0", "D0", "method forward", "delegate D0", "delegate D0 program cond%2.true" ---

  std::string Mark(const std::string& group, const std::string& thing) {
    const auto [it, is_new] = things_.emplace(std::pair(group, thing), groups_.size());
    if (is_new) groups_.push_back(group);
    return absl::StrCat(it->second);
  }
  std::string Name(bool open, const GraphKey& graph, const char* kind, size_t number) {
    const std::string group = absl::StrCat(graph.owner, " ", graph.path, " ", kind);
    const std::string name = absl::StrCat(number);
    return open ? absl::StrCat(kind, kBegin, Mark(group, name), kEnd) : kind + name;
  }
  std::string NodeName(const GraphKey& graph, const Json& node) {
    return Name(IsOpen(graph), graph, "%", places_.at(&node));
  }
  std::string DelegateName(size_t delegate) { return Name(freedom_.numbers, {}, "D", delegate); }
  std::string GraphName(const GraphKey& graph) {
    const auto& [owner, path] = graph;
    const auto body = bodies_.find(graph);
    if (body != bodies_.end()) {
      const auto& [around, node, label] = body->second;
      return absl::StrCat(GraphName(around), " ", Text(*node, "op"), NodeName(around, *node), ".",
                          label);
    }
    const std::string no_body = path.empty() ? "" : " no node's " + path;
    return IsDelegate(owner)
               ? absl::StrCat("delegate ", DelegateName(owner), " program", no_body)
               : absl::StrCat("method ", methods_[owner - delegates_.size()], no_body);
  }
  // Returns the name of result `place` of a delegate's calls.
  std::string ResultName(size_t delegate, int64_t place) {
    const Json results = Results(*graphs_.at({delegate, ""}));
    for (size_t k = 0; k < results.size(); ++k) {
      const bool is_result = Text(results[k], "kind") == "user_output";
      if (is_result && place-- == 0) return Name(true, {delegate, ""}, "out", k);
    }
    return "no out";
  }

  // --- Graphs ---

  void Add(const std::string& about, const std::string& what, const SortedJson& value) {
    lines_.push_back(absl::StrCat(about, ", ", what, ": ", value.dump()));
  }

  void AddGraph(const GraphKey& graph, const Json& entries) {
    const std::string about = GraphName(graph);
    const bool of_calls = IsDelegate(graph.owner) && graph.path.empty();
    const bool open = of_calls && IsOpen(graph);
    std::vector<SortedJson> inputs;
    seen_.clear();
    for (const Json& entry : entries) {
      const std::string kind = Text(entry, "kind");
      if (kind == "getitem" || kind == "output") continue;
      SortedJson content = Canonical(graph, entry);
      if (kind != "placeholder") {
        AddNode(graph, entry, std::move(content));
        continue;
      }
      if (!seen_.empty()) inputs.push_back("behind nodes:");
      const std::optional<int64_t> index = Number(entry, "index");
      if (of_calls && index.has_value()) {
        const std::string name = Name(open, graph, "in", *index);
        Add(about, name, {{"type", content["type"]}});
        content = name;
      }
      order_ += content.dump();
      if (!open || !content.is_string()) inputs.push_back(std::move(content));
    }
    if (open) std::sort(inputs.begin(), inputs.end());
    Add(about, "inputs", inputs);
    const SortedJson outputs = Canonical(graph, Results(entries));
    for (size_t k = 0; k < outputs.size() && of_calls; ++k) {
      const std::string name = Name(open, graph, "out", k);
      Add(about, name, outputs[k]);
      order_ += name;
    }
    if (!of_calls) Add(about, "outputs", outputs);
  }

  void AddNode(const GraphKey& graph, const Json& entry, SortedJson content) {
    const std::string about = GraphName(graph), name = NodeName(graph, entry);
    order_ += name;
    seen_[Number(entry, "id").value_or(-1)] = &entry;
    for (const char* field : {"kind", "id", "slot", "debug_handle", "graphs"}) content.erase(field);
    if (const std::optional<size_t> callee = Callee(entry)) {
      content["delegate"] = DelegateName(*callee);
      content.erase("type");
      const SortedJson args = content["args"];
      for (size_t k = 0; k < args.size() && freedom_.delegates.contains(*callee); ++k) {
        content["args"] = "by input";
        Add(about, name + " argument", {Name(true, {*callee, ""}, "in", k), args[k]});
      }
    }
    Add(about, name, content);
  }

  // Returns the document's value with canonical names.
  SortedJson Canonical(const GraphKey& graph, const SortedJson& value, bool is_size = false) {
    const auto size = is_size && value.is_string() ? exir::ParseSymExpr(value.get<std::string>())
                                                   : absl::NotFoundError("no size");
    if (size.ok()) {
      const auto symbol = [&](std::string_view name) {
        const std::string group = absl::StrCat(graph.owner, " d");
        return std::optional(exir::SymExpr::Symbol("x" + Mark(group, std::string(name))));
      };
      return absl::StrCat(kBegin, "=", size->Substitute(symbol).ToString(), kEnd);
    }
    if (!value.is_structured()) return value;
    if (value.contains("node") || Number(value, "input").has_value())
      return Reference(graph, value);
    SortedJson copy = value;
    for (auto& [key, element] : copy.items()) {
      const bool sizes = key == "shape" || key == "symint" || (is_size && value.is_array());
      element = Canonical(graph, element, sizes);
    }
    return copy;
  }

  std::string Reference(const GraphKey& graph, const SortedJson& reference) {
    const SortedJson out = reference.contains("out") ? reference["out"] : SortedJson();
    const std::string result = out.is_null() ? "" : "." + out.dump();
    if (const std::optional<int64_t> input = Number(reference, "input")) {
      // Inputs of methods and subgraphs keep the document's numbers.
      const bool open = IsDelegate(graph.owner) && graph.path.empty() && IsOpen(graph);
      return Name(open, graph, "in", *input) + result;
    }
    const auto node = seen_.find(Number(reference, "node").value_or(-1));
    if (node == seen_.end()) return "no node so far: " + reference.dump();
    const std::string name = NodeName(graph, *node->second);
    if (const std::optional<size_t> callee = Callee(*node->second)) {
      const bool open = out.is_number_integer() && freedom_.delegates.contains(*callee);
      return name + (open ? "." + ResultName(*callee, out.get<int64_t>()) : result);
    }
    return name + (out.is_null() && Member(*node->second, "type").is_array() ? ".all" : result);
  }

  // --- Delegates ---

  void AddDelegate(size_t delegate) {
    const Json& json = *delegates_[delegate];
    const std::string about = "delegate " + DelegateName(delegate);
    order_ += about;
    const Json& map = Member(json, "debug_handle_map");
    const bool counted = freedom_.counted.contains(delegate);
    std::multiset<SortedJson> handles;
    for (const auto& [id, list] : Member(map, counted ? "raw" : "nodes").items()) {
      std::set<SortedJson> nodes;
      for (const Json& node : list) {
        if (Text(node, "op") != "getitem") nodes.insert(node);
      }
      if (nodes.empty() && !counted) continue;
      // Generated ids number nodes in order.
      const std::string key = freedom_.moved && map["keys"] == "int" ? "" : id;
      handles.insert(SortedJson::array(
          {map["keys"], key, counted ? SortedJson(list.size()) : SortedJson(nodes)}));
    }
    const Json& owned = Member(json, "constants_owned");
    Add(about, "backend",
        SortedJson::array({Member(json, "backend_id"), Member(json, "compile_specs")}));
    Add(about, "blob", Blob(json));
    Add(about, "owns", std::set<SortedJson>(owned.begin(), owned.end()));
    Add(about, "named_data", StoredData(Member(json, "named_data"), freedom_.moved));
    Add(about, "debug_map", handles);
  }

  SortedJson Blob(const Json& delegate) {
    std::string bytes = Text(delegate, "processed_text");
    if (delegate.contains("processed_bytes_base64")) {
      const std::string base64 = Text(delegate, "processed_bytes_base64");
      std::string decoded;
      const bool known = absl::Base64Unescape(base64, &decoded);
      const bool same = !delegate.contains("processed_text") || bytes == decoded;
      if (!known || !same) return "wrong base64: " + base64;
      bytes = std::move(decoded);
    }
    const std::string digest = Text(delegate, "processed_bytes_sha256");
    if (!digest.empty() && digest != absl::BytesToHexString(Sha256(bytes)))
      return "wrong digest: " + digest;
    if (Text(delegate, "backend_id") == "RecordingBackend") {
      Strings backend_ids;
      for (const Json* other : delegates_) backend_ids.push_back(Text(*other, "backend_id"));
      const bool right = bytes == RecordingText(Member(delegate, "program"), backend_ids);
      return right ? "the recording of its program"
                   : "wrong recording: " + absl::Utf8SafeCEscape(bytes);
    }
    if (!freedom_.moved) return absl::Utf8SafeCEscape(bytes);
    // The blob may list reordered objects: compares its words as a multiset, without node numbers.
    static const std::regex kWord(R"([\w.%@]+)");
    for (std::sregex_iterator it(bytes.begin(), bytes.end(), kWord), end; it != end; ++it) {
      words_.insert(it->str()[0] == '%' ? "%" : it->str());
    }
    return "words";
  }

  // Delegates of one backend are created graph by graph, in the order of each graph. The order of
  // backends follows their first delegates, which may be unordered.
  void AddResultsOrder() {
    std::map<std::string, std::vector<SortedJson>> orders;  // by backend
    for (size_t d = 0; d < delegates_.size(); ++d) {
      std::string name = DelegateName(d);
      // Walks up from nested delegates to their callers.
      size_t owner = d;
      for (size_t depth = 0; depth <= d && callers_.contains(owner); ++depth) {
        const GraphKey& caller = callers_.at(owner);
        if (IsOpen(caller)) name = "one of " + GraphName(caller);
        owner = caller.owner;
      }
      orders[Text(*delegates_[d], "backend_id")].push_back(name);
    }
    for (const auto& [backend, order] : orders) Add("order of results", backend, order);
  }

  std::string Final(const std::string& line) const {
    return Named(line, [&](size_t thing) { return absl::StrCat(numbers_[thing]); });
  }

  const Freedom& freedom_;
  std::vector<const Json*> delegates_;
  Strings methods_;
  std::map<GraphKey, const Json*> graphs_;
  std::map<const Json*, size_t> places_;  // positions of nodes in their graphs
  // Graph, node and argument label of each subgraph.
  std::map<GraphKey, std::tuple<GraphKey, const Json*, std::string>> bodies_;
  std::map<size_t, GraphKey> callers_;   // the first caller, by delegate
  std::map<int64_t, const Json*> seen_;  // nodes of the current graph, by id
  std::map<std::pair<std::string, std::string>, size_t> things_;
  Strings groups_;  // by object
  Strings lines_;
  std::string order_;
  std::multiset<std::string> words_;  // of blobs
  std::vector<size_t> numbers_;       // by object
};

// Raises the alignment of merged data to that of all delegates that store the key.
void AlignMergedData(Json& document) {
  const Json flat = document["merged_named_data"].flatten();
  for (const auto& [place, value] : flat.items()) {
    if (!place.ends_with("/alignment")) continue;
    int64_t alignment = value.get<int64_t>();
    for (const Json& delegate : document["delegates"]) {
      const Json::json_pointer own("/named_data" + place);
      const int64_t other = delegate.contains(own) ? delegate[own].get<int64_t>() : 0;
      if (alignment > 0 && other > 0) alignment = std::lcm(alignment, other);
    }
    document["merged_named_data"][Json::json_pointer(place)] = alignment;
  }
}

}  // namespace

std::vector<std::string> CanonicalLines(const Json& document) {
  return Writer(document, Freedom()).Lines();
}

std::string CompareDocuments(Json expected, Json actual, const CompareOptions& options) {
  constexpr int kShown = 20;
  for (const char* optional : {"partitions", "merged_named_data"}) {
    if (!expected.contains(optional)) actual.erase(optional);
  }
  if (expected.contains("merged_named_data")) AlignMergedData(expected);
  Freedom freedom = FreedomOf(expected, options);
  const bool open = !freedom.graphs.empty() || !freedom.delegates.empty();
  std::vector<Writer> sides;
  for (const bool moved : {false, true}) {
    freedom.moved = moved;
    sides.clear();
    for (const Json* document : {&expected, &actual}) sides.emplace_back(*document, freedom);
    // If the order counts, the lines contain it.
    if (!open || sides[0].Order() == sides[1].Order()) break;
  }
  const Strings lines[] = {sides[0].Lines(), sides[1].Lines()};
  std::multimap<std::string, std::string> different;
  for (const int side : {0, 1}) {
    for (const std::string& line : OnlyIn(lines[side], lines[1 - side])) {
      different.emplace(line.substr(0, line.find(": ")), (side == 0 ? "\n- " : "\n+ ") + line);
    }
  }
  std::string text;
  int shown = 0;
  for (const auto& [place, line] : different) {
    if (shown++ < kShown) text += line;
  }
  if (shown > kShown) absl::StrAppend(&text, "\n… and ", shown - kShown, " more lines");
  return text;
}

}  // namespace belay::conformance
