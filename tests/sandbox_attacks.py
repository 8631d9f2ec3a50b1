"""Programs that attack the judge or the machine. Only to be run inside the sandbox.

Each is bounded: a sandbox that leaks loses no more than a few hundred processes, threads or MB.
"""

_FORGERIES = {
    "exit zero": "import os\ndef solve(x): os._exit(0)",
    "sys.exit zero": "import sys\ndef solve(x): sys.exit(0)",
    "exit at import": "import os; os._exit(0)",
    "raise SystemExit": "def solve(x): raise SystemExit(0)",
    "always equal": "class E:\n  __eq__ = lambda s, o: True\n  __hash__ = lambda s: 9\ndef solve(x): return E()",
    "equal int": "class I(int):\n  __eq__ = lambda s, o: True\n  __hash__ = int.__hash__\ndef solve(x): return I(1)",
    "equal str": "class S(str):\n  __eq__ = lambda s, o: True\n  __hash__ = str.__hash__\ndef solve(x): return S('a')",
    "equal list": "class L(list):\n  __eq__ = lambda s, o: True\ndef solve(x): return L()",
    "nan": "def solve(x): return float('nan')",
    "pickle": "import os\nclass P:\n  def __reduce__(self): return (os.system, ('true',))\ndef solve(x): return P()",
    "frames": (
        "import sys\ndef solve(x):\n  f = sys._getframe()\n  while f:\n    for v in list(f.f_locals.values()):\n"
        "      if type(v) is int and v == 9: return v\n    f = f.f_back"
    ),
    "garbage": (
        "import gc\ndef solve(x):\n  for o in gc.get_objects():\n"
        "    if type(o) is dict and 'expected' in o: return o['expected']\n    if type(o) is dict and o.get('output') == 9: return 9"
    ),
    "own frame first": "import os\ndef solve(x):\n  os.write(3, b'9')\n  return 1",
    "two frames": "import os\ndef solve(x):\n  os.write(3, b'9')\n  os.close(3)\n  os._exit(0) if x < 0 else None\n  return 1",
    "every descriptor": (
        'import os\ndef solve(x):\n  for fd in range(3, 1024):\n    for m in (b\'AC\', b\'{"verdict": "AC"}\', b\'["AC", ""]\'):\n'
        "      try: os.write(fd, m)\n      except OSError: pass\n  return 1"
    ),
    "verdict on stdout": "def solve(x):\n  print('AC'); print('[\"AC\", \"\"]'); return 1",
    "patched json": "import json\njson.dumps = lambda *a, **k: '9 '\njson.JSONEncoder.encode = lambda *a: '8'\ndef solve(x): return 1",
    "patched builtins": "import builtins\nbuiltins.len = builtins.type = builtins.isinstance = lambda *a: 9\ndef solve(x): return 1",
    "patched write": "import os\nw = os.write\nos.write = lambda fd, d: w(fd, b'{') or 1\ndef solve(x): return 1",
    "patched exit": "import os\nos._exit = lambda c: None\ndef solve(x): return 1",
    "patched main": "import sys\nsys.modules['__main__'] = None\ndef solve(x): return 1",
    "atexit": "import atexit, os\natexit.register(lambda: os.write(3, b'9'))\ndef solve(x): return 1",
    "thread writes later": (
        "import threading, os, time\ndef late():\n  time.sleep(0.05)\n  os.write(3, b'9')\n"
        "threading.Thread(target=late).start()\ndef solve(x): return 1"
    ),
    "trace": "import sys\nsys.settrace(lambda f, e, a: None)\nsys.setprofile(lambda *a: None)\ndef solve(x): return 1",
    "deep frame": "def solve(x):\n  v = []\n  for _ in range(100000): v = [v]\n  return v",
    "cycle": "def solve(x):\n  v = []\n  v.append(v)\n  return v",
    "surrogates": "def solve(x): return '\\ud800' * 10",
    "digits": "import sys\nsys.set_int_max_str_digits(0)\ndef solve(x): return 10 ** 100000",
    "underscore text": "def solve(x): return '9'",
    "true for one": "def solve(x): return True",
    "hash collisions": "def solve(x): return {i * (2**61 - 1): 0 for i in range(20000)}",
    "large answer": "def solve(x): return [[]] * 2000000",
    "bad tag": 'import os\ndef solve(x):\n  os.write(3, b\'{"opaque": {"int": "9"}}\')\n  os._exit(0)',
    "unclosed": "import os\ndef solve(x):\n  os.write(3, b'[9')\n  os._exit(0)",
    "signal": "import os, signal\ndef solve(x): os.kill(os.getpid(), signal.SIGKILL)",
    "abort": "import os\ndef solve(x): os.abort()",
    "segmentation fault": "import ctypes\ndef solve(x): ctypes.string_at(0)",
    "out of memory mark": "import os\ndef solve(x): os._exit(86)",
    "failure mark": "import os, sys\ndef solve(x):\n  sys.stderr.write('OSError: landlock')\n  os._exit(1)",
    "unlimited recursion": "import sys\nsys.setrecursionlimit(10**9)\ndef solve(x): return solve(x)",
    "stolen modules": (
        "import sys\ndef solve(x):\n  for m in list(sys.modules.values()):\n    for n in ('expected', 'EXPECTED', 'tests'):\n"
        "      if hasattr(m, n): return getattr(m, n)"
    ),
    "import of the judge": "def solve(x):\n  from sandbox import judge\n  return judge.expected",
    "memory of the process": (
        "import re\ndef solve(x):\n  try: t = open('/proc/self/mem', 'rb').read(1)\n  except OSError: return 1\n  return 9"
    ),
}
FORGERIES = _FORGERIES
"""`solve(x)` is to return x * x, tested with 3: none of these may be accepted."""

