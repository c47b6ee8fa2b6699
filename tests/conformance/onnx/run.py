"""ONNX's own node tests, as an outside judge of the CPU's kernels.

usage: run.py LIBRARY [--convert] [--filter TEXT] [--list skipped|failed]

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

    from headrace import CODES, DTYPES, ConvertedFile, Env, Failure, Graph, Library
except ImportError as error:
    print(f"skipped: {error}; cmake/setup tests installs what is missing")
    sys.exit(77)

NODE_TESTS = pathlib.Path(onnx.__file__).parent / "backend/test/data/node"
KNOWN = pathlib.Path(__file__).with_name("known.txt")


class Skip(Exception):
    """What this build does not offer."""


def operators_of(env):
    return {(op["domain"], op["name"]) for op in json.loads(env.describe())["operators"]}


def attribute_value(attribute):
    if attribute.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS):
        raise Skip("graphs as attributes")
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return tensor_value(value)
    if attribute.type in (onnx.AttributeProto.SPARSE_TENSOR, onnx.AttributeProto.TYPE_PROTO):
        raise Skip("sparse or type attributes")
    return value if isinstance(value, (int, float, bytes)) else list(value)


def tensor_value(proto):
    if proto.data_type not in DTYPES:
        raise Skip(onnx.TensorProto.DataType.Name(proto.data_type))
    return numpy_helper.to_array(proto)


def dims_of(value):
    kind = value.type.WhichOneof("value")
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
        dims_of(value)


def build(env, model, constants):
    """`constants`: values of inputs that are built in."""
    versions = {entry.domain: entry.version for entry in model.opset_import}
    graph = Graph(env)
    for tensor in model.graph.initializer:
        graph.constant(tensor.name, tensor_value(tensor))
    for name, array in constants.items():
        graph.constant(name, array)
    for value in model.graph.input:
        if value.name not in graph.values:
            graph.input(value.name, *dims_of(value))
    for node in model.graph.node:
        name = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        attributes = {a.name: attribute_value(a) for a in node.attribute}
        outputs = list(node.output)
        while outputs and not outputs[-1]:
            outputs.pop()
        graph.node(f"{name}@{versions.get(node.domain, 1)}", node.input, outputs, attributes)
    return graph


def convert(env, model, constants, folder):
    """The same through a file: `constants` become initializers."""
    if any(entry.domain == "" and entry.version < 9 for entry in model.opset_import):
        raise Skip("files of operator sets before 9")
    held = onnx.ModelProto()
    held.CopyFrom(model)
    for name, array in constants.items():
        held.graph.initializer.append(numpy_helper.from_array(array, name))
    path = folder / "model.onnx"
    path.write_bytes(held.SerializeToString())
    return ConvertedFile(env, str(path), str(folder / "model.hrg"))


def load(path):
    return tensor_value(onnx.load_tensor(str(path)))


def compare(name, got, expected, rtol, atol):
    if got.dtype != expected.dtype or got.shape != expected.shape:
        raise AssertionError(f"'{name}' is {got.dtype}{list(got.shape)}, expected "
                             f"{expected.dtype}{list(expected.shape)}")
    if got.dtype.kind not in "biu":
        got, expected = got.astype(numpy.float64), expected.astype(numpy.float64)
    numpy.testing.assert_allclose(got, expected, rtol, atol, err_msg=name)


def run_data(make, model, data, built_in):
    """make(model, constants) gives what runs; `built_in`: which inputs become constants."""
    names = [v.name for v in model.graph.input]
    arrays = {name: load(data / f"input_{i}.pb") for i, name in enumerate(names)}
    constants = {name: array for name, array in arrays.items() if built_in(array)}
    feeds = {name: array for name, array in arrays.items() if name not in constants}
    fetches = [v.name for v in model.graph.output]
    results = make(model, constants).run(feeds, fetches)
    for i, (name, got) in enumerate(zip(fetches, results)):
        # ONNX's runner compares with these unless a test asks for less.
        compare(name, got, load(data / f"output_{i}.pb"), 1e-3, 1e-5)


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
    parser.add_argument("--list", choices=["skipped", "failed"], help="name each of them")
    args = parser.parse_args()
    env = Env(Library(args.library))
    operators = operators_of(env)
    excused = known_failures()
    scratch = tempfile.TemporaryDirectory()
    by_file = functools.partial(convert, env, folder=pathlib.Path(scratch.name))
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
