#include "conformance/lowering/canonical_text.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "conformance/lowering/program_json.h"
#include "exir/symbolic/sym_expr.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

// Complete walks that are made to find the least text.
constexpr int kMaxAttempts = 200;

using SortedJson = nlohmann::json;  // members by name

template <class AnyJson>
std::optional<int64_t> Number(const AnyJson& json, const char* key) {
  const bool there = json.is_object() && json.contains(key) && json[key].is_number_integer();
  return there ? std::optional(json[key].template get<int64_t>()) : std::nullopt;
}

// What is numbered. Of inputs and outputs, those of a delegate's program.
enum class Kind : uint8_t { kDelegate, kInput, kNode, kOutput };
struct Key {
  size_t owner;  // a method or a delegate
  std::string path;
  Kind kind;
  int64_t index;  // id of a node, position of an input or output
  auto operator<=>(const Key&) const = default;
};
using GraphKey = std::pair<size_t, std::string>;

// A document as it lists things.
struct Document {
  explicit Document(const Json& json);

  bool IsDelegate(size_t owner) const { return owners[owner].first.empty(); }
  // The delegate that a node calls; 0, which no delegate has, for none.
  size_t Callee(const Key& key) const {
    if (key.kind != Kind::kNode || !items.contains(key)) return 0;
    const size_t callee = first_delegate + Number(*items.at(key), "delegate").value_or(-1);
    return callee >= first_delegate && callee < owners.size() ? callee : 0;
  }
  // The output of the delegate's program that is this result of its calls.
  std::optional<Key> Result(size_t delegate, int64_t position) const {
    for (Key key = {delegate, "", Kind::kOutput, 0}; items.contains(key); ++key.index) {
      if (Text(*items.at(key), "kind") == "user_output" && position-- == 0) return key;
    }
    return std::nullopt;
  }
  // What a graph returns.
  static const Json& Results(const Json& entries) {
    for (const Json& entry : entries) {
      if (Text(entry, "kind") != "output") continue;
      return Elements(Member(entry, entry.contains("outputs") ? "outputs" : "args"));
    }
    return Elements(Json());
  }

  const Json& json;
  // Methods by name, then an owner without a name for each delegate.
  std::vector<std::pair<std::string, const Json*>> owners;
  size_t first_delegate = 0;
  std::map<GraphKey, const Json*> graphs;                  // entries
  std::map<GraphKey, std::pair<Key, std::string>> bodies;  // of which node, and as what
  std::map<Key, const Json*> items;                        // entry, output, delegate
  std::map<size_t, std::vector<Key>> calls;                // by delegate
};

Document::Document(const Json& json) : json(json) {
  for (const auto& [name, method] : Elements(Member(json, "methods")).items()) {
    owners.emplace_back(name, &method);
  }
  std::sort(owners.begin(), owners.end());
  first_delegate = owners.size();
  for (const Json& delegate : Elements(Member(json, "delegates")))
    owners.emplace_back("", &delegate);
  for (size_t o = 0; o < owners.size(); ++o) {
    const Json& of = *owners[o].second;
    if (IsDelegate(o)) items[{o, "", Kind::kDelegate, 0}] = &of;
    for (const auto& [path, entries] :
         Elements(Member(of, IsDelegate(o) ? "program" : "graphs")).items()) {
      graphs[{o, path}] = &entries;
      const bool top_of_delegate = IsDelegate(o) && path.empty();
      for (const Json& entry : entries) {
        const auto id = Number(entry, "id"), index = Number(entry, "index");
        if (id.has_value()) items[{o, path, Kind::kNode, *id}] = &entry;
        if (top_of_delegate && index.has_value()) items[{o, path, Kind::kInput, *index}] = &entry;
        for (const auto& [label, body] : Elements(Member(entry, "graphs")).items()) {
          if (id.has_value()) bodies[{o, Text(body)}] = {{o, path, Kind::kNode, *id}, label};
        }
      }
      const Json& results = Results(entries);
      for (size_t k = 0; k < results.size() && top_of_delegate; ++k) {
        items[{o, path, Kind::kOutput, static_cast<int64_t>(k)}] = &results[k];
      }
    }
  }
  for (const auto& [key, item] : items) {
    if (const size_t callee = Callee(key)) calls[callee].push_back(key);
  }
}

