"""Where golden cases are entered, each a sentence with a function that adds its packets."""

from case import EVERY_ENGINE, Case

CASES = []
X86 = ("x86",)  # more lanes than a pass of the chip, or answers of the switch's own processor


def case(sentence, engines=EVERY_ENGINE, **options):
    """A case with one job; its function adds the packets."""
    def add(function):
        made = Case(function.__name__, sentence, engines)
        function(made.job(**options))
        CASES.append(made)
        return function
    return add


def case_without_job(sentence, engines=EVERY_ENGINE):
    def add(function):
        made = Case(function.__name__, sentence, engines)
        function(made)
        CASES.append(made)
        return function
    return add
