"""Text models, sessions, batches and chat, without torch and NumPy. text_model_test.py ZOO GGUF"""

import array
import json
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile

import belay

ZOO, GGUF = sys.argv.pop(1), sys.argv.pop(1)
TOKENIZER = {
    "model": {"type": "WordLevel", "vocab": {f"w{t} ": t for t in range(96)}},
    "pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious"},
    "decoder": {"type": "Fuse"},
}
TEMPLATE = "{% for m in messages %}{{ m.content | trim }} {% endfor %}{{ mark }}{{ 'w1 ' if add_generation_prompt }}"
MESSAGES = [{"role": "user", "content": "w5 w90"}]


class TestCase(unittest.TestCase):
    def assert_error(self, status, part, function, *args, **kwargs):
        with self.assertRaises(belay.Error) as caught:
            function(*args, **kwargs)
        self.assertEqual(caught.exception.status, status)
        self.assertIn(part, caught.exception.message)


class TextModelTest(TestCase):
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
        self.assertEqual(generation.tokens, [token.id for token in tokens])
        self.assertEqual(session.tokens, [5, 90, 1] + generation.tokens)
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
        draft = self.model.session(move_position=True)
        speculative.cut(3)
        self.assertEqual(list(speculative.generate(3, speculate=2, draft=draft)), expected)
        self.assertEqual(draft.tokens[:3], [5, 90, 1])
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
        moving = self.model.session(move_position=True)
        moving.append([1])
        self.assert_error("INVALID_ARGUMENT", "another session", moving.generate, speculate=1, draft=moving)
        self.assert_error("UNIMPLEMENTED", "draft model", moving.generate, speculate=1, draft=session)
        self.assert_error("UNIMPLEMENTED", "decode_batch", self.model.batch)
        self.assert_error("DEADLINE_EXCEEDED", "", session.append, [1], timeout=1e-9)
        self.assertEqual(session.tokens, [1])
        plain = belay.TextModel(self.plain)
        self.assertFalse(plain.has_tokenizer or plain.has_chat_template)
        self.assert_error("FAILED_PRECONDITION", "no tokenizer", plain.encode, "a")
        self.assert_error("NOT_FOUND", "none", belay.TextModel, self.plain, prefill="none")
        with_tokenizer = belay.TextModel(self.plain, tokenizer=json.dumps(TOKENIZER).encode())
        self.assertEqual(with_tokenizer.encode("w5 "), [5])


def command(*arguments):
    subprocess.run([sys.executable, "-m", "belay._command", *arguments], check=True, stdout=subprocess.DEVNULL)


def tune(source, target):
    """Copies an archive with the elements of the first query projection and of the head in reverse order."""
    with zipfile.ZipFile(source) as archive, zipfile.ZipFile(target, "w") as copy:
        for info in archive.infolist():
            content = archive.read(info)
            if info.filename.endswith(("/weight_3", "/weight_20")):
                content = array.array("f", reversed(array.array("f", content))).tobytes()
            copy.writestr(info, content)


