// A thin strict layer over simdjson for documents with a known schema. Source: docs/pt2-format.md
// §5.
//
// Values are read through JsonRef, which tracks its path, so that every error reports it:
// "models/model.json: graph_module.graph.nodes[12].inputs[1].arg: expected an integer, found a
// string". Structs accept unknown fields and reject repeated ones; unions have exactly one key. All
// errors about content are kInvalidArgument. No function here recurses.
#ifndef BELAY_EXIR_IMPORT_JSON_H_
#define BELAY_EXIR_IMPORT_JSON_H_

#include <simdjson.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {

// Path of a value: a chain of stack frames, formatted only on error.
class JsonPath {
 public:
  JsonPath() = default;
  explicit JsonPath(std::string_view document) : key_(document), kind_(Kind::kDocument) {}
  JsonPath(const JsonPath* parent, std::string_view key)
      : parent_(parent), key_(key), kind_(Kind::kField) {}
  JsonPath(const JsonPath* parent, size_t index)
      : parent_(parent), index_(index), kind_(Kind::kElement) {}
  std::string ToString() const;

 private:
  enum class Kind : uint8_t { kDocument, kField, kElement };
  const JsonPath* parent_ = nullptr;
  std::string_view key_;
  size_t index_ = 0;
  Kind kind_ = Kind::kDocument;
};

// A value and its path. Valid as long as the document and the path are. The root is returned by the
// document, every other value by its parent.
struct JsonRef {
  simdjson::dom::element value;
  const JsonPath* path = nullptr;

  bool is_null() const { return value.is_null(); }
  // Returns kInvalidArgument about this value.
  absl::Status Error(std::string_view message) const;
  absl::StatusOr<int64_t> Int() const;
  absl::StatusOr<bool> Bool() const;
  // Also accepts integers and the strings "NaN", "Infinity", "-Infinity".
  absl::StatusOr<double> Double() const;
  absl::StatusOr<std::string_view> String() const;
  absl::StatusOr<simdjson::dom::array> Array() const;
  absl::StatusOr<simdjson::dom::object> Object() const;
};

// Calls `fn(JsonRef) -> absl::Status` for each element of an array, or `fn(std::string_view,
// JsonRef)` for each field of an object. Stops at the first error.
template <class Fn>
absl::Status ForEachElement(JsonRef ref, Fn&& fn) {
  ABSL_ASSIGN_OR_RETURN(const simdjson::dom::array array, ref.Array());
  size_t index = 0;
  for (simdjson::dom::element element : array) {
    const JsonPath path(ref.path, index++);
    ABSL_RETURN_IF_ERROR(fn(JsonRef{element, &path}));
  }
  return absl::OkStatus();
}
template <class Fn>
absl::Status ForEachField(JsonRef ref, Fn&& fn) {
  ABSL_ASSIGN_OR_RETURN(const simdjson::dom::object object, ref.Object());
  for (simdjson::dom::key_value_pair field : object) {
    const JsonPath path(ref.path, field.key);
    ABSL_RETURN_IF_ERROR(fn(field.key, JsonRef{field.value, &path}));
  }
  return absl::OkStatus();
}

struct JsonField {
  std::string_view name;
  bool required = true;
};

// Fields of an object, indexed by their position in a table:
//   static constexpr JsonField kFields[] = {{"name"}, {"index", false}};
//   JsonStruct<2> s;  ABSL_RETURN_IF_ERROR(s.Read(ref, kFields));  s[0].String() …
template <size_t N>
class JsonStruct {
 public:
  JsonStruct() = default;
  JsonStruct(const JsonStruct&) = delete;
  JsonStruct& operator=(const JsonStruct&) = delete;

  absl::Status Read(JsonRef ref, const JsonField (&fields)[N]);
  // Whether the field is present and not null.
  bool has(size_t i) const { return present_[i] && !values_[i].is_null(); }
  // Precondition: has(i), or the field is required.
  JsonRef operator[](size_t i) const { return {values_[i], &paths_[i]}; }

 private:
  std::array<simdjson::dom::element, N> values_;
  std::array<JsonPath, N> paths_;
  std::array<bool, N> present_ = {};
};

// An object with exactly one key.
class JsonUnion {
 public:
  JsonUnion() = default;
  JsonUnion(const JsonUnion&) = delete;
  JsonUnion& operator=(const JsonUnion&) = delete;

  absl::Status Read(JsonRef ref);
  std::string_view tag() const { return tag_; }
  JsonRef value() const { return {value_, &path_}; }
  // Returns kInvalidArgument: unknown tag.
  absl::Status UnknownTag(std::string_view expected) const;

 private:
  std::string_view tag_;
  simdjson::dom::element value_;
  JsonPath path_;
  const JsonPath* parent_ = nullptr;
};

struct JsonLimits {
  uint64_t max_bytes = uint64_t{1} << 30;
  size_t max_depth = 1024;
};

// A parsed document; owns all strings that its values return.
class JsonDocument {
 public:
  // `name` is the document's name in errors. Bare NaN, Infinity and -Infinity are read as strings
  // of these letters. Integers beyond both int64 and uint64 become the nearest double or an
  // infinity. kInvalidArgument: not JSON. kResourceExhausted: too large, too deeply nested, or out
  // of memory.
  static absl::StatusOr<JsonDocument> Parse(absl::Span<const std::byte> text, std::string_view name,
                                            const JsonLimits& limits);
  JsonRef root() const { return {state_->document.root(), &state_->path}; }

 private:
  struct State {
    std::string name;
    JsonPath path;
    simdjson::dom::document document;
  };
  JsonDocument() = default;
  std::unique_ptr<State> state_;
};

// Implementation details below.

absl::Status ReadJsonFields(JsonRef ref, absl::Span<const JsonField> fields,
                            simdjson::dom::element* values, JsonPath* paths, bool* present);

template <size_t N>
absl::Status JsonStruct<N>::Read(JsonRef ref, const JsonField (&fields)[N]) {
  return ReadJsonFields(ref, fields, values_.data(), paths_.data(), present_.data());
}

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_JSON_H_