_SEND = """
import json, os, struct
def send(message, nodes=()):
    data = json.dumps([json.dumps(message), list(nodes)]).encode()
    os.write(4, struct.pack('=I', len(data)) + data)
"""
_TAKEN_OVER = """import os; os.write(3, b'["AC", ""]'); os._exit(0)"""
ASSERT_FORGERIES = {
    "code for the tests": _SEND
    + f"def f(x): send(['do', 'call', {{'mine': [0, 'known', 'builtins:exec']}}, [{_TAKEN_OVER!r}], []])",
    "code by a number": _SEND + f"def f(x): send(['do', 'call', 0, [{_TAKEN_OVER!r}], []])",
    "code by a name": _SEND + f"def f(x): send(['do', 'call', 'exec', [{_TAKEN_OVER!r}], []])",
    "records taken away": _SEND + "def f(x): send(['do', 'share_classes', '', [[]], []])",
    "the tests' builtins": "import random\ndef f(x): return random.__builtins__",
    "its modules": "import sys\ndef f(x): return sys.modules",
    "known objects": "import operator\ndef f(x): return operator.truth",
    "difference": "class E:\n  def __sub__(s, o): return 0.0\n  __rsub__ = __sub__\ndef f(x): return E()",
    "absolute value": "class E:\n  def __sub__(s, o): return s\n  def __abs__(s): return 0.0\ndef f(x): return E()",
    "order": "class E:\n  __lt__ = __gt__ = __le__ = __ge__ = lambda s, o: True\ndef f(x): return E()",
    "membership": "class E:\n  def __contains__(s, o): return True\n  def __iter__(s): return iter([9])\ndef f(x): return E()",
    "end of iteration": "def f(x): raise StopIteration",
    "truth": "class E:\n  def __bool__(s): return True\n  def __eq__(s, o): return True\ndef f(x): return E()",
    "patched abs": "import builtins\nbuiltins.abs = lambda x: 0\ndef f(x): return 5.0",
    "wide integers": "class I(int):\n  __eq__ = __lt__ = __gt__ = lambda s, o: True\n  __hash__ = int.__hash__\ndef f(x): return I(1)",
    "an exit": "import sys\ndef f(x): sys.exit(0)",
    "gone": "import os\ndef f(x): os._exit(0)",
    "a verdict on every descriptor": 'import os\ndef f(x):\n  for n in range(1, 64):\n    try: os.write(n, b\'["AC", ""]\')\n    except OSError: pass\n  return 1',
    "an exception that passes": "class Done(BaseException): pass\ndef f(x): raise Done",
    "generator exit": "def f(x): raise GeneratorExit",
    "interrupt": "def f(x): raise KeyboardInterrupt",
}
"""`f(x)` is to return x * x as a float; none of these may pass any of the tests below."""
ASSERTS = (
    "assert f(3) == 9",
    "assert abs(f(3) - 9.0) < 1e-6",
    "assert 8.5 < f(3) < 9.5",
    "assert 9 in [f(3)]",
    "assert all(map(lambda case: f(case[0]) == case[1], [(3, 9.0), (4, 16.0)]))",
    "y = f(f(3))\nassert all(a == b for a, b in [(y, 81.0)])",
    "for x in (3, 4):\n    try:\n        y = f(x)\n    except Exception:\n        y = None\n    assert y == x * x",
)

