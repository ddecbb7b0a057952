"""The golden cases. Add one at the end of its group, run make.py, look at the new capture, commit both."""

import sums  # noqa: F401
import tree  # noqa: F401
import segments  # noqa: F401
import refusals  # noqa: F401
import network  # noqa: F401
from registry import CASES  # noqa: F401
