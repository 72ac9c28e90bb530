// The contract between compiler and device: the format of the "npu" backend's blobs.
#ifndef NPU_BLOB_H_
#define NPU_BLOB_H_

#include <cstdint>

namespace npu {

inline constexpr uint32_t kMagic = 0x3155504e;  // "NPU1"

// The machine has registers of one f32 tensor each; the first ones hold the call's arguments. Each
// instruction is elementwise and writes the next register. A blob is a header, `instructions`
// instructions, and the registers of the `outputs` outputs. Little-endian, without gaps.
struct BlobHeader {
  uint32_t magic = kMagic;
  uint32_t arguments = 0;
  uint32_t instructions = 0;
  uint32_t outputs = 0;
};
enum class Opcode : uint32_t { kAdd = 1, kMul = 2, kRelu = 3 };
struct Instruction {
  Opcode opcode;
  uint32_t a = 0;  // register
  uint32_t b = 0;  // register; as `a` for kRelu
};

}  // namespace npu

#endif  // NPU_BLOB_H_
