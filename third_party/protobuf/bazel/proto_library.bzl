"""The name under which newer Protocol Buffers export this rule."""

proto_library = native.proto_library