// What does not count, by canonical names.
struct Freedom {
  std::set<std::string> open;     // graphs and delegates whose order does not count
  std::set<std::string> counted;  // delegates whose debug maps are compared by numbers of handles
  bool moved = false;             // whether something stands in another order for that reason
};

// A document with the numbers that the walk gives (see the header). Copies walk on by themselves.
class CanonicalForm {
 public:
  explicit CanonicalForm(const Document& document);

  // All that is compared, by what it is about and what of it.
  std::map<std::string, std::string> Lines(const Freedom& freedom);
  // By graph or delegate, the order in which the document lists things; "" for delegates.
  std::map<std::string, std::string> Orders();
  Freedom Grants(const CompareOptions& options);  // what the document leaves open

 private:
  // --- The walk ---
  void Visit(const Key& key);
  void VisitResults(size_t owner, const std::string& path);
  void Finish(int& attempts);          // what no output needs
  std::string TextFrom(size_t count);  // of what was numbered since there were so many
  // What the document says, with canonical references and symbols; visits what it refers to.
  SortedJson Describe(const Key& key);
  SortedJson Canonical(size_t owner, const std::string& path, const SortedJson& value,
                       bool is_size = false);
  SortedJson Reference(const Key& key, const SortedJson& out);
  SortedJson Size(size_t owner, const std::string& size);
  SortedJson Argument(const Key& call, const Key& input) {
    const Json& args = (*document_->items.at(call))["args"];
    const auto k = static_cast<size_t>(input.index);
    return k < args.size() ? Canonical(call.owner, call.path, args[k]) : SortedJson();
  }

  // --- Names: "%0", "method forward", "delegate D0", "delegate D0 program cond%2.true" ---
  std::string Name(const Key& key) const {
    constexpr const char* kMarks[] = {"D", "in", "%", "out"};
    const auto name = names_.find(key);
    return kMarks[static_cast<int>(key.kind)] +
           (name == names_.end() ? "?" : absl::StrCat(name->second));
  }
  std::string OwnerName(size_t owner) const {
    return document_->IsDelegate(owner) ? "delegate " + Name({owner, "", Kind::kDelegate, 0})
                                        : "method " + document_->owners[owner].first;
  }
  std::string GraphName(size_t owner, const std::string& path) const {
    if (path.empty()) return OwnerName(owner) + (document_->IsDelegate(owner) ? " program" : "");
    const auto body = document_->bodies.find({owner, path});
    if (body == document_->bodies.end()) return absl::StrCat(OwnerName(owner), " no node's ", path);
    const auto& [node, label] = body->second;
    return absl::StrCat(GraphName(owner, node.path), " ", Text(*document_->items.at(node), "op"),
                        Name(node), ".", label);
  }

  // --- The content ---
  SortedJson DelegateContent(size_t owner, const Freedom& freedom);
  SortedJson BlobContent(const Json& delegate, const Freedom& freedom);
  SortedJson ResultsOrder(const Freedom& freedom);

  const Document* document_;
  std::set<Key> seen_;
  std::vector<Key> order_;
  std::map<Key, int64_t> names_, next_;
  std::map<size_t, std::vector<Key>> calls_, inputs_;  // that the walk came across, by delegate
  std::map<size_t, std::map<std::string, std::string>> symbols_;  // by owner
  std::multiset<std::string> words_;                              // of blobs
};

CanonicalForm::CanonicalForm(const Document& document) : document_(&document) {
  for (const auto& [graph, entries] : document.graphs) {
    // Delegates are reached by their calls, and bodies by their nodes.
    const auto& [owner, path] = graph;
    if (path.empty() ? document.calls.contains(owner) : document.bodies.contains(graph)) continue;
    VisitResults(owner, path);
    if (document.IsDelegate(owner)) Visit({owner, "", Kind::kDelegate, 0});
  }
  int attempts = 0;
  Finish(attempts);
}

