"""Language models: tokenizer, chat, sessions, batches and generation."""

from __future__ import annotations

import array
import ctypes
import json
import os
import threading
from contextlib import contextmanager, nullcontext
from ctypes import c_float, c_int32, c_size_t, c_void_p
from itertools import islice
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ._errors import Error
from ._library import (
    ChatOptions,
    ExecuteOptions,
    GeneratedToken,
    GenerationOptions,
    Handle,
    POINTER,
    SessionOptions,
    TextModelOptions,
    byref,
    call,
    lib,
    nanoseconds,
    require_compiler,
    strings,
    take_bytes,
)
from ._program import Program, load

_FINISH = {1: "max_tokens", 2: "stop_token", 3: "stop_string", 4: "context_full"}

Messages = Sequence[Mapping[str, Any]]


class Token(NamedTuple):
    """A generated token: its id, and the text that it completes."""

    id: int
    text: str


def _ids(content: bytes) -> List[int]:
    return array.array("i", content).tolist()


def _array(tokens: Sequence[int]) -> Any:
    tokens = list(tokens)
    for token in tokens:
        if not -(2**31) <= token < 2**31:
            raise Error("OUT_OF_RANGE", f"expected tokens of 32 bits, got {token}")
    return (c_int32 * len(tokens))(*tokens)


def _chat(
    tools: Optional[Sequence[Mapping[str, Any]]], variables: Mapping[str, Any], add_generation_prompt: bool = True
) -> ChatOptions:
    return ChatOptions(
        no_generation_prompt=int(not add_generation_prompt),
        tools=None if tools is None else json.dumps(tools).encode(),
        variables=json.dumps(variables).encode() if variables else None,
    )


@contextmanager
def _owned(lock: threading.Lock) -> Iterator[None]:
    if not lock.acquire(blocking=False):
        raise Error("FAILED_PRECONDITION", "another thread uses the session, or its batch: fork the session")
    try:
        yield
    finally:
        lock.release()


def _execute(timeout: Optional[float]) -> ExecuteOptions:
    return ExecuteOptions(timeout_ns=nanoseconds(timeout))


