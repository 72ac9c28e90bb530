// Silences protobuf's logging: versions before 22 print parse errors to stderr, thousands per
// second.
#include "google/protobuf/stubs/common.h"
#if GOOGLE_PROTOBUF_VERSION < 4022000
#include "google/protobuf/stubs/logging.h"

namespace {
const google::protobuf::LogSilencer quiet;
}  // namespace
#endif
