#!/usr/bin/python3
"""probe.py: tries to read, write, reach and execute, and says what happened, one line per probe:

    read.notes ALLOWED
    read.ssh-key DENIED ENOENT

It looks at nothing but the made-up home beside it (see prepare), so it is safe to run bare, which is how to see what
an unconfined program may do. `probe.py --listen` is the host's own service on the loopback that net.host-service
tries to reach.
"""
import errno
import os
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
HOME = os.path.join(HERE, "home")
OUT = os.path.join(HERE, "out")
PORT = 47613


def read(path):
    with open(path, "rb") as file:
        if not file.read(1):
            raise OSError(errno.ENODATA, "an empty file stands for it")


def append(path):
    with open(path, "ab") as file:
        file.write(b"# probe was here\n")


def make(path):
    """Makes what is not there, and takes it away again."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    os.unlink(path)


def make_directory(path):
    os.mkdir(path)
    os.rmdir(path)


def move(path):
    os.rename(path, path + "-moved")
    os.rename(path + "-moved", path)


def own_server():
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname(), timeout=5):
            pass


def host_service():
    with socket.create_connection(("127.0.0.1", PORT), timeout=5):
        pass


def execute(*argv):
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def own_file():
    path = os.path.join(OUT, "tool")
    with open(path, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\nexit 0\n")
    os.chmod(path, 0o755)
    execute(path)


def fork():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def others():
    """Another program's process: neither we, nor one of those that started us, nor pid 1."""
    mine = {1}
    pid = os.getpid()
    while pid > 1:
        mine.add(pid)
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as file:
            pid = int(file.read().rsplit(")", 1)[1].split()[1])
    if not {int(name) for name in os.listdir("/proc") if name.isdigit()} - mine:
        raise OSError(errno.ESRCH, "no other process is to be seen")


def secret():
    if "PROBE_TOKEN" not in os.environ:
        raise OSError(errno.ENOENT, "not in the environment")


def namespace():
    pid = os.fork()
    if pid == 0:
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        os._exit(ctypes.get_errno() if libc.unshare(0x10000000) else 0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code:
        raise OSError(code, os.strerror(code))


PROBES = [
    ("read.notes", lambda: read(os.path.join(HOME, "notes.txt"))),
    ("read.project", lambda: read(os.path.join(HOME, "project", "main.txt"))),
    ("read.ssh-key", lambda: read(os.path.join(HOME, ".ssh", "id_ed25519"))),
    ("read.cloud-key", lambda: read(os.path.join(HOME, ".aws", "credentials"))),
    ("read.history", lambda: read(os.path.join(HOME, ".bash_history"))),
    ("read.etc", lambda: read("/etc/login.defs")),
    ("write.out", lambda: append(os.path.join(OUT, "result.txt"))),
    ("write.project", lambda: append(os.path.join(HOME, "project", "main.txt"))),
    ("write.startup", lambda: append(os.path.join(HOME, ".bashrc"))),
    ("make.startup", lambda: make(os.path.join(HOME, ".profile"))),
    ("write.git-hook", lambda: append(os.path.join(HOME, "project", ".git", "hooks", "post-commit"))),
    ("write.git-config", lambda: append(os.path.join(HOME, "project", ".git", "config"))),
    ("make.git-commondir", lambda: make(os.path.join(HOME, "project", ".git", "commondir"))),
    ("move.git", lambda: move(os.path.join(HOME, "project", ".git"))),
    ("make.editor-task", lambda: make_directory(os.path.join(HOME, "project", ".vscode"))),
    ("write.tmp", lambda: append("/tmp/probe.%d" % os.getpid())),
    ("net.own-server", own_server),
    ("net.host-service", host_service),
    ("exec.program", lambda: execute("/bin/true")),
    ("exec.shell", lambda: execute("/bin/sh", "-c", ":")),
    ("exec.own-file", own_file),
    ("process.fork", fork),
    ("process.others", others),
    ("process.namespace", namespace),
    ("env.secret", secret),
]


def listen():
    server = socket.create_server(("127.0.0.1", PORT))
    print("listening", flush=True)
    while True:
        server.accept()[0].close()


def main():
    if sys.argv[1:] == ["--listen"]:
        listen()
    for name, act in PROBES:
        try:
            act()
            print(name, "ALLOWED", flush=True)
        except OSError as error:
            print(name, "DENIED", errno.errorcode.get(error.errno, str(error.errno)), flush=True)
        except subprocess.CalledProcessError as error:
            print(name, "DENIED", "exit-%d" % error.returncode, flush=True)


main()
