// Typed access to the values of tokenizer.json, with paths in errors.
#ifndef BELAY_RUNTIME_LLM_TOKENIZER_JSON_VALUE_H_
#define BELAY_RUNTIME_LLM_TOKENIZER_JSON_VALUE_H_

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace belay::llm {

// Parses a document into `parser`, which must outlive the result.
//   kInvalidArgument    not JSON, or nested deeper than `max_depth`
//   kResourceExhausted  more than `max_bytes`, or no memory
// Messages begin with `name`.
absl::StatusOr<simdjson::dom::element> ParseJson(std::string_view name, std::string_view json,
                                                 uint64_t max_bytes, size_t max_depth,
                                                 simdjson::dom::parser& parser);

// A value of a document, or a missing one, and its path. The document must outlive it.
class JsonValue {
 public:
  JsonValue(std::optional<simdjson::dom::element> value, std::string path)
      : value_(value), path_(std::move(path)) {}

  // Whether the value exists and is not null.
  bool exists() const { return value_.has_value() && !value_->is_null(); }

  // Returns a field. A missing value for anything else than an object.
  JsonValue operator[](std::string_view key) const;
  // Returns the elements. kInvalidArgument for anything else than an array.
  absl::StatusOr<std::vector<JsonValue>> Elements() const;

  // kInvalidArgument, with path and expected type, for another type or a missing value.
  absl::StatusOr<std::string_view> String() const;
  absl::StatusOr<int64_t> Int() const;
  absl::StatusOr<double> Double() const;
  absl::StatusOr<simdjson::dom::object> Object() const;
  absl::StatusOr<simdjson::dom::array> Array() const;
  // Returns `fallback` for a missing value.
  absl::StatusOr<bool> Bool(bool fallback) const;
  absl::StatusOr<std::string> StringOr(std::string_view fallback) const;
  absl::StatusOr<int64_t> IntOr(int64_t fallback) const;

  // kInvalidArgument or another code, with the path.
  absl::Status Error(std::string_view message,
                     absl::StatusCode code = absl::StatusCode::kInvalidArgument) const;
  // The code and message of `status`, with the path.
  absl::Status Error(const absl::Status& status) const;
  // kUnimplemented naming a type that is not supported.
  absl::Status Unsupported(std::string_view type) const;

 private:
  std::optional<simdjson::dom::element> value_;
  std::string path_;
};

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_TOKENIZER_JSON_VALUE_H_
