/* The type Prepared: an operator with its last inputs fixed. What it knows of the operator is in a
 * Planner of convop/_prepare.py, which is asked for a plan when tensors with new layouts come. */
#include "python/ext/ext.h"
/* It needs Python.h. */
#include <structmember.h>

/* The oldest goes first. */
#define MOST_PLANS 16

typedef PyObject *(*vectorcall)(PyObject *callable, PyObject *const *args, size_t nargsf,
                                PyObject *kwnames);

struct prepared {
    PyObject_HEAD vectorcall call;
    PyObject *planner;
    unsigned mutated; /* bit i: input i is written to as well */
    int num_plans, oldest, last;
    struct cvp_py_plan *plans[MOST_PLANS];
};

/* The arrays of one call. */
struct frame {
    int num_inputs, num_views, num_outputs, num_begun;
    PyObject *given; /* `out`; NULL: none */
    PyObject *given_outputs[CVP_PY_MAX_TENSORS], *keeper;
    struct cvp_py_view views[CVP_PY_MAX_TENSORS];
    struct cvp_py_output begun[CVP_PY_MAX_TENSORS];
    /* NULL where they are fixed, which the instance has, or not seen. */
    const DLTensor *inputs[CVP_PY_MAX_TENSORS];
    DLTensor *outputs[CVP_PY_MAX_TENSORS];
};

/* ---- plans --------------------------------------------------------------------------------- */

static struct cvp_py_plan *find(struct prepared *self, const struct frame *f)
{
    for (int i = 0; i < self->num_plans; i++) {
        int at = (self->last + i) % self->num_plans;
        if (cvp_py_plan_fits(self->plans[at], f->num_inputs, f->inputs, f->num_outputs,
                             f->given ? f->outputs : NULL)) {
            self->last = at;
            return self->plans[at];
        }
    }
    return NULL;
}

static void keep(struct prepared *self, struct cvp_py_plan *plan)
{
    struct cvp_py_plan *old = NULL;
    if (self->num_plans < MOST_PLANS) {
        self->last = self->num_plans++;
    } else {
        self->last = self->oldest;
        self->oldest = (self->oldest + 1) % MOST_PLANS;
        old = self->plans[self->last];
    }
    self->plans[self->last] = cvp_py_plan_retain(plan);
    if (old) cvp_py_plan_release(old);
}

static PyObject *addresses(int count, const void *const *tensors)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < count; i++) {
        PyObject *address = PyLong_FromVoidPtr((void *)(uintptr_t)tensors[i]);
        if (!address || PyList_Append(list, address)) Py_CLEAR(list);
        Py_XDECREF(address);
    }
    return list;
}

/* Asks the planner, which gives the GIL back: two threads that come with the same new layouts at
 * once each make a plan, and the second is used once. No lock, which a fork might leave locked. */
static struct cvp_py_plan *make(struct prepared *self, const struct frame *f)
{
    const void *tensors[2][CVP_PY_MAX_TENSORS];
    for (int i = 0; i < f->num_inputs; i++) tensors[0][i] = f->inputs[i];
    for (int i = 0; i < f->num_outputs; i++) tensors[1][i] = f->outputs[i];
    PyObject *in = addresses(f->num_inputs, tensors[0]), *out = Py_None, *made = NULL;
    if (f->given)
        out = addresses(f->num_outputs, tensors[1]);
    else
        Py_INCREF(out);
    if (in && out) made = PyObject_CallMethod(self->planner, "plan_at", "OO", in, out);
    Py_XDECREF(in);
    Py_XDECREF(out);
    if (!made) return NULL;
    struct cvp_py_plan *plan =
        cvp_py_plan_new(made, f->num_inputs, f->inputs, f->given ? f->outputs : NULL);
    Py_DECREF(made);
    if (plan && !find(self, f)) keep(self, plan);
    return plan;
}

/* ---- calls --------------------------------------------------------------------------------- */

static int fail(const struct prepared *self, const char *problem, PyObject *name)
{
    PyErr_Format(cvp_py.argument_error, "%S: %s%S", self->planner, problem, name);
    return -1;
}

