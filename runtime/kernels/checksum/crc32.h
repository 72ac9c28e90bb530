// CRC-32 of ZIP archives (ISO 3309, reflected polynomial 0xEDB88320).
#ifndef BELAY_RUNTIME_KERNELS_CHECKSUM_CRC32_H_
#define BELAY_RUNTIME_KERNELS_CHECKSUM_CRC32_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace belay {

// Returns the checksum of A followed by `bytes`, where `crc` is that of A; 0 is that of no bytes.
// Equals zlib's crc32(). Cost: carry-less multiplications of 64 bytes at a time where the
// instruction set has them, else zlib's tables. Thread-safe.
uint32_t Crc32(uint32_t crc, absl::Span<const std::byte> bytes);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CHECKSUM_CRC32_H_
