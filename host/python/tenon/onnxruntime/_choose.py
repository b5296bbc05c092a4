"""Which config of Tenon stands for ONNX Runtime's options and providers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import tenon

from . import _devices, _environment
from ._enums import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, OrtExecutionProviderDevicePolicy, OrtHardwareDeviceType
from ._errors import WARNS, NotImplemented, make, warn_once
from ._options import HINTS, SessionOptions

# Options of providers that change nothing of what is computed.
HINT_OPTIONS = {
    "arena_extend_strategy",
    "use_arena",
    "cudnn_conv_algo_search",
    "cudnn_conv_use_max_workspace",
    "do_copy_in_default_stream",
    "tunable_op_enable",
    "tunable_op_tuning_enable",
}

Chosen = list[tuple[str, dict[str, str]]]


def check_and_normalize_provider_args(
    providers: Sequence[Any] | None, provider_options: Sequence[dict] | None, available_provider_names: Sequence[str]
) -> tuple[list[str], list[dict[str, str]]]:
    """Providers and their options as two lists. Raises ValueError for other forms; warns of names that are not available."""
    if providers is None:
        return [], []
    if not isinstance(providers, Sequence):
        raise ValueError("'providers' should be a sequence.")
    pairs: list[tuple[str, dict]] = []
    if provider_options is not None:
        if not isinstance(provider_options, Sequence):
            raise ValueError("'provider_options' should be a sequence.")
        if len(providers) != len(provider_options):
            raise ValueError("'providers' and 'provider_options' should be the same length if both are given.")
        if not all(isinstance(provider, str) for provider in providers):
            raise ValueError("Only string values for 'providers' are supported if 'provider_options' is given.")
        if not all(isinstance(options, dict) for options in provider_options):
            raise ValueError("'provider_options' values must be dicts.")
        pairs = list(zip(providers, provider_options, strict=True))
    else:
        for provider in providers:
            if isinstance(provider, str):
                pairs.append((provider, {}))
            elif isinstance(provider, tuple) and len(provider) == 2 and isinstance(provider[0], str) and isinstance(provider[1], dict):
                pairs.append(provider)
            else:
                raise ValueError("'providers' values must be either strings or (string, dict) tuples.")
    out: dict[str, dict[str, str]] = {}
    for name, options in pairs:
        if name not in available_provider_names:
            warnings.warn(
                f"Specified provider '{name}' is not in available provider names."
                f"Available providers: '{', '.join(available_provider_names)}'",
                stacklevel=4,
            )
        if name in out:
            warnings.warn(f"Duplicate provider '{name}' encountered, ignoring.", stacklevel=4)
            continue
        out[name] = {str(key): str(value) for key, value in options.items()}
    return list(out), list(out.values())


def _by_policy(options: SessionOptions) -> list[Any]:
    devices = _devices.get_ep_devices()
    if callable(options._policy):
        return options._policy(devices, {}, {}, 8)
    kinds = OrtHardwareDeviceType
    first = {
        OrtExecutionProviderDevicePolicy.PREFER_NPU: kinds.NPU,
        OrtExecutionProviderDevicePolicy.MAX_EFFICIENCY: kinds.NPU,
        OrtExecutionProviderDevicePolicy.MIN_OVERALL_POWER: kinds.NPU,
        OrtExecutionProviderDevicePolicy.PREFER_GPU: kinds.GPU,
        OrtExecutionProviderDevicePolicy.MAX_PERFORMANCE: kinds.GPU,
    }.get(options._policy)
    return [device for device in devices if device.device.type == first]


def choose(options: SessionOptions, names: list[str], provider_options: list[dict[str, str]]) -> Chosen:
    """The providers to ask, by ONNX Runtime's names; CPUExecutionProvider comes last, as there."""
    available = _devices.get_available_providers()
    wanted = list(zip(names, provider_options, strict=True)) or options._providers
    if not wanted and options._policy is not None:
        wanted = [(device._instance, {}) for device in _by_policy(options)]
        available += [name for name, _ in wanted]
    chosen = [(name, given) for name, given in wanted if name in available]
    if not any(name == "CPUExecutionProvider" for name, _ in chosen):
        if options._entries.get("session.disable_cpu_ep_fallback") == "1" and chosen:
            return chosen
        chosen.append(("CPUExecutionProvider", {}))
    return chosen


def _order(chosen: Chosen, options: SessionOptions, config: dict[str, Any]) -> list[str]:
    order: list[str] = []
    devices = {device.ep_name: device._instance for device in options._devices}
    for name, given in chosen:
        provider = _devices.id_of(name)
        known: set[str] = set()
        for found in _devices.usable():
            if found.id == provider:
                known = {option["name"] for option in found.details.get("options", [])}
        for key, value in given.items():
            if key in known:
                config[f"provider.{provider}.options.{key}"] = _value(value)
            elif key == "device_id" and provider != "cpu":
                provider = f"{provider}/gpu:{value}"
            elif key == "gpu_mem_limit":
                config["memory.device_limit"] = int(value)
            elif key not in HINT_OPTIONS:
                warn_once(f"the provider option '{key}' of {name}", "`tenon providers show ID` lists those of Tenon's provider")
        if provider == "cpu":
            order += [extra for extra in _devices.on_processor() if extra not in order]
        else:
            order.append(devices.get(name, provider))
    return order


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return int(text)
    except ValueError:
        return text


def config_of(options: SessionOptions, chosen: Chosen, disabled: Any) -> tenon.Config:
    """The config of a session. What has no effect warns once; what cannot be done raises."""
    config: dict[str, Any] = {}
    config["select.order"] = _order(chosen, options, config)
    threads = options.intra_op_num_threads
    if threads == 0 and not options.use_per_session_threads:
        threads = _environment.global_threads()
    if threads > 0:
        config["threads.count"] = threads
    if options.graph_optimization_level == GraphOptimizationLevel.ORT_DISABLE_ALL:
        config["transforms.disable"] = ["*"]
    if options.use_deterministic_compute:
        config["precision.deterministic"] = True
    if options.execution_mode == ExecutionMode.ORT_PARALLEL:
        warn_once(str(options.execution_mode), WARNS[str(options.execution_mode)])
    if options.execution_order != ExecutionOrder.DEFAULT:
        warn_once(str(options.execution_order), WARNS[str(options.execution_order)])
    if disabled:
        warn_once("disabled_optimizers", "they are names of ONNX Runtime's passes; transforms.disable of the config has Tenon's")
    for key, value in options._entries.items():
        if key == "session.load_model_format" and value.upper() == "ORT":
            raise make(NotImplemented, "models in the ORT format are not supported; use the ONNX file that it was made of")
        if key == "session.set_denormal_as_zero" and value == "0":
            continue
        if key not in HINTS:
            warn_once(f"the session config entry '{key}'", "it is a setting of ONNX Runtime's")
    return tenon.Config(config)
