#include "fuzz/generators/operator_call_generator.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "exir/op_definition/meta_context.h"
#include "exir/op_definition/op_def.h"
#include "exir/op_definition/schema.h"
#include "fuzz/generators/tensor_generator.h"
#include "runtime/core/str_cat.h"
#include "runtime/executor/testing/program_builder.h"

namespace belay::fuzz {
namespace {

using exir::BaseType;
using exir::MetaList;
using exir::MetaValue;
using exir::SchemaArgument;
using exir::SchemaType;
using exir::SymExpr;
using exir::TensorMeta;

constexpr int kMaxRank = 5;
constexpr int64_t kMaxElements = 256;
constexpr int64_t kMaxOutputElements = 4096;

// Gives bounds to data-dependent sizes.
class BoundedSymbols : public exir::SymbolSource {
 public:
  SymExpr Fresh(exir::SymRange) override { return SymExpr::Symbol("bounded"); }
};

class CallGenerator {
 public:
  CallGenerator(ByteSource& source, const exir::OpOverload& op, TensorSizes style)
      : source_(source), op_(op), method_(program_.AddMethod("forward")) {
    dtype_ = GenerateDType(source_);
    sizes_ = GenerateSizes(source_, kMaxRank, kMaxElements);
    if (style == TensorSizes::kHugeEmptyTensors) MakeHuge();
  }

  std::string Generate() {
    const exir::FunctionSchema& schema = *op_.schema();
    std::vector<uint32_t> arguments, outputs;
    std::vector<MetaValue> metas;
    for (const SchemaArgument& argument : schema.arguments) {
      auto [value, meta] = AddArgument(argument);
      arguments.push_back(value);
      metas.push_back(std::move(meta));
    }
    const std::vector<MetaValue> results = Infer(schema, std::move(metas));
    for (size_t i = 0; i < schema.returns.size(); ++i) {
      outputs.push_back(AddOutput(schema.returns[i].type, results[i]));
    }
    if (source_.Chance(3)) arguments.resize(source_.Below(arguments.size() + 1));
    method_.Call(op_.name(), arguments, outputs);
    for (const uint32_t output : outputs) {
      if (!method_.proto().values(static_cast<int>(output)).has_list()) method_.Output(output);
    }
    return program_.Serialize();
  }

 private:
  struct Value {
    uint32_t index;
    MetaValue meta;
  };

  // In tensors without elements, the other sizes may be huge, if their product fits int64.
  void MakeHuge() {
    if (sizes_.empty()) return;
    const int rank = sizes_.size();
    const auto zero = static_cast<int>(source_.Below(static_cast<uint64_t>(rank)));
    const auto bits = static_cast<uint64_t>(59 / std::max(rank - 1, 1));
    for (int d = 0; d < rank; ++d) {
      if (source_.Chance(70)) sizes_[d] = int64_t{1} << (bits - source_.Below(4));
    }
    sizes_[zero] = 0;
  }

  Value AddTensor() {
    if (source_.Chance(25)) dtype_ = GenerateDType(source_);
    Sizes sizes = sizes_;
    switch (source_.Below(6)) {
      case 0:
        sizes = GenerateSizes(source_, kMaxRank, kMaxElements);
        break;
      case 1:  // one size changes
        if (!sizes.empty()) {
          const auto d = static_cast<int>(source_.Below(static_cast<uint64_t>(sizes.size())));
          sizes[d] = source_.Between(0, 4);
        }
        break;
      case 2:  // a dimension less
        if (!sizes.empty()) sizes.erase(0);
        break;
      default:
        break;
    }
    std::vector<SymExpr> symbolic(sizes.begin(), sizes.end());
    TensorMeta meta = TensorMeta::Contiguous(dtype_, std::move(symbolic));
    // Tensors with huge sizes and elements become inputs, which need no allocation.
    const bool small = NumElements(sizes).value_or(INT64_MAX) <= kMaxOutputElements;
    if (source_.Chance(30) && small) {
      const auto bytes = static_cast<size_t>(*NumElements(sizes)) * DTypeSize(dtype_);
      std::string content(source_.Bytes(std::min<size_t>(bytes, 32)));
      content.resize(bytes, content.empty() ? '\0' : content.back());
      if (dtype_ == DType::kBool) {
        for (char& byte : content) byte = static_cast<char>(byte & 1);
      }
      return {method_.Constant(program_.AddConstantBytes(content), dtype_, sizes), std::move(meta)};
    }
    const DimOrder order = GenerateDimOrder(source_, sizes.size());
    return {method_.InputInOrder(absl::StrCat("x", method_.proto().inputs_size()), dtype_, sizes,
                                 order),
            std::move(meta)};
  }

