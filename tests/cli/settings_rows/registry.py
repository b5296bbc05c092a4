"""The rows, by the name of the key or variable, in the order in which they are tried."""

KEYS, VARIABLES = {}, {}


def key(name: str):
    return lambda row: KEYS.setdefault(name, row)


def variable(name: str):
    return lambda row: VARIABLES.setdefault(name, row)
