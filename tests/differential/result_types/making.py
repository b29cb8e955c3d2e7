"""Tables of calls from lists of names."""

EAGER = "eager"


def families(form: str, names: str) -> list[str]:
    """One call of the form for each of the names."""
    return [form.format(name) for name in names.split()]
