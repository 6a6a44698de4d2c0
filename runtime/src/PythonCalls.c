//===- PythonCalls.c - Calls of compiled functions from Python ----*- C -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The module relax_runtime._calls, of the stable ABI of CPython 3.10, has what
// every call goes through. Its type Function is a callable that passes arguments
// on as they are. Names of arguments, arguments that are refused, and calls that
// fail are the business of functions of Python (calls.py), which do all of it where
// this module was not built. Its function `uncollected` makes results cheaper to
// release, `watch` has tensors reported that require gradients, and `end` keeps
// calls of daemon threads from the end of the interpreter.
//
//===----------------------------------------------------------------------===//

#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#include <structmember.h>
#include <time.h>
#include <unistd.h>

typedef struct {
  PyObject_HEAD
  PyObject *attributes;   // __dict__
  PyObject *packed;       // the function of tvm-ffi
  PyObject *general;      // takes arguments by name, and reports wrong numbers
  PyObject *retry;        // (error, arguments) -> another call, or None
  ternaryfunc call;       // of the type of `packed`; NULL: it has none
  Py_ssize_t numParams;
} Function;

static PyObject *Function_new(PyTypeObject *type, PyObject *args,
                              PyObject *kwargs) {
  PyObject *packed, *general, *retry;
  Py_ssize_t numParams;
  (void)kwargs;
  if (!PyArg_ParseTuple(args, "OOOn", &packed, &general, &retry, &numParams))
    return NULL;
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  Function *self = (Function *)allocate(type, 0);
  if (!self)
    return NULL;
  Py_INCREF(packed);
  Py_INCREF(general);
  Py_INCREF(retry);
  self->packed = packed;
  self->general = general;
  self->retry = retry;
  self->call = (ternaryfunc)PyType_GetSlot(Py_TYPE(packed), Py_tp_call);
  self->numParams = numParams;
  self->attributes = PyDict_New();
  if (!self->attributes) {
    Py_DECREF(self);
    return NULL;
  }
  return (PyObject *)self;
}

static int Function_traverse(Function *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(self->attributes);
  Py_VISIT(self->packed);
  Py_VISIT(self->general);
  Py_VISIT(self->retry);
  return 0;
}

static int Function_clear(Function *self) {
  Py_CLEAR(self->attributes);
  Py_CLEAR(self->packed);
  Py_CLEAR(self->general);
  Py_CLEAR(self->retry);
  return 0;
}

