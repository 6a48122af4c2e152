# SPDX-License-Identifier: MIT
"""Sets of operation numbers as text: {3, 7, 8, 9} is "3,7-9"."""


def parse(text: str) -> set[int]:
    found = set()
    for item in filter(None, text.split(",")):
        first, _, last = item.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def show(numbers) -> str:
    spans = []
    for number in sorted(numbers):
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(f"{a}-{b}" if a != b else f"{a}" for a, b in spans)