void CanonicalForm::VisitResults(size_t owner, const std::string& path) {
  const auto graph = document_->graphs.find({owner, path});
  if (graph == document_->graphs.end()) return;
  const Json& results = Document::Results(*graph->second);
  for (size_t k = 0; k < results.size(); ++k) {
    const Key output = {owner, path, Kind::kOutput, static_cast<int64_t>(k)};
    if (document_->items.contains(output)) Visit(output);
    Canonical(owner, path, results[k]);
  }
}

void CanonicalForm::Visit(const Key& key) {
  if (!seen_.insert(key).second) return;
  if (key.kind == Kind::kInput) inputs_[key.owner].push_back(key);
  Describe(key);
  // Delegates are numbered together, other things by graph.
  const bool delegate = key.kind == Kind::kDelegate;
  names_[key] = next_[{delegate ? 0 : key.owner, key.path, key.kind, 0}]++;
  order_.push_back(key);
}

void CanonicalForm::Finish(int& attempts) {
  while (order_.size() < document_->items.size()) {
    // The most that can be reached at once; of as much, the least text.
    std::map<std::pair<size_t, std::string>, std::vector<CanonicalForm>> next;
    for (const auto& [key, item] : document_->items) {
      if (seen_.contains(key)) continue;
      CanonicalForm form = *this;
      form.Visit(key);
      const size_t left = document_->items.size() - form.order_.size();
      next[{left, form.TextFrom(order_.size())}].push_back(std::move(form));
    }
    std::vector<CanonicalForm>& best = next.begin()->second;
    size_t least = 0;
    for (size_t i = 0; i < best.size() && best.size() > 1 && attempts < kMaxAttempts; ++i) {
      best[i].Finish(++attempts);
      if (best[i].TextFrom(0) < best[least].TextFrom(0)) least = i;
    }
    *this = CanonicalForm(best[least]);
  }
}

std::string CanonicalForm::TextFrom(size_t count) {
  std::string text;
  for (size_t i = count; i < order_.size(); ++i) {
    const Key& key = order_[i];
    absl::StrAppend(&text, GraphName(key.owner, key.path), Name(key), Describe(key).dump(), "\n");
  }
  return text;
}

SortedJson CanonicalForm::Describe(const Key& key) {
  SortedJson json = *document_->items.at(key);
  if (key.kind == Kind::kDelegate) return json["backend_id"];
  if (key.kind == Kind::kOutput) return Canonical(key.owner, key.path, json);
  const SortedJson bodies = json.contains("graphs") ? json["graphs"] : SortedJson::object();
  for (const char* field : {"kind", "id", "index", "slot", "debug_handle", "graphs"})
    json.erase(field);
  if (key.kind == Kind::kInput) {
    const std::vector<Key>& calls = calls_[key.owner];
    for (size_t i = 0; i < calls.size(); ++i) Argument(calls[i], key);
  }
  if (const size_t callee = document_->Callee(key)) {
    // What the program's inputs are, as far as the walk came across them.
    SortedJson args = SortedJson::object();
    const std::vector<Key>& inputs = inputs_[callee];
    for (size_t i = 0; i < inputs.size(); ++i) args[Name(inputs[i])] = Argument(key, inputs[i]);
    for (size_t k = 0; k < json["args"].size(); ++k) {
      const Key input = {callee, "", Kind::kInput, static_cast<int64_t>(k)};
      if (!document_->items.contains(input)) args[absl::StrCat(k)] = Argument(key, input);
    }
    const Key delegate = {callee, "", Kind::kDelegate, 0};
    Visit(delegate);
    json["args"] = std::move(args);
    json["delegate"] = Name(delegate);
    json.erase("type");
    return json;
  }
  json = Canonical(key.owner, key.path, json);
  for (const SortedJson& path : bodies) VisitResults(key.owner, path.get<std::string>());
  return json;
}

