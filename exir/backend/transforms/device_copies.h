// Inserts copies at the borders of delegates whose tensors reside on a device.
//
// Source: docs/lowering.md row 10.
#ifndef BELAY_EXIR_BACKEND_TRANSFORMS_DEVICE_COPIES_H_
#define BELAY_EXIR_BACKEND_TRANSFORMS_DEVICE_COPIES_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Copies at the borders of a method that are left out. Sub-graphs keep theirs. ExecuTorch's
// PropagateDeviceConfig.
struct DeviceCopyOptions {
  // An argument of a delegate that is an input of the method (not a constant or buffer) is on the
  // delegate's device: the caller provides it there.
  bool skip_method_inputs = false;
  // A result of a delegate that only the method's outputs use stays on the device.
  bool skip_method_outputs = false;
};

// Applies to delegates whose `target_device` is not the CPU, in all graphs. Each tensor argument is
// copied to the device (`et_copy._h2d_copy`), once for all delegates on that device. Each tensor
// result resides on the device. If it has users other than delegates on the same device, a copy to
// the host follows (`et_copy._d2h_copy`). The types of the values name the device. Sizes and other
// scalars are never on a device.
//   kInvalidArgument  the value of a `target_device` compile spec is not a device; with
//                     `skip_method_inputs`, an input that a delegate on the device and another node
//                     or output use. Names the input and its users
//   kNotFound         the registry has no et_copy operators
Pass InsertDeviceCopies(DeviceCopyOptions options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TRANSFORMS_DEVICE_COPIES_H_
