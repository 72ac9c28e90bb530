#include "exir/emit/testing/print_method.h"

#include "absl/strings/str_cat.h"
#include "runtime/core/dtype.h"

namespace belay::exir {

std::string PrintValue(const schema::Method& method, uint32_t v) {
  const schema::Value& value = method.values(static_cast<int>(v));
  switch (value.kind_case()) {
    case schema::Value::kTensor:
      switch (value.tensor().location_case()) {
        case schema::Tensor::kExternal:
          return absl::StrCat("x", v);
        case schema::Tensor::kArenaOffset:
          return absl::StrCat("a", v);
        case schema::Tensor::kStateOffset:
          return absl::StrCat("s", v);
        case schema::Tensor::kConstant:
          return absl::StrCat("c", v);
        default:
          return "?";
      }
    case schema::Value::kScalar:
      return absl::StrCat(value.scalar().kind() == schema::ScalarSlot::INT      ? "int"
                          : value.scalar().kind() == schema::ScalarSlot::DOUBLE ? "double"
                                                                                : "bool",
                          v);
    case schema::Value::kInt:
      return absl::StrCat(value.int_());
    case schema::Value::kDouble:
      return absl::StrCat(value.double_(), "d");
    case schema::Value::kBool:
      return value.bool_() ? "true" : "false";
    case schema::Value::kString:
      return absl::StrCat("'", value.string(), "'");
    case schema::Value::kNone:
      return "none";
    case schema::Value::kDtype:
      return absl::StrCat("dtype:", std::string(DTypeShortName(static_cast<DType>(value.dtype()))));
    case schema::Value::kComplex:
      return absl::StrCat(value.complex().real(), "+", value.complex().imag(), "j");
    case schema::Value::kMemoryFormat:
      return absl::StrCat("format", value.memory_format());
    case schema::Value::kList: {
      std::string text = "[";
      for (const uint32_t element : value.list().elements()) {
        absl::StrAppend(&text, text.size() > 1 ? "," : "", PrintValue(method, element));
      }
      return text + "]";
    }
    default:
      return "?";
  }
}

std::vector<std::string> PrintLines(const schema::Method& method) {
  std::vector<std::string> lines;
  const auto forms = [&](const auto& values) {
    std::string text;
    for (const uint32_t v : values) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", PrintValue(method, v));
    }
    return text;
  };
  for (const schema::Instruction& i : method.instructions()) {
    if (i.has_kernel()) {
      lines.push_back(absl::StrCat(forms(i.kernel().outputs()), " = ",
                                   method.operators(static_cast<int>(i.kernel().operator_())), "(",
                                   forms(i.kernel().arguments()), ")"));
    } else if (i.has_delegate()) {
      lines.push_back(absl::StrCat(forms(i.delegate().outputs()), " = delegate ",
                                   i.delegate().delegate(), "(", forms(i.delegate().arguments()),
                                   ")"));
    } else if (i.has_move()) {
      lines.push_back(absl::StrCat(PrintValue(method, i.move().to()), " = ",
                                   PrintValue(method, i.move().from())));
    } else if (i.has_jump()) {
      lines.push_back(absl::StrCat("jump ", i.jump().target()));
    } else {
      lines.push_back(absl::StrCat("unless ", PrintValue(method, i.jump_if_false().condition()),
                                   " jump ", i.jump_if_false().target()));
    }
  }
  lines.push_back(absl::StrCat("return ", forms(method.outputs())));
  return lines;
}

}  // namespace belay::exir
