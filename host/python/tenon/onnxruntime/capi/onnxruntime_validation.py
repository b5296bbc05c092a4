"""What ONNX Runtime's package checks of itself."""


def check_distro_info() -> None:
    """Nothing to check."""


def get_package_name_and_version_info() -> tuple[str, str, str]:
    """Name, version, version of CUDA."""
    from .._environment import VERSION

    return "onnxruntime", VERSION, ""
