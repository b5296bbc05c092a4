"""Networks over one image: those of torchvision and ultralytics, and a U-Net. All have random weights of a fixed seed."""

from exports.made import SEED

SIDES = {"inception_v3": 299, "deeplabv3_mobilenet_v3_large": 256, "unet": 256, "yolo11n": 640}
WITH_INIT_WEIGHTS = ("googlenet", "inception_v3")


def set_statistics(model, image) -> None:
    """Gives batch norms the statistics of one batch, so that activations stay in range, and switches to eval mode."""
    import torch

    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0
    with torch.no_grad():
        model.train()
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.eval()
        model(torch.randn(2, *image.shape[1:]))
    model.eval()


def one_output(model, key: str):
    """The model, with the one output that is wanted of the dictionary that it returns."""
    import torch

    class OneOutput(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input):
            return self.model(input)[key]

    return OneOutput().eval()


def unet():
    """Ronneberger et al. 2015, with padding, batch norms and half the channels: 32 to 512."""
    import torch
    from torch import nn

    def double(before: int, after: int):
        layers = []
        for first, second in ((before, after), (after, after)):
            layers += [nn.Conv2d(first, second, 3, padding=1, bias=False), nn.BatchNorm2d(second), nn.ReLU()]
        return nn.Sequential(*layers)

    class Unet(nn.Module):
        def __init__(self):
            super().__init__()
            widths = [32, 64, 128, 256, 512]
            self.down = nn.ModuleList(double(a, b) for a, b in zip([3] + widths, widths))
            self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in zip(widths, widths[1:]))
            self.join = nn.ModuleList(double(2 * a, a) for a in widths[:-1])
            self.last = nn.Conv2d(widths[0], 2, 1)

        def forward(self, input):
            kept, x = [], input
            for i, layer in enumerate(self.down):
                x = layer(x if i == 0 else nn.functional.max_pool2d(x, 2))
                kept.append(x)
            for i in reversed(range(len(self.up))):
                x = self.join[i](torch.cat([kept[i], self.up[i](x)], 1))
            return self.last(x)

    return Unet()


def yolo11n():
    from ultralytics.nn.tasks import DetectionModel

    model = DetectionModel("yolo11n.yaml", verbose=False)
    for parameter in model.parameters():
        parameter.requires_grad = False
    return model


def of_torchvision(name: str):
    import torch
    import torchvision

    arguments = {"init_weights": True} if name in WITH_INIT_WEIGHTS else {}
    if name.startswith(("deeplab", "fcn", "lraspp")):
        arguments = {"weights_backbone": None}
    if name not in torchvision.models.list_models():
        raise SystemExit(f"no network '{name}'; --help lists those that there are")
    model = torchvision.models.get_model(name, weights=None, **arguments)
    if name.startswith("vit"):
        torch.nn.init.normal_(model.heads.head.weight, std=0.02)  # zeros at first
    return model


def network(name: str):
    """The network in eval mode and its inputs, by name."""
    import torch

    torch.manual_seed(SEED)
    model = {"unet": unet, "yolo11n": yolo11n}[name]() if name in ("unet", "yolo11n") else of_torchvision(name)
    side = SIDES.get(name, 224)
    image = torch.randn(1, 3, side, side)
    set_statistics(model, image)
    if name == "yolo11n":
        head = model.model[-1]
        head.export, head.format = True, "onnx"
    elif name.startswith(("deeplab", "fcn", "lraspp")):
        model = one_output(model, "out")
    return model, {"input": image}
