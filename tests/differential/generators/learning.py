"""Classic machine learning: ai.onnx.ml."""

import numpy as np
from draw import Draw, NoSuchCase, tensor_proto
from generators.movement import as_list
from onnx import helper
from registry import generator

ML = "ai.onnx.ml"
POST = (None, "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")


def table(draw: Draw, op: str, columns: int | None = None, parameter: str = "T", only=(np.float32, np.float64, np.int64, np.int32)) -> np.ndarray:
    shape = (draw.int(1, 4), columns or draw.int(1, 5))
    return draw.array(shape, draw.dtype(op, parameter, ML, only), -5, 5)


@generator("Binarizer", "Normalizer", "Scaler", "Imputer", domain=ML)
def per_column(draw: Draw, op: str):
    x = table(draw, op)
    c, attributes = x.shape[1], {}
    if op == "Binarizer":
        attributes = {"threshold": draw.maybe(draw.pick(0.0, 1.5))}
    elif op == "Normalizer":
        attributes = {"norm": draw.pick("MAX", "L1", "L2")}
    elif op == "Scaler":
        size = draw.pick(1, c)
        attributes = {"offset": [0.5] * size, "scale": [draw.pick(2.0, -0.25)] * size}
    elif x.dtype.kind == "f":
        attributes = {"imputed_value_floats": [float(k) for k in range(draw.pick(1, c))], "replaced_value_float": draw.pick(float("nan"), 2.0)}
        x = x.copy()
        x[0, 0] = draw.pick(np.nan, 2.0)
    else:
        attributes = {"imputed_value_int64s": list(range(draw.pick(1, c))), "replaced_value_int64": 2}
    draw.out(draw.op(op, [draw.feed(x, chain=False)], domain=ML, **attributes))


@generator("ArrayFeatureExtractor", domain=ML)
def feature_extractor(draw: Draw, op: str):
    x = draw.array(draw.shape(1, 3, zero=0), draw.dtype(op, "T", ML))
    y = draw.indices((draw.int(1, 4),), x.shape[-1], negative=False)
    draw.out(draw.op(op, [draw.feed(x, chain=False), draw.feed(y, chain=False)], domain=ML))


@generator("FeatureVectorizer", domain=ML)
def feature_vectorizer(draw: Draw, op: str):
    n, dtype = draw.int(1, 3), draw.dtype(op, "T1", ML)
    columns = [draw.int(1, 3) for _ in range(draw.int(1, 3))]
    draw.out(draw.op(op, [draw.feed(draw.array((n, c), dtype), chain=False) for c in columns], domain=ML, inputdimensions=columns))


@generator("LabelEncoder", "CategoryMapper", "OneHotEncoder", domain=ML)
def categories(draw: Draw, op: str):
    numbers, words = [1, 2, 3, -5], ["a", "b", "ab", "The"]
    text = draw.chance(0.5)
    x = draw.array(draw.shape(1, 2), object if text else np.int64, -5, 5)
    if op == "CategoryMapper":
        attributes = {"cats_int64s": numbers, "cats_strings": words, "default_int64": draw.maybe(9), "default_string": draw.maybe("none")}
    elif op == "OneHotEncoder":
        attributes = {"cats_strings": words} if text else {"cats_int64s": numbers}
        attributes["zeros"] = draw.pick(None, 1)
    elif draw.chance(0.3) and not text:
        attributes = {"keys_int64s": numbers, "values_floats": [0.5, 1.5, 2.5, 3.5], "default_float": draw.maybe(7.5)}
    else:
        attributes = {"keys_strings" if text else "keys_int64s": words if text else numbers}
        attributes |= {"values_int64s": numbers, "default_int64": draw.maybe(9)} if draw.chance(0.5) or not text else {"values_strings": words[::-1]}
        if not text and draw.chance(0.5):
            attributes = {"keys_int64s": numbers, "values_strings": words, "default_string": draw.maybe("none")}
    hint = None
    if op == "CategoryMapper":
        hint = np.int64 if text else object
    draw.out(draw.op(op, [draw.feed(x, chain=False)], domain=ML, hint=hint, **attributes))