SortedJson CanonicalForm::Canonical(size_t owner, const std::string& path, const SortedJson& value,
                                    bool is_size) {
  if (is_size && value.is_string()) return Size(owner, value.get<std::string>());
  if (!value.is_structured()) return value;
  const SortedJson out = value.is_object() && value.contains("out") ? value["out"] : SortedJson();
  if (const auto id = Number(value, "node")) return Reference({owner, path, Kind::kNode, *id}, out);
  if (const auto k = Number(value, "input")) return Reference({owner, path, Kind::kInput, *k}, out);
  SortedJson copy = value;
  for (auto& [key, element] : copy.items()) {
    const bool sizes = key == "shape" || key == "symint" || (is_size && value.is_array());
    element = Canonical(owner, path, element, sizes);
  }
  return copy;
}

SortedJson CanonicalForm::Reference(const Key& key, const SortedJson& out) {
  // Inputs of methods and bodies have the numbers that the document gives.
  const bool numbered = document_->IsDelegate(key.owner) && key.path.empty();
  std::string name = absl::StrCat(key.kind == Kind::kNode ? "no %"
                                  : numbered              ? "no in"
                                                          : "in",
                                  key.index);
  std::string result = out.is_null() ? "" : "." + out.dump();
  if (document_->items.contains(key)) {
    if (const size_t callee = document_->Callee(key)) {
      std::vector<Key>& calls = calls_[callee];
      if (std::find(calls.begin(), calls.end(), key) == calls.end()) calls.push_back(key);
      // A delegate as a whole is its only result.
      const int64_t position = out.is_number() ? out.get<int64_t>() : 0;
      if (const std::optional<Key> output = document_->Result(callee, position)) {
        Visit(*output);
        if (out.is_number()) result = "." + Name(*output);
      }
    }
    Visit(key);
    name = Name(key);
    const bool list = Member(*document_->items.at(key), "type").is_array();
    if (key.kind == Kind::kNode && document_->Callee(key) == 0 && list && out.is_null())
      result = ".all";
  }
  return name + result;
}

SortedJson CanonicalForm::Size(size_t owner, const std::string& size) {
  const absl::StatusOr<exir::SymExpr> e = exir::ParseSymExpr(size);
  if (!e.ok()) return size;
  return NumberSymbols(*e, symbols_[owner]).ToString();
}

std::map<std::string, std::string> CanonicalForm::Orders() {
  std::map<std::string, std::string> orders;
  for (const auto& [graph, entries] : document_->graphs) {
    const auto& [owner, path] = graph;
    std::vector<std::string> order;
    for (const Json& entry : *entries) {
      const Key input = {owner, path, Kind::kInput, Number(entry, "index").value_or(-1)};
      const Key node = {owner, path, Kind::kNode, Number(entry, "id").value_or(-1)};
      const std::string kind = Text(entry, "kind");
      const bool numbered = document_->items.contains(input);
      if (kind == "getitem") continue;
      order.push_back(numbered                ? Name(input)
                      : kind != "placeholder" ? (kind == "output" ? kind : Name(node))
                                              : SortedJson(Member(entry, "target")).dump());
    }
    for (Key key = {owner, path, Kind::kOutput, 0}; document_->items.contains(key); ++key.index) {
      order.push_back(Name(key));
    }
    orders[GraphName(owner, path)] = absl::StrJoin(order, " ");
  }
  for (size_t d = document_->first_delegate; d < document_->owners.size(); ++d) {
    orders[""] += OwnerName(d);
  }
  return orders;
}

Freedom CanonicalForm::Grants(const CompareOptions& options) {
  Freedom freedom;
  const auto open_if = [&](const Json& order, const std::string& name) {
    if (!options.order_is_known || order == "topological_only") freedom.open.insert(name);
  };
  for (const auto& [graph, entries] : document_->graphs) {
    const auto& [owner, path] = graph;
    const Json& order = Member(*document_->owners[owner].second, "order");
    if (!document_->IsDelegate(owner)) open_if(Member(order, path), GraphName(owner, path));
  }
  for (size_t d = document_->first_delegate; d < document_->owners.size(); ++d) {
    const Json& delegate = *document_->owners[d].second;
    open_if(Member(delegate, "order"), OwnerName(d));
    const Json& nodes = Elements(Member(Member(delegate, "debug_handle_map"), "nodes"));
    const auto is_empty = [](const Json& list) { return list.empty(); };
    const bool unknown = !nodes.empty() && std::all_of(nodes.begin(), nodes.end(), is_empty);
    if (!options.handles_are_known || unknown) freedom.counted.insert(OwnerName(d));
  }
  return freedom;
}

