#include "runtime/kernels/operands/scalar_element.h"

#include <complex>

#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/element_run.h"
#include "runtime/kernels/operands/strided_view.h"

namespace belay {

absl::StatusOr<ScalarElement> ScalarElement::Create(const EValue& value, DType dtype) {
  ABSL_ASSIGN_OR_RETURN(const EValue number, ConvertScalar(value, dtype));
  ScalarElement element;
  element.size_ = DTypeSize(dtype);
  if (const bool* v = number.get_if<bool>()) {
    StoreAs<bool>(dtype)(element.bytes_, 0, *v);
  } else if (const int64_t* v = number.get_if<int64_t>()) {
    StoreAs<int64_t>(dtype)(element.bytes_, 0, *v);
  } else if (const double* v = number.get_if<double>()) {
    StoreAs<double>(dtype)(element.bytes_, 0, *v);
  } else if (const std::complex<double>* v = number.get_if<std::complex<double>>()) {
    StoreAs<std::complex<double>>(dtype)(element.bytes_, 0, *v);
  }
  return element;
}

absl::StatusOr<ScalarElement> ScalarElement::Load(const TensorView& tensor, DType dtype) {
  ScalarElement element;
  element.size_ = DTypeSize(dtype);
  ABSL_RETURN_IF_ERROR(CopyElements(TensorView::Contiguous(tensor.dtype, {}, tensor.data),
                                    TensorView::Contiguous(dtype, {}, element.bytes_)));
  return element;
}

void ScalarElement::Fill(const TensorView& tensor) const {
  for (StridedIterator<1> it(tensor.sizes, {tensor.strides}); !it.done(); it.Next()) {
    StoreTo(ElementAddress(tensor, it.offset(0)));
  }
}

}  // namespace belay
