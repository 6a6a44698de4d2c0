# RUN: %python %s %source_root/dialect %mlir_include_dir
"""Every operation, type and attribute has an example, and each example parses and verifies.

Examples are the `mlir` fences of a description and its sentences "Example: `...`". Before an
example stands what it uses: a value of the type that it says for each name, the functions that it
calls, and bound shape variables.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator

# Names that are integers (i64) in the examples.
INTEGERS = {"%d", "%n", "%m"}
# Callees of an example, by the operation that calls them.
CALLEES = {
    "relax.call @": "relax.func private @square(!relax.tensor<[n], f32>) -> "
    "!relax.tensor<[n], f32>",
    "relax.call_tir ": "func.func private @exp(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>\n"
    "func.func private @scale(tensor<?xf32>, f32, tensor<?xf32>) -> tensor<?xf32>",
    "relax.call_tir_local_view ": "func.func private @exp(tensor<?x2xf32>, tensor<?x2xf32>) -> "
    "tensor<?x2xf32>",
    "relax.call_tir_inplace ": "func.func private @relu(tensor<?xf32>) -> tensor<?xf32>",
    "relax.global_var ": "relax.func private @square(!relax.tensor<[n], f32>) -> "
    "!relax.tensor<[n], f32>",
    "relax.builtin.make_closure ": "relax.func private @main.f(!relax.object, !relax.object) -> "
    "!relax.object attributes {relax.captures = 1 : i64}",
    "relax.builtin.call_kernel ": "func.func private @exp(memref<?xf32>, memref<?xf32>)\n"
    "func.func private @relu(memref<?xf32>)",
}
# Bindings of the variables in an example of a type.
VARIABLES = "[n, m, b, k, d, h, w]"
BOUND = (VARIABLES, "var = s, ndim = 2", "var = t")
# The constant that the module lists for an example that loads one.
CONSTANT = "dense<1.0> : tensor<4xf32>"
RETURN = f"relax.return %bindings : !relax.shape<{VARIABLES}>"
# The text around an example, by its first word: RESULTS is the types after its colon.
AROUND = {
    "relax.return": "EXAMPLE",
    "relax.output": "%r:2 = relax.dataflow -> RESULTS {\nEXAMPLE\n}\n" + RETURN,
    "relax.yield": '%c = "test.value"() : () -> !relax.object\n'
    "%r = relax.if %c : !relax.object -> RESULTS {\nEXAMPLE\n} else {\nEXAMPLE\n}\n" + RETURN,
}
KINDS = ("Op", "TypeDef", "AttrDef", "Dialect")
# Significant tokens of an example: its strings, values and types, and where its lines end.
TOKEN = re.compile(r'"[^"]*"|rec %\w+|(%\w+)(?: =|:)?|(?:is|of) (?=!)|!relax\.\w+<?|\n')


def descriptions(folder: str, includes: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the description of what the dialect defines."""
    command = ["llvm-tblgen", "-dump-json", f"-I{folder}", f"-I{includes}", f"{folder}/RelaxOps.td"]
    records = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    for name, record in records.items():
        classes = record.get("!superclasses", []) if isinstance(record, dict) else []
        if name.startswith("Relax_") and any(kind in classes for kind in KINDS):
            yield name, record["description"]


def examples(text: str) -> Iterator[str]:
    """Yield the examples of one description."""
    for fence in re.findall(r"```mlir\n(.*?)```", text, re.DOTALL):
        lines = [line.strip() for line in fence.strip().splitlines()]
        yield from lines if lines[0][0] in "!#" else ["\n".join(lines)]
    for sentence in re.findall(r"Examples?: (`[^`]*`(?:, `[^`]*`)*)", text):
        yield from re.findall(r"`([^`]*)`", sentence)


def end_of_type(text: str, position: int) -> int:
    """Return where the type ends whose bracket was opened before `position`."""
    depth = 1
    while depth:
        if text[position] in "<>" and text[position - 1] != "-":
            depth += 1 if text[position] == "<" else -1
        position += 1
    return position


def operand_types(example: str) -> dict[str, str]:
    """Return the types of the values that an example uses but does not define.

    In a line, operands come in the order of their types: `relax.add %a, %b : (T, U) -> V`. More
    types than operands are those of results, and what follows `is` or `of` is an attribute.
    """
    types: dict[str, str] = {}
    defined: set[str] = set()
    waiting: list[str] = []
    position, skip = 0, False
    while token := TOKEN.search(example, position):
        position = token.end()
        text = token.group()
        if text.endswith((" =", ":")):
            defined.add(token[1])
        elif text.startswith("rec "):
            defined.add(text.removeprefix("rec "))
        elif text in INTEGERS:
            types[text] = "i64"
        elif text.startswith("%"):
            waiting.append(text)
        elif text.startswith("!"):
            position = end_of_type(example, position) if text.endswith("<") else position
            if waiting and not skip:
                types.setdefault(waiting.pop(0), example[token.start() : position])
            skip = False
        elif text == "\n":
            waiting = []
        elif text in ("is ", "of "):
            skip = True
    return {name: text for name, text in types.items() if name not in defined}


def wrap(example: str) -> str:
    """Return a module in which an example can stand."""
    if example.startswith("!"):
        bound = ", ".join(f"!relax.shape<{shape}>" for shape in BOUND)
        return f"relax.func private @type({bound}, {example}) -> !relax.object"
    if example.startswith("#"):
        return f"func.func private @attribute() attributes {{value = {example}}}"
    if example.startswith(("relax.func", "module")):
        return example
    callees = [callee for caller, callee in CALLEES.items() if caller in example]
    values = [f'{n} = "test.value"() : () -> {t}' for n, t in operand_types(example).items()]
    around = AROUND.get(example.split()[0], "EXAMPLE\n" + RETURN)
    body = around.replace("RESULTS", example.partition(" : ")[2]).replace("EXAMPLE", example)
    head = f"relax.func impure @example(%bindings: !relax.shape<{VARIABLES}>) -> !relax.object {{"
    text = "\n".join([*callees, head, *values, body, "}"])
    if "load_constant" in example:
        return f"module attributes {{relax.constants = [{CONSTANT}]}} {{\n{text}\n}}"
    return text


def main(folder: str, includes: str) -> int:
    """Check all examples; return 1 where one is missing or wrong."""
    failures = 0
    for name, description in descriptions(folder, includes):
        found = list(examples(description))
        if not found:
            print(f"{name}: expected an example in its description")
        failures += not found
        for example in found:
            module = wrap(example)
            command = ["relax-opt", "--allow-unregistered-dialect", "-o", "-"]
            result = subprocess.run(command, input=module, capture_output=True, text=True)
            if result.returncode:
                print(f"{name}: expected a valid example, but got\n{module}\n{result.stderr}")
            failures += result.returncode != 0
    return failures > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
