// A JSON value that can be made, compared and printed: what cases hold and what programs become.
#ifndef BELAY_CONFORMANCE_LOWERING_JSON_VALUE_H_
#define BELAY_CONFORMANCE_LOWERING_JSON_VALUE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

namespace belay::conformance {

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::map<std::string, Json, std::less<>>;

  Json() = default;
  Json(bool v) : value_(v) {}                           // NOLINT
  Json(int v) : value_(int64_t{v}) {}                   // NOLINT
  Json(int64_t v) : value_(v) {}                        // NOLINT
  Json(size_t v) : value_(static_cast<int64_t>(v)) {}   // NOLINT
  Json(double v) : value_(v) {}                         // NOLINT
  Json(std::string v) : value_(std::move(v)) {}         // NOLINT
  Json(std::string_view v) : value_(std::string(v)) {}  // NOLINT
  Json(const char* v) : value_(std::string(v)) {}       // NOLINT
  Json(Array v) : value_(std::move(v)) {}               // NOLINT
  Json(Object v) : value_(std::move(v)) {}              // NOLINT

  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&value_);
  }
  template <class T>
  T* get_if() {
    return std::get_if<T>(&value_);
  }
  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  // The member; a null value when there is none or this is no object.
  const Json& operator[](std::string_view key) const;
  bool contains(std::string_view key) const;
  // "" or empty or 0 for another kind.
  const std::string& text() const;
  const Array& array() const;
  const Object& object() const;
  int64_t number() const;

  std::string Dump() const;
  bool operator==(const Json&) const = default;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

// kInvalidArgument when the text or the file does not hold one JSON document.
absl::StatusOr<Json> ParseJson(std::string_view text);
absl::StatusOr<Json> ReadJsonFile(const std::string& path);
// The keys of a member of the document, in the file's order.
absl::StatusOr<std::vector<std::string>> ReadKeys(const std::string& path, std::string_view member);
// The first place in which the two differ, with both values; "" when they are equal.
std::string FirstDifference(const Json& expected, const Json& came, const std::string& where = "");

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_JSON_VALUE_H_