class AdapterTest(TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.base, cls.tuned = f"{ZOO}/llama_kv_prefill/model.pt2", cls.path("tuned.pt2")
        tune(cls.base, cls.tuned)
        replaceable = ["--replaceable", "*.attention.q.*", "--replaceable", "head.*"]
        command("lower", cls.base, "-o", cls.path("base.belay"), *replaceable)
        command("lower", cls.tuned, "-o", cls.path("tuned.params"), *replaceable, "--stage", "parameters")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    @staticmethod
    def tokens(model):
        session = model.session()
        session.append([5, 90, 1])
        generation = session.generate(8)
        for _ in generation:
            pass
        return generation.tokens

    def test_gives_the_tokens_of_a_model_with_these_parameters(self):
        base = belay.TextModel(self.path("base.belay"), context_length=16)
        adapted = belay.TextModel(self.path("base.belay"), context_length=16, data_files=[self.path("tuned.params")])
        expected = self.tokens(belay.TextModel(belay.lower(self.tuned), context_length=16))
        self.assertEqual(self.tokens(adapted), expected)
        self.assertNotEqual(self.tokens(base), expected)
        session = adapted.session()
        session.append([1])
        self.assert_error("INVALID_ARGUMENT", "another model", base.session().restore, session.save())

    def test_reports_errors(self):
        files = [self.path("tuned.params")]
        program = belay.load(self.path("base.belay"))
        self.assert_error("INVALID_ARGUMENT", "data_files", belay.TextModel, program, data_files=files)
        plain = self.path("plain.belay")
        belay.lower(self.base).save(plain)
        self.assert_error("INVALID_ARGUMENT", "attention", belay.TextModel, plain, data_files=files)


class BatchTest(TestCase):
    PROMPTS = [[36, 24, 67], [5, 90, 1], [11, 12], [3], [36, 24, 68]]

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "llama.bir")
            command("import-gguf", GGUF, "-o", path, "--sessions", "2")
            cls.model = belay.TextModel(belay.lower(path))

    def setUp(self):
        self.batch = self.model.batch()

    def alone(self, prompt, max_tokens, **options):
        session = self.model.session()
        session.append(prompt)
        generation = session.generate(max_tokens, **options)
        for _ in generation:
            pass
        return generation

    def test_steps_evaluate_a_token_of_each_session(self):
        self.assertEqual(len(self.batch), 2)
        generations = []
        for session, prompt in zip(self.batch.sessions, self.PROMPTS):
            session.append(prompt)
            generations.append(session.generate(4, end_tokens=False))
        for _ in range(4):
            for generation in generations:
                next(generation)
            self.batch.step()
        for generation, prompt in zip(generations, self.PROMPTS):
            self.assertEqual(generation.tokens, self.alone(prompt, 4, end_tokens=False).tokens)

    def test_prompts_start_when_a_session_is_free(self):
        expected = [self.alone(prompt, 5, end_tokens=False) for prompt in self.PROMPTS]
        seen, started = [[] for _ in self.PROMPTS], []

        def arriving():
            for prompt in self.PROMPTS:
                started.append(sum(map(len, seen)))
                yield prompt

        generations = self.batch.generate(
            arriving(), 5, end_tokens=False, on_token=lambda i, token: seen[i].append(token.id)
        )
        self.assertEqual([g.tokens for g in generations], [g.tokens for g in expected])
        self.assertEqual([g.text for g in generations], [g.text for g in expected])
        self.assertEqual([g.finish for g in generations], ["max_tokens"] * 5)
        self.assertEqual(seen, [g.tokens for g in generations])
        self.assertEqual(started, [0, 0, 10, 10, 20])
        self.assertEqual([len(session) for session in self.batch.sessions], [0, 0])
        self.assertEqual(self.batch.generate([]), [])

    def test_sequences_end_at_different_times(self):
        stop = self.alone(self.PROMPTS[0], 5, end_tokens=False).tokens[2]
        options = {"stop_tokens": [stop], "end_tokens": False, "temperature": 1.5, "seed": 7}
        generations = self.batch.generate(self.PROMPTS, 12, **options)
        expected = [self.alone(prompt, 12, **options) for prompt in self.PROMPTS]
        self.assertEqual([(g.tokens, g.finish) for g in generations], [(g.tokens, g.finish) for g in expected])

    def test_sessions_with_tokens_keep_them(self):
        first, second = self.batch.sessions
        first.append([7, 8])
        logits = first.logits()
        generations = self.batch.generate(self.PROMPTS[:2], 3, end_tokens=False)
        self.assertEqual([len(g.tokens) for g in generations], [3, 3])
        self.assertEqual((first.tokens, second.tokens, first.logits()), ([7, 8], [], logits))
        second.append([1])
        self.assert_error("FAILED_PRECONDITION", "without tokens", self.batch.generate, [[1]])

    def test_errors_empty_the_sessions(self):
        self.assert_error("OUT_OF_RANGE", "96", self.batch.generate, [[1], [2], [96]], 2)
        self.assert_error("INVALID_ARGUMENT", "top_p", self.batch.generate, [[1]], top_p=2)
        self.assert_error("FAILED_PRECONDITION", "empty", self.batch.generate, [[]])
        self.assertEqual([len(session) for session in self.batch.sessions], [0, 0])
        self.batch.sessions[0].append([1])
        next(self.batch.sessions[0].generate())
        self.assert_error("DEADLINE_EXCEEDED", "", self.batch.step, timeout=1e-9)
        self.assertEqual(len(self.batch.sessions[0]), 2)
        self.batch.step()

    def test_sessions_keep_the_batch_alive(self):
        session = self.model.batch().sessions[1]
        session.append([1, 2])
        fork = session.fork()
        del session
        self.assertEqual(fork.tokens, [1, 2])

    def test_sessions_share_a_lock(self):
        with self.batch.sessions[0]._locked():
            self.assert_error("FAILED_PRECONDITION", "another thread", self.batch.step)
            self.assert_error("FAILED_PRECONDITION", "another thread", self.batch.sessions[1].append, [1])


if __name__ == "__main__":
    unittest.main()
