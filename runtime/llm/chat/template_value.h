// Values of chat templates: those of JSON, and Python's rules to compare and print them.
#ifndef BELAY_RUNTIME_LLM_CHAT_TEMPLATE_VALUE_H_
#define BELAY_RUNTIME_LLM_CHAT_TEMPLATE_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace belay::llm {

// Bounds the time and the memory of one rendering: each step and each byte costs a unit.
class TemplateWork {
 public:
  explicit TemplateWork(uint64_t units) : left_(units) {}
  // kResourceExhausted if the units are used up.
  absl::Status Charge(uint64_t units);

 private:
  uint64_t left_;
};

// Costs of a step, and of a value in a list.
inline constexpr uint64_t kStepUnits = 16, kValueUnits = 32;
// Maximum nesting of lists and mappings.
inline constexpr int kMaxValueDepth = 64;

struct TemplateNamespace;  // a mutable object of attributes, owned by the rendering
struct TemplateNode;       // a macro is its node
class TemplateValue;

enum class TemplateFunction { kRange, kNamespace, kDict, kRaiseException, kStrftimeNow };

// How a sequence was created. Only lists and tuples can be printed.
enum class SequenceStyle { kList, kTuple, kView, kGenerator };

struct TemplateSequence {
  std::vector<TemplateValue> items;
  SequenceStyle style = SequenceStyle::kList;
  int depth = 1;
};

// In insertion order. Lookup is linear.
struct TemplateMapping {
  std::vector<std::pair<TemplateValue, TemplateValue>> entries;
  int depth = 1;
};

// A method of a value, not yet called.
struct TemplateMethod {
  std::shared_ptr<const TemplateValue> object;
  std::string_view name;  // of a static table
};

struct TemplateLoop;

// Immutable, except for namespaces. Copies share lists, mappings and strings.
class TemplateValue {
 public:
  struct Undefined {
    std::string name;
  };
  struct None {};
  using String = std::shared_ptr<const std::string>;
  using Sequence = std::shared_ptr<const TemplateSequence>;
  using Mapping = std::shared_ptr<const TemplateMapping>;
  using Loop = std::shared_ptr<const TemplateLoop>;

  TemplateValue() : value_(None()) {}
  static TemplateValue MakeUndefined(std::string name) {
    return TemplateValue(Undefined{std::move(name)});
  }
  static TemplateValue Bool(bool value) { return TemplateValue(value); }
  static TemplateValue Int(int64_t value) { return TemplateValue(value); }
  static TemplateValue Double(double value) { return TemplateValue(value); }
  static TemplateValue Text(std::string value) {
    return TemplateValue(std::make_shared<const std::string>(std::move(value)));
  }
  // kResourceExhausted: deeper than kMaxValueDepth, or out of work.
  static absl::StatusOr<TemplateValue> List(std::vector<TemplateValue> items, TemplateWork& work,
                                            SequenceStyle style = SequenceStyle::kList);
  // A later entry replaces one with an equal key. O(n) for keys that are strings.
  static absl::StatusOr<TemplateValue> Dict(
      std::vector<std::pair<TemplateValue, TemplateValue>> entries, TemplateWork& work);
  explicit TemplateValue(TemplateNamespace* value) : value_(value) {}
  explicit TemplateValue(const TemplateNode* macro) : value_(macro) {}
  explicit TemplateValue(Loop loop) : value_(std::move(loop)) {}
  explicit TemplateValue(TemplateFunction function) : value_(function) {}
  explicit TemplateValue(TemplateMethod method) : value_(std::move(method)) {}

  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&value_);
  }
  bool is_undefined() const { return get_if<Undefined>() != nullptr; }
  bool is_none() const { return get_if<None>() != nullptr; }
  // The string, or nullptr for other types.
  const std::string* text() const {
    const String* string = get_if<String>();
    return string == nullptr ? nullptr : string->get();
  }
  const TemplateSequence* sequence() const {
    const Sequence* sequence = get_if<Sequence>();
    return sequence == nullptr ? nullptr : sequence->get();
  }
  const TemplateMapping* mapping() const {
    const Mapping* mapping = get_if<Mapping>();
    return mapping == nullptr ? nullptr : mapping->get();
  }
  bool is_number() const {
    return get_if<bool>() != nullptr || get_if<int64_t>() != nullptr || get_if<double>() != nullptr;
  }
  // Whether it is an integer, or a bool, which counts as 0 or 1.
  bool GetInt(int64_t& value) const;
  double AsDouble() const;  // of a number
  // Python's truth of a value.
  bool truth() const;
  int depth() const;
  // "str", "int", …, for messages.
  std::string_view type_name() const;

 private:
  using Variant =
      std::variant<Undefined, None, bool, int64_t, double, String, Sequence, Mapping,
                   TemplateNamespace*, const TemplateNode*, Loop, TemplateFunction, TemplateMethod>;
  explicit TemplateValue(Undefined value) : value_(std::move(value)) {}
  explicit TemplateValue(bool value) : value_(value) {}
  explicit TemplateValue(int64_t value) : value_(value) {}
  explicit TemplateValue(double value) : value_(value) {}
  explicit TemplateValue(String value) : value_(std::move(value)) {}
  explicit TemplateValue(Sequence value) : value_(std::move(value)) {}
  explicit TemplateValue(Mapping value) : value_(std::move(value)) {}

  Variant value_;
};

// The variable `loop` of a `for` statement.
struct TemplateLoop {
  TemplateValue list;  // of the items
  size_t index = 0;
  int level = 1;  // of nested loops

  const std::vector<TemplateValue>& items() const { return list.sequence()->items; }
};

struct TemplateNamespace {
  std::vector<std::pair<std::string, TemplateValue>> attributes;
};

// a == b.
absl::StatusOr<bool> Equal(const TemplateValue& a, const TemplateValue& b, TemplateWork& work);
// a < b. kInvalidArgument for types without an order.
absl::StatusOr<bool> Less(const TemplateValue& a, const TemplateValue& b, TemplateWork& work);
// a <= b. Errors of Less.
absl::StatusOr<bool> LessOrEqual(const TemplateValue& a, const TemplateValue& b,
                                 TemplateWork& work);
// Value of a key, or nullptr.
absl::StatusOr<const TemplateValue*> Find(const TemplateMapping& mapping, const TemplateValue& key,
                                          TemplateWork& work);

// str(value). kUnimplemented for views, generators, functions and namespaces.
absl::StatusOr<std::string> ToText(const TemplateValue& value, TemplateWork& work);

struct JsonStyle {
  int64_t indent = -1;  // -1: one line
  std::string item_separator = ", ", key_separator = ": ";
  bool ensure_ascii = false, sort_keys = false;
};
// json.dumps(value, …). kInvalidArgument for values that are not of JSON.
absl::StatusOr<std::string> ToJson(const TemplateValue& value, const JsonStyle& style,
                                   TemplateWork& work);

// Python's str.isspace of a code point.
bool IsPythonSpace(char32_t c);
// str.strip() of one or both ends. Without `characters`, removes whitespace.
std::string_view Strip(std::string_view text, bool left, bool right,
                       const std::string* characters = nullptr);

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_CHAT_TEMPLATE_VALUE_H_
