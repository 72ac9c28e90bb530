"""Locations of the kernel families, which belay_runtime (bazel/runtime.bzl) recompiles for an application."""

def kernel_family(target, source, function):
    """A kernel family.

    Args:
      target: its library, "//package:name" or "//package".
      source: the file of that package with its table.
      function: the function that returns the table.
    Returns:
      a struct of these, with `source` as a label and `file` as a path in the workspace.
    """
    return struct(
        target = target,
        source = target.split(":")[0] + ":" + source,
        file = target.split(":")[0][len("//"):] + "/" + source,
        function = function,
    )

# In the order in which standard_kernels.cc adds them.
HIGHWAY_FAMILIES = [
    kernel_family("//runtime/kernels/conv", "conv_kernels.cc", "ConvHighwayKernels"),
    kernel_family("//runtime/kernels/creation", "creation_kernels.cc", "CreationHighwayKernels"),
    kernel_family("//runtime/kernels/distance", "distance_kernels.cc", "DistanceHighwayKernels"),
    kernel_family("//runtime/kernels/fft", "fft_kernels.cc", "FftHighwayKernels"),
    kernel_family("//runtime/kernels/gemm", "gemm_kernels.cc", "GemmKernels"),
    kernel_family("//runtime/kernels/index", "index_kernels.cc", "IndexHighwayKernels"),
    kernel_family("//runtime/kernels/gemm:integer_gemm", "integer_kernels.cc", "IntegerGemmKernels"),
    kernel_family("//runtime/kernels/gemm:mixed_gemm", "mixed_kernels.cc", "MixedGemmKernels"),
    kernel_family("//runtime/kernels/llama", "cache_attention_kernels.cc", "CacheAttentionHighwayKernels"),
    kernel_family("//runtime/kernels/llama", "hadamard_kernels.cc", "HadamardHighwayKernels"),
    kernel_family("//runtime/kernels/movement", "movement_kernels.cc", "MovementKernels"),
    kernel_family("//runtime/kernels/norm", "norm_kernels.cc", "NormHighwayKernels"),
    kernel_family("//runtime/kernels/pointwise", "pointwise_kernels.cc", "PointwiseKernels"),
    kernel_family("//runtime/kernels/pool", "pool_kernels.cc", "PoolHighwayKernels"),
    kernel_family("//runtime/kernels/quantize", "quantize_kernels.cc", "QuantizeHighwayKernels"),
    kernel_family("//runtime/kernels/quantize", "parameters_kernels.cc", "QuantizationParametersHighwayKernels"),
    kernel_family("//runtime/kernels/quantize:quantized_embedding", "quantized_embedding.cc", "QuantizedEmbeddingHighwayKernels"),
    kernel_family("//runtime/kernels/reduce", "extreme_kernels.cc", "ExtremeHighwayKernels"),
    kernel_family("//runtime/kernels/reduce", "reduce_kernels.cc", "ReduceHighwayKernels"),
    kernel_family("//runtime/kernels/resize", "resize_kernels.cc", "ResizeHighwayKernels"),
    kernel_family("//runtime/kernels/scan", "scan_kernels.cc", "ScanHighwayKernels"),
    kernel_family("//runtime/kernels/select", "select_kernels.cc", "SelectHighwayKernels"),
    kernel_family("//runtime/kernels/select", "scatter_kernels.cc", "ScatterHighwayKernels"),
    kernel_family("//runtime/kernels/softmax", "softmax_kernels.cc", "SoftmaxHighwayKernels"),
    kernel_family("//runtime/kernels/sort", "sort_kernels.cc", "SortHighwayKernels"),
]

def family_list(name, families):
    """Writes <name>.inc with one BELAY_KERNEL_FAMILY(function, "file") per family; the includer defines the macro.

    Args:
      name: name of the list.
      families: families, as above.
    """
    native.genrule(
        name = name,
        outs = [name + ".inc"],
        cmd = "(" + " ".join([
            "echo 'BELAY_KERNEL_FAMILY(%s, \"%s\")';" % (family.function, family.file)
            for family in families
        ]) + ") > $@",
    )

def selected_kernels_header(name, families):
    """Writes <name>.h: AddSelectedKernels() adds the families whose macro is defined.

    Args:
      name: name of the header.
      families: families, as above.
    """
    lines = [
        "// Kernels of chosen families, for applications that link only these: of each folder of",
        "// runtime/kernels whose macro, such as BELAY_KERNELS_GEMM, is defined. The package's components",
        "// kernels-<folder> define them. BELAY_KERNELS_REFERENCE has a kernel for every call of every",
        "// operator; the others are faster, each for some calls.",
        "#ifndef BELAY_RUNTIME_KERNELS_SELECTED_KERNELS_H_",
        "#define BELAY_RUNTIME_KERNELS_SELECTED_KERNELS_H_",
        "",
        "#include \"absl/status/status.h\"",
        "#include \"absl/types/span.h\"",
        "#include \"runtime/kernel_interface/kernel_registry.h\"",
        "#include \"runtime/kernels/reference/reference_kernels.h\"",
        "",
        "namespace belay {",
        "",
    ]
    lines += ["absl::Span<const Kernel> %s();" % family.function for family in families]
    lines += [
        "",
        "// kAlreadyExists if a kernel is registered already.",
        "static inline absl::Status AddSelectedKernels([[maybe_unused]] KernelRegistry& registry) {",
        "#ifdef BELAY_KERNELS_REFERENCE",
        "  if (absl::Status status = AddReferenceKernels(registry); !status.ok()) return status;",
        "#endif",
    ]
    for family in families:
        lines += [
            "#ifdef BELAY_KERNELS_%s" % family.file.split("/")[2].upper(),
            "  if (absl::Status status = registry.Add(%s()); !status.ok()) return status;" % family.function,
            "#endif",
        ]
    lines += ["  return absl::OkStatus();", "}", "", "}  // namespace belay", "", "#endif"]
    native.genrule(
        name = name + "_header",
        outs = [name + ".h"],
        cmd = "cat > $@ <<'END'\n%s\nEND" % "\n".join(lines),
    )
