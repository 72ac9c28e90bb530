"""A worker of BuildGrid: requests actions, executes them sequentially, and uploads their outputs.

    worker.py ADDRESS DIRECTORY

Each action has a separate directory with only its inputs, and only the variables that it names. Undeclared
outputs are deleted with the directory. One line per action is logged to DIRECTORY/worker.log.

The interface is Remote Workers API v1test2 and Remote Execution API v2, as generated in BuildGrid's package. Bazel's platform
has no properties, so the worker claims none and accepts every action.
"""

import io
import os
import shutil
import subprocess
import sys
import tempfile
import time

import grpc
from buildgrid._protos.build.bazel.remote.execution.v2 import remote_execution_pb2 as execution
from buildgrid._protos.google.devtools.remoteworkers.v1test2 import bots_pb2, bots_pb2_grpc, worker_pb2
from buildgrid._protos.google.rpc import code_pb2
from buildgrid.client.cas import download, upload

# Seconds: how long the server may keep a worker waiting for an action, and the time limit of an action without one.
WAIT = 30
LIMIT = 900


def fetch(channel, payload, root):
    """The action of a lease, inline or by digest, and its command; its inputs are in `root`."""
    action = execution.Action()
    with download(channel) as downloader:
        if not payload.Unpack(action):
            digest = execution.Digest()
            payload.Unpack(digest)
            action = downloader.get_message(digest, action)
        command = downloader.get_message(action.command_digest, execution.Command())
        downloader.download_directory(action.input_root_digest, root)
    return action, command


def execute(action, command, root):
    """Runs the command; returns status, standard output and standard error. It is killed after its time limit, with status 124."""
    directory = os.path.join(root, command.working_directory)
    os.makedirs(directory, exist_ok=True)
    for path in [*command.output_files, *command.output_directories]:
        os.makedirs(os.path.dirname(os.path.join(directory, path)), exist_ok=True)
    variables = {variable.name: variable.value for variable in command.environment_variables}
    try:
        done = subprocess.run(
            list(command.arguments),
            cwd=directory,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=action.timeout.seconds or LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        return 124, late.stdout or b"", late.stderr or b""
    except OSError as error:  # A command that is not there.
        return 127, b"", str(error).encode()
    return done.returncode, done.stdout, done.stderr


def collect(channel, command, root, status, output, errors):
    """Uploads the existing declared outputs: Bazel itself reports missing ones."""
    result = execution.ActionResult(exit_code=status)
    directory = os.path.join(root, command.working_directory)
    with upload(channel) as uploader:
        result.stdout_digest.CopyFrom(uploader.put_blob(io.BytesIO(output)))
        result.stderr_digest.CopyFrom(uploader.put_blob(io.BytesIO(errors)))
        for path in command.output_files:
            file = os.path.join(directory, path)
            if os.path.isfile(file):
                result.output_files.add(
                    path=path, digest=uploader.upload_file(file, queue=False), is_executable=os.access(file, os.X_OK)
                )
        for path in command.output_directories:
            folder = os.path.join(directory, path)
            if os.path.isdir(folder):
                result.output_directories.add(path=path, tree_digest=uploader.upload_tree(folder, queue=False))
    return result


def work(channel, lease, log):
    """Executes the lease and marks it completed."""
    start = time.monotonic()
    root = tempfile.mkdtemp(prefix="action.")
    try:
        action, command = fetch(channel, lease.payload, root)
        status, output, errors = execute(action, command, root)
        lease.result.Pack(collect(channel, command, root, status, output, errors))
        lease.status.code = code_pb2.OK
        first = next(iter([*command.output_files, *command.output_directories]), "")
        print(f"{time.monotonic() - start:.2f} s, status {status}: {command.arguments[0]} -> {first}", file=log, flush=True)
    except Exception as error:  # The server passes it on to the client.
        lease.status.code = code_pb2.INTERNAL
        lease.status.message = str(error)
        print(f"failed: {error}", file=log, flush=True)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    lease.state = bots_pb2.COMPLETED


def main():
    address, directory = sys.argv[1:]
    tempfile.tempdir = directory
    with grpc.insecure_channel(address) as channel, open(os.path.join(directory, "worker.log"), "a") as log:
        bots = bots_pb2_grpc.BotsStub(channel)
        session = bots_pb2.BotSession(bot_id=f"worker.{os.getpid()}", status=bots_pb2.OK)
        session.worker.CopyFrom(worker_pb2.Worker(devices=[worker_pb2.Device(handle="host")]))
        session = bots.CreateBotSession(bots_pb2.CreateBotSessionRequest(parent="", bot_session=session), timeout=WAIT, wait_for_ready=True)
        while True:
            for lease in session.leases:
                work(channel, lease, log)
            request = bots_pb2.UpdateBotSessionRequest(name=session.name, bot_session=session)
            session = bots.UpdateBotSession(request, timeout=WAIT)


main()
