"""Provider of a lowered program."""

BelayProgramInfo = provider(
    doc = "A lowered program.",
    fields = {
        "program": "File: the program.",
        "report": "File: what `belay lower --report` says of it, JSON.",
    },
)