class TextModel:
    """A program of a language model, with its tokenizer and chat template.

    docs/language-models.md describes such programs. A model may be used by several threads.
    """

    def __init__(
        self,
        program: Union[Program, str, os.PathLike, bytes],
        *,
        prefill: Optional[str] = None,
        decode: Optional[str] = None,
        context_length: int = 0,
        threads: int = 1,
        tokenizer: Union[str, os.PathLike, bytes, None] = None,
        chat_template: Union[str, os.PathLike, bytes, None] = None,
        data_files: Sequence[str] = (),
    ):
        """Opens a model.

        Args:
          program: a program, or the path or bytes of a program file.
          prefill, decode: names of the methods; None: "prefill" and "decode", or the only method.
          context_length: positions of the cache; 0: that of the program, if known.
          threads: number of threads that work on each call.
          tokenizer: path or content of a tokenizer.json; None: that of the program, if it has one.
          chat_template: path or content of a tokenizer_config.json; None: that of the program, if it has one.
          data_files: as in `load`: parameter files, such as an adapter (LoRA), of a program that is given by its path.
            Models of one file share its other weights.
        Raises:
          Error: NOT_FOUND: unknown methods; INVALID_ARGUMENT: signatures that differ from those of language models, or
            an invalid tokenizer or template; UNIMPLEMENTED: a tokenizer or template that is not supported, or only the
            runtime is installed; DATA_LOSS: a damaged tokenizer or template in the program.
          OSError: a file can't be read.
        """
        require_compiler("TextModel")
        if not isinstance(program, Program):
            program = load(program, threads=threads, data_files=list(data_files))
        elif data_files:
            raise Error("INVALID_ARGUMENT", "data_files: expected the path of a program file, got a program")
        tokenizer, chat_template = self._content(tokenizer), self._content(chat_template)
        options = TextModelOptions(
            prefill=None if prefill is None else prefill.encode(),
            decode=None if decode is None else decode.encode(),
            context_length=context_length,
            num_threads=threads,
            tokenizer=tokenizer,
            tokenizer_size=len(tokenizer or b""),
            chat_template=chat_template,
            chat_template_size=len(chat_template or b""),
        )
        handle = c_void_p()
        call("belay_text_model_create", program._handle.value, byref(options), byref(handle))
        self._handle = Handle(handle, lib.belay_text_model_free, program._handle)

    @staticmethod
    def _content(source: Union[str, os.PathLike, bytes, None]) -> Optional[bytes]:
        if source is None or isinstance(source, bytes):
            return source
        with open(source, "rb") as file:
            return file.read()

    @property
    def vocabulary(self) -> int:
        """Number of logits."""
        return lib.belay_text_model_vocabulary(self._handle.value)

    @property
    def context_length(self) -> int:
        """Maximum number of tokens of a session; 0 if unknown."""
        return lib.belay_text_model_context_length(self._handle.value)

    @property
    def has_tokenizer(self) -> bool:
        return bool(lib.belay_text_model_has_tokenizer(self._handle.value))

    @property
    def has_chat_template(self) -> bool:
        return bool(lib.belay_text_model_has_chat_template(self._handle.value))

    @property
    def end_tokens(self) -> List[int]:
        """The tokens that end a sequence or a turn, at which generation stops."""
        return _ids(self._bytes("belay_text_model_end_tokens"))

    def _bytes(self, function: str, *arguments: Any) -> bytes:
        handle = c_void_p()
        call(function, self._handle.value, *arguments, byref(handle))
        return take_bytes(handle)

    def encode(self, text: str, special_tokens: bool = True) -> List[int]:
        """Returns the tokens of a string, with special tokens such as beginning-of-sequence.

        Raises:
          Error: FAILED_PRECONDITION: no tokenizer.
        """
        content = text.encode()
        return _ids(self._bytes("belay_text_model_encode", content, len(content), int(special_tokens)))

    def decode(self, tokens: Sequence[int], special_tokens: bool = False) -> str:
        """Returns the text of tokens, without special tokens. Raises Error: FAILED_PRECONDITION: no tokenizer."""
        ids = _array(tokens)
        return self._bytes("belay_text_model_decode", ids, len(ids), int(special_tokens)).decode()

    def render(
        self,
        messages: Messages,
        *,
        tools: Optional[Sequence[Mapping[str, Any]]] = None,
        add_generation_prompt: bool = True,
        **variables: Any,
    ) -> str:
        """Returns the text of messages, such as {"role": "user", "content": "Hi"}, by the model's chat template.

        Args:
          messages: dicts of JSON values.
          tools: schemas of functions that the model may call.
          add_generation_prompt: whether the text ends where the reply of the model begins.
          variables: variables of the template, such as enable_thinking=False.
        Raises:
          Error: FAILED_PRECONDITION: no chat template; INVALID_ARGUMENT: an error that the template raises;
            UNIMPLEMENTED: a part of the template that is not supported; RESOURCE_EXHAUSTED: too many steps.
        """
        options = _chat(tools, variables, add_generation_prompt)
        return self._bytes("belay_text_model_render", json.dumps(messages).encode(), byref(options)).decode()

    def session(self, move_position: bool = False) -> "Session":
        """Returns a session without tokens.

        Args:
          move_position: whether a cut only moves the position, in constant time. Correct if the cache is written by
            position. Otherwise the next call evaluates the remaining tokens again, unless the program states by its
            constant method `use_positional_cache` that the cache is written by position.
        """
        options, handle = SessionOptions(move_position=int(move_position)), c_void_p()
        call("belay_session_create", self._handle.value, byref(options), byref(handle))
        return Session(self, Handle(handle, lib.belay_session_free, self._handle))

    def batch(self) -> "Batch":
        """Returns sessions that advance together.

        Raises:
          Error: UNIMPLEMENTED: the program has no method `decode_batch` (`belay import-gguf --sessions N`);
            INVALID_ARGUMENT: the context length is unknown.
        """
        handle = c_void_p()
        call("belay_batch_create", self._handle.value, byref(handle))
        return Batch(self, handle)

    def __repr__(self) -> str:
        return f"<belay.TextModel: {self.vocabulary} tokens, context length {self.context_length or 'unknown'}>"