// Stored data, if there are any; without numbers of buffers, which go by order, if that moved.
Json StoredData(Json data, bool moved) {
  if (data.contains("error")) return {{"error", true}};
  if (Member(data, "buffers") == 0) return Json();
  if (moved && Member(data, "buffer").is_number()) data.erase("buffer");
  for (auto& [key, value] : data.items()) {
    if (value.is_object()) value = StoredData(value, moved);
  }
  return data;
}

std::map<std::string, std::string> CanonicalForm::Lines(const Freedom& freedom) {
  SortedJson content;
  const std::map<std::string, std::string> orders = Orders();
  for (const auto& [graph, entries] : document_->graphs) {
    const auto& [owner, path] = graph;
    const std::string name = GraphName(owner, path);
    const bool of_delegate = document_->IsDelegate(owner);
    const bool numbered = of_delegate && path.empty();  // inputs and results
    std::vector<SortedJson> inputs;                     // those that are not
    for (const Json& entry : *entries) {
      if (Text(entry, "kind") != "placeholder" || (numbered && entry.contains("index"))) continue;
      inputs.push_back(Canonical(owner, path, entry));
    }
    if (numbered) std::sort(inputs.begin(), inputs.end());
    content[name]["inputs"] = inputs;
    if (!numbered) {
      content[name]["outputs"] = Canonical(owner, path, Document::Results(*entries));
    }
    if (!freedom.open.contains(of_delegate ? OwnerName(owner) : name)) {
      content[name]["order"] = orders.at(name);
    }
  }
  for (const Key& key : order_) {
    if (key.kind == Kind::kDelegate) continue;
    content[GraphName(key.owner, key.path)][Name(key)] = Describe(key);
  }
  for (size_t o = 0; o < document_->owners.size(); ++o) {
    const Json& of = *document_->owners[o].second;
    if (document_->IsDelegate(o)) {
      content[OwnerName(o)] = DelegateContent(o, freedom);
      continue;
    }
    for (const char* field : {"signature", "state"}) {
      content[absl::StrCat(field, " of ", OwnerName(o))] = Member(of, field);
    }
    content["state of " + OwnerName(o)].erase("unreferenced_other");
  }
  content["order of results"] = ResultsOrder(freedom);
  content["blobs"]["words"] = words_;
  std::set<SortedJson> partitions;
  for (SortedJson partition : Elements(Member(document_->json, "partitions"))) {
    auto& nodes = partition["nodes"].get_ref<SortedJson::array_t&>();
    std::erase_if(nodes, [](const SortedJson& node) { return node["op"] == "getitem"; });
    partitions.insert(std::move(partition));
  }
  content["partitioners"]["partitions"] = partitions;
  content["merged"]["named data"] =
      StoredData(Member(document_->json, "merged_named_data"), freedom.moved);
  std::map<std::string, std::string> lines;
  for (const auto& [about, values] : content.items()) {
    for (const auto& [what, value] : values.items()) {
      lines[absl::StrCat(about, ", ", what)] = value.dump();
    }
  }
  return lines;
}

SortedJson CanonicalForm::DelegateContent(size_t owner, const Freedom& freedom) {
  const Json& json = *document_->owners[owner].second;
  const Json& owned = Elements(Member(json, "constants_owned"));
  const Json& map = Member(json, "debug_handle_map");
  const bool counted = freedom.counted.contains(OwnerName(owner));
  std::multiset<SortedJson> handles;
  for (const auto& [id, list] : Elements(Member(map, counted ? "raw" : "nodes")).items()) {
    std::set<SortedJson> nodes;
    for (const Json& node : list) {
      if (Text(node, "op") != "getitem") nodes.insert(node);
    }
    if (nodes.empty() && !counted) continue;
    // Generated ids number nodes in their order.
    const std::string key = freedom.moved && map["keys"] == "int" ? "" : id;
    handles.insert(SortedJson::array(
        {map["keys"], key, counted ? SortedJson(list.size()) : SortedJson(nodes)}));
  }
  return {{"backend", SortedJson::array({json["backend_id"], Member(json, "compile_specs")})},
          {"blob", BlobContent(json, freedom)},
          {"owns", std::set<SortedJson>(owned.begin(), owned.end())},
          {"named_data", StoredData(Member(json, "named_data"), freedom.moved)},
          {"debug_map", handles}};
}

