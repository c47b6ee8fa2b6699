"""Reads the C headers in the style in which ours are written, and nothing else.

A header is a list of typedefs of handles (`typedef struct NAME NAME;`), structs, enumerations
(`typedef int32_t NAME;` and an `enum` with a value for each constant), numbers, constants
(`#define`) and functions (HR_API). Anything else is an error with its file and line.
"""
import dataclasses
import pathlib
import re

# The marks of base.h: whether they have an argument.
MARKS = {"HR_NULLABLE": False, "HR_OR_NULL": False, "HR_ARRAY": True, "HR_BYTES": True,
         "HR_ELEMENTS": True, "HR_ELEMENTS_PER_RANK": True, "HR_HOLES": False, "HR_IN_OUT": False,
         "HR_KEEPS": False, "HR_TAKES": False, "HR_BLOCKS": False, "HR_RESULT": False,
         "HR_CALLED_BY": True}
# A comment that begins with one of these is about all functions up to the next empty line or
# comment.
PLURALS = ("Return", "Get", "Send", "Start", "Make", "Give", "Add", "Find", "Each")
NUMBERS = ("int", "size_t", "double", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t",
           "uint64_t")
TOKEN = re.compile(r"""(?P<comment>/\*.*?\*/) | (?P<directive>\#(?:[^\n]*\\\n)*[^\n]*)
                     | (?P<word>\w+) | (?P<sign>"C"|[*(){}\[\],;=-]) | (?P<space>\s+)""",
                   re.DOTALL | re.VERBOSE)


class HeaderError(Exception):
    """A construct that is not in our style."""


@dataclasses.dataclass
class Token:
    kind: str
    text: str
    first_line: int
    last_line: int


@dataclasses.dataclass
class Variable:
    """A parameter, a field or a result: `stars` is "*" or "*const" for each level of pointer. A
    pointer to a function has `parameters`, and the other members are of its result."""
    name: str
    base: str
    base_is_const: bool
    stars: list
    marks: dict
    line: int
    doc: str = ""
    parameters: list = None

    def type_text(self):
        return ("const " if self.base_is_const else "") + self.base + "".join(
            "* const" if star == "*const" else "*" for star in self.stars)


@dataclasses.dataclass
class Function:
    name: str
    header: str
    line: int
    doc: str
    result: Variable
    parameters: list


@dataclasses.dataclass
class Named:
    """A handle, a struct (with fields), an enumeration or number (with constants), a constant."""
    name: str
    header: str
    line: int
    doc: str
    parts: list = None
    base: str = ""


@dataclasses.dataclass
class Interface:
    functions: list = dataclasses.field(default_factory=list)
    handles: list = dataclasses.field(default_factory=list)
    structs: list = dataclasses.field(default_factory=list)
    enumerations: list = dataclasses.field(default_factory=list)
    numbers: list = dataclasses.field(default_factory=list)
    constants: list = dataclasses.field(default_factory=list)


def text_of(comment):
    """The words of a comment, without its marks."""
    lines = comment[2:-2].strip().splitlines()
    return "\n".join(re.sub(r"^ *\* ?", "", line).rstrip() if i else line.strip()
                     for i, line in enumerate(lines)).strip()


