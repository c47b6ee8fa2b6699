"""ONNX's own node tests, as an outside judge of the CPU's kernels.

usage: run.py LIBRARY [--convert [--simplify]] [--filter TEXT] [--list skipped|failed]

Every test whose operators and types this build knows is run through the C interface, and must give
what ONNX says within ONNX's own tolerance. known.txt names those that do not, with the reason; one
that passes after all must leave that list.
"""
import argparse
import collections
import fnmatch
import functools
import json
import pathlib
import sys
import tempfile

try:
    import numpy
    import onnx
    from onnx import numpy_helper

    import containers
    from headrace import DTYPES, Body, ConvertedFile, Env, Failure, Graph, Library
except ImportError as error:
    print(f"skipped: {error}; cmake/setup tests installs what is missing")
    sys.exit(77)

NODE_TESTS = pathlib.Path(onnx.__file__).parent / "backend/test/data/node"
KNOWN = pathlib.Path(__file__).with_name("known.txt")


class Skip(Exception):
    """What this build does not offer."""


def operators_of(env):
    return {(op["domain"], op["name"]) for op in json.loads(env.describe())["operators"]}


def attribute_values(attribute):
    """By the names that this library has for them."""
    if attribute.type == onnx.AttributeProto.TYPE_PROTO:  # Optional's
        sequence = containers.kind_of(attribute.tp) == "sequence_type"
        tensor = containers.element_of(attribute.tp) if sequence else attribute.tp
        return {"dtype": tensor.tensor_type.elem_type, "sequence": int(sequence)}
    return {attribute.name: attribute_value(attribute)}


def attribute_value(attribute):
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return tensor_value(value)
    if attribute.type == onnx.AttributeProto.SPARSE_TENSOR:
        raise Skip("sparse attributes")
    return value if isinstance(value, (int, float, bytes)) else list(value)


def tensor_value(proto):
    if proto.data_type not in DTYPES:
        raise Skip(onnx.TensorProto.DataType.Name(proto.data_type))
    return numpy_helper.to_array(proto)


def dims_of(value):
    """The type and dimensions of a tensor."""
    kind = containers.kind_of(value.type)
    if kind != "tensor_type":
        raise Skip(kind)
    tensor = value.type.tensor_type
    if tensor.elem_type not in DTYPES:
        raise Skip(onnx.TensorProto.DataType.Name(tensor.elem_type))
    return tensor.elem_type, [d.dim_value if d.HasField("dim_value") else -1
                              for d in tensor.shape.dim]


def check(known, model):
    for node in model.graph.node:
        if (node.domain, node.op_type) not in known:
            raise Skip(f"no operator {node.domain}.{node.op_type}".replace(" .", " "))
    for value in [*model.graph.input, *model.graph.output]:
        held = value.type
        while containers.kind_of(held) in ("sequence_type", "optional_type"):
            held = containers.element_of(held)
        dims_of(onnx.helper.make_value_info(value.name, held))


def build(env, model, constants):
    """`constants`: values of inputs that are built in."""
    versions = {entry.domain: entry.version for entry in model.opset_import}
    graph = Graph(env)
    for name, array in constants.items():
        graph.constant(name, array)
    add_contents(graph, model.graph, versions)
    return graph


def add_contents(graph, proto, versions):
    for tensor in proto.initializer:
        graph.constant(tensor.name, tensor_value(tensor))
    for value in proto.input:
        if value.name not in graph.values:
            add_input(graph, value)
    for node in proto.node:
        add_node(graph, node, versions)


def add_input(graph, value):
    """Bodies may take sequences. An optional that holds one is one."""
    held = value.type
    if containers.kind_of(held) == "optional_type":
        held = containers.element_of(held)
    if containers.kind_of(held) == "sequence_type":
        graph.sequence(value.name, containers.element_of(held).tensor_type.elem_type)
    elif not value.type.tensor_type.HasField("shape"):
        raise Skip("an input of unknown rank")
    else:
        graph.input(value.name, *dims_of(value))


def add_node(graph, node, versions):
    name = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
    bodies = {a.name: a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH}
    captured = captured_names(bodies.values())
    attributes = {"captured": len(captured)} if bodies else {}
    for attribute in node.attribute:
        if attribute.name not in bodies:
            attributes.update(attribute_values(attribute))
    for key, body in bodies.items():
        try:
            attributes[key] = add_body(graph, body, captured, versions)
        except Failure as error:
            # The converter gives a branch that is meant for other sizes inputs of any size.
            raise error if node.op_type != "If" else Skip("a branch for other sizes") from error
    outputs = list(node.output)
    while outputs and not outputs[-1]:
        outputs.pop()
    graph.node(f"{name}@{versions.get(node.domain, 1)}", [*node.input, *captured], outputs,
               attributes)


