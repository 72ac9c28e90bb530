#!/bin/sh
# Runs a test for arm64 in the emulator. BELAY_ARM64_CPU is a CPU of `qemu-aarch64 -cpu help`; "max" has all features.
exec qemu-aarch64 -L "$BELAY_ARM64_ROOT" -cpu "${BELAY_ARM64_CPU:-max}" "$@"
