#!/usr/bin/env python3
"""Writes test cases that tell whether the checker of `tenon test` can be trusted.

    write_checker_cases.py OUT_DIR

For every element type: cases whose expected output is right, or off by less than the tolerance, and cases that are
wrong in one way each: one element off by ten times the tolerance, NaN or infinity, shape, type, a missing output. Each
model only passes its input on, so what is compared is known to the bit. OUT_DIR/expected.json has the verdicts:
{"cases": [{"name", "status": "passed" | "failed", "message": regular expression}]}.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
from onnx import OptionalProto, SequenceProto, TensorProto, TypeProto, helper

from element_types import ALL_TYPES, BOOL, ElementType, FloatType, IntegerType, SmallFloatType, pack

DIMS = (2, 4)
TIMES_TOLERANCE = 10
IDENTITY_OPSET = 25
CAST_OPSET = 28
# Identity does not take these two: Cast to the same type passes them on.
ONLY_CAST = {TensorProto.FLOAT6E2M3, TensorProto.FLOAT6E3M2}

ELEMENT, SHAPE, TYPE = r"element", r"shape|dimension|\[", r"type"
MISSING = r"expected|output"


@dataclass(frozen=True)
class Data:
    """A tensor as it is stored: raw bytes, or strings."""

    code: int
    dims: tuple[int, ...]
    raw: bytes = b""
    strings: tuple[bytes, ...] | None = None

    def proto(self, name: str) -> TensorProto:
        tensor = TensorProto(name=name, data_type=self.code, dims=self.dims)
        if self.strings is None:
            tensor.raw_data = self.raw
        else:
            tensor.string_data.extend(self.strings)
        return tensor


@dataclass(frozen=True)
class Case:
    """What goes in and comes out, what the files say should come out, and the verdict (a message means failure)."""

    variant: str
    given: Data
    expected: tuple[Data, ...]
    message: str = ""


# ---- Elements of one type, and how they may be changed ----


def numbers(element: FloatType, values: list) -> Data:
    return Data(element.code, DIMS, np.array(values, element.dtype).tobytes())


def patterns(element: ElementType, values: list[int]) -> Data:
    return Data(element.code, DIMS, pack(values, element.bits))


def changed(values: list, index: int, value) -> list:
    return [*values[:index], value, *values[index + 1:]]


def integer_cases(element: IntegerType) -> Iterator[Case]:
    low, high = element.lowest, element.highest
    values = [low, high, high - 1, low + 1, 0, 1, high // 2, high]
    given = patterns(element, values)
    yield Case("equal", given, (given,))
    for variant, index, value in (("lowest_off_by_one", 0, low + 1), ("highest_off_by_one", 1, high - 1),
                                  ("last_off_by_one", 7, high - 1), ("sign_bit", 4, 1 << element.bits - 1)):
        yield Case(variant, given, (patterns(element, changed(values, index, value)),), ELEMENT)


def float_values(element: FloatType) -> list:
    values = [0.0, 1.0, -2.5, 100.0, np.nan, np.inf, -np.inf, 0.5]
    if np.dtype(element.dtype).kind == "c":
        values = [0.0, 1 + 1j, -2.5j, 100 + 50j, complex(np.nan, 1), complex(np.inf, 0), complex(0, -np.inf), 0.5j]
    return values


def float_cases(element: FloatType) -> Iterator[Case]:
    values = float_values(element)
    given = numbers(element, values)
    yield Case("equal", given, (given,))
    yield Case("minus_zero", given, (numbers(element, changed(values, 0, -0.0)),))
    for index in (0, 1, 2, 3):
        size = element.atol + element.rtol * abs(values[index])
        for part in (1, 1j) if np.dtype(element.dtype).kind == "c" else (1,):
            suffix = f"{index}{'i' if part == 1j else ''}"
            near = changed(values, index, values[index] + part * size / 2)
            far = changed(values, index, values[index] + part * size * TIMES_TOLERANCE)
            yield Case(f"half_tolerance_{suffix}", given, (numbers(element, near),))
            yield Case(f"ten_tolerances_{suffix}", given, (numbers(element, far),), ELEMENT)
    for variant, index, value in (("nan_for_a_number", 1, np.nan), ("number_for_nan", 4, 1.0),
                                  ("infinity_for_a_number", 1, np.inf), ("number_for_infinity", 5, 100.0),
                                  ("other_infinity", 5, -np.inf), ("nan_for_infinity", 5, np.nan)):
        yield Case(variant, given, (numbers(element, changed(values, index, value)),), ELEMENT)
    if np.dtype(element.dtype).kind == "c":
        nan_below = changed(values, 1, complex(1, np.nan))
        yield Case("nan_in_the_imaginary_part", given, (numbers(element, nan_below),), ELEMENT)


def step(element: SmallFloatType, pattern: int, steps: int) -> int:
    """The pattern so many representable numbers further; across zero, which both signs share."""
    if not element.signed:
        return pattern + steps
    sign = 1 << element.bits - 1
    ordinal = (-(pattern & sign - 1) if pattern & sign else pattern) + steps
    return -ordinal | sign if ordinal < 0 else ordinal


def small_float_cases(element: SmallFloatType) -> Iterator[Case]:
    special, sign = element.specials, 1 << element.bits - 1
    start = sign | 5 if element.signed else 100  # ten steps from here stay among the numbers, even with four bits
    values = [start, 1, 2, 3, special.largest, 0, 1, 2]
    values[6:] = [pattern if pattern is not None else 1 for pattern in (special.nan, special.infinity)]
    given = patterns(element, values)

    def off(index: int, pattern: int) -> tuple[Data]:
        return (patterns(element, changed(values, index, pattern)),)

    yield Case("equal", given, (given,))
    yield Case("one_step_up", given, off(0, step(element, start, 1)))
    yield Case("one_step_down", given, off(3, step(element, 3, -1)))
    yield Case("two_steps", given, off(0, step(element, start, 2)), ELEMENT)
    yield Case("ten_steps", given, off(0, step(element, start, TIMES_TOLERANCE)), ELEMENT)
    if element.signed:
        yield Case("other_sign", given, off(3, sign | 3), ELEMENT)
    if special.nan is not None:
        yield Case("nan_for_a_number", given, off(1, special.nan), ELEMENT)
        yield Case("number_for_nan", given, off(6, 1), ELEMENT)
        # NaN may stand one pattern beside the largest number, or beside zero: it is no neighbour.
        yield Case("nan_for_the_largest", given, off(4, special.nan), ELEMENT)
        yield Case("nan_for_zero", given, off(5, special.nan), ELEMENT)
    if special.infinity is not None:
        yield Case("infinity_for_the_largest", given, off(4, special.infinity), ELEMENT)
        yield Case("largest_for_infinity", given, off(7, special.largest), ELEMENT)
        yield Case("other_infinity", given, off(7, special.minus_infinity), ELEMENT)


def bool_cases(element: ElementType) -> Iterator[Case]:
    values = [0, 1, 1, 0, 1, 0, 0, 1]
    given = patterns(element, values)
    yield Case("equal", given, (given,))
    yield Case("one_true_for_false", given, (patterns(element, changed(values, 0, 1)),), ELEMENT)
    yield Case("one_false_for_true", given, (patterns(element, changed(values, 7, 0)),), ELEMENT)


def string_cases(element: ElementType) -> Iterator[Case]:
    values = [text.encode() for text in ("", "a", "A", "caf\u00e9", "two words", "x" * 100, "1.0", "nan")]

    def strings(texts: list[bytes]) -> Data:
        return Data(element.code, DIMS, strings=tuple(texts))

    given = strings(values)
    yield Case("equal", given, (given,))
    for variant, index, text in (("one_character", 1, b"b"), ("case", 2, b"a"), ("empty_for_text", 1, b""),
                                 ("text_for_empty", 0, b" "), ("trailing_space", 4, b"two words "),
                                 ("composed_otherwise", 3, "cafe\u0301".encode()),
                                 ("last_of_many", 5, b"x" * 99 + b"y"), ("number_written_otherwise", 6, b"1.00")):
        yield Case(variant, given, (strings(changed(values, index, text)),), ELEMENT)


def value_cases(element: ElementType) -> Iterator[Case]:
    if isinstance(element, IntegerType):
        return integer_cases(element)
    if isinstance(element, FloatType):
        return float_cases(element)
    if isinstance(element, SmallFloatType):
        return small_float_cases(element)
    return bool_cases(element) if element is BOOL else string_cases(element)


# ---- Mistakes that any type can have ----


def as_type(data: Data, code: int) -> Data:
    """The same bytes under another type; the dims follow where the element is of another size."""
    if data.strings is not None:
        return Data(code, data.dims, bytes(len(data.strings)))
    halved = (data.code, code) == (TensorProto.COMPLEX128, TensorProto.COMPLEX64)
    return Data(code, (2, 8) if halved else data.dims, data.raw)


def form_cases(element: ElementType, given: Data) -> Iterator[Case]:
    fewer = replace(given, dims=(2, 3))
    fewer = (replace(fewer, strings=given.strings[:6]) if given.strings is not None
             else replace(fewer, raw=given.raw[:(6 * element.bits + 7) // 8]))
    yield Case("transposed", given, (replace(given, dims=DIMS[::-1]),), SHAPE)
    yield Case("flat", given, (replace(given, dims=(8,)),), SHAPE)
    yield Case("leading_one", given, (replace(given, dims=(1, *DIMS)),), SHAPE)
    yield Case("fewer_elements", given, (fewer,), SHAPE)
    empty = replace(given, dims=(0, 4), raw=b"", strings=None if given.strings is None else ())
    yield Case("empty", given, (empty,), SHAPE)
    yield Case("other_type", given, (as_type(given, element.other),), TYPE)
    yield Case("output_missing", given, (given, given), MISSING)
    yield Case("nothing_expected", given, (), MISSING)


def cases_of(element: ElementType) -> list[Case]:
    cases = list(value_cases(element))
    return cases + list(form_cases(element, cases[0].given))


# ---- Sequences and optionals ----


def f32(*values: float) -> TensorProto:
    return Data(TensorProto.FLOAT, (len(values),), np.array(values, np.float32).tobytes()).proto("")


def sequence(*tensors: TensorProto) -> SequenceProto:
    return SequenceProto(name="x", elem_type=SequenceProto.TENSOR, tensor_values=tensors)


def optional(tensor: TensorProto | None) -> OptionalProto:
    if tensor is None:
        return OptionalProto(name="x")
    return OptionalProto(name="x", elem_type=OptionalProto.TENSOR, tensor_value=tensor)


def container_cases() -> Iterator[tuple[str, TypeProto, object, object, str]]:
    """(name, type, value given, value expected, message of the failure or nothing)."""
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    sequences, optionals = helper.make_sequence_type_proto(tensor), helper.make_optional_type_proto(tensor)
    two = sequence(f32(1, 2), f32(3))
    yield "sequence-equal", sequences, two, two, ""
    yield "sequence-empty", sequences, sequence(), sequence(), ""
    yield "sequence-one_element_off", sequences, two, sequence(f32(1, 2), f32(4)), "element"
    yield "sequence-order", sequences, two, sequence(f32(3), f32(1, 2)), "element"
    yield "sequence-shorter", sequences, two, sequence(f32(1, 2)), "element"
    yield "sequence-longer", sequences, two, sequence(f32(1, 2), f32(3), f32(5)), "element"
    yield "sequence-inner_shape", sequences, two, sequence(f32(1, 2), f32(3, 3)), "shape"
    yield "sequence-empty_expected", sequences, two, sequence(), "element"
    yield "optional-equal", optionals, optional(f32(1, 2)), optional(f32(1, 2)), ""
    yield "optional-empty", optionals, optional(None), optional(None), ""
    yield "optional-one_element_off", optionals, optional(f32(1, 2)), optional(f32(1, 3)), "element"
    yield "optional-empty_expected", optionals, optional(f32(1, 2)), optional(None), "."
    yield "optional-empty_given", optionals, optional(None), optional(f32(1, 2)), "."


# ---- Files ----


def passing_model(type_proto: TypeProto, cast_to: int | None = None) -> onnx.ModelProto:
    """y = x, for any type."""
    if cast_to is None:
        node, opset = helper.make_node("Identity", ["x"], ["y"], "pass"), IDENTITY_OPSET
    else:
        node, opset = helper.make_node("Cast", ["x"], ["y"], "pass", to=cast_to), CAST_OPSET
    graph = helper.make_graph([node], "pass", [helper.make_value_info("x", type_proto)],
                              [helper.make_value_info("y", type_proto)])
    model = helper.make_model_gen_version(graph, opset_imports=[helper.make_opsetid("", opset)])
    onnx.checker.check_model(model, full_check=True)
    return model


def write_case(folder: Path, model: onnx.ModelProto, given, expected: list) -> None:
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    (data / "input_0.pb").write_bytes(given.SerializeToString())
    for i, value in enumerate(expected):
        (data / f"output_{i}.pb").write_bytes(value.SerializeToString())


def verdict(name: str, message: str) -> dict:
    return {"name": name, "status": "failed" if message else "passed", "message": message}


def write_type(out: Path, element: ElementType) -> list[dict]:
    # Free dims: a wrong shape must be found by the checker, not by the reader of the file.
    type_proto = helper.make_tensor_type_proto(element.code, ["rows", "columns"])
    model = passing_model(type_proto, element.code if element.code in ONLY_CAST else None)
    verdicts = []
    for case in cases_of(element):
        name = f"{element.name}-{case.variant}"
        write_case(out / name, model, case.given.proto("x"), [data.proto("y") for data in case.expected])
        verdicts.append(verdict(name, case.message))
    return verdicts


def write_containers(out: Path) -> list[dict]:
    verdicts = []
    for name, type_proto, given, expected, message in container_cases():
        write_case(out / name, passing_model(type_proto), given, [expected])
        verdicts.append(verdict(name, message))
    return verdicts


def write_cases(out: Path) -> list[dict]:
    shutil.rmtree(out, ignore_errors=True)
    verdicts = [entry for element in ALL_TYPES for entry in write_type(out, element)] + write_containers(out)
    (out / "expected.json").write_text(json.dumps({"cases": verdicts}, indent=1) + "\n")
    return verdicts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out_dir", type=Path)
    verdicts = write_cases(parser.parse_args().out_dir)
    failing = sum(entry["status"] == "failed" for entry in verdicts)
    print(f"{len(ALL_TYPES)} element types: {len(verdicts) - failing} cases that pass, {failing} that must fail")
    return 0


if __name__ == "__main__":
    sys.exit(main())
