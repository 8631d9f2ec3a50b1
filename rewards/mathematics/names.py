"""The names that the parser knows: functions, Greek letters, commands that begin a factor."""

from rewards.mathematics.expressions import FunctionName

FUNCTIONS: dict[str, FunctionName] = {
    **{name: name for name in ("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh")},
    **{name: name for name in ("arcsin", "arccos", "arctan", "arccot")},
    **dict.fromkeys(["log", "ln", "lg"], "log"),
    **{name: name for name in ("abs", "floor", "ceil")},
}
INVERSES: dict[str, FunctionName] = {
    "sin": "arcsin", "cos": "arccos", "tan": "arctan", "cot": "arccot"
}  # fmt: skip
GREEK = frozenset({
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa",
    "lambda", "mu", "nu", "xi", "rho", "sigma", "tau", "phi", "chi", "psi", "omega", "Gamma",
    "Delta", "Theta", "Lambda", "Xi", "Sigma", "Phi", "Psi", "Omega", "ell", "hbar",
})  # fmt: skip
DECORATIONS = frozenset({"bar", "overline", "vec", "hat", "tilde", "widehat", "mathbb", "mathcal"})
PAIRS = {"lfloor": ("rfloor", "floor"), "lceil": ("rceil", "ceil")}
"""Opening command -> closing command, function."""
UNKNOWN_FUNCTIONS = frozenset("fgh")
"""Letters that are functions where a bracket follows."""
ELLIPSES = frozenset({"dots", "ldots", "cdots"})
r"""What `1+2+\cdots+n` leaves out is a value of its own, unlike any other."""
FACTOR_STARTS = ELLIPSES | GREEK | DECORATIONS | FUNCTIONS.keys() | PAIRS.keys() | {
    "sqrt", "cbrt", "frac", "binom", "pi", "infty", "exp", "sum", "prod", "text", "{",
}  # fmt: skip
"""Commands that begin a factor."""
