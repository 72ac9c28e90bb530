#include "conformance/lowering/lowered_form.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

const std::string& Kind(const Json& entry) { return entry["kind"].text(); }
bool IsUserInput(const Json& entry) { return entry["input"].text() == "user_input"; }

// {"node": 0, …} or {"input": 0, …}; the `input` of a placeholder is a word.
bool IsReference(const Json& json) {
  return json["node"].get_if<int64_t>() != nullptr || json["input"].get_if<int64_t>() != nullptr;
}

// With where each stands.
void ForEachReference(const Json& json, const std::string& where,
                      const std::function<void(const Json&, const std::string&)>& fn) {
  if (IsReference(json)) return fn(json, where);
  for (size_t i = 0; i < json.array().size(); ++i) {
    ForEachReference(json.array()[i], absl::StrCat(where, "[", i, "]"), fn);
  }
  for (const auto& [key, value] : json.object()) {
    ForEachReference(value, absl::StrCat(where, ".", key), fn);
  }
}

std::string WithoutReferences(const Json& json) {
  return MapReferences(json, [](const Json&) { return Json("reference"); }).Dump();
}

// Symbols are numbered as they appear, so their numbers depend on the order.
Json WithoutSymbols(const Json& type) {
  if (type.get_if<Json::Array>() != nullptr) {
    Json::Array copy;
    for (const Json& element : type.array()) copy.push_back(WithoutSymbols(element));
    return copy;
  }
  Json::Object copy = type.object();
  if (copy.contains("symint")) copy["symint"] = "?";
  Json::Array shape = type["shape"].array();
  for (Json& size : shape) {
    if (size.get_if<std::string>() != nullptr) size = "?";
  }
  copy["shape"] = std::move(shape);
  return copy;
}

std::string Label(const FormOwner& owner, const std::string& path, const Json& entry) {
  Json::Object label = entry.object();
  for (const char* key : {"id", "slot", "debug_handle", "keyword_order", "delegate", "graphs"}) {
    label.erase(key);
  }
  label["type"] = WithoutSymbols(entry["type"]);
  if (Kind(entry) == "delegate") {
    label.erase("args");  // vertices of their own
    label.erase("type");  // of no substance in ExecuTorch
  }
  if (owner.is_delegate() && path.empty()) {
    label.erase("index");
    label.erase("outputs");  // too
  }
  return absl::StrCat(owner.is_delegate() ? "in delegate" : owner.method,
                      path.empty() ? "" : " body", " ", WithoutReferences(label));
}

class SymbolNumbers {
 public:
  void Renumber(Json& type) {
    if (Json::Array* list = type.get_if<Json::Array>()) {
      for (Json& element : *list) Renumber(element);
    }
    Json::Object* object = type.get_if<Json::Object>();
    if (object == nullptr) return;
    for (auto& [key, value] : *object) {
      if (key == "symint") Text(value);
      Json::Array* shape = key == "shape" ? value.get_if<Json::Array>() : nullptr;
      for (size_t i = 0; shape != nullptr && i < shape->size(); ++i) Text((*shape)[i]);
    }
  }

 private:
  void Text(Json& expression) {
    const std::string* text = expression.get_if<std::string>();
    if (text == nullptr) return;
    std::string result;
    for (size_t i = 0; i < text->size();) {
      size_t end = i + 1;
      while ((*text)[i] == 'd' && end < text->size() && absl::ascii_isdigit((*text)[end])) ++end;
      const std::string token = text->substr(i, end - i);
      result += token.size() == 1
                    ? token
                    : numbers_.emplace(token, absl::StrCat("d", numbers_.size())).first->second;
      i = end;
    }
    expression = result;
  }

  std::map<std::string, std::string> numbers_;
};

}  // namespace

