// Protocol Buffers before 22 write to stderr what is wrong with a message: not thousands of times a
// second.
#include "google/protobuf/stubs/common.h"
#if GOOGLE_PROTOBUF_VERSION < 4022000
#include "google/protobuf/stubs/logging.h"

namespace {
const google::protobuf::LogSilencer quiet;
}  // namespace
#endif
