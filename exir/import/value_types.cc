#include "exir/import/value_types.h"

#include <optional>
#include <utility>

#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr size_t kMaxDeviceBytes = 64;

// Indexed by the serialized number.
constexpr std::string_view kLayoutNames[] = {"unknown",    "sparse_coo", "sparse_csr", "sparse_csc",
                                             "sparse_bsr", "sparse_bsc", "_mkldnn",    "strided"};

// Checks the sizes, and that the product of the static ones is representable.
absl::Status CheckSizes(const std::vector<SymInt>& sizes, JsonRef ref) {
  int64_t count = 1;
  for (const SymInt& size : sizes) {
    const int64_t number = size.AsInt().value_or(1);
    if (number < 0) return ref.Error(absl::StrCat("the size ", number, " is negative"));
    const std::optional<int64_t> product = CheckedMul<int64_t>(count, number == 0 ? 1 : number);
    if (!product.has_value()) return ref.Error("the number of elements exceeds int64");
    count = *product;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SymExpr> ValueTypeReader::ParseExpression(std::string_view text, JsonRef where) {
  if (const auto it = expressions_.find(text); it != expressions_.end()) return it->second;
  absl::StatusOr<SymExpr> parsed = ParseSymExpr(text);
  if (!parsed.ok()) {
    return where.Error(absl::StrCat("expression: ", FromAbsl(parsed.status().message())));
  }
  expressions_.emplace(text, *parsed);
  return parsed;
}

absl::StatusOr<SymExpr> ValueTypeReader::ReadExpression(JsonRef ref) {
  static constexpr JsonField kFields[] = {{"expr_str"}, {"hint", false}};
  JsonStruct<2> s;
  ABSL_RETURN_IF_ERROR(s.Read(ref, kFields));
  ABSL_ASSIGN_OR_RETURN(const std::string_view text, s[0].String());
  ABSL_ASSIGN_OR_RETURN(SymExpr expression, ParseExpression(text, s[0]));
  if (expression.kind() == SymExpr::Kind::kSymbol && s.has(1)) {
    JsonUnion hint;
    ABSL_RETURN_IF_ERROR(hint.Read(s[1]));
    if (hint.tag() == "as_int") {
      // Hints are only informational, and torch writes products of sizes beyond int64.
      const absl::StatusOr<int64_t> value = hint.value().Int();
      if (value.ok()) hints_.try_emplace(std::string(expression.name()), *value);
    }
  }
  return expression;
}

absl::StatusOr<SymExpr> ValueTypeReader::ReadSymInt(JsonRef ref) {
  JsonUnion u;
  ABSL_RETURN_IF_ERROR(u.Read(ref));
  if (u.tag() == "as_int") {
    ABSL_ASSIGN_OR_RETURN(const int64_t value, u.value().Int());
    return SymExpr(value);
  }
  if (u.tag() == "as_expr") return ReadExpression(u.value());
  return u.UnknownTag("as_int or as_expr");
}

absl::StatusOr<SymExpr> ValueTypeReader::ReadSymFloat(JsonRef ref) {
  JsonUnion u;
  ABSL_RETURN_IF_ERROR(u.Read(ref));
  if (u.tag() == "as_float") {
    ABSL_ASSIGN_OR_RETURN(const double value, u.value().Double());
    return SymExpr::Float(value);
  }
  if (u.tag() == "as_expr") return ReadExpression(u.value());
  return u.UnknownTag("as_float or as_expr");
}

absl::StatusOr<SymExpr> ValueTypeReader::ReadSymBool(JsonRef ref) {
  JsonUnion u;
  ABSL_RETURN_IF_ERROR(u.Read(ref));
  if (u.tag() == "as_bool") {
    ABSL_ASSIGN_OR_RETURN(const bool value, u.value().Bool());
    return SymExpr::Bool(value);
  }
  if (u.tag() == "as_expr") return ReadExpression(u.value());
  return u.UnknownTag("as_bool or as_expr");
}

absl::StatusOr<TensorMetaReading> ValueTypeReader::ReadTensorMeta(JsonRef ref) {
  static constexpr JsonField kFields[] = {{"dtype"},         {"sizes"},   {"requires_grad", false},
                                          {"device", false}, {"strides"}, {"storage_offset", false},
                                          {"layout", false}};
  enum { kDType, kSizes, kRequiresGrad, kDevice, kStrides, kOffset, kLayout };
  JsonStruct<7> s;
  ABSL_RETURN_IF_ERROR(s.Read(ref, kFields));

  TensorMetaReading reading;
  TensorMeta& meta = reading.meta;
  ABSL_ASSIGN_OR_RETURN(const int64_t number, s[kDType].Int());
  if (const std::optional<DType> dtype = DTypeFromPt2(Pt2ScalarType{number}); dtype.has_value()) {
    meta.dtype = *dtype;
  } else {
    reading.problem = absl::StrCat("a tensor of dtype number ", number);
  }
  for (auto [field, target] :
       {std::pair(kSizes, &meta.sizes), std::pair(kStrides, &meta.strides)}) {
    ABSL_RETURN_IF_ERROR(ForEachElement(s[field], [&](JsonRef item) -> absl::Status {
      ABSL_ASSIGN_OR_RETURN(SymExpr expression, ReadSymInt(item));
      target->push_back(std::move(expression));
      return absl::OkStatus();
    }));
  }
  if (meta.sizes.size() != meta.strides.size()) {
    return ref.Error(
        absl::StrCat(meta.sizes.size(), " sizes, but ", meta.strides.size(), " strides"));
  }
  ABSL_RETURN_IF_ERROR(CheckSizes(meta.sizes, s[kSizes]));
  if (meta.sizes.size() > kMaxRank) {
    reading.problem = absl::StrCat("a tensor of ", meta.sizes.size(), " dimensions; at most ",
                                   kMaxRank, " are supported");
  }
  if (s.has(kRequiresGrad)) {
    ABSL_ASSIGN_OR_RETURN(meta.requires_grad, s[kRequiresGrad].Bool());
  }
  if (s.has(kDevice)) {
    ABSL_ASSIGN_OR_RETURN(meta.device, ReadDevice(s[kDevice]));
  }
  if (s.has(kOffset)) {
    ABSL_ASSIGN_OR_RETURN(meta.storage_offset, ReadSymInt(s[kOffset]));
    if (meta.storage_offset.AsInt().value_or(0) < 0)
      return s[kOffset].Error("the storage offset is negative");
  }
  if (s.has(kLayout)) {
    ABSL_ASSIGN_OR_RETURN(meta.layout, ReadLayout(s[kLayout]));
    if (meta.layout != Layout::kStrided && reading.problem.empty()) {
      reading.only_use_matters = true;
      reading.problem =
          absl::StrCat("a tensor of layout ", kLayoutNames[static_cast<size_t>(meta.layout)]);
    }
  }
  return reading;
}

absl::StatusOr<Device> ReadDevice(JsonRef ref) {
  static constexpr JsonField kFields[] = {{"type"}, {"index", false}};
  JsonStruct<2> s;
  ABSL_RETURN_IF_ERROR(s.Read(ref, kFields));
  Device device;
  ABSL_ASSIGN_OR_RETURN(const std::string_view type, s[0].String());
  bool plain = !type.empty() && type.size() <= kMaxDeviceBytes;
  for (char c : type)
    plain = plain && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_');
  if (!plain) return s[0].Error("not the name of a device type");
  device.type = std::string(type);
  if (s.has(1)) {
    ABSL_ASSIGN_OR_RETURN(device.index, s[1].Int());
  }
  return device;
}

absl::StatusOr<Layout> ReadLayout(JsonRef ref) {
  ABSL_ASSIGN_OR_RETURN(const int64_t number, ref.Int());
  if (number < 0 || number > static_cast<int64_t>(Layout::kStrided)) {
    return ref.Error(absl::StrCat("unknown layout number ", number));
  }
  return static_cast<Layout>(number);
}

absl::StatusOr<MemoryFormat> ReadMemoryFormat(JsonRef ref) {
  ABSL_ASSIGN_OR_RETURN(const int64_t number, ref.Int());
  if (number < 1 || number > static_cast<int64_t>(MemoryFormat::kPreserve)) {
    return ref.Error(absl::StrCat("unknown memory format number ", number));
  }
  return static_cast<MemoryFormat>(number);
}

}  // namespace belay::exir
