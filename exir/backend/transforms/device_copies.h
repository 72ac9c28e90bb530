// Copies at the borders of delegates whose tensors lie on a device.
//
// Source: docs/lowering.md row 10.
#ifndef BELAY_EXIR_BACKEND_TRANSFORMS_DEVICE_COPIES_H_
#define BELAY_EXIR_BACKEND_TRANSFORMS_DEVICE_COPIES_H_

#include "exir/pass/pass.h"

namespace belay::exir {

// In all graphs: each tensor that a delegate with a `target_device` other than the CPU takes becomes a
// copy on the device (`et_copy._h2d_copy`), made once for all delegates there, and each that it gives
// lies there, with a copy for the host behind it (`et_copy._d2h_copy`) where something else than a
// delegate of the device uses it. The types of the values say where they lie. Sizes and other numbers
// are never on a device.
//   kInvalidArgument  a compile spec names no device
//   kNotFound         the registry has no et_copy operators
Pass InsertDeviceCopies();

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TRANSFORMS_DEVICE_COPIES_H_