class Session:
    """A sequence of tokens and the model's cache after them. Create it with TextModel.session.

    Used by one thread at a time, in a batch together with the others; a second caller gets FAILED_PRECONDITION. The
    interpreter's lock is released during evaluation.
    """

    def __init__(self, model: TextModel, handle: Handle, lock: Optional[threading.Lock] = None):
        self._model = model
        self._handle = handle
        self._lock = lock or threading.Lock()

    def _locked(self) -> Any:
        return _owned(self._lock)

    def _call(self, function: str, *arguments: Any) -> None:
        with self._locked():
            call(function, self._handle.value, *arguments)

    @property
    def tokens(self) -> List[int]:
        """All tokens."""
        count = lib.belay_session_num_tokens(self._handle.value)
        return lib.belay_session_tokens(self._handle.value)[:count] if count else []

    def __len__(self) -> int:
        return lib.belay_session_num_tokens(self._handle.value)

    def append(self, tokens: Union[str, Sequence[int]], timeout: Optional[float] = None) -> None:
        """Appends tokens, or the tokens of a string, and evaluates them.

        A string at the beginning of a session gets special tokens. After an error, the session is unchanged.

        Raises:
          Error: OUT_OF_RANGE: a token outside the vocabulary, more tokens than the context length; DEADLINE_EXCEEDED:
            after `timeout` seconds; FAILED_PRECONDITION: a string without a tokenizer.
        """
        if isinstance(tokens, str):
            tokens = self._model.encode(tokens, special_tokens=len(self) == 0)
        ids, options = _array(tokens), _execute(timeout)
        self._call("belay_session_append", ids, len(ids), byref(options))

    def append_messages(
        self,
        messages: Messages,
        *,
        tools: Optional[Sequence[Mapping[str, Any]]] = None,
        timeout: Optional[float] = None,
        **variables: Any,
    ) -> int:
        """Replaces the tokens by those of the rendered messages (TextModel.render).

        Evaluates only the tokens after the longest common prefix, and returns their number. If the evaluation fails,
        the session has the tokens of that prefix.
        """
        chat, options, evaluated = _chat(tools, variables), _execute(timeout), c_size_t()
        content = json.dumps(messages).encode()
        self._call("belay_session_append_messages", content, byref(chat), byref(options), byref(evaluated))
        return evaluated.value

    def logits(self) -> List[float]:
        """Returns the logits of the next token. Raises Error: FAILED_PRECONDITION: the session has no tokens."""
        values = POINTER(c_float)()
        self._call("belay_session_logits", byref(values))
        return values[: self._model.vocabulary]

    def generate(
        self,
        max_tokens: int = 128,
        *,
        temperature: float = 0,
        top_k: int = 0,
        top_p: float = 1,
        min_p: float = 0,
        repetition_penalty: float = 1,
        frequency_penalty: float = 0,
        presence_penalty: float = 0,
        seed: int = 0,
        stop: Union[str, Sequence[str]] = (),
        stop_tokens: Sequence[int] = (),
        end_tokens: bool = True,
        speculate: int = 0,
        draft: Optional["Session"] = None,
    ) -> "Generation":
        """Returns an iterator of generated tokens. Each is generated, and added to the session, on demand.

        Args:
          max_tokens: maximum number, at least 1.
          temperature: 0: the most likely token.
          top_k, top_p, min_p: restrict the tokens to sample from.
          repetition_penalty, frequency_penalty, presence_penalty: lower the logits of tokens in the session.
          seed: of sampling. The same seed gives the same tokens.
          stop: strings that end the generation; they are not part of its text.
          stop_tokens: tokens that end it, which are not added.
          end_tokens: whether TextModel.end_tokens end it.
          speculate: maximum number of tokens that are drafted and evaluated in one call. The tokens stay the same.
          draft: a session of a smaller model with the same tokenizer, whose greedy tokens are the draft; its tokens are
            replaced. None: drafts from earlier occurrences of the last tokens.
        Raises:
          Error: FAILED_PRECONDITION: the session has no tokens; INVALID_ARGUMENT: invalid options; UNIMPLEMENTED:
            `speculate` with a model that returns only the logits of the last token of a call, or whose cache, or that of
            `draft`, is not written by position.
        """
        if max_tokens < 1:
            raise Error("INVALID_ARGUMENT", f"max_tokens: expected at least 1, got {max_tokens}")
        ids = _array(stop_tokens)
        options = GenerationOptions(
            max_tokens=max_tokens,
            no_end_tokens=int(not end_tokens),
            stop_tokens=ctypes.cast(ids, POINTER(c_int32)) if len(ids) else None,
            num_stop_tokens=len(ids),
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            min_p=min_p,
            repetition_penalty=repetition_penalty,
            frequency_penalty=frequency_penalty,
            presence_penalty=presence_penalty,
            seed=seed,
            speculate=speculate,
            draft=None if draft is None else draft._handle.value,
        )
        options.stop_strings, options.num_stop_strings = strings([stop] if isinstance(stop, str) else stop)
        handle = c_void_p()
        self._call("belay_generation_create", byref(options), byref(handle))
        return Generation(self, handle, draft)

    def cut(self, position: int) -> None:
        """Removes the tokens from `position` on. Raises Error: OUT_OF_RANGE."""
        if position < 0:
            raise Error("OUT_OF_RANGE", f"expected a position in [0, {len(self)}], got {position}")
        self._call("belay_session_cut", position)

    def fork(self) -> "Session":
        """Returns an independent session with the same tokens and cache."""
        handle = c_void_p()
        self._call("belay_session_fork", byref(handle))
        return Session(self._model, Handle(handle, lib.belay_session_free, self._model._handle))

    def save(self) -> bytes:
        """Returns tokens and cache, for `restore` with the same program file."""
        handle = c_void_p()
        self._call("belay_session_save", byref(handle))
        return take_bytes(handle)

    def restore(self, saved: bytes) -> None:
        """Restores a result of `save`. Raises Error: DATA_LOSS: damaged; INVALID_ARGUMENT: of another model."""
        self._call("belay_session_restore", ctypes.cast(saved, c_void_p), len(saved))

    def chat(self, **options: Any) -> "Chat":
        """Returns a conversation in this session. `options` are those of `generate`."""
        return Chat(self, options)

    def __repr__(self) -> str:
        return f"<belay.Session: {len(self)} tokens>"


