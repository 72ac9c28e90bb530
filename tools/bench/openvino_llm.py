#!/usr/bin/env python3
"""OpenVINO's side of language_models.py. Needs openvino; `export` also needs optimum-intel and nncf.

  openvino_llm.py export FOLDER OUTPUT            FOLDER: a model of transformers
  openvino_llm.py bench FILE THREADS TESTS GENERATED

`export` writes OUTPUT/int8.xml (weights of 8 bits, a scale per row) and OUTPUT/int4.xml (4 bits in groups of 32; table and head of 8
bits). `bench` prints {"tests": {test: tokens per second}} of one run each after a warm-up: "pp512" evaluates a prompt of 512 tokens,
"tg512" generates GENERATED tokens after 512. Logits are those of the last position, as openvino_genai computes them.
"""

import json
import pathlib
import sys
import tempfile
import time


def last_logits_only(model):
    """Slices the last position before the final matmul."""
    import numpy
    from openvino import opset13

    node = model.output("logits").get_node()
    while node.get_type_name() != "MatMul":
        node = node.input_value(0).get_node()
    one = numpy.array([1])
    last = opset13.slice(node.input_value(0), numpy.array([-1]), numpy.array([2**31 - 1]), one, one)
    node.input(0).replace_source_output(last.output(0))
    model.validate_nodes_and_infer_types()


def export(folder, output):
    import nncf
    import openvino
    from optimum.exporters.openvino import main_export

    modes = {"int8": {"mode": nncf.CompressWeightsMode.INT8_SYM}, "int4": {"mode": nncf.CompressWeightsMode.INT4_SYM, "group_size": 32}}
    with tempfile.TemporaryDirectory() as work:
        main_export(folder, output=work, task="text-generation-with-past")
        for name, options in modes.items():
            model = openvino.Core().read_model(f"{work}/openvino_model.xml")
            last_logits_only(model)
            openvino.save_model(nncf.compress_weights(model, **options), pathlib.Path(output) / f"{name}.xml")


def bench(path, threads, tests, generated):
    import numpy
    import openvino

    model = openvino.Core().compile_model(path, "CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"})
    request = model.create_infer_request()
    words = model.output("logits").get_partial_shape()[2].get_length()
    tokens = numpy.random.default_rng(1).integers(0, words, 8192)

    def evaluate(start, count):
        inputs = {"input_ids": tokens[None, start:start + count], "attention_mask": numpy.ones((1, start + count), numpy.int64)}
        names = {name for port in model.inputs for name in port.get_names()}
        if "position_ids" in names:
            inputs["position_ids"] = numpy.arange(start, start + count)[None]
        if "beam_idx" in names:
            inputs["beam_idx"] = numpy.zeros(1, numpy.int32)
        request.infer(inputs)

    evaluate(0, 16)
    result = {}
    for test in tests:
        size, count = int(test[2:]), int(test[2:])
        request.reset_state()
        start = time.perf_counter()
        evaluate(0, size)
        if test.startswith("tg"):
            count, start = generated, time.perf_counter()
            for i in range(generated):
                evaluate(size + i, 1)
        result[test] = count / (time.perf_counter() - start)
    print(json.dumps({"tests": result}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["export"] and len(sys.argv) == 4:
        export(*sys.argv[2:])
    elif sys.argv[1:2] == ["bench"] and len(sys.argv) == 6:
        bench(sys.argv[2], int(sys.argv[3]), sys.argv[4].split(","), int(sys.argv[5]))
    else:
        sys.exit(__doc__)
