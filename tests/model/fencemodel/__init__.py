# SPDX-License-Identifier: MIT
"""A random walk through all that sessions can do, against a model in memory.

tree.py        what is modelled: the live tree, fences, sessions with their own changes on top
compare.py     a mounted tree against a modelled one
operations.py  the operations: each picks something, predicts the result or the errno, does it, compares
walk.py        the walk: which operation comes next, what is printed when one goes wrong

Operation number i of a seed draws from a generator of its own, so that leaving out others does not
change what it would do: that is how tests/model/shrink finds the few that matter.
"""

from .walk import Failure, Walk

__all__ = ["Failure", "Walk"]