class Generation:
    """An iterator of Token.

    Attributes:
      tokens: the ids so far.
      text: the text so far; at the end, all of it.
      finish: "max_tokens", "stop_token", "stop_string" or "context_full" at the end; None before.
    """

    def __init__(self, session: Session, handle: c_void_p, draft: Optional[Session]):
        self._session = session
        self._draft = draft
        drafts = [] if draft is None else [draft._handle]
        self._handle = Handle(handle, lib.belay_generation_free, session._handle, *drafts)
        self.tokens: List[int] = []
        self.text = ""
        self.finish: Optional[str] = None

    def __iter__(self) -> Iterator[Token]:
        return self

    def __next__(self) -> Token:
        """Raises Error: errors of evaluation, after which the call may be repeated."""
        if self.finish is not None:
            raise StopIteration
        token = GeneratedToken()
        with self._session._locked(), nullcontext() if self._draft is None else self._draft._locked():
            call("belay_generation_next", self._handle.value, byref(token))
            text = ctypes.string_at(token.text, token.text_size).decode()
        self.text += text
        if token.finish != 0:
            self.finish = _FINISH[token.finish]
            raise StopIteration
        self.tokens.append(token.token)
        return Token(token.token, text)


class Batch:
    """A fixed number of sessions that advance together. Create it with TextModel.batch.

    A sequence starts with `append` in a session at any time, and ends with `cut(0)`. `next(generation)` samples a token
    of one session, and `step` evaluates the tokens of all. Results equal those of single sessions, up to the rounding
    of methods that evaluate other numbers of tokens. Used by one thread at a time, together with its sessions.

    Attributes:
      sessions: all sessions; they keep the batch alive.
    """

    def __init__(self, model: TextModel, handle: c_void_p):
        self._handle = Handle(handle, lib.belay_batch_free, model._handle)
        self._lock = threading.Lock()
        self.sessions: Tuple[Session, ...] = tuple(
            Session(model, Handle(c_void_p(session), lib.belay_session_free, self._handle), self._lock)
            for session in (lib.belay_batch_session(handle, i) for i in range(lib.belay_batch_size(handle)))
        )

    def __len__(self) -> int:
        return len(self.sessions)

    def step(self, timeout: Optional[float] = None) -> None:
        """Evaluates the last token of each session whose generation added one, in one call; the others stay.

        Raises:
          Error: DEADLINE_EXCEEDED: after `timeout` seconds. After an error, the sessions are unchanged.
        """
        options = _execute(timeout)
        with _owned(self._lock):
            call("belay_batch_step", self._handle.value, byref(options))

    def generate(
        self,
        prompts: Iterable[Union[str, Sequence[int]]],
        max_tokens: int = 128,
        *,
        on_token: Optional[Callable[[int, Token], Any]] = None,
        **options: Any,
    ) -> List[Generation]:
        """Continues all prompts, and returns their finished generations in order.

        Uses the sessions without tokens, and empties them at the end. A prompt starts as soon as a session is free, so
        there may be more prompts than sessions; `prompts` may be an iterator that takes each when it starts.

        Args:
          prompts: strings or tokens, each at least one token.
          max_tokens: maximum number per prompt, at least 1.
          on_token: called with the index of the prompt and each token.
          options: those of Session.generate.
        Raises:
          Error: FAILED_PRECONDITION: no session without tokens, or a prompt without tokens; errors of Session.append
            and Session.generate.
        """
        used = [session for session in self.sessions if len(session) == 0]
        if not used:
            raise Error("FAILED_PRECONDITION", "expected a session without tokens: cut one at 0")
        waiting, free = iter(prompts), list(used)
        generations: List[Generation] = []
        active: List[int] = []
        try:
            while True:
                for session, prompt in zip(free, waiting):
                    session.append(prompt)
                    active.append(len(generations))
                    generations.append(session.generate(max_tokens, **options))
                free = []
                if not active:
                    return generations
                for i in list(active):
                    generation = generations[i]
                    for token in islice(generation, 1):
                        if on_token is not None:
                            on_token(i, token)
                    if len(generation.tokens) == max_tokens:
                        next(generation, None)  # ends without an evaluation
                    if generation.finish is not None:
                        active.remove(i)
                        free.append(generation._session)
                        free[-1].cut(0)
                self.step()
        finally:
            for session in used:
                session.cut(0)

    def __repr__(self) -> str:
        return f"<belay.Batch: {len(self)} sessions>"


class Chat:
    """A conversation in a session. Create it with Session.chat.

    Attributes:
      messages: the messages so far; may be changed between calls.
    """

    def __init__(self, session: Session, options: Dict[str, Any]):
        self._session = session
        self._options = options
        self.messages: List[Dict[str, Any]] = []

    def send(self, content: str, role: str = "user") -> str:
        """Adds a message, generates the reply, adds it and returns its text. After an error, nothing is added."""
        messages = self.messages + [{"role": role, "content": content}]
        self._session.append_messages(messages)
        generation = self._session.generate(**self._options)
        for _ in generation:
            pass
        self.messages = messages + [{"role": "assistant", "content": generation.text}]
        return generation.text