static int read_out(const struct prepared *self, PyObject *const *values, PyObject *kwnames,
                    struct frame *f)
{
    Py_ssize_t count = kwnames ? PyTuple_Size(kwnames) : 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *name = PyTuple_GetItem(kwnames, i);
        if (PyUnicode_CompareWithASCIIString(name, "out") != 0)
            return fail(self, "its parameters are fixed; out is the only keyword, not ", name);
        if (values[i] != Py_None) f->given = values[i];
    }
    if (!f->given) return 0;
    int is_tuple = PyTuple_Check(f->given) || PyList_Check(f->given);
    f->keeper = is_tuple ? PySequence_Tuple(f->given) : Py_BuildValue("(O)", f->given);
    Py_ssize_t outputs = f->keeper ? PyTuple_Size(f->keeper) : 0;
    if (!f->keeper) return -1;
    if (outputs > CVP_PY_MAX_TENSORS) return fail(self, "too many outputs in ", cvp_py.out);
    f->num_outputs = (int)outputs;
    for (int i = 0; i < f->num_outputs; i++) f->given_outputs[i] = PyTuple_GetItem(f->keeper, i);
    return 0;
}

static int borrow(const struct prepared *self, PyObject *const *args, struct frame *f)
{
    static const char *const names[CVP_PY_MAX_TENSORS] = {
        "input 0",  "input 1",  "input 2",  "input 3", "input 4",  "input 5",
        "input 6",  "input 7",  "input 8",  "input 9", "input 10", "input 11",
        "input 12", "input 13", "input 14", "input 15"};
    for (; f->num_views < f->num_inputs; f->num_views++) {
        int i = f->num_views;
        if (cvp_py_borrow(args[i], names[i], self->mutated >> i & 1, &f->views[i])) return -1;
        f->inputs[i] = &f->views[i].tensor;
    }
    for (int i = f->num_inputs; i < CVP_PY_MAX_TENSORS; i++) f->inputs[i] = NULL;
    return 0;
}

/* The outputs that are given; or new ones, as the plan says. */
static int begin(PyObject *like, const struct cvp_py_plan *plan, struct frame *f)
{
    for (; f->num_begun < f->num_outputs; f->num_begun++) {
        int i = f->num_begun, ndim = 0;
        DLDataType dtype = {0};
        const int64_t *shape = plan ? cvp_py_plan_output(plan, i, &ndim, &dtype) : NULL;
        if (cvp_py_output_begin(f->given ? f->given_outputs[i] : NULL, cvp_py_out_names[i], like,
                                f->inputs[0], ndim, shape, &dtype, &f->begun[i]))
            return -1;
        f->outputs[i] = &f->begun[i].view.tensor;
    }
    for (int i = f->num_outputs; i < CVP_PY_MAX_TENSORS; i++) f->outputs[i] = NULL;
    return 0;
}

static int run(struct prepared *self, PyObject *like, struct frame *f)
{
    convop_exec room;
    const convop_exec *exec;
    if (cvp_py_exec(like, f->inputs[0], &room, &exec) || (f->given && begin(like, NULL, f)))
        return -1;
    struct cvp_py_plan *plan = find(self, f);
    plan = plan ? cvp_py_plan_retain(plan) : make(self, f);
    if (!plan) return -1;
    f->num_outputs = cvp_py_plan_num_outputs(plan);
    int failed = !f->given && begin(like, plan, f);
    if (!failed) {
        convop_status status = cvp_py_plan_run(plan, f->inputs, f->outputs, exec);
        if (status != CONVOP_OK) cvp_py_raise(status);
        failed = status != CONVOP_OK;
    }
    cvp_py_plan_release(plan);
    return failed ? -1 : 0;
}

/* The result, of outputs that are all begun; ends them. */
static PyObject *finish(struct frame *f)
{
    PyObject *result = cvp_py_outputs_finish(f->begun, NULL, f->num_begun);
    f->num_begun = 0;
    if (!result || !f->given) return result;
    Py_DECREF(result);
    Py_INCREF(f->given);
    return f->given;
}