SortedJson CanonicalForm::BlobContent(const Json& delegate, const Freedom& freedom) {
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
  if (!digest.empty() && digest != Sha256(bytes)) return "wrong digest: " + digest;
  if (Text(delegate, "backend_id") == "RecordingBackend") {
    std::vector<std::string> backend_ids;
    for (const Json& other : document_->json["delegates"]) {
      backend_ids.push_back(Text(other, "backend_id"));
    }
    const bool right = bytes == RecordingText(Member(delegate, "program"), backend_ids);
    return right ? "the recording of its program"
                 : "wrong recording: " + absl::Utf8SafeCEscape(bytes);
  }
  if (!freedom.moved) return absl::Utf8SafeCEscape(bytes);
  // It may list what stands in another order: the words of all count, without numbers of nodes.
  const auto is_end = [](char c) {
    return !absl::ascii_isalnum(c) && std::string_view("_.%@").find(c) == std::string_view::npos;
  };
  std::replace_if(bytes.begin(), bytes.end(), is_end, ' ');
  for (const auto& word : absl::StrSplit(bytes, ' ', absl::SkipEmpty())) {
    words_.emplace(word[0] == '%' ? "%" : word);
  }
  return "words";
}

// Delegates of one backend are made graph by graph, and in a graph in its order. The backends'
// turns go by whose delegate stands first, which may be open.
SortedJson CanonicalForm::ResultsOrder(const Freedom& freedom) {
  SortedJson orders;  // by backend
  for (size_t d = document_->first_delegate; d < document_->owners.size(); ++d) {
    std::string graph;
    bool open = false;
    // From call to call out of delegates in delegates.
    size_t owner = d;
    for (size_t depth = 0; depth <= d && document_->calls.contains(owner); ++depth) {
      open = open || (owner != d && freedom.open.contains(OwnerName(owner)));
      const Key& call = document_->calls.at(owner).front();
      owner = call.owner;
      graph = GraphName(owner, call.path);
    }
    open = open || freedom.open.contains(graph);
    const std::string backend = Text(*document_->owners[d].second, "backend_id");
    orders[freedom.open.empty() ? "all" : backend].push_back(open ? "one of " + graph
                                                                  : OwnerName(d));
  }
  return orders;
}

// Merged data aligned for all delegates that store a key.
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
  const Document indexed(document);
  std::vector<std::string> lines;
  for (const auto& [place, text] : CanonicalForm(indexed).Lines({})) {
    lines.push_back(absl::StrCat(place, ": ", text));
  }
  return lines;
}

std::string CompareDocuments(Json expected, Json actual, const CompareOptions& options) {
  constexpr int kShown = 20;
  for (const char* optional : {"partitions", "merged_named_data"}) {
    if (!expected.contains(optional)) actual.erase(optional);
  }
  if (expected.contains("merged_named_data")) AlignMergedData(expected);
  const Document documents[] = {Document(expected), Document(actual)};
  CanonicalForm forms[] = {CanonicalForm(documents[0]), CanonicalForm(documents[1])};
  Freedom freedom = forms[0].Grants(options);
  // Where the order counts, it is among the lines.
  freedom.moved = !freedom.open.empty() && forms[0].Orders() != forms[1].Orders();
  const std::map<std::string, std::string> lines[] = {forms[0].Lines(freedom),
                                                      forms[1].Lines(freedom)};
  std::multimap<std::string, std::string> different;
  for (const int side : {0, 1}) {
    for (const auto& [place, text] : lines[side]) {
      const auto other = lines[1 - side].find(place);
      if (other != lines[1 - side].end() && other->second == text) continue;
      different.emplace(place, absl::StrCat(side == 0 ? "\n- " : "\n+ ", place, ": ", text));
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