@generator("LinearClassifier", domain=ML)
def linear_classifier(draw: Draw, op: str):
    x, classes = table(draw, op, parameter="T1"), draw.int(2, 4)
    rows = classes if classes > 2 else draw.pick(1, 2)
    labels = {"classlabels_strings": ["a", "b", "c", "d"][:classes]} if draw.chance(0.5) else {"classlabels_ints": [4, 7, 9, 2][:classes]}
    draw.out(*draw.op(op, [draw.feed(x, chain=False)], 2, domain=ML, coefficients=draw.array((rows * x.shape[1],)).tolist(),
                      intercepts=draw.maybe(draw.array((rows,)).tolist(), 0.9), post_transform=draw.pick(*POST), multi_class=draw.pick(None, 0, 1), **labels))


@generator("LinearRegressor", domain=ML)
def linear_regressor(draw: Draw, op: str):
    x, targets = table(draw, op, only=(np.float32,)), draw.int(1, 3)
    draw.out(draw.op(op, [draw.feed(x, chain=False)], domain=ML, coefficients=draw.array((targets * x.shape[1],)).tolist(),
                     intercepts=draw.maybe(draw.array((targets,)).tolist()), targets=targets, post_transform=draw.pick(None, "NONE", "SOFTMAX", "LOGISTIC")))


@generator("SVMRegressor", domain=ML)
def svm_regressor(draw: Draw, op: str):
    x, count = table(draw, op, only=(np.float32,)), draw.int(1, 4)
    draw.scaled = True
    draw.out(draw.op(op, [draw.feed(x, chain=False)], domain=ML, kernel_type=draw.pick("LINEAR", "RBF", "POLY", "SIGMOID"), kernel_params=[0.1, 0.5, 2.0],
                     coefficients=draw.array((count,)).tolist(), support_vectors=draw.array((count * x.shape[1],)).tolist(), n_supports=count,
                     rho=[0.3], one_class=draw.pick(None, 1), post_transform=draw.pick(None, "NONE")))


@generator("SVMClassifier", domain=ML)
def svm_classifier(draw: Draw, op: str):
    x, classes = table(draw, op, parameter="T1", only=(np.float32,)), draw.int(2, 3)
    per = [draw.int(1, 2) for _ in range(classes)]
    count, pairs = sum(per), classes * (classes - 1) // 2
    labels = {"classlabels_strings": ["a", "b", "c"][:classes]} if draw.chance(0.4) else {"classlabels_ints": [4, 7, 9][:classes]}
    prob = {"prob_a": draw.array((pairs,), low=-2, high=-1).tolist(), "prob_b": draw.array((pairs,)).tolist()} if draw.chance(0.3) else {}
    draw.scaled = True
    draw.out(*draw.op(op, [draw.feed(x, chain=False)], 2, domain=ML, kernel_type=draw.pick("LINEAR", "RBF", "POLY"), kernel_params=[0.1, 0.5, 2.0],
                      coefficients=draw.array(((classes - 1) * count,)).tolist(), support_vectors=draw.array((count * x.shape[1],)).tolist(),
                      vectors_per_class=per, rho=draw.array((pairs,)).tolist(), post_transform=draw.pick(None, "NONE"), **labels, **prob))


def tree_nodes(draw: Draw, trees: int, features: int) -> dict:
    """Full trees of depth one or two; the leaves are the nodes of mode LEAF."""
    keys = ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids")
    nodes = {key: [] for key in keys}
    for tree in range(trees):
        depth = draw.int(1, 2)
        inner = 2 ** depth - 1
        for k in range(2 ** (depth + 1) - 1):
            leaf = k >= inner
            row = (tree, k, 0 if leaf else draw.int(0, features - 1), "LEAF" if leaf else draw.pick("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_LEQ"),
                   0.0 if leaf else draw.pick(-1.0, 0.0, 0.5, 2.0), 0 if leaf else 2 * k + 1, 0 if leaf else 2 * k + 2)
            for key, value in zip(keys, row):
                nodes[key].append(value)
    return nodes


