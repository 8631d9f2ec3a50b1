"""The words of units: their names and sizes, and the words that are none."""

BASE = {
    "length": "m meter metre meters metres",
    "mass": "kg kilogram kilograms",
    "time": "s sec secs second seconds",
    "money:dollar": "dollar dollars usd",
    "money:euro": "euro euros eur",
    "money:pound": "gbp",
    "money:yen": "yen jpy",
    "money:yuan": "yuan rmb cny",
    "money:rupee": "rupee rupees inr",
    "temperature:C": "degc celsius",
    "temperature:F": "degf fahrenheit",
    "temperature:K": "kelvin kelvins",
    "angle": "degree degrees deg",
    "volt": "volt volts",
    "newton": "newton newtons",
    "joule": "joule joules",
    "watt": "watt watts",
    "percent": "percent",
}
DERIVED = {
    "length": {
        "1/1000000000": "nm nanometer nanometers",
        "1/1000": "mm millimeter millimeters millimetre millimetres",
        "1/100": "cm centimeter centimeters centimetre centimetres",
        "1/10": "dm decimeter decimeters",
        "1000": "km kilometer kilometers kilometre kilometres",
        "0.0254": "in inch inches",
        "0.3048": "ft foot feet",
        "0.9144": "yd yard yards",
        "1609.344": "mi mile miles",
    },
    "mass": {
        "1/1000000": "mg milligram milligrams",
        "1/1000": "g gram grams",
        "1000": "ton tons tonne tonnes",
        "0.45359237": "lb lbs pound pounds",
        "0.028349523125": "oz ounce ounces",
    },
    "time": {
        "1/1000": "ms millisecond milliseconds",
        "60": "min mins minute minutes",
        "3600": "h hr hrs hour hours",
        "86400": "day days",
        "604800": "week weeks",
    },
    "money:dollar": {"1/100": "cent cents"},
    "joule": {"1000": "kj kilojoule kilojoules"},
    "watt": {"1000": "kw kilowatt kilowatts"},
}
VOLUMES = {
    "1/1000": "l liter liters litre litres",
    "1/1000000": "ml milliliter milliliters millilitre millilitres",
    "0.003785411784": "gallon gallons gal",
}
COMPOUND = {"mph": "mile/h", "kph": "km/h", "kmh": "km/h", "mps": "m/s"}
MULTIPLIERS = {
    "hundred": 100,
    "thousand": 1000,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "lakh": 10**5,
    "lakhs": 10**5,
    "crore": 10**7,
    "crores": 10**7,
    "dozen": 12,
}
"""Words that belong to the number: `5 million` is not 5."""
NO_NOUNS = frozenset({
    "plus", "minus", "times", "half", "halves", "third", "thirds", "negative", "remainder",
    "not", "root", "factorial", "mod", "modulo", "one", "two", "three", "four", "five", "six",
    "seven", "eight", "nine", "ten", "zero", "point", "over", "divided", "except", "without",
    "quarter", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "fifteenth", "sixteenth", "twentieth", "hundredth", "thousandth", "millionth",
    "double", "doubled", "triple", "tripled", "twice", "squared", "reciprocal", "inverse",
    "opposite", "infinity", "base", "power", "log", "sin", "cos", "tan", "exp", "theta", "alpha",
    "least", "most", "less", "fewer", "greater", "than", "between", "below", "above", "maximum",
    "minimum", "about", "approximately", "approx", "around", "roughly", "nearly", "almost",
    "false", "wrong", "incorrect", "invalid", "never", "none", "and", "but", "maybe", "perhaps",
    "possibly", "else", "otherwise", "either", "when", "unless", "where", "for",
})  # fmt: skip
"""Words that change a number or doubt it: what has them is no unit."""
FILLERS = frozenset({
    "of", "the", "a", "an", "unit", "units", "in", "total", "st", "nd", "rd", "th"
})  # fmt: skip
POWERS = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cu": 3, "cubed": 3}
