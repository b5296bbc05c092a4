"""Models over rows of a table: forests of scikit-learn and LightGBM, and a perceptron. Data and weights are random, of a fixed seed."""

import numpy as np

from exports.made import SEED, Made, from_torch

FEATURES, TRAINED_ON, ROWS = 30, 4000, 1000


def table():
    """Rows and their class of two, which a few features decide with some noise."""
    random = np.random.default_rng(SEED)
    rows = random.normal(size=(TRAINED_ON, FEATURES)).astype(np.float32)
    noise = random.normal(scale=0.5, size=TRAINED_ON)
    return rows, (rows[:, 0] * rows[:, 1] + np.sin(3 * rows[:, 2]) + rows[:, 3] + noise > 0).astype(np.int64)


def random_forest() -> Made:
    """100 trees of depth 6 at most."""
    from skl2onnx import to_onnx
    from sklearn.ensemble import RandomForestClassifier

    rows, classes = table()
    forest = RandomForestClassifier(n_estimators=100, max_depth=6, random_state=0).fit(rows, classes)
    model = to_onnx(forest, rows[:1], options={"zipmap": False}, target_opset=18)
    asked = rows[:ROWS]
    return Made(model, {"X": asked}, [forest.predict(asked), forest.predict_proba(asked)])


def lightgbm() -> Made:
    """100 boosted trees of 31 leaves at most."""
    import lightgbm as package
    from onnxmltools import convert_lightgbm
    from onnxmltools.convert.common.data_types import FloatTensorType

    rows, classes = table()
    booster = package.LGBMClassifier(n_estimators=100, num_leaves=31, random_state=0, n_jobs=1, verbose=-1).fit(rows, classes)
    model = convert_lightgbm(booster, initial_types=[("X", FloatTensorType([None, FEATURES]))], zipmap=False)
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "rows"  # the package declares one label for any number of rows
    asked = rows[:ROWS]
    return Made(model, {"X": asked}, [booster.predict(asked), booster.predict_proba(asked)])


def mlp() -> Made:
    """Sixteen rows of 784 through two hidden layers of 1024."""
    import torch

    torch.manual_seed(SEED)
    layers = []
    for before, after in ((784, 1024), (1024, 1024)):
        layers += [torch.nn.Linear(before, after), torch.nn.ReLU()]
    return from_torch(torch.nn.Sequential(*layers, torch.nn.Linear(1024, 10)).eval(), {"input": torch.randn(16, 784)})


MODELS = {"random_forest": random_forest, "lightgbm": lightgbm, "mlp": mlp}
