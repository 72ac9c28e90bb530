#include "exir/emit/testing/text_method.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "exir/ops/standard_ops.h"
#include "runtime/core/dtype.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

const OpRegistry& Ops() {
  static const OpRegistry* const ops = CreateStandardOps()->release();
  return *ops;
}

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::abort();
}

class Line {
 public:
  Line(std::string_view text, TextMethod& out) : rest_(text), whole_(text), out_(out) {}

  void Parse() {
    schema::Method& method = out_.written.method;
    if (Peek() == '\0') return;
    if (Skip("input ")) {
      Declared().mutable_external();
      return;
    }
    if (Skip("state ")) return Declared().set_state_offset(0);
    if (Skip("constant ")) {
      const uint32_t index = static_cast<uint32_t>(Int());
      return Declared().set_constant(index);
    }
    if (Skip("return ")) {
      do method.add_outputs(Value());
      while (Skip(","));
      return End();
    }
    out_.written.debug.add_instructions();
    out_.written.has_effects.push_back(false);
    schema::Instruction& instruction = *method.add_instructions();
    if (Skip("jump ")) {
      instruction.mutable_jump()->set_target(static_cast<uint32_t>(Int()));
      return End();
    }
    if (Skip("unless ")) {
      instruction.mutable_jump_if_false()->set_condition(Value());
      Expect("jump ");
      instruction.mutable_jump_if_false()->set_target(static_cast<uint32_t>(Int()));
      return End();
    }
    std::vector<uint32_t> results;
    while (!Skip("=")) {
      results.push_back(Value());
      Skip(",");
    }
    if (Peek() == '%') {
      Check(results.size() == 1, "a move has one result");
      instruction.mutable_move()->set_from(Value());
      instruction.mutable_move()->set_to(results[0]);
      return End();
    }
    out_.written.has_effects.back() = Skip("!");
    schema::KernelCall& call = *instruction.mutable_kernel();
    call.set_operator_(Operator(Word()));
    for (const uint32_t result : results) call.add_outputs(result);
    Expect("(");
    while (!Skip(")")) {
      call.add_arguments(Value());
      Skip(",");
    }
    End();
  }

 private:
  void Check(bool holds, std::string_view expected) {
    if (holds) return;
    Die(absl::StrCat("expected ", std::string(expected), " at '", std::string(rest_), "' in '",
                     std::string(whole_), "'"));
  }

  char Peek() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
    return rest_.empty() ? '\0' : rest_[0];
  }
  bool Skip(std::string_view what) {
    Peek();
    if (!rest_.starts_with(what)) return false;
    rest_.remove_prefix(what.size());
    return true;
  }
  void Expect(std::string_view what) { Check(Skip(what), what); }
  void End() { Check(Peek() == '\0', "the end of the line"); }

  std::string Word() {
    Peek();
    size_t size = 0;
    while (size < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[size])) != 0 ||
                                   rest_[size] == '_' || rest_[size] == '.')) {
      ++size;
    }
    Check(size > 0, "a word");
    const std::string word(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return word;
  }
  int64_t Int() {
    Peek();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    Check(error == std::errc(), "a number");
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }
  uint32_t Operator(const std::string& name) {
    schema::Method& method = out_.written.method;
    for (int i = 0; i < method.operators_size(); ++i) {
      if (method.operators(i) == name) return static_cast<uint32_t>(i);
    }
    method.add_operators(name);
    out_.written.operators.push_back(Ops().Find(name));
    return static_cast<uint32_t>(method.operators_size() - 1);
  }

  uint32_t Add(schema::Value value, uint32_t shape = 0) {
    *out_.written.method.add_values() = std::move(value);
    out_.written.shapes.push_back(shape);
    return static_cast<uint32_t>(out_.written.method.values_size() - 1);
  }
  schema::Tensor& Declared() {
    const uint32_t value = Value();
    End();
    return *out_.written.method.mutable_values(static_cast<int>(value))->mutable_tensor();
  }
  uint32_t Value() {
    schema::Value value;
    if (Skip("%")) {
      const std::string name = Word();
      if (!Skip(":")) return out_[name];
      uint32_t shape = 0;
      value = Type(shape);
      const uint32_t index = Add(std::move(value), shape);
      Check(out_.values.emplace(name, index).second, "a new name");
      return index;
    }
    if (Skip("[")) {
      std::vector<uint32_t> elements;
      while (!Skip("]")) {
        elements.push_back(Value());
        Skip(",");
      }
      value.mutable_list()->mutable_elements()->Add(elements.begin(), elements.end());
    } else if (Skip("none")) {
      value.mutable_none();
    } else if (Skip("text")) {
      value.set_string("text");
    } else {
      value.set_int_(Int());
    }
    return Add(std::move(value));
  }
  schema::Value Type(uint32_t& shape) {
    schema::Value value;
    const std::string word = Word();
    if (word == "bool" || word == "int") {
      value.mutable_scalar()->set_kind(word == "int" ? schema::ScalarSlot::INT
                                                     : schema::ScalarSlot::BOOL);
      return value;
    }
    const std::optional<DType> dtype = DTypeFromShortName(word);
    Check(dtype.has_value(), "a dtype");
    schema::Tensor& tensor = *value.mutable_tensor();
    tensor.set_dtype(static_cast<uint32_t>(*dtype));
    tensor.set_arena_offset(0);
    uint32_t dynamic = 0;
    std::string order;
    Expect("[");
    while (!Skip("]")) {
      if (Skip("?")) dynamic |= uint32_t{1} << tensor.sizes_size();
      order.push_back(static_cast<char>(tensor.sizes_size()));
      tensor.add_sizes(Int());
      Skip(",");
    }
    tensor.set_dynamic_dims(dynamic);
    if (Skip("{")) {
      order.clear();
      while (!Skip("}")) {
        order.push_back(static_cast<char>(Int()));
        Skip(",");
      }
    }
    tensor.set_dim_order(order);
    if (Skip("@")) tensor.set_arena_offset(static_cast<uint64_t>(Int()));
    if (Skip("#")) shape = static_cast<uint32_t>(Int());
    return value;
  }

  std::string_view rest_;
  const std::string_view whole_;
  TextMethod& out_;
};

}  // namespace

TextMethod::TextMethod(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    Line(text.substr(0, end), *this).Parse();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

uint32_t TextMethod::operator[](std::string_view name) const {
  const auto it = values.find(name);
  if (it == values.end()) Die(absl::StrCat("unknown value ", std::string(name)));
  return it->second;
}

}  // namespace belay::exir
