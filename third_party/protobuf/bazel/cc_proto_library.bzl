"""The name under which newer Protocol Buffers export this rule."""

cc_proto_library = native.cc_proto_library