  int64_t Int() {
    switch (source_.Below(8)) {
      case 0:
        return source_.Interesting();
      case 1:  // a size of the tensors
        return sizes_.empty() ? 1 : sizes_[static_cast<int>(source_.Below(sizes_.size()))];
      default:
        return source_.Between(-3, 5);
    }
  }
  double Double() {
    constexpr double kDoubles[] = {0.0, 1.0,   -1.0,    0.5,
                                   2.0, 1e-5,  1e30,    -2.5,
                                   3.0, 1e300, -1e-300, std::numeric_limits<double>::infinity()};
    return source_.Pick(kDoubles);
  }

  Value AddScalar(BaseType base) {
    switch (base) {
      case BaseType::kTensor:
        return AddTensor();
      case BaseType::kInt: {
        const int64_t value = Int();
        return {method_.Int(value), SymExpr(value)};
      }
      case BaseType::kFloat: {
        const double value = Double();
        return {method_.Double(value), value};
      }
      case BaseType::kBool: {
        const bool value = source_.Chance(50);
        return {method_.Bool(value), value};
      }
      case BaseType::kScalar:
        return AddScalar(source_.Chance(50) ? BaseType::kInt : BaseType::kFloat);
      case BaseType::kString: {
        constexpr std::string_view kTexts[] = {"none", "floor", "trunc", "mean", "sum",
                                               "tanh", "",      "amax",  "prod", "reflect"};
        std::string text(source_.Pick(kTexts));
        return {method_.String(text), text};
      }
      case BaseType::kScalarType: {
        const DType dtype = source_.Chance(50) ? dtype_ : GenerateDType(source_);
        schema::Value* value = method_.proto().add_values();
        value->set_dtype(static_cast<uint32_t>(dtype));
        return {Last(), dtype};
      }
      case BaseType::kMemoryFormat: {
        const auto format = static_cast<MemoryFormat>(1 + source_.Below(4));
        schema::Value* value = method_.proto().add_values();
        value->set_memory_format(static_cast<uint32_t>(format));
        return {Last(), format};
      }
      case BaseType::kLayout:
      case BaseType::kDevice:
      case BaseType::kGenerator:
      case BaseType::kAny:
        break;
    }
    return {method_.None(), None{}};
  }

  Value AddArgument(const SchemaArgument& argument) {
    const SchemaType& type = argument.type;
    if (source_.Chance(2)) return AddScalar(static_cast<BaseType>(source_.Below(12)));
    if (type.optional && source_.Chance(50)) return {method_.None(), None{}};
    if (!type.list) return AddScalar(type.base);
    const auto most = static_cast<uint64_t>(type.list_size.value_or(4));
    const uint64_t count = source_.Chance(80) && type.list_size.has_value()
                               ? most
                               : source_.Below(std::max<uint64_t>(most, 2) + 2);
    std::vector<uint32_t> elements;
    MetaList metas;
    for (uint64_t i = 0; i < count; ++i) {
      Value element = type.element_optional && source_.Chance(30) ? Value{method_.None(), None{}}
                                                                  : AddScalar(type.base);
      elements.push_back(element.index);
      metas.push_back(std::move(element.meta));
    }
    return {method_.List(elements), std::move(metas)};
  }

