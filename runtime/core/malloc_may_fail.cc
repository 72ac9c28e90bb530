// Linked into tests of allocation failures. Without it, asan ends the process where malloc would
// return null.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
