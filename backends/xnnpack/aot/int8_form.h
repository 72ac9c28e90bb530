// Static quantization: operations between dequantize_per_tensor and quantize_per_tensor.
#ifndef BELAY_BACKENDS_XNNPACK_AOT_INT8_FORM_H_
#define BELAY_BACKENDS_XNNPACK_AOT_INT8_FORM_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "backends/xnnpack/aot/operation.h"
#include "exir/ir/exported_program.h"

namespace belay::xnnpack {

// What a number of int8 means: scale * (q - zero_point).
struct Quantization {
  float scale = 1;
  int32_t zero_point = 0;
  bool operator==(const Quantization&) const = default;
};

// Of a tensor of int8: as the node that quantizes it says, else as one that dequantizes it does.
// nullopt for any other, and for numbers that payloads don't have.
std::optional<Quantization> QuantizationOf(const exir::ExportedProgram& program,
                                           exir::ValueId value);

// Precondition: quantize_per_tensor or dequantize_per_tensor. kUnimplemented: it is no Convert, and
// why.
absl::Status CheckConversion(const exir::ExportedProgram& program, exir::NodeId node);

// Makes of an operation on float32 one on int8 (Operation::int8), if all of its operands are
// dequantized, its weight too, and its result, perhaps after relu, clamp or hardtanh, is quantized
// and nothing else; and if XNNPACK computes that with these scales. Else the operation stays.
void ComputeOnInt8(const exir::ExportedProgram& program, exir::NodeId node, Target target,
                   Operation& operation);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_AOT_INT8_FORM_H_
