"""Which generator makes cases for which operator."""

GENERATORS: dict[tuple[str, str], list] = {}


def generator(*operators: str, domain: str = ""):
    """Registers a function (draw, operator) for operators of a domain."""
    def register(function):
        for operator in operators:
            GENERATORS.setdefault((domain, operator), []).append(function)
        return function
    return register