class Reader:
    def __init__(self, name, text, interface):
        self.name, self.out, self.position = name, interface, 0
        self.tokens, line, at = [], 1, 0
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                raise HeaderError(f"{name}:{line}: cannot read {text[at:at + 20]!r}")
            last = line + match.group().count("\n")
            if match.lastgroup != "space":
                self.tokens.append(Token(match.lastgroup, match.group(), line, last))
            line, at = last, match.end()

    def fail(self, what):
        token = self.tokens[min(self.position, len(self.tokens) - 1)]
        raise HeaderError(f"{self.name}:{token.first_line}: {what}, got '{token.text[:40]}'")

    def peek(self, *texts):
        """Whether the next tokens are these."""
        given = [token.text for token in self.tokens[self.position:self.position + len(texts)]]
        return given == list(texts)

    def take(self, text=None):
        """The next token, which has to be `text`, or a word."""
        if self.position == len(self.tokens):
            self.fail("expected more after the end")
        token = self.tokens[self.position]
        if token.text != text if text else token.kind != "word":
            self.fail(f"expected {text or 'a name'}")
        self.position += 1
        return token

    def accept(self, text):
        if not self.peek(text):
            return False
        self.position += 1
        return True

    # ---- Comments ----

    def comment(self):
        """The comment that begins here, or None."""
        if self.position < len(self.tokens) and self.tokens[self.position].kind == "comment":
            self.position += 1
            return self.tokens[self.position - 1]
        return None

    def trailing(self):
        """The text of a comment that begins on the line where the last token ended."""
        line = self.tokens[self.position - 1].last_line
        if self.position < len(self.tokens) and self.tokens[self.position].first_line == line:
            comment = self.comment()
            return text_of(comment.text) if comment else ""
        return ""

    # ---- Declarations ----

    def marks(self):
        found = {}
        while self.position < len(self.tokens) and self.tokens[self.position].text in MARKS:
            name = self.take().text
            found[name] = True
            if MARKS[name]:
                self.take("(")
                depth, argument = 1, ""
                while depth:
                    token = self.tokens[self.position]
                    self.position += 1
                    depth += {"(": 1, ")": -1}.get(token.text, 0)
                    argument += token.text if depth else ""
                found[name] = argument
        return found

    def base(self):
        """Marks, type and stars, up to the name."""
        marks, line = self.marks(), self.tokens[self.position].first_line
        const = self.accept("const")
        self.accept("struct")
        name, stars = self.take().text, []
        while self.accept("*"):
            stars.append("*const" if self.accept("const") else "*")
        return Variable("", name, const, stars, marks, line)

    def variable(self):
        out = self.base()
        if not self.accept("("):
            out.name = self.take().text
            return out
        self.take("*")
        out.name = self.take().text
        self.take(")")
        out.parameters = self.parameters()
        return out

    def parameters(self):
        self.take("(")
        out = []
        if self.peek("void", ")"):
            self.take("void")
        while not self.accept(")"):
            out.append(self.variable())
            if not self.peek(")"):
                self.take(",")
        return out

    def fields(self):
        """The fields up to the closing brace. A comment before the first of several fields without
        a comment of their own is the first one's."""
        out, doc = [], ""
        while not self.accept("}"):
            comment = self.comment()
            if comment is not None:
                doc = text_of(comment.text)
                continue
            fields = [self.variable()]
            while self.accept(","):
                first = fields[0]
                fields.append(dataclasses.replace(first, name=self.take().text))
            self.take(";")
            doc = self.trailing() or doc
            for field in fields:
                field.doc = doc
            doc = ""
            out += fields
        return out

    def enumeration(self, owner):
        self.take("enum")
        self.take("{")
        owner.parts = []
        while not self.accept("}"):
            if self.comment() is not None:
                self.fail("the comment of a constant stands after it")
            name = self.take().text
            self.take("=")
            sign = -1 if self.accept("-") else 1
            value = self.take().text
            if not value.isdigit():
                self.fail(f"expected a number as the value of {name}")
            if not self.peek("}"):
                self.take(",")
            owner.parts.append((name, sign * int(value), self.trailing()))
        self.take(";")

    def typedef(self, doc):
        line = self.take("typedef").first_line
        if not self.accept("struct"):
            base, name = self.take().text, self.take().text
            self.take(";")
            named = Named(name, self.name, line, doc, base=base)
            if base not in NUMBERS:
                self.fail(f"{name}: expected a typedef of a number")
            if self.peek("enum"):
                self.enumeration(named)
                self.out.enumerations.append(named)
            else:
                self.out.numbers.append(named)
            return
        name = self.take().text
        named = Named(name, self.name, line, doc)
        if self.accept("{"):
            named.parts = self.fields()
        (self.out.handles if named.parts is None else self.out.structs).append(named)
        self.take(name)
        self.take(";")

    def function(self, doc):
        line = self.take("HR_API").first_line
        result = self.base()
        result.name = self.take().text
        self.out.functions.append(Function(result.name, self.name, line, doc, result,
                                           self.parameters()))
        self.take(";")

    def directive(self, doc):
        token = self.tokens[self.position]
        self.position += 1
        words = token.text.split(None, 2)
        if token.text == "#ifdef __cplusplus":
            while not self.peek("#endif"):
                self.position += 1
        elif re.fullmatch(r"#define \w+ (\d+|UINT32_MAX)", token.text):
            value = 2**32 - 1 if words[2] == "UINT32_MAX" else int(words[2])
            self.out.constants.append(Named(words[1], self.name, token.first_line, doc, [value]))
        elif not re.match(r"#(include|if|ifndef|elif|else|endif)\b", token.text) and not re.match(
                r"#define (HEADRACE_\w+_H_|HR_API|HR_EXPORT|%s)\b" % "|".join(MARKS), token.text):
            self.position -= 1
            self.fail("expected a constant, a mark or an include")

    def read(self):
        doc, several, end = "", False, 0
        while self.position < len(self.tokens):
            token = self.tokens[self.position]
            if token.first_line > end + 1:
                doc, several = "", False
            if token.kind == "comment":
                doc = text_of(self.comment().text)
                several = doc.split(None, 1)[0] in PLURALS
            elif token.kind == "directive":
                self.directive(doc)
            elif self.peek("typedef"):
                self.typedef(doc)
            elif self.peek("HR_API"):
                self.function(doc)
            else:
                self.fail("expected a typedef or HR_API")
            if token.kind != "comment" and not several:
                doc = ""
            end = self.tokens[self.position - 1].last_line


def read_headers(folder):
    """The interface that headrace.h in the folder includes, in the order of its includes."""
    interface = Interface()
    main = (pathlib.Path(folder) / "headrace.h").read_text()
    for name in re.findall(r'#include "headrace/(\w+\.h)"', main):
        Reader(f"headrace/{name}", (pathlib.Path(folder) / name).read_text(), interface).read()
    return interface
