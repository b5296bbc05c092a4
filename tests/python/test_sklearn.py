"""Every estimator that skl2onnx converts and ONNX Runtime runs gives the same on Tenon."""

from __future__ import annotations

import pickle

import numpy as np
from test_clients import INSTALL

# Fits each supported estimator that is made without arguments, converts it, and saves what a session gives.
PROGRAM = r"""
import sys, os, pickle, warnings, inspect
warnings.simplefilter("ignore")
import numpy as np
import onnxruntime
folder, on_tenon = sys.argv[1], "--tenon" in sys.argv
results = {}
for name in sorted(os.listdir(folder)):
    if not name.endswith(".onnx"):
        continue
    feeds = pickle.load(open(os.path.join(folder, name[:-5] + ".pkl"), "rb"))
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(os.path.join(folder, name), options, providers=["CPUExecutionProvider"])
        results[name] = session.run(None, feeds)
    except Exception as error:
        results[name] = f"{type(error).__name__}: {error}"[:600]
pickle.dump(results, open(os.path.join(folder, "tenon.out" if on_tenon else "ort.out"), "wb"))
print("RESULT", len(results))
"""

MAKE = r"""
import sys, os, pickle, warnings
warnings.simplefilter("ignore")
import numpy as np
from sklearn.datasets import make_classification, make_regression
from sklearn.utils import all_estimators
from skl2onnx import supported_converters, to_onnx
from skl2onnx.common.data_types import DictionaryType, FloatTensorType, StringTensorType
folder = sys.argv[1]
supported = {name.removeprefix("Sklearn") for name in supported_converters(True)}
rng = np.random.RandomState(0)
X, classes = make_classification(80, 6, n_informative=4, n_classes=3, random_state=0)
X = np.abs(X).astype(np.float32)
target = (X @ rng.rand(6)).astype(np.float32)
words = np.array([["red green"], ["green blue blue"], ["red"], ["blue red"]] * 20, object)
whole = rng.randint(0, 4, (80, 3)).astype(np.int64)
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer, TfidfTransformer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier
# What cannot be made without arguments, or wants other data: arguments, data, targets.
two = [("a", LogisticRegression()), ("b", DecisionTreeClassifier(random_state=0))]
lines = [("a", LinearRegression()), ("b", Ridge())]
GIVEN = {
    "BaggingClassifier": ({}, X, classes),
    "CategoricalNB": ({}, whole, classes),
    "ColumnTransformer": ({"transformers": [("a", StandardScaler(), [0, 1]), ("b", MinMaxScaler(), [2, 3])]}, X, None),
    "CountVectorizer": ({}, words[:, 0], None),
    "FeatureHasher": ({"n_features": 8, "input_type": "string"}, words, None),
    "FeatureUnion": ({"transformer_list": [("a", StandardScaler()), ("b", MinMaxScaler())]}, X, None),
    "DictVectorizer": ({"sparse": False, "dtype": np.float32}, [{"red": 1.0, "green": 2.0}, {"blue": 3.0}], None),
    "GaussianRandomProjection": ({"n_components": 3}, X, None),
    "GridSearchCV": ({"estimator": LogisticRegression(), "param_grid": {"C": [0.1, 1.0]}}, X, classes),
    "KBinsDiscretizer": ({"encode": "ordinal"}, X, None),
    "KernelPCA": ({"n_components": 3}, X, None),  # further components are noise
    "KernelCenterer": ({}, (X[:6].T @ X[:6])[:, :6], None),
    "LabelBinarizer": ({}, classes.astype(np.int64), None),
    "LabelEncoder": ({}, classes.astype(np.int64), None),
    "LocalOutlierFactor": ({"novelty": True}, X, None),
    "MultiOutputClassifier": ({"estimator": LogisticRegression()}, X, np.stack([classes, 2 - classes], 1)),
    "MultiOutputRegressor": ({"estimator": LinearRegression()}, X, np.stack([target, -target], 1)),
    "NearestNeighbors": ({"radius": None}, X, None),
    "OneHotEncoder": ({"sparse_output": False}, whole, None),
    "OneVsOneClassifier": ({"estimator": LogisticRegression()}, X, classes),
    "OneVsRestClassifier": ({"estimator": LogisticRegression()}, X, classes),
    "OrdinalEncoder": ({}, whole, None),
    "Pipeline": ({"steps": [("a", StandardScaler()), ("b", LogisticRegression())]}, X, classes),
    "RandomTreesEmbedding": ({"sparse_output": False}, X, None),
    "RFE": ({"estimator": LogisticRegression()}, X, classes),
    "RFECV": ({"estimator": LogisticRegression()}, X, classes),
    "SelectFromModel": ({"estimator": LogisticRegression()}, X, classes),
    "StackingClassifier": ({"estimators": two}, X, classes),
    "StackingRegressor": ({"estimators": lines}, X, target),
    "TfidfTransformer": ({}, X, None),
    "TfidfVectorizer": ({}, words[:, 0], None),
    "TunedThresholdClassifierCV": ({"estimator": LogisticRegression()}, X, (classes > 0).astype(int)),
    "VotingClassifier": ({"estimators": two, "flatten_transform": False}, X, classes),
    "VotingRegressor": ({"estimators": lines}, X, target),
}
made = left = 0
for name, kind in all_estimators():
    if name not in supported:
        continue
    given = GIVEN.get(name)
    for data, y in [given[1:]] if given else ((X, classes), (X, target), (X, (classes > 0).astype(int))):
        try:
            estimator = kind(**(given[0] if given else {}))
            for key, value in (("max_iter", 50), ("n_estimators", 5), ("random_state", 0)):
                if key in estimator.get_params():
                    estimator.set_params(**{key: value})
            estimator.fit(*((data,) if y is None else (data, y)))
            if isinstance(data, list):  # of maps: a Run takes one
                like, feed = {"initial_types": [("X", DictionaryType(StringTensorType([1]), FloatTensorType([1])))]}, data[0]
            else:
                data = data.reshape(-1, 1) if data.ndim == 1 else data
                like, feed = {"X": data[:1]}, data[:20]
            model = to_onnx(estimator, **like, target_opset={"": 18, "ai.onnx.ml": 3})
        except Exception as error:
            reason = f"{name}: {type(error).__name__}: {error}"[:150]
            continue
        with open(os.path.join(folder, name + ".onnx"), "wb") as file:
            file.write(model.SerializeToString())
        pickle.dump({model.graph.input[0].name: feed}, open(os.path.join(folder, name + ".pkl"), "wb"))
        made += 1
        break
    else:
        left += 1
        print("not made", reason)
print("RESULT", made, left)
"""


def same(a, b) -> bool:
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and same(list(a.values()), list(b.values()))
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind in "OU":
        return a.tolist() == b.tolist()
    return a.dtype == b.dtype and a.shape == b.shape and np.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True)


def test_estimators(script, real_onnxruntime, tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    made = script(MAKE, str(folder), timeout=400)
    script(PROGRAM, str(folder), PYTHONPATH=real_onnxruntime, timeout=200)
    script(INSTALL + PROGRAM, str(folder), "--tenon", timeout=200)
    expected = pickle.loads((folder / "ort.out").read_bytes())
    got = pickle.loads((folder / "tenon.out").read_bytes())
    ran = {name: value for name, value in expected.items() if not isinstance(value, str)}
    assert len(ran) >= 98, made
    wrong = {name: got[name] if isinstance(got[name], str) else "differs" for name, value in ran.items() if isinstance(got[name], str) or not same(value, got[name])}
    assert wrong == {}