static PyObject *call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    struct prepared *self = (struct prepared *)object;
    size_t count = nargsf & ~PY_VECTORCALL_ARGUMENTS_OFFSET;
    struct frame f; /* what is in its arrays counts up to the numbers of them */
    f.num_views = f.num_outputs = f.num_begun = 0;
    f.num_inputs = count < CVP_PY_MAX_TENSORS ? (int)count : CVP_PY_MAX_TENSORS;
    f.given = f.keeper = NULL;
    PyObject *result = NULL;
    if (!self->planner) /* in the middle of being collected */
        PyErr_SetString(cvp_py.argument_error, "the prepared operator is no more");
    else if (count == 0)
        fail(self, "the first input is missing", cvp_py.empty);
    else if (count > CVP_PY_MAX_TENSORS)
        fail(self, "too many inputs", cvp_py.empty);
    else if (!read_out(self, args + count, kwnames, &f) && !borrow(self, args, &f) &&
             !run(self, args[0], &f))
        result = finish(&f);
    for (int i = 0; i < f.num_begun; i++) cvp_py_output_drop(&f.begun[i]);
    for (int i = 0; i < f.num_views; i++) cvp_py_release(&f.views[i]);
    Py_XDECREF(f.keeper);
    return result;
}

/* ---- the type ------------------------------------------------------------------------------ */

static PyObject *new (PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *planner;
    if (kwargs && PyDict_Size(kwargs)) {
        PyErr_SetString(cvp_py.argument_error, "Prepared(): its planner is positional");
        return NULL;
    }
    if (!PyArg_UnpackTuple(args, "Prepared", 1, 1, &planner)) return NULL;
    PyObject *mutated = PyObject_GetAttrString(planner, "mutated_inputs");
    unsigned long bits = mutated ? PyLong_AsUnsignedLong(mutated) : 0;
    Py_XDECREF(mutated);
    if (PyErr_Occurred()) return NULL;
    allocfunc alloc = __extension__(allocfunc) PyType_GetSlot(type, Py_tp_alloc);
    struct prepared *self = (struct prepared *)alloc(type, 0);
    if (!self) return NULL;
    self->call = call;
    self->mutated = (unsigned)bits;
    self->planner = planner;
    Py_INCREF(planner);
    return (PyObject *)self;
}

static int clear(PyObject *object)
{
    struct prepared *self = (struct prepared *)object;
    while (self->num_plans) cvp_py_plan_release(self->plans[--self->num_plans]);
    Py_CLEAR(self->planner);
    return 0;
}

static int traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(((struct prepared *)object)->planner);
    return 0;
}

static void dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    clear(object);
    freefunc release = __extension__(freefunc) PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyObject *repr(PyObject *object)
{
    struct prepared *self = (struct prepared *)object;
    return PyUnicode_FromFormat("<convop.prepare('%S'), %d plans>", self->planner, self->num_plans);
}

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct prepared, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static const char doc[] =
    "An operator with its last inputs fixed; prepare() makes it.\n\n"
    "y = op(x, out=None): the output, of the kind of the first input; or out, an array or a tuple\n"
    "with one for each output, which is then written to. Raises as convop.invoke(). Any number of\n"
    "threads may call it at once. The first call with new shapes makes a plan for them, which "
    "packs\n"
    "the fixed inputs; the last 16 plans are kept.";

PyObject *cvp_py_prepared_type(void)
{
    /* Slots hold functions as pointers to data, which POSIX allows. */
#define FUNCTION(function) __extension__(void *)(function)
    PyType_Slot slots[] = {
        {Py_tp_new, FUNCTION(new)},
        {Py_tp_dealloc, FUNCTION(dealloc)},
        {Py_tp_traverse, FUNCTION(traverse)},
        {Py_tp_clear, FUNCTION(clear)},
        {Py_tp_call, FUNCTION(PyVectorcall_Call)},
        {Py_tp_repr, FUNCTION(repr)},
        {Py_tp_members, members},
        {Py_tp_doc, (void *)(uintptr_t)doc},
        {0, NULL},
    };
    PyType_Spec spec = {"convop._convop.Prepared", sizeof(struct prepared), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
                        slots};
    return PyType_FromSpec(&spec);
}