_HARNESS = """
import os, sys, ctypes, socket, resource, threading, time, signal, errno
libc = ctypes.CDLL(None, use_errno=True)
reached = []
def attempt(name, action):
    try:
        result = action()
    except Exception:
        return
    if result != -1:
        reached.append(name)
def number(x86, arm):
    return x86 if os.uname().machine == 'x86_64' else arm
"""
_ESCAPES = {
    "tcp": "attempt('tcp', lambda: socket.create_connection(('127.0.0.1', 22), 0.2))",
    "udp": "attempt('udp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))",
    "raw socket": "attempt('raw', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))",
    "unix socket": "attempt('unix', lambda: socket.socket(socket.AF_UNIX).connect('/var/run/docker.sock'))",
    "abstract socket": "attempt('abstract', lambda: socket.socket(socket.AF_UNIX).bind(chr(0) + 'mgpo'))",
    "netlink": "attempt('netlink', lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))",
    "raw socket call": "attempt('call', lambda: libc.syscall(number(41, 198), 2, 2, 0))",
    "passwords": "attempt('passwd', lambda: open('/etc/passwd').read())",
    "dot dot": "attempt('dots', lambda: open('../' * 20 + 'etc/passwd').read())",
    "environment": "attempt('environ', lambda: open(f'/proc/{os.getppid()}/environ').read(1))",
    "init": "attempt('init', lambda: open('/proc/1/maps').read(1))",
    "own memory file": "attempt('mem', lambda: open('/proc/self/mem', 'r+b'))",
    "parent's files": "attempt('fds', lambda: os.listdir(f'/proc/{os.getppid()}/fd'))",
    "process list": "attempt('list', lambda: [p for p in os.listdir('/proc') if p.isdigit()])",
    "link out": (
        "def go():\n    os.symlink('/etc/passwd', 'link')\n    return open('link').read()\nattempt('symlink', go)"
    ),
    "hard link": "attempt('hard', lambda: os.link('/etc/passwd', 'hard'))",
    "device": "attempt('device', lambda: os.mknod('d', 0o60666, os.makedev(8, 0)))",
    "kernel memory": "attempt('kmem', lambda: open('/dev/mem', 'rb').read(1))",
    "raw disk": "attempt('disk', lambda: [open('/dev/' + n, 'rb') for n in ('vda', 'sda', 'nvme0n1')])",
    "terminal": "attempt('tty', lambda: open('/dev/tty', 'r+b', 0))",
    "shared memory file": "attempt('shm', lambda: open('/dev/shm/../../dev/shm2', 'w'))",
    "library": "attempt('library', lambda: open(os.__file__, 'a'))",
    "byte code": "attempt('pyc', lambda: open(os.path.dirname(os.__file__) + '/evil.pyc', 'w'))",
    "cgroup": "attempt('cgroup', lambda: open('/sys/fs/cgroup/cgroup.procs', 'w').write('0'))",
    "sysrq": "attempt('sysrq', lambda: open('/proc/sysrq-trigger', 'w').write('h'))",
    "core pattern": "attempt('core', lambda: open('/proc/sys/kernel/core_pattern', 'w'))",
    "setuid": "attempt('setuid', lambda: os.setuid(0))",
    "setuid file": (
        "def go():\n    open('s', 'w').close()\n    os.chmod('s', 0o4777)\n    os.execv('./s', ['s'])\nattempt('suid', go)"
    ),
    "groups": "attempt('groups', lambda: os.setgroups([0]))",
    "capabilities": "attempt('capset', lambda: libc.syscall(number(126, 91), (ctypes.c_uint32*2)(0x20080522, 0), (ctypes.c_uint32*6)(*[2**32-1]*6)))",
    "chroot": "attempt('chroot', lambda: os.chroot('.'))",
    "mount": "attempt('mount', lambda: libc.mount(b'none', b'.', b'tmpfs', 0, None))",
    "new mount": "attempt('fsopen', lambda: libc.syscall(430, b'tmpfs', 0))",
    "user namespace": "attempt('userns', lambda: libc.unshare(0x10000000))",
    "clone into a namespace": "attempt('clone', lambda: libc.syscall(number(56, 220), 0x10000000 | 17, 0, 0, 0, 0))",
    "clone3": "attempt('clone3', lambda: libc.syscall(435, (ctypes.c_uint64*11)(), 88))",
    "fork": "attempt('fork', lambda: os.fork() or os._exit(0))",
    "vfork": "if os.uname().machine == 'x86_64': attempt('vfork', lambda: libc.syscall(58))",
    "spawn": "attempt('spawn', lambda: os.posix_spawn('/bin/true', ['true'], {}))",
    "shell": "attempt('shell', lambda: -1 if os.system('true') else 0)",
    "exec": "attempt('exec', lambda: os.execv(sys.executable or '/usr/bin/python3', ['python3', '-c', 'print(1)']))",
    "exec of memory": "attempt('memfd', lambda: os.memfd_create('x'))",
    "exec of a descriptor": "attempt('execveat', lambda: libc.syscall(number(322, 281), 0, b'', 0, 0, 0x1000))",
    "ptrace": "attempt('ptrace', lambda: libc.ptrace(16, os.getppid(), 0, 0))",
    "traced": "attempt('traceme', lambda: libc.ptrace(0, 0, 0, 0))",
    "memory of another": "attempt('vm', lambda: libc.process_vm_readv(os.getppid(), None, 0, None, 0, 0))",
    "descriptor of another": "attempt('pidfd', lambda: libc.syscall(434, os.getppid(), 0))",
    "kill the parent": "attempt('kill', lambda: os.kill(os.getppid(), 9))",
    "kill the group": "attempt('group', lambda: os.kill(0, 9))",
    "kill everything": "attempt('all', lambda: os.kill(-1, 9))",
    "queued signal": "attempt('queue', lambda: libc.syscall(number(129, 138), os.getppid(), 9, (ctypes.c_char*128)()))",
    "limits of another": "attempt('prlimit', lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1)))",
    "own limits": "attempt('raise', lambda: resource.setrlimit(resource.RLIMIT_AS, (-1, -1)))",
    "affinity of another": "attempt('affinity', lambda: os.sched_setaffinity(os.getppid(), {0}))",
    "priority": "attempt('nice', lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19))",
    "real time": "attempt('rt', lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))",
    "io_uring": "attempt('uring', lambda: libc.syscall(425, 1, (ctypes.c_uint64*15)()))",
    "bpf": "attempt('bpf', lambda: libc.syscall(number(321, 280), 0, 0, 0))",
    "perf": "attempt('perf', lambda: libc.syscall(number(298, 241), (ctypes.c_uint64*16)(), 0, -1, -1, 0))",
    "userfaultfd": "attempt('uffd', lambda: libc.syscall(number(323, 282), 0))",
    "key ring": "attempt('keys', lambda: libc.syscall(number(250, 219), 0, -3, 1))",
    "system v memory": "attempt('shmget', lambda: libc.shmget(1234, 4096, 0o1666))",
    "message queue": "attempt('mq', lambda: libc.syscall(number(240, 180), b'mgpo', 0o102, 0o666, 0))",
    "file handle": "attempt('handle', lambda: libc.syscall(number(303, 264), -100, b'/', (ctypes.c_char*256)(), (ctypes.c_int*1)(), 0))",
    "clock": "attempt('clock', lambda: time.clock_settime(time.CLOCK_REALTIME, 0))",
    "host name": "attempt('name', lambda: libc.sethostname(b'x', 1))",
    "reboot": "attempt('reboot', lambda: libc.syscall(number(169, 142), 0, 0, 0, 0))",
    "kernel log": "attempt('log', lambda: libc.klogctl(3, ctypes.create_string_buffer(10), 10))",
    "personality": "attempt('personality', lambda: libc.personality(0x0040000))",
    "signals of a descriptor": "import fcntl\nattempt('owner', lambda: fcntl.fcntl(0, fcntl.F_SETOWN, os.getppid()))",
    "outliving its parent": "attempt('death', lambda: libc.prctl(1, 0, 0, 0, 0))",
    "datagrams": "attempt('datagrams', lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))",
    "modes of others": "attempt('mode', lambda: os.chmod('/', 0o777))",
    "idle scheduling": "attempt('idle', lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)))",
    "closed box": "attempt('y', lambda: os.chmod('.', 0) or -1)",
    "after a closed box": "attempt('z', lambda: open('own', 'w').close() or -1)",
    "many processes": (
        "n = 0\nfor _ in range(200):\n    try:\n        if os.fork() == 0:\n            time.sleep(30); os._exit(0)\n"
        "        n += 1\n    except OSError:\n        break\nif n: reached.append('processes')"
    ),
    "many threads": (
        "threading.stack_size(32768)\nn = 0\ntry:\n    for _ in range(600):\n        threading.Thread(target=time.sleep, args=(1,), daemon=True).start(); n += 1\n"
        "except RuntimeError:\n    pass\nif n > 80 and os.getcwd() == '/box': reached.append('threads')"
    ),
    "many descriptors": (
        "n = 0\ntry:\n    while n < 5000:\n        os.dup(0); n += 1\nexcept OSError:\n    pass\nif n > 64: reached.append('descriptors')"
    ),
    "disk": (
        "n = 0\ntry:\n    while n < 256:\n        open(f'f{n}', 'wb').write(b'x' * (1 << 20)); n += 1\nexcept OSError:\n    pass\n"
        "if n > 20: reached.append('disk')"
    ),
    "many files": (
        "n = 0\ntry:\n    while n < 5000:\n        open(f'f{n}', 'w').close(); n += 1\nexcept OSError:\n    pass\n"
        "if n > 1100: reached.append('files')"
    ),
    "deep directories": (
        "try:\n    for _ in range(2000):\n        os.mkdir('d'); os.chdir('d')\nexcept OSError:\n    pass"
    ),
    "sparse file": "attempt('sparse', lambda: os.truncate(os.open('s', os.O_CREAT | os.O_RDWR), 1 << 40))",
    "left file": (
        "if os.path.exists('left'): reached.append('a file of an earlier run')\nattempt('x', lambda: open('left', 'w').close() or -1)"
    ),
    "locked memory": "attempt('mlock', lambda: libc.mlockall(1))",
    "memory": (
        "try:\n    x = bytearray(2 << 30)\nexcept MemoryError:\n    pass\nelse:\n    reached.append('memory')"
    ),
}
ESCAPES = {
    name: f"{_HARNESS}{code}\nprint(*(reached or ['contained']))\n"
    for name, code in _ESCAPES.items()
}
"""Each prints `contained` when all it tried was refused."""

