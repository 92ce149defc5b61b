#!/usr/bin/env python3
"""Keeps docs/rules.md: which tests prove which rule.

The numbers and sentences of that file's tables are written by hand; the last column is written by
this script, from the comments above the tests (`// Rule 5.11.`, `// Rules 5.1 to 5.6 and 5.14: …`).
With --check nothing is written, and it fails where the file is stale, where a rule has no test, or
where a comment names a rule that is not in the file. A sentence that begins with `Later:` is of a
rule that this version does not serve, and needs no test.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "rules.md"
SOURCES = ["host", "tests", "guest-sdk", "plugins", "benches"]

NUMBER = r"\d+\.\d+"
# `Rule 1.2`, `Rules 1.2, 1.4 to 1.6 and 2.1`, `(rule 6.1)`, `SPEC 1.2`.
NAMED = re.compile(rf"\b(?:[Rr]ules?|SPEC)\s+({NUMBER}(?:(?:,\s*|\s+)(?:and\s+|or\s+|to\s+)?{NUMBER})*)")
ROW = re.compile(rf"^\| ({NUMBER}) \| (.*?) \|(.*)\|$")
TEST = re.compile(r"#\[(?:tokio::)?test\b")
FN = re.compile(r"^\s*(?:pub(?:\(.*?\))? )?(?:async )?fn (\w+)")


def order(rule):
    return tuple(int(part) for part in rule.split("."))


def rules_in(text):
    """The rules that a comment names, ranges written out."""
    found = []
    for named in NAMED.finditer(text):
        last, to = None, False
        for word in re.findall(rf"{NUMBER}|to\b", named.group(1)):
            if word == "to":
                to = True
                continue
            if to and order(last)[0] == order(word)[0]:
                section, first = order(last)
                found += [f"{section}.{n}" for n in range(first + 1, order(word)[1])]
            found.append(word)
            last, to = word, False
    return found


def comments_and_tests(lines):
    """Each block of comment lines as (line number, text, the test it stands above or None)."""
    block, began, attributes = [], 0, ""
    for number, line in enumerate([*lines, ""], 1):
        stripped = line.strip()
        if stripped.startswith("//"):
            if not block:
                began = number
            block.append(stripped.lstrip("/!").strip())
        elif stripped.startswith("#[") or attributes.count("[") > attributes.count("]"):
            attributes += stripped
        else:
            test = FN.match(line) if TEST.search(attributes) else None
            if block:
                yield began, " ".join(block), test and test.group(1)
            block, attributes = [], ""
            # A comment that ends a line of code.
            if "// " in stripped:
                yield number, stripped.split("// ", 1)[1], None


def read_sources(known):
    """Which tests name each rule, and what is wrong with the comments."""
    tests, wrong = {}, []
    files = sorted(file for source in SOURCES for file in (ROOT / source).rglob("*.rs"))
    for file in files:
        name = file.relative_to(ROOT).as_posix()
        for number, text, test in comments_and_tests(file.read_text().splitlines()):
            for rule in rules_in(text):
                if rule not in known:
                    wrong.append(f"{name}:{number}: there is no rule {rule}")
                elif test:
                    of_file = tests.setdefault(rule, {}).setdefault(name, [])
                    if test not in of_file:
                        of_file.append(test)
    return tests, wrong


def column(tests):
    """A cell of the table: the tests by file."""
    return "<br>".join(
        f"{file}: " + ", ".join(f"`{test}`" for test in names) for file, names in sorted(tests.items())
    )


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit("usage: .ci/rules.py [--check]")
    page = PAGE.read_text()
    rows = [row for row in map(ROW.match, page.splitlines()) if row]
    known = {row.group(1): row.group(2) for row in rows}
    tests, wrong = read_sources(known)
    if len(known) != len(rows) or sorted(known, key=order) != list(known):
        wrong.append("docs/rules.md: the rules are not in order, each once")
    for rule, sentence in known.items():
        if rule not in tests and not sentence.startswith("Later:"):
            wrong.append(f"docs/rules.md: no test names rule {rule}: {sentence}")

    def fill(line):
        row = ROW.match(line)
        if not row:
            return line
        rule, sentence, _ = row.groups()
        cell = column(tests.get(rule, {}))
        return f"| {rule} | {sentence} | {cell} |" if cell else f"| {rule} | {sentence} | |"

    filled = "".join(fill(line) + "\n" for line in page.splitlines())
    if check and filled != page:
        wrong.append("docs/rules.md: stale; python3 .ci/rules.py writes it anew")
    elif not check:
        PAGE.write_text(filled)
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