  // None if it cannot be inferred.
  std::vector<MetaValue> Infer(const exir::FunctionSchema& schema, std::vector<MetaValue> metas) {
    std::vector<MetaValue> none(schema.returns.size());
    if (!op_.has_meta_kernel()) return none;
    BoundedSymbols symbols;
    exir::MetaContext context(schema, std::move(metas), &symbols);
    if (!op_.def()->meta(context).ok()) return none;
    return context.outputs();
  }

  uint32_t AddOutput(const SchemaType& type, const MetaValue& inferred) {
    const bool wild = source_.Chance(6);
    if (type.list) {
      std::vector<uint32_t> elements;
      const auto* metas = inferred.get_if<MetaList>();
      if (metas != nullptr && !wild) {
        for (const MetaValue& meta : *metas) elements.push_back(AddOutputTensor(meta));
      } else {
        for (uint64_t n = source_.Below(4); n > 0; --n) elements.push_back(AddOutputTensor({}));
      }
      return method_.List(elements);
    }
    switch (type.base) {
      case BaseType::kTensor:
        return AddOutputTensor(wild ? MetaValue() : inferred);
      case BaseType::kInt:
        return method_.Slot(schema::ScalarSlot::INT);
      case BaseType::kBool:
        return method_.Slot(schema::ScalarSlot::BOOL);
      default:
        return method_.Slot(schema::ScalarSlot::DOUBLE);
    }
  }

  uint32_t AddOutputTensor(const MetaValue& inferred) {
    const auto* meta = inferred.get_if<TensorMeta>();
    Sizes sizes;
    DType dtype = dtype_;
    uint32_t dynamic_dims = 0;
    if (meta != nullptr && meta->rank() <= kMaxRank + 1) {
      dtype = meta->dtype;
      for (int d = 0; d < meta->rank(); ++d) {
        const std::optional<int64_t> size = meta->sizes[static_cast<size_t>(d)].AsInt();
        if (!size.has_value()) dynamic_dims |= uint32_t{1} << d;
        sizes.push_back(size.value_or(16));
      }
      // Sizes of empty tensors stay.
      if (NumElements(sizes) != 0) {
        for (int64_t& size : sizes) size = std::clamp<int64_t>(size, 0, kMaxOutputElements);
      }
      const std::optional<int64_t> elements = NumElements(sizes);
      if (!elements.has_value() || *elements > kMaxOutputElements) sizes = sizes_;
    } else {
      sizes = GenerateSizes(source_, kMaxRank, kMaxElements);
      dynamic_dims = source_.Byte();
    }
    dynamic_dims &= (uint32_t{1} << sizes.size()) - 1;
    const DimOrder order = source_.Chance(85) ? ContiguousOrder(sizes.size())
                                              : GenerateDimOrder(source_, sizes.size());
    return method_.ArenaInOrder(dtype, sizes, order, dynamic_dims);
  }

  uint32_t Last() { return static_cast<uint32_t>(method_.proto().values_size() - 1); }

  ByteSource& source_;
  const exir::OpOverload& op_;
  TestProgram program_;
  TestMethod method_;
  DType dtype_;
  Sizes sizes_;
};

}  // namespace

std::vector<const exir::OpOverload*> CallableOperators(const exir::OpRegistry& ops) {
  std::vector<const exir::OpOverload*> callable;
  for (const exir::OpOverload* op : ops.Known()) {
    if (op->schema() != nullptr && !op->has_trait(exir::kComposite)) callable.push_back(op);
  }
  return callable;
}

std::string GenerateOperatorCallFile(ByteSource& source,
                                     absl::Span<const exir::OpOverload* const> operators,
                                     TensorSizes sizes) {
  if (operators.empty()) return "";
  return CallGenerator(source, *operators[source.Below(operators.size())], sizes).Generate();
}

}  // namespace belay::fuzz
