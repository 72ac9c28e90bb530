// Element types of a payload's values.
#ifndef BELAY_EXECUTORCH_PAYLOAD_IMPORT_VALUE_TYPES_H_
#define BELAY_EXECUTORCH_PAYLOAD_IMPORT_VALUE_TYPES_H_

#include <optional>

#include "backends/xnnpack/graph.h"
#include "runtime/core/dtype.h"

namespace belay::pte {

// Returns the dtype of a value's elements; int8 for 4-bit elements, which are unpacked. nullopt for
// datatypes that are not imported.
inline std::optional<DType> DtypeOf(xnnpack::Datatype datatype) {
  using xnnpack::Datatype;
  switch (datatype) {
    case Datatype::FP32:
      return DType::kFloat32;
    case Datatype::FP16:
      return DType::kFloat16;
    case Datatype::BF16:
      return DType::kBFloat16;
    case Datatype::INT32:
    case Datatype::QINT32:
    case Datatype::QCINT32:
      return DType::kInt32;
    case Datatype::QUINT8:
      return DType::kUint8;
    case Datatype::QINT8:
    case Datatype::QCINT8:
    case Datatype::QCINT4:
    case Datatype::QBINT4:
    case Datatype::QDINT8:
    case Datatype::QPINT8:
      return DType::kInt8;
    default:
      return std::nullopt;
  }
}

// Whether a value has a scale and a zero point per row, chosen at run time.
inline bool IsDynamicallyQuantized(xnnpack::Datatype datatype) {
  return datatype == xnnpack::Datatype::QDINT8 || datatype == xnnpack::Datatype::QPINT8;
}

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_PAYLOAD_IMPORT_VALUE_TYPES_H_
