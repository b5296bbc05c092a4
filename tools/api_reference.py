"""Makes the reference page of the API from the declarations and comments of tenon.h and tenon.hpp."""

import re
from dataclasses import dataclass, field


@dataclass
class Declaration:
    comment: str
    text: str
    inside: list["Declaration"] = field(default_factory=list)  # public members of a class or struct


def plain(comment: str) -> str:
    """The text of a comment on one line."""
    lines = (re.sub(r"^\s*(/\*+|\*/?|//+)\s?|\s*\*/\s*$", "", line).strip() for line in comment.splitlines())
    return " ".join(line for line in lines if line)


def closing(text: str, start: int) -> int:
    """The position after the brace that closes the one at `start`."""
    depth = 0
    for match in re.finditer(r"[{}]|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])'|//[^\n]*|/\*.*?\*/", text[start:], re.S):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return start + match.end()
    raise ValueError("a brace is not closed")


def end_of_head(text: str, start: int) -> int:
    """The position of a declaration's body or end: the first { or ; outside of parentheses."""
    depth, at = 0, start
    while at < len(text):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0 and text[at] in "{;":
            initialises = re.search(r"\)\s*(noexcept\s*)?:\s(?s:.*)\w$", text[start:at])
            if text[at] == ";" or not initialises:
                return at
            at = closing(text, at)  # a member's initialiser: Thing() : n_{1} {}
            continue
        at += 1
    return len(text)


def head_only(text: str) -> str:
    """The declaration on one line, without a constructor's initialisers."""
    text = re.sub(r"\)\s*(noexcept\s*)?:\s.*", r")", text, flags=re.S)
    return " ".join(re.sub(r"\b(inline|constexpr|explicit) ", "", text).split())


def declarations(text: str, public: bool = True) -> list[Declaration]:
    """The declarations of a C++ namespace or class, each with the comment before or after it."""
    found, at, comment = [], 0, []
    while at < len(text):
        line_end = (text.find("\n", at) + 1) or len(text)
        line = text[at:line_end].strip()
        label = re.fullmatch(r"(public|private|protected):", line)
        if label:
            public = label[1] == "public"
        if not line or label or line.startswith(("#", "//")):
            comment = comment + [line] if line.startswith("///") else []
            at = line_end
            continue
        end = end_of_head(text, at)
        head, said, comment = text[at:end].strip(), plain("\n".join(comment)), []
        at = closing(text, end) if text[end : end + 1] == "{" else end + 1
        body = text[end + 1 : at - 1]
        at += len(re.match(r"(\s*;)?", text[at:])[0])
        behind = re.match(r"[ \t]*//([^\n]*)", text[at:])
        said = said or (plain(behind[0]) if behind else "")
        kind = re.match(r"(class|struct|namespace) ([\w:]+)", head)
        if not public or head.startswith(("using", "}")) or (kind and kind[2] == "detail"):
            continue
        if kind and kind[1] == "namespace":
            found += declarations(body)
        elif kind:
            found.append(Declaration(said, head, declarations(body, kind[1] == "struct")))
        else:
            found.append(Declaration(said, head_only(head)))
    return found


def lines_of(each: Declaration) -> list[str]:
    return [f"- `{each.text}`" + (f": {each.comment}" if each.comment else "")]


def cpp_reference(header: str) -> str:
    top = declarations(header)
    out = []
    for each in top:
        if each.inside:
            out += [f"### {each.text.split(':')[0].strip()}", ""] + ([each.comment, ""] if each.comment else [])
            out += [line for inner in each.inside for line in lines_of(inner)] + [""]
    functions = [line for each in top if not each.inside for line in lines_of(each)]
    return "\n".join(out + ["### Functions", ""] + functions)


def table_of_functions(header: str) -> list[str]:
    """The functions of tenon_api in order, each with the comment above or after it."""
    body = re.search(r"typedef struct tenon_api \{(.*?)\n\} tenon_api;", header, re.S)[1]
    comment = r"/\*(?:(?!\*/).)*\*/"
    function = rf"(?P<above>{comment})|(?P<result>[\w ]+\**) ?\(\*(?P<name>\w+)\)(?P<takes>\([^;]*?\));(?:[ \t]*(?P<behind>{comment}))?"
    out, said = [], ""
    for match in re.finditer(function, body, re.S):
        if match["above"]:
            said = plain(match["above"])
            continue
        text = f"{match['result'].strip()} {match['name']}{' '.join(match['takes'].split())}"
        out += lines_of(Declaration(said or plain(match["behind"] or ""), text))
        said = ""
    return out


def struct_rows(body: str) -> list[str]:
    rows = ["| member | meaning |", "|---|---|"]
    said = ""
    for comment, text, behind in re.findall(r"(/\*(?:(?!\*/).)*\*/)\s*\n|([^;{}/]+;)[ \t]*(/\*(?:(?!\*/).)*\*/)?", body, re.S):
        if comment:
            said = plain(comment)
            continue
        meaning = plain(behind) or said
        rows.append(f"| `{' '.join(text.split()).rstrip(';')}` | {meaning.replace('|', chr(92) + '|')} |")
        said = ""
    return rows


def enum_rows(body: str) -> list[str]:
    rows = ["| constant | value | meaning |", "|---|---:|---|"]
    said = ""
    for comment, name, value, behind in re.findall(
            r"(/\*(?:(?!\*/).)*\*/)\s*\n|(\w+) = (\w+),?[ \t]*(/\*(?:(?!\*/).)*\*/)?", body, re.S):
        if comment:
            said = plain(comment)
            continue
        rows.append(f"| `{name}` | {value.rstrip('u')} | {plain(behind) or said} |")
        said = ""
    return rows


def c_reference(header: str) -> str:
    out = []
    pattern = re.compile(r"(?P<comment>/\*(?:(?!\*/).)*\*/\n)?(?:typedef struct (?P<name>\w+) |(?P<enum>enum) )\{(?P<body>.*?)\n\}[^;]*;", re.S)
    for match in pattern.finditer(header):
        if match["name"] == "tenon_api":
            continue
        name = match["name"] or ", ".join(f"`{word}_x`" for word in prefixes(match["body"]))
        out += [f"### {name}", ""] + ([plain(match["comment"]), ""] if match["comment"] else [])
        out += (enum_rows if match["enum"] else struct_rows)(match["body"]) + [""]
    functions = table_of_functions(header)
    if sum(line.startswith("- ") for line in functions) < 40:
        raise SystemExit("api_reference: found fewer than 40 functions in tenon.h")
    return "\n".join(out + ["### tenon_api", "", *functions])


def prefixes(body: str) -> list[str]:
    """The common prefix of an enum's constants: TENON_FAILURE of TENON_FAILURE_NONE, ..."""
    names = [name.split("_") for name in re.findall(r"(\w+) =", body)]
    common = names[0]
    for name in names:
        common = [a for a, b in zip(common, name) if a == b]
    return ["_".join(common if len(names) > 1 else common[:2])]
