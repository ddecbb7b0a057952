"""Statements and expressions of the P4 subset that p4/ is written in, as nested tuples: the first item is the kind."""

from p4_source import SourceError

BINARY = [["||"], ["&&"], ["==", "!="], ["<", ">", "<=", ">="], ["|"], ["&"], ["&&&"], ["<<", ">>"], ["++", "+", "-"]]


class Parser:
    def __init__(self, tokens):
        self.tokens, self.at = tokens, 0

    def peek(self, ahead=0):
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ""

    def take(self, expected=None):
        token = self.peek()
        if token == "" or (expected is not None and token != expected):
            raise SourceError(f"expected '{expected}' at '{' '.join(self.tokens[max(0, self.at - 8):self.at + 8])}'")
        self.at += 1
        return token

    def accept(self, token):
        if self.peek() == token:
            self.at += 1
            return True
        return False

    # ---- expressions
    def expression(self, level=0):
        if level == len(BINARY):
            return self.unary()
        left = self.expression(level + 1)
        while self.peek() in BINARY[level]:
            left = ("binary", self.take(), left, self.expression(level + 1))
        return left

    def unary(self):
        if self.peek() in ("!", "-", "~"):
            return ("unary", self.take(), self.unary())
        if self.peek() == "(" and self.peek(1) in ("bit", "int") and self.peek(2) == "<":
            self.take("(")
            kind = self.take()
            self.take("<")
            width = self.expression(len(BINARY) - 1)
            self.take(">")
            self.take(")")
            return ("cast", kind, width, self.unary())
        return self.postfix()

    def postfix(self):
        token = self.take()
        if token == "(":
            node = self.expression()
            self.take(")")
        elif token == "{":
            node = ("list", self.items("}"))
        else:
            node = ("name", token)
        while True:
            if self.accept("."):
                node = ("member", node, self.take())
            elif self.peek() == "[":
                self.take("[")
                high = self.expression()
                self.take(":")
                node = ("slice", node, high, self.expression())
                self.take("]")
            elif self.peek() == "(":
                self.take("(")
                node = ("call", node, self.items(")"))
            elif self.peek() == "<" and node[0] == "member" and node[2] in ("lookahead", "emit"):
                self.take("<")  # type argument of an extern's method
                depth, start = 1, self.at
                while depth:
                    word = self.take()
                    depth += (word == "<") - (word == ">") - 2 * (word == ">>")
                node = ("typed", node, self.tokens[start:self.at - 1] + ([">"] if self.tokens[self.at - 1] == ">>" else []))
            else:
                return node

    def items(self, closing):
        result = []
        while not self.accept(closing):
            result.append(self.expression())
            if not self.accept(","):
                self.take(closing)
                break
        return result

    # ---- statements
    def block(self):
        result = []
        while self.peek() and self.peek() != "}":
            result.append(self.statement())
        return result

    def body(self):
        if self.accept("{"):
            result = self.block()
            self.take("}")
            return result
        return [self.statement()]

    def statement(self):
        if self.accept("if"):
            self.take("(")
            condition = self.expression()
            self.take(")")
            then = self.body()
            otherwise = self.body() if self.accept("else") else []
            return ("if", condition, then, otherwise)
        if self.accept("transition"):
            return self.transition()
        kind = self.declared_type()
        if kind:
            name = self.take()
            value = self.expression() if self.accept("=") else None
            self.take(";")
            return ("declare", kind, name, value)
        left = self.postfix()
        if self.accept("="):
            right = self.expression()
            self.take(";")
            return ("assign", left, right)
        self.take(";")
        return ("do", left)

    def declared_type(self):
        """The type that a declaration begins with, else empty."""
        word = self.peek()
        if word in ("bit", "int") and self.peek(1) == "<":
            end = self.tokens.index(">", self.at)
            kind = "".join(self.tokens[self.at:end + 1])
            self.at = end + 1
            return kind
        if word.isidentifier() and self.peek(1).isidentifier():
            return self.take()
        return ""

    def transition(self):
        if not self.accept("select"):
            state = self.take()
            self.take(";")
            return ("goto", state)
        self.take("(")
        keys, cases = self.items(")"), []
        self.take("{")
        while not self.accept("}"):
            match = self.match()
            self.take(":")
            cases.append((match, self.take()))
            self.take(";")
        return ("select", keys, cases)

    # ---- matches: what a select case or a table entry compares with, one item per key
    def match(self):
        if not self.accept("("):
            return [self.match_item()]
        result = []
        while not self.accept(")"):
            result.append(self.match_item())
            self.accept(",")
        return result

    def match_item(self):
        if self.peek() in ("_", "default"):
            self.take()
            return ("any",)
        return self.expression()


def statements(tokens):
    parser = Parser(tokens)
    result = parser.block()
    if parser.peek():
        raise SourceError(f"unexpected '{parser.peek()}'")
    return result


def entries(tokens):
    """(matches, action, arguments) of constant table entries."""
    parser, result = Parser(tokens), []
    while parser.peek():
        matches = parser.match()
        parser.take(":")
        call = parser.postfix()
        parser.take(";")
        result.append((matches, call[1][1], call[2]))
    return result