@generator("TreeEnsembleClassifier", "TreeEnsembleRegressor", domain=ML)
def trees(draw: Draw, op: str):
    x = table(draw, op, parameter="T1" if op.endswith("Classifier") else "T", only=(np.float32, np.int64, np.int32))
    nodes, outputs = tree_nodes(draw, draw.int(1, 3), x.shape[1]), draw.int(1, 3)
    leaves = [(t, n) for t, n, m in zip(nodes["treeids"], nodes["nodeids"], nodes["modes"]) if m == "LEAF"]
    weights = draw.array((len(leaves),)).tolist()
    ids = [draw.int(0, outputs - 1) for _ in leaves]
    attributes = {f"nodes_{key}": value for key, value in nodes.items()}
    prefix = "class" if op.endswith("Classifier") else "target"
    attributes |= {f"{prefix}_treeids": [t for t, _ in leaves], f"{prefix}_nodeids": [n for _, n in leaves], f"{prefix}_ids": ids, f"{prefix}_weights": weights}
    attributes["nodes_missing_value_tracks_true"] = draw.maybe([draw.int(0, 1) for _ in nodes["modes"]], 0.3)
    if x.dtype.kind == "f" and draw.chance(0.2):
        x = x.copy()
        x[0, 0] = np.nan
    attributes["base_values"] = draw.maybe(draw.array((outputs,)).tolist(), 0.4)
    if prefix == "class":
        outputs = max(outputs, 2)
        if attributes["base_values"] is not None:
            attributes["base_values"] = draw.array((outputs,)).tolist()
        labels = {"classlabels_strings": ["a", "b", "c"][:outputs]} if draw.chance(0.4) else {"classlabels_int64s": [4, 7, 9][:outputs]}
        draw.out(*draw.op(op, [draw.feed(x, chain=False)], 2, domain=ML, post_transform=draw.pick(*POST), **labels, **attributes))
    else:
        draw.out(draw.op(op, [draw.feed(x, chain=False)], domain=ML, n_targets=outputs, aggregate_function=draw.pick(None, "SUM", "AVERAGE", "MIN", "MAX"),
                         post_transform=draw.pick(None, "NONE"), **attributes))


@generator("TreeEnsemble", domain=ML)
def tree_ensemble(draw: Draw, op: str):
    dtype, features, targets = draw.pick(np.float32, np.float64), draw.int(1, 4), draw.int(1, 2)
    roots = draw.int(1, 3)
    modes = np.array([draw.int(0, 5) for _ in range(roots)], np.uint8)
    draw.out(draw.op(op, [draw.feed(draw.array((draw.int(1, 4), features), dtype), chain=False)], domain=ML, n_targets=targets,
                     aggregate_function=draw.pick(0, 1, 2, 3), tree_roots=list(range(roots)), nodes_modes=tensor_proto(modes, "m"),
                     nodes_featureids=[draw.int(0, features - 1) for _ in range(roots)], nodes_splits=tensor_proto(draw.array((roots,), dtype), "s"),
                     nodes_truenodeids=[2 * k for k in range(roots)], nodes_falsenodeids=[2 * k + 1 for k in range(roots)],
                     nodes_trueleafs=[1] * roots, nodes_falseleafs=[1] * roots, leaf_targetids=[draw.int(0, targets - 1) for _ in range(2 * roots)],
                     leaf_weights=tensor_proto(draw.array((2 * roots,), dtype), "w"), post_transform=draw.pick(None, 0)))


@generator("ZipMap", domain=ML)
def zip_map(draw: Draw, op: str):
    x = draw.array((draw.int(1, 3), draw.int(1, 4)))
    labels = {"classlabels_strings": ["a", "b", "c", "d"][:x.shape[1]]} if draw.chance(0.5) else {"classlabels_int64s": [4, 7, 9, 2][:x.shape[1]]}
    draw.out(draw.op(op, [draw.feed(x, chain=False)], domain=ML, **labels))


@generator("DictVectorizer", "CastMap", domain=ML)
def of_maps(draw: Draw, op: str):
    text = draw.chance(0.5) and op != "CastMap"
    keys = ["a", "b", "c"] if text else [1, 2, 5]
    name = draw.name()
    draw.inputs[name] = {k: float(i + 1) for i, k in enumerate(keys) if draw.chance(0.7) or not i}
    if op == "CastMap":
        draw.inputs[name] = {k: np.float32(v) for k, v in draw.inputs[name].items()}
        draw.kinds[name] = helper.make_map_type_proto(7, helper.make_tensor_type_proto(1, None))
        draw.out(draw.op(op, [name], domain=ML, cast_to=draw.pick("TO_FLOAT", "TO_INT64"), map_form=draw.pick("DENSE", "SPARSE"), max_map=6))
        return
    draw.kinds[name] = helper.make_map_type_proto(8 if text else 7, helper.make_tensor_type_proto(11, None))
    draw.out(draw.op(op, [name], domain=ML, **({"string_vocabulary": keys} if text else {"int64_vocabulary": keys})))
