// Lowers operations between dequantize_per_tensor and quantize_per_tensor to int8.
#ifndef BELAY_BACKENDS_XNNPACK_AOT_INT8_FORM_H_
#define BELAY_BACKENDS_XNNPACK_AOT_INT8_FORM_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "backends/xnnpack/aot/operation.h"
#include "exir/ir/exported_program.h"

namespace belay::xnnpack {

// Quantization parameters of int8 values: real = scale * (q - zero_point).
struct Quantization {
  float scale = 1;
  int32_t zero_point = 0;
  bool operator==(const Quantization&) const = default;
};

// Parameters of an int8 tensor, from the node that quantizes it, else from a node that dequantizes
// it. nullopt for any other value, and for parameters that payloads do not support.
std::optional<Quantization> QuantizationOf(const exir::ExportedProgram& program,
                                           exir::ValueId value);

// Precondition: `node` is quantize_per_tensor or dequantize_per_tensor. kUnimplemented, with the
// reason, if payloads cannot represent it as a Convert.
absl::Status CheckConversion(const exir::ExportedProgram& program, exir::NodeId node);

// Converts a float32 operation to int8 (Operation::int8) if all of these are true, else leaves it
// unchanged:
// - all of its operands are dequantized, including the weight
// - the only user of its result, optionally after relu, clamp or hardtanh, quantizes it
// - XNNPACK supports the operation with these scales
void ComputeOnInt8(const exir::ExportedProgram& program, exir::NodeId node, Target target,
                   Operation& operation);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_AOT_INT8_FORM_H_