def captured_names(bodies):
    """What bodies take of the graph around them, each once."""
    names = {}
    for body in bodies:
        known = {v.name for v in [*body.initializer, *body.input]}
        for node in body.node:
            inner = [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
            used = [*node.input, *captured_names(inner)]
            names.update((name, None) for name in used if name and name not in known)
            known.update(node.output)
        names.update((v.name, None) for v in body.output if v.name not in known)
    return list(names)


def add_body(graph, proto, captured, versions):
    body = Graph(graph.env)
    for value in proto.input:
        add_input(body, value)
    for name in captured:
        body.input_like(name, graph)
    add_contents(body, proto, versions)
    inputs = [*(v.name for v in proto.input), *captured]
    return Body(graph.body(body, inputs, [v.name for v in proto.output]))


def convert(env, model, constants, folder, options):
    """The same through a file: `constants` become initializers. `options`: of the conversion."""
    if any(entry.domain == "" and entry.version < 9 for entry in model.opset_import):
        raise Skip("files of operator sets before 9")
    held = onnx.ModelProto()
    held.CopyFrom(model)
    for name, array in constants.items():
        held.graph.initializer.append(numpy_helper.from_array(array, name))
    path = folder / "model.onnx"
    path.write_bytes(held.SerializeToString())
    return ConvertedFile(env, str(path), str(folder / "model.hrg"), **options)


def compare(name, got, expected, rtol, atol):
    if got.dtype != expected.dtype or got.shape != expected.shape:
        raise AssertionError(f"'{name}' is {got.dtype}{list(got.shape)}, expected "
                             f"{expected.dtype}{list(expected.shape)}")
    if got.dtype.kind not in "biu":
        got, expected = got.astype(numpy.float64), expected.astype(numpy.float64)
    numpy.testing.assert_allclose(got, expected, rtol, atol, err_msg=name)


def load_values(data, kind, values):
    """What a test gives for a model's inputs or outputs."""
    return [containers.load(data / f"{kind}_{i}.pb", v.type) for i, v in enumerate(values)]


def run_data(make, model, data, built_in):
    """make(model, constants) gives what runs; `built_in`: which inputs become constants."""
    test = containers.Unpacker(model, load_values(data, "input", model.graph.input),
                               load_values(data, "output", model.graph.output))
    constants = {name: array for name, array in test.feeds.items() if built_in(array)}
    feeds = {name: array for name, array in test.feeds.items() if name not in constants}
    results = make(test.model, constants).run(feeds, list(test.expected))
    for (name, expected), got in zip(test.expected.items(), results):
        # ONNX's runner compares with these unless a test asks for less.
        compare(name, got, expected, 1e-3, 1e-5)


def run_test(make, known, folder):
    model = onnx.load(str(folder / "model.onnx"))
    check(known, model)
    for data in sorted(folder.glob("test_data_set_*")):
        try:
            run_data(make, model, data, built_in=lambda array: False)
        except Failure as error:
            if "depends on data" not in str(error):
                raise
            # A shape, axes or a range that comes as an input: plans want it to be known.
            run_data(make, model, data,
                     built_in=lambda array: array.ndim < 2 and array.size < 16)


def known_failures():
    """Reasons by patterns of names, from lines 'pattern: reason'; '#' begins a comment."""
    lines = (line.split("#")[0].strip() for line in KNOWN.read_text().splitlines())
    return dict(line.split(": ", 1) for line in lines if line)


def matching(names, patterns):
    return {name for name in names if any(fnmatch.fnmatchcase(name, p) for p in patterns)}


def judge(make, operators, folders):
    """Yields for each test its name, "passed", "skipped" or "failed", and why."""
    for folder in folders:
        try:
            run_test(make, operators, folder)
            yield folder.name, "passed", ""
        except Skip as reason:
            yield folder.name, "skipped", str(reason)
        except (Failure, AssertionError) as error:
            yield folder.name, "failed", str(error).strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("library")
    parser.add_argument("--filter", default="", help="only tests with this in their name")
    parser.add_argument("--convert", action="store_true",
                        help="convert the files (hr_model_convert) instead of building graphs")
    parser.add_argument("--simplify", action="store_true",
                        help="of --convert: simplify them, too, with all weights as constants")
    parser.add_argument("--list", choices=["skipped", "failed"], help="name each of them")
    args = parser.parse_args()
    env = Env(Library(args.library))
    operators = operators_of(env)
    excused = known_failures()
    scratch = tempfile.TemporaryDirectory()
    options = {"constants": 1, "simplify": 1} if args.simplify else {}
    by_file = functools.partial(convert, env, folder=pathlib.Path(scratch.name),
                                options=options)
    make = by_file if args.convert else functools.partial(build, env)
    passed, skipped, failed = [], collections.Counter(), {}
    folders = [f for f in sorted(NODE_TESTS.iterdir()) if args.filter in f.name]
    for name, outcome, why in judge(make, operators, folders):
        if outcome == "passed":
            passed.append(name)
        elif outcome == "skipped":
            skipped[why] += 1
        else:
            failed[name] = why
    if args.list == "skipped":
        print("\n".join(f"{count:5} {reason}" for reason, count in skipped.most_common()))
    expected = matching(failed, excused)
    for name, text in failed.items():
        if name not in expected or args.list == "failed":
            print(f"FAILED {name}: {text[:400]}")
    stale = matching(passed, excused)
    for name in sorted(stale):
        print(f"STALE {name} passes: take it out of known.txt")
    print(f"{len(passed)} passed, {len(failed)} failed ({len(expected)} of them known), "
          f"{sum(skipped.values())} skipped of {len(folders)}")
    return 1 if stale or failed.keys() - expected or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
