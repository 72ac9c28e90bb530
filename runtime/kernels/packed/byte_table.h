// Functions of one byte, as tables.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_BYTE_TABLE_H_
#define BELAY_RUNTIME_KERNELS_PACKED_BYTE_TABLE_H_

#include <cstddef>
#include <cstdint>

namespace belay {

// out[i] = table[in[i]] for i < n. `table` has 256 elements; `out` may be `in`, and overlaps neither
// otherwise.
void LookupBytes(const uint8_t* table, const uint8_t* in, uint8_t* out, size_t n);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_BYTE_TABLE_H_