static void Function_dealloc(Function *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Function_clear(self);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

// Makes the call again, with other arguments, where that may mend the error
// that is set.
static PyObject *callAgain(Function *self, PyObject *args) {
  PyObject *type, *error, *traceback;
  PyErr_Fetch(&type, &error, &traceback);
  PyErr_NormalizeException(&type, &error, &traceback);
  PyObject *again =
      PyObject_CallFunctionObjArgs(self->retry, error, args, NULL);
  if (again == Py_None) {
    Py_DECREF(again);
    PyErr_Restore(type, error, traceback);
    return NULL;
  }
  // Before the call, since a traceback keeps the arguments alive.
  Py_XDECREF(type);
  Py_XDECREF(error);
  Py_XDECREF(traceback);
  if (!again)
    return NULL;
  PyObject *result = PyObject_CallObject(again, NULL);
  Py_DECREF(again);
  return result;
}

// Exact types of tensors that may require gradients, and what is called with
// one that does; NULL before they are known.
#define NUM_WATCHED 2
static PyTypeObject *watched[NUM_WATCHED];
static PyObject *report;

// Returns 0, or -1 with an error of the report.
static int reportGradient(PyObject *arg) {
  if (Py_TYPE(arg) != watched[0] && Py_TYPE(arg) != watched[1])
    return 0;
  PyObject *required = PyObject_GetAttrString(arg, "requires_grad");
  int isRequired = required ? PyObject_IsTrue(required) : -1;
  Py_XDECREF(required);
  if (isRequired <= 0)
    return isRequired;
  PyObject *done = PyObject_CallFunctionObjArgs(report, arg, NULL);
  Py_XDECREF(done);
  return done ? 0 : -1;
}

// A class of arrays that a call must not take, such as those with a mask, which
// DLPack would drop; NULL before it is known.
static PyTypeObject *refused;

// What tvm-ffi converts by recursion, without a limit.
#define CONTAINERS                                                             \
  (Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_TUPLE_SUBCLASS |                      \
   Py_TPFLAGS_DICT_SUBCLASS)
#define MAX_NESTING 200

static int isNestedDeeper(PyObject *value, int limit) {
  unsigned long kind = PyType_GetFlags(Py_TYPE(value)) & CONTAINERS;
  if (!kind)
    return 0;
  if (limit == 0)
    return 1;
  PyObject *key, *each;
  if (kind & Py_TPFLAGS_DICT_SUBCLASS) {
    for (Py_ssize_t i = 0; PyDict_Next(value, &i, &key, &each);)
      if (isNestedDeeper(each, limit - 1))
        return 1;
    return 0;
  }
  int isList = (kind & Py_TPFLAGS_LIST_SUBCLASS) != 0;
  Py_ssize_t size = isList ? PyList_Size(value) : PyTuple_Size(value);
  for (Py_ssize_t i = 0; i < size; ++i) {
    each = isList ? PyList_GetItem(value, i) : PyTuple_GetItem(value, i);
    if (isNestedDeeper(each, limit - 1))
      return 1;
  }
  return 0;
}

// How many calls run, and the thread that ends the interpreter, 0 before: both
// are only accessed with Python's lock. Python ends a thread that waits for the
// lock after that, and with it the process, where the thread is in C++.
static Py_ssize_t numRunning;
static unsigned long endingThread;

// Threads that begin a call later stay here until the process ends.
static void enterCall(void) {
  if (endingThread && endingThread != PyThread_get_thread_ident()) {
    Py_BEGIN_ALLOW_THREADS for (;;) pause();
    Py_END_ALLOW_THREADS
  }
  ++numRunning;
}

// The depth of recursion is counted by who calls, and by compiled functions.
static PyObject *Function_call(Function *self, PyObject *args,
                               PyObject *kwargs) {
  if ((kwargs && PyDict_Size(kwargs) != 0) ||
      PyTuple_Size(args) != self->numParams || !self->call)
    return PyObject_Call(self->general, args, kwargs);
  for (Py_ssize_t i = 0; i < self->numParams; ++i) {
    PyObject *arg = PyTuple_GetItem(args, i);
    if (Py_TYPE(arg) == refused || isNestedDeeper(arg, MAX_NESTING))
      return PyObject_Call(self->general, args, NULL); // which says so
    if (report && reportGradient(arg))
      return NULL;
  }
  enterCall();
  PyObject *result = self->call(self->packed, args, NULL);
  --numRunning;
  if (result || !(PyErr_ExceptionMatches(PyExc_TypeError) ||
                  PyErr_ExceptionMatches(PyExc_ValueError) ||
                  PyErr_ExceptionMatches(PyExc_BufferError) ||
                  PyErr_ExceptionMatches(PyExc_RuntimeError)))
    return result;
  return callAgain(self, args);
}

static PyObject *Function_repr(Function *self) {
  PyObject *name = PyObject_GetAttrString((PyObject *)self, "__qualname__");
  if (!name)
    return NULL;
  PyObject *text = PyUnicode_FromFormat("<compiled function %U>", name);
  Py_DECREF(name);
  return text;
}

static PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(Function, attributes), READONLY,
     NULL},
    {"packed", T_OBJECT_EX, offsetof(Function, packed), READONLY,
     "The function of tvm-ffi."},
    {NULL, 0, 0, 0, NULL}};

static PyGetSetDef accessors[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A compiled function.\n\n"
                "Parameters\n"
                "----------\n"
                "packed : tvm_ffi.Function\n"
                "general : callable\n"
                "    Called instead where arguments have names, or are more or "
                "fewer.\n"
                "retry : callable\n"
                "    From an error and the arguments to another call, or None.\n"
                "num_params : int\n"},
    {Py_tp_new, (void *)Function_new},
    {Py_tp_dealloc, (void *)Function_dealloc},
    {Py_tp_traverse, (void *)Function_traverse},
    {Py_tp_clear, (void *)Function_clear},
    {Py_tp_call, (void *)Function_call},
    {Py_tp_repr, (void *)Function_repr},
    {Py_tp_members, members},
    {Py_tp_getset, accessors},
    {0, NULL}};

static PyType_Spec spec = {"relax_runtime.Function", sizeof(Function), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

// Of the base of the class that `uncollected` made; NULL before.
static destructor releaseBase;

static void Uncollected_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  releaseBase(self);
  Py_DECREF(type);
}

// Gives the type the attributes of the class.
static int copyAttributes(PyObject *from, PyObject *type) {
  PyObject *attributes = PyObject_GetAttrString(from, "__dict__");
  PyObject *items = attributes ? PyMapping_Items(attributes) : NULL;
  Py_XDECREF(attributes);
  int code = items ? 0 : -1;
  for (Py_ssize_t i = 0; code == 0 && i < PyList_Size(items); ++i) {
    PyObject *item = PyList_GetItem(items, i);
    code = PyObject_SetAttr(type, PyTuple_GetItem(item, 0),
                            PyTuple_GetItem(item, 1));
  }
  Py_XDECREF(items);
  return code;
}