std::vector<std::string> GraphOrder(const Json& graphs) {
  std::vector<std::string> order, pending = {""};
  while (!pending.empty()) {
    const std::string path = pending.back();
    pending.pop_back();
    if (!graphs.contains(path)) continue;
    order.push_back(path);
    std::vector<std::string> bodies;
    for (const Json& entry : graphs[path].array()) {
      for (const char* label : {"true", "false", "cond", "body"}) {
        const Json& body = entry["graphs"][label];
        if (!body.is_null()) bodies.push_back(body.text());
      }
    }
    pending.insert(pending.end(), bodies.rbegin(), bodies.rend());
  }
  return order;
}

Json MapReferences(const Json& json, const std::function<Json(const Json&)>& fn) {
  if (IsReference(json)) return fn(json);
  if (json.get_if<Json::Array>() != nullptr) {
    Json::Array copy;
    for (const Json& element : json.array()) copy.push_back(MapReferences(element, fn));
    return copy;
  }
  if (json.get_if<Json::Object>() != nullptr) {
    Json::Object copy;
    for (const auto& [key, value] : json.object()) copy[key] = MapReferences(value, fn);
    return copy;
  }
  return json;
}

std::vector<size_t> ResultsOf(const Json& graphs) {
  std::vector<size_t> results;
  const Json::Array& entries = graphs[""].array();
  if (entries.empty()) return results;
  const Json::Array& outputs = entries.back()["outputs"].array();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (Kind(outputs[i]) == "user_output") results.push_back(i);
  }
  return results;
}

void RenumberSymbols(Json& graphs) {
  SymbolNumbers numbers;
  for (const std::string& path : GraphOrder(graphs)) {
    for (Json& entry : *graphs.get_if<Json::Object>()->at(path).get_if<Json::Array>()) {
      Json::Object& object = *entry.get_if<Json::Object>();
      if (const auto type = object.find("type"); type != object.end()) {
        numbers.Renumber(type->second);
      }
    }
  }
}

FormGraph::FormGraph(const LoweredForm& form) : form_(form) {
  // Numbered in this order: where things are alike, those of methods go together first.
  for (const auto& [name, graphs] : form.methods) AddVertices({name}, graphs);
  for (size_t d = 0; d < form.delegates.size(); ++d) {
    const LoweredForm::Delegate& delegate = form.delegates[d];
    modules_.push_back(graph_.AddVertex(
        absl::StrCat("delegate ", delegate.backend_id, delegate.compile_specs.Dump()),
        delegate.source));
    places_[modules_.back()] = {{"", d}, "", d};
  }
  for (size_t d = 0; d < form.delegates.size(); ++d) AddVertices({"", d}, form.delegates[d].graphs);
  for (const auto& [name, graphs] : form.methods) AddEdges({name}, graphs);
  for (size_t d = 0; d < form.delegates.size(); ++d) AddEdges({"", d}, form.delegates[d].graphs);
}

void FormGraph::AddVertices(const FormOwner& owner, const Json& graphs) {
  for (const auto& [path, entries] : graphs.object()) {
    std::vector<size_t>& vertices = entries_[{owner, path}];
    for (size_t i = 0; i < entries.array().size(); ++i) {
      vertices.push_back(graph_.AddVertex(Label(owner, path, entries.array()[i])));
      places_[vertices.back()] = {owner, path, i};
    }
  }
  const Json::Array& top = graphs[""].array();
  if (!owner.is_delegate() || top.empty()) return;
  std::vector<size_t>& outputs = outputs_[owner.delegate];
  for (const Json& output : top.back()["outputs"].array()) {
    const size_t vertex = graph_.AddVertex(absl::StrCat("result ", WithoutReferences(output)));
    places_[vertex] = {owner, "", outputs.size()};
    outputs.push_back(vertex);
  }
}

void FormGraph::AddEdges(const FormOwner& owner, const Json& graphs) {
  for (const auto& [path, list] : graphs.object()) {
    Scope scope = {list.array(), entries_.at({owner, path}), {}, {}};
    for (size_t i = 0; i < scope.entries.size(); ++i) {
      const Json& entry = scope.entries[i];
      if (IsUserInput(entry)) scope.inputs[entry["index"].number()] = i;
      if (entry.contains("id")) scope.nodes[entry["id"].number()] = i;
    }
    for (size_t i = 0; i < scope.entries.size(); ++i) AddEdges(owner, path, scope, i);
  }
}

