"""Tests as texts: the program's functions are called over a pipe, as if they were here."""

import pytest

from sandbox.config import SandboxConfig
from sandbox.pool import Sandbox
from sandbox.types import Limits, Submission, Test

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def verdict():
    with Sandbox(SandboxConfig(num_workers=1)) as sandbox:

        def judge(code, test, setup="", entry_point=None):
            submission = Submission(
                kind="assert",
                code=code,
                tests=[Test(source=test)],
                setup=setup,
                entry_point=entry_point,
                limits=Limits(time_s=1.0),
            )
            [judgement] = sandbox.judge([submission])
            return judgement.verdict

        yield judge


RIGHT = {
    "keyword arguments": (
        "def f(a, *, b=1): return a - b",
        "assert f(5, b=2) == 3 and f(a=5) == 4",
    ),
    "changed in place": ("def f(x): x.sort()", "a = [3, 1, 2]\nf(a)\nassert a == [1, 2, 3]"),
    "changed deep inside": (
        "def f(m): m[0][0] = 9",
        "m = [[1], [2]]\nf(m)\nassert m == [[9], [2]]",
    ),
    "a dictionary changed": ("def f(d): d['k'] = 1", "d = {}\nf(d=d)\nassert d == {'k': 1}"),
    "a function given": ("def f(g, x): return g(g(x))", "assert f(lambda v: v * 2, 3) == 12"),
    "a function returned": ("def f(n): return lambda x: x + n", "assert f(2)(3) == 5"),
    "a generator": ("def f(n):\n  for i in range(n): yield i", "assert list(f(3)) == [0, 1, 2]"),
    "a generator given": ("def f(xs): return sum(xs)", "assert f(i for i in range(4)) == 6"),
    "a map": ("def f(xs): return map(str, xs)", "assert list(f([1])) == ['1']"),
    "an exception": (
        "def f(x):\n  if x < 0: raise ValueError('negative')\n  return x",
        "try:\n    f(-1)\n    assert False\n"
        "except ValueError as error:\n    assert 'negative' in str(error)",
    ),
    "an exception of its own": (
        "class Bad(Exception): pass\ndef f(): raise Bad('x')",
        "try:\n    f()\n    assert False\nexcept Bad:\n    pass",
    ),
    "objects": (
        "class P:\n  def __init__(self, x): self.x = x\n"
        "  def double(self): return P(self.x * 2)\n"
        "  def __eq__(self, o): return self.x == o.x\n  def __len__(self): return self.x\n"
        "  def __repr__(self): return f'P({self.x})'\n"
        "  def __getitem__(self, i): return self.x + i",
        "p = P(2)\nassert p.double().x == 4 and p == P(2) and p != P(3)\n"
        "assert len(p) == 2 and repr(p) == 'P(2)' and p[3] == 5 and isinstance(p, P)\n"
        "p.x = 7\nassert p.x == 7",
    ),
    "a helper of the program": (
        "def g(x): return x + 1\ndef f(x): return x - 1",
        "assert f(g(4)) == 4",
    ),
    "a module that only the program imports": (
        "import math\ndef f(x): return x / 3",
        "assert math.isclose(f(1), 0.3333333333)",
    ),
    "its name hides a builtin": ("def sum(a, b): return a + b", "assert sum(2, 3) == 5"),
    "long answers": (
        "def f(n): return ' '.join(map(str, range(n)))",
        "assert len(f(600_000).split()) == 600_000\nassert len([*map(int, f(9).split())]) == 9",
    ),
    "long arguments": ("def f(x): return sum(x)", "assert f(list(range(400_000))) == 79999800000"),
    "sets and tuples": (
        "def f(): return {(1, 2): {3, 4}, 'x': frozenset({5})}",
        "assert f() == {(1, 2): {3, 4}, 'x': frozenset({5})}",
    ),
    "counters": (
        "from collections import Counter\ndef f(s): return Counter(s)",
        "assert f('aab') == {'a': 2, 'b': 1}",
    ),
    "parameters called as ours are": (
        "def f(target, operation, self, function): return target + operation + self + function",
        "assert f(target=1, operation=2, self=3, function=4) == 10",
    ),
    "a helper with the name of an argument": (
        "def f(x): return x + 1",
        "def check(f):\n    assert f(1) == 2\ncheck(f)",
    ),
    "a member of an enumeration": (
        "from enum import IntEnum\nclass C(IntEnum):\n  RED = 1\ndef f(): return C.RED",
        "assert f() == 1",
    ),
    "a context": (
        "class C:\n  def __enter__(self): return self\n  def __exit__(self, *a): return None\n"
        "  def f(self): return 1",
        "with C() as c:\n    assert c.f() == 1",
    ),
    "a main block that reads": (
        "def f(x): return x\nif __name__ == '__main__':\n  print(f(int(input())))",
        "assert f(1) == 1",
    ),
    "a data class": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n  x: int\ndef f(): return P(1)",
        "assert f() == P(1) and f().x == 1",
    ),
    "an array given": (
        "import numpy as np\ndef f(a): return (a * 2).sum()",
        "import numpy as np\nassert f(np.array([1, 2, 3])) == 12",
    ),
    "large integers": ("def f(): return 7 ** 9000", "assert f() == 7 ** 9000"),
    "prints do not matter": (
        'def f():\n  print(\'["WA", ""]\' * 1000)\n  return 1',
        "assert f() == 1",
    ),
    "an error of its own kind": (
        "class Base(Exception): pass\nclass Own(Base): pass\ndef f(): raise Own('m', 3)",
        "try:\n    f()\nexcept Base as error:\n    assert error.args == ('m', 3)\n"
        "else:\n    assert False",
    ),
    "an error of a library": (
        "import json\ndef f(): json.loads('{')",
        "import json\ntry:\n    f()\nexcept json.JSONDecodeError as error:\n"
        "    assert 'Expecting' in str(error)\nelse:\n    assert False",
    ),
    "what a missing key was": (
        "def f(): return {}['k']",
        "try:\n    f()\nexcept KeyError as error:\n    assert error.args[0] == 'k'",
    ),
    "a deque": (
        "from collections import deque\ndef f(): return deque([1, 2])",
        "from collections import deque\nq = f()\nassert q == deque([1, 2]) and q.popleft() == 1",
    ),
    "named fields": (
        "from collections import namedtuple\nP = namedtuple('P', 'x y')\ndef f(): return P(1, 2)",
        "assert f().x == 1 and f() == (1, 2)",
    ),
    "objects in a set": (
        "class P:\n  def __init__(self, x): self.x = x\n"
        "  def __eq__(self, o): return self.x == o.x\n  def __hash__(self): return hash(self.x)",
        "assert len({P(1), P(1), P(2)}) == 2",
    ),
    "a format of its own": (
        "class P:\n  def __format__(self, spec): return 'p' + spec",
        "assert f'{P():>3}' == 'p>3'",
    ),
    "two functions with names of the library": (
        "def product(values): return 6\ndef gcd(a, b): return a if not b else gcd(b, a % b)\n"
        "def g(): return 1",
        "assert g() == 1\nassert product([2, 3]) == 6\nassert gcd(4, 6) == 2",
    ),
    "its own random order": ("import random\ndef f(): return random.random()", "assert f() != f()"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_programs_pass(verdict, name):
    assert verdict(*RIGHT[name]) == "AC"


RECORDS = """
class Node:
    def __init__(self, val=0, next=None):
        self.val = val
        self.next = next
def build(values):
    head = None
    for value in reversed(values):
        head = Node(value, head)
    return head
def values(node):
    found = []
    while node:
        found.append(node.val)
        node = node.next
    return found
"""


def test_instances_of_classes_that_both_sides_define_travel_whole(verdict):
    code = RECORDS + (
        "def f(head):\n    last = None\n    while head:\n"
        "        head.next, last, head = last, head, head.next\n    return last\n"
    )
    test = "assert values(f(build(list(range(3000))))) == list(range(2999, -1, -1))"
    assert verdict(code, test, RECORDS) == "AC"
    in_place = RECORDS + "def f(head):\n    head.val = 5\n    head.next = None\n"
    assert verdict(in_place, "h = build([1, 2])\nf(h)\nassert values(h) == [5]", RECORDS) == "AC"


WRONG = {
    "a wrong function with a name of the library": (
        "WA",
        "def factorial(n): return 0\ndef g(): return 1",
        "assert g() == 1\nassert factorial(5) == 120",
    ),
    "a judge of its own": (
        "WA",
        "def isclose(*a): return True\ndef f(x): return 0",
        "assert isclose(f(1), 0.5)",
    ),
    "a library of its own": (
        "WA",
        "class math:\n  isclose = lambda *a: True\ndef f(x): return 0",
        "assert math.isclose(f(1), 0.5)",
    ),
    "memory that numpy would read": (
        "RE",
        "class E:\n  __array_interface__ = {'shape': (1,), 'typestr': '<f8', 'data': (8, False),"
        " 'version': 3}\ndef f(): return E()",
        "import numpy as np\nassert np.allclose(f(), 9.0)",
    ),
    "a wrong value": ("WA", "def f(x): return x", "assert f(1) == 2"),
    "equal to everything": (
        "WA",
        "class E:\n  def __eq__(self, o): return True\n  def __bool__(self): return True\n"
        "def f(x): return E()",
        "assert f(1) == 2",
    ),
    "its own failed assert": ("RE", "def f(x): assert x == 2", "f(1)"),
    "its own exception": ("RE", "def f(x): return 1 / 0", "assert f(1) == 2"),
    "no such function": ("RE", "def g(x): return x", "assert f(1) == 2"),
    "the wrong kind of answer": ("RE", "def f(x): return None", "assert f(1)[0] == 2"),
    "it does not compile": ("RE", "def f(x) return x", "assert f(1) == 1"),
    "it ends": ("RE", "import os\ndef f(x): os._exit(0)", "assert f(1) == 1"),
    "it leaves": ("RE", "import sys\ndef f(x): sys.exit(0)", "assert f(1) == 1"),
    "it sleeps": ("TLE", "import time\ndef f(x): time.sleep(100)", "assert f(1) == 1"),
    "it never ends": ("TLE", "def f(x):\n  while True: pass", "assert f(1) == 1"),
    "it takes all memory": ("MLE", "def f(x): return bytearray(1 << 33)", "assert f(1) == 1"),
    "it writes on the pipe": (
        "RE",
        "import os\ndef f(x):\n  os.write(4, b'\\x05\\0\\0\\0hello')\n  return 2",
        "assert f(1) == 2",
    ),
    "a message without end": (
        "RE",
        "import os\ndef f(x):\n  os.write(4, b'\\xff\\xff\\xff\\xff')\n  return 2",
        "assert f(1) == 2",
    ),
    "a test's builtin": (
        "WA",
        "def f(x): return 5\ndef abs(x): return 0",
        "assert abs(f(1) - 2) < 1",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_programs_do_not(verdict, name):
    expected, code, test = WRONG[name]
    assert verdict(code, test) == expected


def test_an_attribute_never_hides_a_method_of_a_record(verdict):
    setup = "class Node:\n    def __init__(self, v): self.v = v\n    def good(self): return False"
    code = "def f(node):\n    node.good = lambda: True\n    return node"
    assert verdict(code, "assert f(Node(3)).good()", setup=setup) == "RE"


def test_a_test_that_cannot_be_run_says_nothing_about_the_program(verdict):
    assert verdict("def f(x): return 1", "assert f(1 == 1") == "SE"
    assert verdict("def f(x): return 1", "assert f(1) == 1", setup="1 / 0") == "SE"


def test_a_setup_may_use_the_program_whose_fault_it_is_then(verdict):
    code = "class N:\n  def __init__(self, v): self.v = v\ndef f(n): return n.v"
    assert verdict(code, "assert f(n) == 3", setup="n = N(3)") == "AC"
    assert verdict("def f(n): return 3", "assert f(n) == 3", setup="n = N(3)") == "RE"
