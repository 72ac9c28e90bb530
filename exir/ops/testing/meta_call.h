// Runs a meta kernel on values of C++, for tests of values that text cannot express, such as
// symbols' ranges. Calls in text form: inferred_call.h.
#ifndef BELAY_EXIR_OPS_TESTING_META_CALL_H_
#define BELAY_EXIR_OPS_TESTING_META_CALL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/op_definition/meta_context.h"
#include "exir/op_definition/op_registry.h"
#include "exir/ops/standard_ops.h"
#include "gtest/gtest.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/testing.h"

namespace belay::exir {

// Symbols u0, u1, …
class LastSymbols final : public SymbolSource {
 public:
  SymExpr Fresh(SymRange range) override {
    last = range;
    return SymExpr::Symbol("u" + std::to_string(next_++));
  }
  SymRange last;

 private:
  int next_ = 0;
};

class MetaCallTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(ops_, CreateStandardOps()); }

  // Returns the first result, or none. Missing arguments are the schema's defaults: integers,
  // truth values, empty lists, and none for others.
  absl::StatusOr<MetaValue> InferValue(std::string_view op, std::vector<MetaValue> arguments,
                                       SymbolSource* symbols) {
    const OpOverload* overload = ops_->Find(op);
    if (overload == nullptr) return absl::NotFoundError(std::string(op));
    const FunctionSchema& schema = *overload->schema();
    while (arguments.size() < schema.arguments.size()) {
      const auto& fallback = schema.arguments[arguments.size()].default_value;
      MetaValue value;
      if (fallback.has_value()) {
        if (const int64_t* i = std::get_if<int64_t>(&*fallback)) value = SymExpr(*i);
        if (const bool* b = std::get_if<bool>(&*fallback)) value = *b;
        if (std::holds_alternative<std::vector<int64_t>>(*fallback)) value = MetaList();
      }
      arguments.push_back(std::move(value));
    }
    MetaContext context(schema, std::move(arguments), symbols);
    ABSL_RETURN_IF_ERROR(overload->def()->meta(context));
    return context.outputs().empty() ? MetaValue() : context.outputs()[0];
  }
  absl::StatusOr<MetaValue> InferValue(std::string_view op, std::vector<MetaValue> arguments) {
    return InferValue(op, std::move(arguments), &symbols_);
  }

  // "f32[s0,3] strides [3,1] at 2", the elements of a list, a scalar, or the error message.
  std::string Infer(std::string_view op, std::vector<MetaValue> arguments) {
    const absl::StatusOr<MetaValue> value = InferValue(op, std::move(arguments));
    if (!value.ok()) return std::string(value.status().message());
    if (const SymExpr* e = value->get_if<SymExpr>()) return e->ToString();
    if (const bool* b = value->get_if<bool>()) return *b ? "true" : "false";
    if (const double* d = value->get_if<double>()) return "float " + std::to_string(*d);
    if (const TensorMeta* tensor = value->get_if<TensorMeta>()) return Describe(*tensor);
    std::string text;
    if (const MetaList* list = value->get_if<MetaList>()) {
      for (const MetaValue& piece : *list) {
        text += (text.empty() ? "" : ", ") + Describe(*piece.get_if<TensorMeta>());
      }
    }
    return text;
  }

  std::unique_ptr<OpRegistry> ops_;
  LastSymbols symbols_;

 private:
  static std::string List(const std::vector<SymInt>& values) {
    std::string text = "[";
    for (size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "" : ",") + values[i].ToString();
    return text + "]";
  }
  static std::string Describe(const TensorMeta& t) {
    std::string text = std::string(DTypeShortName(t.dtype)) + List(t.sizes);
    if (!t.is_contiguous()) text += " strides " + List(t.strides);
    if (!(t.storage_offset == SymInt(0))) text += " at " + t.storage_offset.ToString();
    return text;
  }
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_OPS_TESTING_META_CALL_H_
