# SPDX-License-Identifier: MIT
"""The text format of Prometheus, read as strictly as its description allows, and as promtool lints it."""

import re
from dataclasses import dataclass, field

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"')
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)\Z")
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?\Z")
TYPES = ("counter", "gauge", "histogram")
PARTS = {"histogram": ("_bucket", "_sum", "_count")}


class BadText(AssertionError):
    """Not the text format, or not as its conventions are."""


@dataclass
class Family:
    name: str
    help: str
    type: str
    samples: dict[str, float] = field(default_factory=dict)  # by the name with its labels
    labels: dict[str, dict[str, str]] = field(default_factory=dict)


def need(condition, *what):
    if not condition:
        raise BadText(" ".join(map(str, what)))


def _labels(text: str | None) -> dict[str, str]:
    labels: dict[str, str] = {}
    at = 0
    while text and at < len(text):
        match = LABEL.match(text, at)
        need(match, "labels", repr(text))
        need(match[1] not in labels, "label twice", repr(text))
        labels[match[1]] = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], match[2])
        at = match.end()
        need(at == len(text) or text[at] == ",", "labels", repr(text))
        at += 1
        need(at != len(text), "a comma too many", repr(text))
    need(text != "", "braces around nothing")
    return labels


def _check_histogram(family: Family):
    series: dict[tuple, list] = {}
    for key, labels in family.labels.items():
        rest = tuple(sorted((k, v) for k, v in labels.items() if k != "le"))
        series.setdefault(rest, []).append((key, labels))
    for rest, keys in series.items():
        of = {part: [] for part in PARTS["histogram"]}
        for key, labels in keys:
            part = "_" + key.partition("{")[0].rpartition("_")[2]
            of[part].append((labels.get("le"), family.samples[key]))
            need((part == "_bucket") == ("le" in labels), "le", key)
        bounds = [le for le, _ in of["_bucket"]]
        counts = [count for _, count in of["_bucket"]]
        need(bounds and bounds[-1] == "+Inf", family.name, rest, "does not end with +Inf")
        numbers = [float(bound) for bound in bounds]
        need(numbers == sorted(set(numbers)), family.name, rest, "buckets out of order", bounds)
        need(counts == sorted(counts), family.name, rest, "buckets are not cumulative", counts)
        need(len(of["_sum"]) == len(of["_count"]) == 1, family.name, rest, "needs a sum and a count")
        need(of["_count"][0][1] == counts[-1], family.name, rest, "count is not that of +Inf")
        need(of["_sum"][0][1] >= 0, family.name, rest, "sum below 0")


def _lint(family: Family):
    name, words = family.name, family.name.split("_")
    need(re.fullmatch(r"[a-z][a-z0-9_]*", name), name, "is not in small letters")
    need(family.help and family.help[0].isupper() or family.help[0] == ".", name, "needs a HELP")
    need((family.type == "counter") == name.endswith("_total"), name, "_total is for counters")
    need(not set(words) & {*TYPES, "summary", "ms", "us", "ns", "kb", "mb", "kib"}, name, "bad word")
    need(not name.endswith(PARTS["histogram"]), name, "ends like a part of a histogram")
    if family.type == "histogram":
        need(words[-1] in ("seconds", "bytes"), name, "has no unit")
    for key, value in family.samples.items():
        need(family.type == "gauge" or value >= 0, key, "is below 0")
        need("le" not in family.labels[key] or family.type == "histogram", key, "le")


def parse(text: str) -> dict[str, Family]:
    """The families by name; raises BadText."""
    need(text.endswith("\n"), "the last line has no end")
    families: dict[str, Family] = {}
    current, help_of = None, None
    for line in text[:-1].split("\n"):
        if match := re.match(rf"# HELP ({NAME}) (.*)\Z", line):
            need(match[1] not in families, "family twice", line)
            need(not re.search(r"\\(?![\\n])", match[2]), "escape in", line)
            help_of, current = match.groups(), None
            continue
        if match := re.match(rf"# TYPE ({NAME}) ([a-z]+)\Z", line):
            need(help_of and help_of[0] == match[1], "no HELP before", line)
            need(match[2] in TYPES, "type", line)
            current = families[match[1]] = Family(match[1], help_of[1], match[2])
            continue
        match = SAMPLE.match(line)
        need(match and current, "what is", repr(line))
        name, labels, value = match.groups()
        names = [current.name + part for part in PARTS.get(current.type, ("",))]
        need(name in names, "a sample of another family:", line)
        need(NUMBER.match(value), "number", line)
        key = line.rpartition(" ")[0]
        need(key not in current.samples, "sample twice", line)
        current.samples[key] = float(value)
        current.labels[key] = _labels(labels)
    for family in families.values():
        _lint(family)
        if family.type == "histogram" and family.samples:
            _check_histogram(family)
    return families


def values(text: str) -> dict[str, float]:
    """All samples by their name with labels, of a text that is well formed."""
    return {key: v for family in parse(text).values() for key, v in family.samples.items()}