_NUISANCES = {
    "endless output": ("OLE", "while True: print('x' * 1000)"),
    "endless errors": ("TLE", "import sys\nwhile True: sys.stderr.write('x' * 1000)"),
    "binary flood": ("OLE", "import os\nwhile True: os.write(1, b'\\0' * 65536)"),
    "endless loop": ("TLE", "while True: pass"),
    "loop that catches all": (
        "TLE",
        "while True:\n  try:\n    while True: pass\n  except BaseException: pass",
    ),
    "sleep": ("TLE", "import time; time.sleep(100)"),
    "ignored signals": (
        "TLE",
        "import signal\nfor s in range(1, 65):\n  try: signal.signal(s, signal.SIG_IGN)\n  except (OSError, ValueError): pass\nwhile True: pass",
    ),
    "busy threads": (
        "TLE",
        "import threading\ndef f():\n  while True: pass\nfor _ in range(8): threading.Thread(target=f).start()",
    ),
    "c loop": ("TLE", "print(sum(iter(int, 1)))"),
    "slow regular expression": ("TLE", "import re; re.match('(a+)+b', 'a' * 40)"),
    "large power": ("TLE", "print(len(str(7 ** (10 ** 8))))"),
    "stopped itself": ("TLE", "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"),
    "waiting for input": ("TLE", "import sys, select\nselect.select([], [], [], 100)"),
    "memory bomb": ("MLE", "x = []\nwhile True: x.append('x' * 10**6 + str(len(x)))"),
    "touched memory": (
        "MLE",
        "x = bytearray(400 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nprint(9)",
    ),
    "long integer": ("MLE", "x = 1 << (1 << 33)"),
    "compile bomb": ("MLE", "eval('-' * 0 + '(' * 90 + '0' + ')' * 90); x = [0] * (1 << 31)"),
    "closed output": ("RE", "import os\nos.close(1); print(9)"),
    "null byte": ("RE", "x = 1\0"),
    "bad indentation": ("RE", "if 1:\nprint(9)"),
    "exit one": ("RE", "print(9); raise SystemExit(1)"),
    "exit text": ("RE", "print(9); raise SystemExit('no')"),
    "thread dies, program does not": (
        "AC",
        "import threading\nt = threading.Thread(target=lambda: 1/0)\nt.start(); t.join(); print(9)",
    ),
}
NUISANCES = _NUISANCES
"""Verdict and program; the expected output is 9, with 1 s and 256 MB."""
