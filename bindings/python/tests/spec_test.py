"""Specs of arguments and results, malformed ones included: they are untrusted. spec_test.py"""

import json
import unittest

from belay._spec import ArgumentReader, result_builder

LEAF = {"type": None, "context": None, "children_spec": []}


def node(kind, children, context="null"):
    return {"type": f"builtins.{kind}", "context": context, "children_spec": children}


def spec(root):
    return json.dumps([1, root])


class SpecTest(unittest.TestCase):
    def test_results_have_the_models_structure(self):
        root = node("dict", [LEAF, node("list", [LEAF])], '["a", "b"]')
        self.assertEqual(result_builder(spec(root), 2)([1, 2]), {"a": 1, "b": [2]})
        self.assertEqual(result_builder(spec(node("tuple", [LEAF, LEAF])), 2)([1, 2]), (1, 2))
        self.assertEqual(result_builder(spec(LEAF), 1)([1]), 1)

    def test_unusable_specs_give_a_tuple(self):
        deep = LEAF
        for _ in range(100):
            deep = node("tuple", [deep])
        wrong = ["", "[", "[1]", "{}", "3", spec(LEAF), spec(node("set", [LEAF, LEAF])), spec(deep), spec(3),
                 spec(node("dict", [LEAF, LEAF], '["a"]')), spec(node("dict", [LEAF, LEAF], "3")),
                 "[" * 100000, spec({"type": None, "children_spec": 3})]
        for text in wrong:
            self.assertEqual(result_builder(text, 2)([1, 2]), (1, 2), text[:40])

    def test_arguments_are_flattened(self):
        positional = node("tuple", [LEAF, node("tuple", [LEAF, LEAF])])
        read = ArgumentReader(spec(node("tuple", [positional, node("dict", [LEAF], '["k"]')])), 4)
        self.assertFalse(read.is_flat)
        self.assertEqual(read((1, (2, 3)), {"k": 4}), [1, 2, 3, 4])
        self.assertEqual(read((1, 2, 3, 4), {}), [1, 2, 3, 4])
        for args, kwargs, part in [
            ((1,), {}, "expected 2 arguments and the keywords ['k'], got 1 and []"),
            ((1, (2,)), {"k": 4}, "arguments[1]: expected 2 elements, got 1"),
            ((1, 2), {"k": 4}, "arguments[1]: expected 2 elements, got int"),
        ]:
            with self.assertRaises(ValueError) as caught:
                read(args, kwargs)
            self.assertIn(part, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
