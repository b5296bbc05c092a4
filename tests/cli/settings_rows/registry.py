"""The rows, by the name of the key or variable, in the order in which they are tried."""

KEYS, VARIABLES = {}, {}


def add(rows: dict, name: str, row):
    if name in rows:
        raise ValueError(f"{name} has two rows")
    rows[name] = row
    return row


def key(name: str):
    return lambda row: add(KEYS, name, row)


def variable(name: str):
    return lambda row: add(VARIABLES, name, row)
