#include "runtime/core/call_tables.h"

#include <algorithm>

namespace belay {

void CallTables::Add(const void* data, size_t bytes) {
  bytes = std::min(bytes, kMostBytes - bytes_);
  if (bytes == 0 || count_ == kMostRanges) return;
  ranges_[count_++] = {data, bytes};
  bytes_ += bytes;
}

}  // namespace belay