void FormGraph::AddEdges(const FormOwner& owner, const std::string& path, const Scope& scope,
                         size_t index) {
  const Json& entry = scope.entries[index];
  const size_t vertex = scope.vertices[index];
  if (owner.is_delegate()) graph_.AddEdge(Module(owner.delegate), vertex, "holds");
  if (Kind(entry) == "delegate") return AddCall(entry, vertex, scope);
  if (owner.is_delegate() && path.empty() && Kind(entry) == "output") {
    for (size_t k = 0; k < entry["outputs"].array().size(); ++k) {
      const size_t output = Output(owner.delegate, k);
      graph_.AddEdge(Module(owner.delegate), output, "returns");
      AddReferences(output, entry["outputs"].array()[k], "", scope);
    }
    return;
  }
  for (const char* key : {"args", "kwargs", "outputs"}) {
    AddReferences(vertex, entry[key], key, scope);
  }
  for (const auto& [label, body] : entry["graphs"].object()) {
    const auto inner = entries_.find({owner, body.text()});
    if (inner == entries_.end()) continue;
    for (size_t member : inner->second) graph_.AddEdge(vertex, member, label);
  }
}

void FormGraph::AddReferences(size_t user, const Json& json, const std::string& where,
                              const Scope& scope) {
  ForEachReference(json, where, [&](const Json& reference, const std::string& place) {
    const bool is_node = reference.contains("node");
    const std::map<int64_t, size_t>& named = is_node ? scope.nodes : scope.inputs;
    const auto found = named.find(reference[is_node ? "node" : "input"].number());
    if (found == named.end()) return;
    const Json& producer = scope.entries[found->second];
    const size_t vertex = scope.vertices[found->second];
    if (Kind(producer) != "delegate") {
      graph_.AddEdge(user, vertex, absl::StrCat(place, " ", reference["out"].Dump()));
      return;
    }
    graph_.AddEdge(user, vertex, place);
    if (const auto result = ResultVertex(producer, reference)) {
      graph_.AddEdge(user, *result, place);
    }
  });
}

const LoweredForm::Delegate* FormGraph::DelegateOf(const Json& call) const {
  const auto number = static_cast<size_t>(call["delegate"].number());
  return number < form_.delegates.size() ? &form_.delegates[number] : nullptr;
}

std::optional<size_t> FormGraph::ResultVertex(const Json& call, const Json& reference) const {
  const LoweredForm::Delegate* delegate = DelegateOf(call);
  if (delegate == nullptr) return std::nullopt;
  const std::vector<size_t> results = ResultsOf(delegate->graphs);
  const auto position = static_cast<size_t>(reference["out"].number());
  if (position >= results.size()) return std::nullopt;
  return Output(static_cast<size_t>(delegate - form_.delegates.data()), results[position]);
}

// Each argument is between its value and the input of the delegate's program.
void FormGraph::AddCall(const Json& call, size_t vertex, const Scope& scope) {
  const LoweredForm::Delegate* delegate = DelegateOf(call);
  if (delegate == nullptr) return;
  const FormOwner inner = {"", static_cast<size_t>(delegate - form_.delegates.data())};
  graph_.AddEdge(vertex, Module(inner.delegate), "calls");
  const Json::Array& entries = delegate->graphs[""].array();
  for (size_t k = 0; k < call["args"].array().size(); ++k) {
    const Json& value = call["args"].array()[k];
    const size_t argument = graph_.AddVertex(absl::StrCat("argument ", WithoutReferences(value)));
    graph_.AddEdge(vertex, argument, "takes");
    AddReferences(argument, value, "", scope);
    for (size_t i = 0; i < entries.size(); ++i) {
      if (IsUserInput(entries[i]) && entries[i]["index"].number() == static_cast<int64_t>(k)) {
        graph_.AddEdge(argument, Entry(inner, "", i), "is");
      }
    }
  }
}

}  // namespace belay::conformance
