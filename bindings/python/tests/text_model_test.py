"""Text models, sessions, generation and chat, without torch and NumPy. text_model_test.py ZOO"""

import json
import os
import sys
import tempfile
import unittest

import belay

ZOO = sys.argv.pop(1)
TOKENIZER = {
    "model": {"type": "WordLevel", "vocab": {f"w{t} ": t for t in range(96)}},
    "pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious"},
    "decoder": {"type": "Fuse"},
}
TEMPLATE = "{% for m in messages %}{{ m.content | trim }} {% endfor %}{{ mark }}{{ 'w1 ' if add_generation_prompt }}"
MESSAGES = [{"role": "user", "content": "w5 w90"}]


class TextModelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        paths = [os.path.join(cls.folder.name, name) for name in ("tokenizer.json", "tokenizer_config.json")]
        for path, content in zip(paths, (TOKENIZER, {"chat_template": TEMPLATE})):
            with open(path, "w", encoding="utf-8") as file:
                json.dump(content, file)
        methods = {"prefill": f"{ZOO}/llama_kv_prefill/model.pt2", "decode": f"{ZOO}/llama_kv_decode/model.pt2"}
        cls.plain = belay.lower(methods)
        cls.program = belay.lower(methods, tokenizer=paths[0], chat_template=paths[1])
        cls.model = belay.TextModel(cls.program, context_length=16)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def assert_error(self, status, part, function, *args, **kwargs):
        with self.assertRaises(belay.Error) as caught:
            function(*args, **kwargs)
        self.assertEqual(caught.exception.status, status)
        self.assertIn(part, caught.exception.message)

    def test_encodes_decodes_and_renders(self):
        self.assertEqual(self.model.encode("w5 w90 "), [5, 90])
        self.assertEqual(self.model.decode([5, 90]), "w5 w90 ")
        self.assertEqual(self.model.render(MESSAGES, mark="w7 "), "w5 w90 w7 w1 ")
        self.assertEqual(self.model.render(MESSAGES, add_generation_prompt=False), "w5 w90 ")
        self.assertEqual((self.model.vocabulary, self.model.context_length), (96, 16))
        self.assertEqual(self.model.end_tokens, [])

    def test_generates_token_by_token(self):
        session = self.model.session()
        session.append("w5 w90 w1 ")
        logits = session.logits()
        generation = session.generate(4)
        tokens = list(generation)
        self.assertEqual(tokens[0].id, logits.index(max(logits)))
        self.assertEqual(generation.text, "".join(f"w{token.id} " for token in tokens))
        self.assertEqual(generation.finish, "max_tokens")
        self.assertEqual(session.tokens, [5, 90, 1] + [token.id for token in tokens])
        session.cut(3)
        drawn = [token.id for token in session.generate(4, temperature=1, seed=3)]
        session.cut(3)
        self.assertEqual([token.id for token in session.generate(4, temperature=1, seed=3)], drawn)
        session.cut(3)
        stopped = session.generate(4, stop_tokens=[tokens[1].id])
        self.assertEqual([token.id for token in stopped], [tokens[0].id])
        self.assertEqual(stopped.finish, "stop_token")
        session.cut(3)
        stopped = session.generate(4, stop=tokens[1].text)
        self.assertEqual(len(list(stopped)), 2)
        self.assertEqual((stopped.finish, stopped.text), ("stop_string", tokens[0].text))

    def test_forks_saves_and_restores(self):
        session = self.model.session(move_position=True)
        session.append([5, 90, 1])
        fork, saved = session.fork(), session.save()
        expected = list(session.generate(3))
        self.assertEqual(list(fork.generate(3)), expected)
        # The prefill method of the model returns logits of all tokens.
        speculative = self.model.session(move_position=True)
        speculative.append([5, 90, 1])
        self.assertEqual(list(speculative.generate(3, speculate=2)), expected)
        other = self.model.session()
        other.restore(saved)
        self.assertEqual(list(other.generate(3)), expected)

    def test_chats(self):
        session = self.model.session()
        chat = session.chat(max_tokens=2)
        reply = chat.send("w5 w90")
        self.assertEqual(session.tokens[:3], [5, 90, 1])
        self.assertEqual(reply, self.model.decode(session.tokens[3:]))
        self.assertEqual([message["role"] for message in chat.messages], ["user", "assistant"])
        chat.send("w6")
        self.assertEqual(session.tokens[:2] + session.tokens[4:6], [5, 90, 6, 1])

    def test_reports_errors(self):
        session = self.model.session()
        self.assert_error("FAILED_PRECONDITION", "empty", session.generate)
        self.assert_error("OUT_OF_RANGE", "[0, 96)", session.append, [96])
        self.assert_error("OUT_OF_RANGE", "32 bits", session.append, [2**40])
        self.assert_error("OUT_OF_RANGE", "position", session.cut, -1)
        self.assert_error("INVALID_ARGUMENT", "saved session", session.restore, b"x")
        self.assert_error("INVALID_ARGUMENT", "array of objects", self.model.render, [1])
        session.append([1])
        self.assert_error("INVALID_ARGUMENT", "temperature", session.generate, temperature=-1)
        self.assert_error("INVALID_ARGUMENT", "max_tokens", session.generate, 0)
        self.assert_error("UNIMPLEMENTED", "use_positional_cache", session.generate, speculate=1)
        self.assert_error("UNIMPLEMENTED", "use_positional_cache", session.generate, speculate=1)
        self.assert_error("DEADLINE_EXCEEDED", "", session.append, [1], timeout=1e-9)
        self.assertEqual(session.tokens, [1])
        plain = belay.TextModel(self.plain)
        self.assertFalse(plain.has_tokenizer or plain.has_chat_template)
        self.assert_error("FAILED_PRECONDITION", "no tokenizer", plain.encode, "a")
        self.assert_error("NOT_FOUND", "none", belay.TextModel, self.plain, prefill="none")
        with_tokenizer = belay.TextModel(self.plain, tokenizer=json.dumps(TOKENIZER).encode())
        self.assertEqual(with_tokenizer.encode("w5 "), [5])


if __name__ == "__main__":
    unittest.main()
