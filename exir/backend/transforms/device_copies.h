// Inserts copies at the borders of delegates whose tensors reside on a device.
//
// Source: docs/lowering.md row 10.
#ifndef BELAY_EXIR_BACKEND_TRANSFORMS_DEVICE_COPIES_H_
#define BELAY_EXIR_BACKEND_TRANSFORMS_DEVICE_COPIES_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Applies to delegates whose `target_device` is not the CPU, in all graphs. Each tensor argument is
// copied to the device (`et_copy._h2d_copy`), once for all delegates on that device. Each tensor
// result resides on the device. If it has users other than delegates on the same device, a copy to
// the host follows (`et_copy._d2h_copy`). The types of the values name the device. Sizes and other
// scalars are never on a device.
//   kInvalidArgument  the value of a `target_device` compile spec is not a device
//   kNotFound         the registry has no et_copy operators
Pass InsertDeviceCopies();

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TRANSFORMS_DEVICE_COPIES_H_
