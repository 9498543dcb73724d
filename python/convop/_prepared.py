"""Prepared operators through ctypes; otherwise like those of the extension, python/ext/prepared.c."""
from . import _arrays, _errors
from ._views import Views

# Sets of layouts that a prepared operator keeps plans for; the oldest goes first.
_MOST_PLANS = 16


class Prepared:
    """An operator with its last inputs fixed; prepare() makes it.

    y = op(x, out=None): the output, of the kind of the first input; or out, an array or a tuple with
    one for each output, which is then written to. Raises as convop.invoke(). Any number of threads
    may call it at once. The first call with new shapes makes a plan for them, which packs the fixed
    inputs; the last 16 plans are kept.
    """

    def __init__(self, planner):
        self._planner, self._plans = planner, {}

    def __repr__(self):
        return f"<convop.prepare('{self._planner}'), {len(self._plans)} plans>"

    def _plan(self, free, out):
        """Two threads that come with the same new layouts at once each make a plan; one is kept."""
        is_compact = out is None or all(view.is_compact for view in out)
        key = (tuple(view.layout() for view in free),
               None if is_compact else tuple(view.layout() for view in out))
        plan = self._plans.get(key)
        if not plan:
            plan = self._plans.setdefault(key, self._planner.plan(free, out))
            # No lock, which a fork might leave locked: each step is one for other threads.
            for old in list(self._plans)[:-_MOST_PLANS]:
                self._plans.pop(old, None)
            return plan
        if out is not None and is_compact and plan.outputs != [(v.shape, v.dtype) for v in out]:
            return self._planner.plan(free, out)  # which refuses
        return plan

    def __call__(self, *arrays, **keywords):
        out = keywords.pop("out", None)
        problem = None if arrays else "the first input is missing"
        for name in keywords:
            problem = f"its parameters are fixed; out is the only keyword, not {name}"
        if problem:
            raise _errors.ArgumentError(f"{self._planner}: {problem}")
        given = None if out is None else list(out) if isinstance(out, (tuple, list)) else [out]
        with Views() as views:
            free = [views.take(array, f"input {i}", bool(self._planner.mutated_inputs >> i & 1))
                    for i, array in enumerate(arrays)]
            into = None if given is None else [views.take(array, f"out[{i}]", True)
                                               for i, array in enumerate(given)]
            plan = self._plan(free, into)
            results = given or []
            if into is None:
                pairs = [views.new(arrays[0], free[0], *output) for output in plan.outputs]
                results, into = map(list, zip(*pairs))
            plan.run(free, into)
        if out is not None:
            return out
        results = tuple(_arrays.deliver(arrays[0], array) for array in results)
        return results[0] if len(results) == 1 else results