static PyType_Slot uncollectedSlots[] = {
    {Py_tp_dealloc, (void *)Uncollected_dealloc}, {0, NULL}};

static PyType_Spec uncollectedSpec = {"relax_runtime.tensor.Tensor", 0, 0,
                                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                      uncollectedSlots};

// What Python makes of a class statement is collected, with a general routine
// that releases instances. These hold no objects of Python, and have no more
// to release than those of the base.
static PyObject *makeUncollected(PyObject *module, PyObject *cls) {
  (void)module;
  PyObject *base = PyObject_GetAttrString(cls, "__base__");
  if (!base)
    return NULL;
  unsigned long flags = PyType_GetFlags((PyTypeObject *)base);
  if (releaseBase || (flags & (Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_HAVE_GC))) {
    Py_DECREF(base);
    Py_INCREF(cls);
    return cls;
  }
  PyObject *type = PyType_FromSpecWithBases(&uncollectedSpec, base);
  if (type && copyAttributes(cls, type)) {
    Py_DECREF(type);
    type = NULL;
  }
  if (type)
    releaseBase =
        (destructor)PyType_GetSlot((PyTypeObject *)base, Py_tp_dealloc);
  Py_DECREF(base);
  return type;
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

static PyObject *end(PyObject *module, PyObject *milliseconds) {
  long left = PyLong_AsLong(milliseconds);
  (void)module;
  if (left == -1 && PyErr_Occurred())
    return NULL;
  endingThread = PyThread_get_thread_ident();
  for (; numRunning > 0 && left > 0; --left) {
    struct timespec millisecond = {0, 1000000};
    Py_BEGIN_ALLOW_THREADS nanosleep(&millisecond, NULL);
    Py_END_ALLOW_THREADS
  }
  Py_RETURN_NONE;
}

static PyObject *forget(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  numRunning = 0;
  Py_RETURN_NONE;
}

static PyObject *refuse(PyObject *module, PyObject *type) {
  (void)module;
  Py_INCREF(type);
  Py_XDECREF(refused);
  refused = (PyTypeObject *)type;
  Py_RETURN_NONE;
}

static PyObject *watch(PyObject *module, PyObject *args) {
  PyObject *types[NUM_WATCHED], *function;
  (void)module;
  if (!PyArg_ParseTuple(args, "O!O!O", &PyType_Type, &types[0], &PyType_Type,
                        &types[1], &function))
    return NULL;
  for (int i = 0; i < NUM_WATCHED; ++i) {
    Py_INCREF(types[i]);
    Py_XDECREF(watched[i]);
    watched[i] = (PyTypeObject *)types[i];
  }
  Py_INCREF(function);
  Py_XDECREF(report);
  report = function;
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"end", end, METH_O,
     "Let no other thread begin a call, and wait for those that run, so many "
     "milliseconds at most."},
    {"forget", forget, METH_NOARGS,
     "Forget calls of threads that a child of fork does not have."},
    {"refuse", refuse, METH_O,
     "Leave calls with an argument of a type to `general`, which raises."},
    {"watch", watch, METH_VARARGS,
     "Call a function with each argument of a call that requires a "
     "gradient.\n\n"
     "Parameters\n"
     "----------\n"
     "tensor, parameter : type\n"
     "    The types of such arguments.\n"
     "report : callable\n"},
    {"uncollected", makeUncollected, METH_O,
     "Return a class with the base and attributes of one that has empty slots, "
     "whose instances the cycle collector does not visit.\n\n"
     "It makes one such class; others, and those whose base is not of C, it "
     "returns as they are."},
    {NULL, NULL, 0, NULL}};

static int addTypes(PyObject *module) {
  PyObject *type = PyType_FromSpec(&spec);
  if (!type)
    return -1;
  int code = PyModule_AddObjectRef(module, "Function", type);
  Py_DECREF(type);
  return code;
}

static PyModuleDef_Slot moduleSlots[] = {{Py_mod_exec, (void *)addTypes},
                                         {0, NULL}};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                 "relax_runtime._calls",
                                 "Calls of compiled functions.",
                                 0,
                                 functions,
                                 moduleSlots,
                                 NULL,
                                 NULL,
                                 NULL};

PyMODINIT_FUNC PyInit__calls(void) { return PyModuleDef_Init(&definition); }
