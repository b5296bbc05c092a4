"""Devices, memories and providers, by ONNX Runtime's names."""

from __future__ import annotations

import functools
from typing import Any

import tenon

from ._enums import (
    OrtAllocatorType,
    OrtDeviceMemoryType,
    OrtDeviceVendorId,
    OrtHardwareDeviceType,
    OrtMemoryInfoDeviceType,
    OrtMemType,
)
from ._errors import raises

# Tenon's id of a provider -> ONNX Runtime's name. Others are called by their id.
NAMES = {
    "cpu": "CPUExecutionProvider",
    "onednn": "DnnlExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "opencl": "OpenCLExecutionProvider",
    "vulkan": "VulkanExecutionProvider",
}
IDS = {name: provider for provider, name in NAMES.items()}
ALL = (
    "NvTensorRTRTX Tensorrt CUDA MIGraphX OpenVINO Dnnl VitisAI QNN Nnapi VSINPU Js CoreML ACL Dml Rknpu WebNN WebGpu Xnnpack CANN "
    "Azure CPU"
).split()


@functools.cache
def _usable(scan: bool) -> tuple[tenon.Provider, ...]:
    return tuple(provider for provider in tenon.providers(scan=scan) if provider.verdict == "usable")


def usable(scan: bool = False) -> tuple[tenon.Provider, ...]:
    """The providers that sessions would use. Found once in a process; ``scan`` also says which devices they have."""
    return _usable(scan)


def forget() -> None:
    """The next call looks again."""
    _usable.cache_clear()


def name_of(provider: str) -> str:
    """ONNX Runtime's name of a provider of Tenon."""
    return NAMES.get(provider, provider)


def id_of(name: str) -> str:
    """Tenon's id of a provider, from ONNX Runtime's name or the id itself."""
    return IDS.get(name, name)


def on_processor() -> list[str]:
    """The ids that stand for "CPUExecutionProvider": those with the processor as their device, cpu last."""
    found = [p.id for p in usable() if p.id in ("onednn", "image", "cpu")]
    return [provider for provider in ("onednn", "image", "cpu") if provider in found]


def get_all_providers() -> list[str]:
    """Names of the execution providers of ONNX Runtime, whether or not Tenon has one in their place."""
    return [f"{name}ExecutionProvider" for name in ALL]


def get_available_providers() -> list[str]:
    """Providers that are installed and not refused, by ONNX Runtime's names; others by their id."""
    found = [name_of(p.id) for p in usable() if p.id not in ("cpu", "image")]
    return [*dict.fromkeys(found), "CPUExecutionProvider"]


def get_device() -> str:
    """ "GPU" when a provider of GPUs is usable, else "CPU"."""
    return "GPU" if any(p.id == "cuda" for p in usable()) else "CPU"


# ---- Places ----

_TYPES = {"cpu": 0, "cuda": 1, "gpu": 1, "dml": 1, "webgpu": 1, "fpga": 2, "npu": 3, "cann": 3}
_VENDORS = {"cuda": OrtDeviceVendorId.NVIDIA, "dml": OrtDeviceVendorId.MICROSOFT, "cann": OrtDeviceVendorId.HUAWEI}


def get_ort_device_type(device_type: str) -> int:
    """The number of a kind of device."""
    if device_type not in _TYPES:
        raise Exception("Unsupported device type: " + device_type)  # as ONNX Runtime does
    return _TYPES[device_type]


class OrtDevice:
    """A place of memory: kind of device, number, vendor."""

    _parts: tuple[int, ...]

    def __init__(self, c_ort_device: Any, *rest: Any) -> None:
        args = c_ort_device._parts if isinstance(c_ort_device, OrtDevice) and not rest else (c_ort_device, *rest)
        if len(args) == 3:
            args = (args[0], args[1], 0, args[2])
        if len(args) != 4 or not all(isinstance(arg, int) for arg in args):
            raise ValueError("`Provided object` needs to be of type `onnxruntime.capi.onnxruntime_pybind11_state.OrtDevice`")
        self._parts = args

    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int | OrtDeviceVendorId = -1) -> OrtDevice:
        """The device of a name such as "cpu" or "cuda"."""
        vendor = int(vendor_id) if vendor_id >= 0 else int(_VENDORS.get(ort_device_name, 0))
        return OrtDevice(get_ort_device_type(ort_device_name), 0, vendor, device_id)

    def _get_c_device(self) -> OrtDevice:
        return self

    def device_type(self) -> int:
        """Number of the kind."""
        return self._parts[0]

    def device_mem_type(self) -> int:
        """Kind of its memory."""
        return self._parts[1]

    mem_type = device_mem_type

    def device_vendor_id(self) -> int:
        """PCI vendor; 0: none."""
        return self._parts[2]

    vendor_id = device_vendor_id

    def device_id(self) -> int:
        """Number of the device."""
        return self._parts[3]

    @staticmethod
    def cpu() -> int:
        """The number of a kind, as the next ones."""
        return 0

    @staticmethod
    def cuda() -> int:
        """See cpu."""
        return 1

    @staticmethod
    def gpu() -> int:
        """See cpu."""
        return 1

    @staticmethod
    def dml() -> int:
        """See cpu."""
        return 1

    @staticmethod
    def webgpu() -> int:
        """See cpu."""
        return 1

    @staticmethod
    def fpga() -> int:
        """See cpu."""
        return 2

    @staticmethod
    def npu() -> int:
        """See cpu."""
        return 3

    @staticmethod
    def cann() -> int:
        """See cpu."""
        return 3

    @staticmethod
    def default_memory() -> int:
        """The kind of memory."""
        return 0


class OrtMemoryInfo:
    """Describes a kind of memory."""

    def __init__(self, name: str, allocator_type: OrtAllocatorType, device_id: int, mem_type: OrtMemType, /) -> None:
        self.name = name
        self.allocator_type = OrtAllocatorType(allocator_type)
        self.device_id = device_id
        self.mem_type = OrtMemType(mem_type)
        self.device_mem_type = OrtDeviceMemoryType.DEFAULT
        self.device_vendor_id = 0

    @staticmethod
    def create_v2(
        name: str,
        device_type: OrtMemoryInfoDeviceType,
        vendor_id: int,
        device_id: int,
        mem_type: OrtDeviceMemoryType,
        alignment: int,
        allocator_type: OrtAllocatorType,
        /,
    ) -> OrtMemoryInfo:
        """The same with a vendor and a kind of device."""
        OrtMemoryInfoDeviceType(device_type)
        out = OrtMemoryInfo(name, allocator_type, device_id, OrtMemType.DEFAULT)
        out.device_mem_type = OrtDeviceMemoryType(mem_type)
        out.device_vendor_id = vendor_id
        return out


def host_memory() -> OrtMemoryInfo:
    """The memory of the host, as ONNX Runtime names it."""
    return OrtMemoryInfo("Cpu", OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, OrtMemType.DEFAULT)


# ---- Devices that were found ----


class OrtHardwareDevice:
    """A device of the machine."""

    def __init__(self, kind: str, vendor: str, number: int, metadata: dict[str, str]) -> None:
        self.type = {"gpu": OrtHardwareDeviceType.GPU, "npu": OrtHardwareDeviceType.NPU}.get(kind, OrtHardwareDeviceType.CPU)
        self.vendor = vendor
        self.vendor_id = next((int(v) for v in OrtDeviceVendorId if v.name.lower() in vendor.lower() and v), 0)
        self.device_id = number
        self.metadata = metadata


class OrtSyncStream:
    """A stream of a device. Tenon's Runs have streams of their own, so there is none to give."""

    @raises("OrtSyncStream.get_handle", "Runs use streams of their own")
    def get_handle(self) -> int:
        """Not supported."""
        raise NotImplementedError


class OrtEpDevice:
    """A device of a provider; SessionOptions.add_provider_for_devices takes it."""

    def __init__(self, provider: tenon.Provider, device: dict[str, Any], number: int) -> None:
        self.ep_name = name_of(provider.id)
        self.ep_vendor = provider.vendor
        self.ep_metadata = {"version": provider.version}
        self.ep_options: dict[str, str] = {}
        self.device = OrtHardwareDevice(
            device.get("kind", "cpu"), device.get("vendor", ""), number, {"name": device.get("name", ""), "pci": device.get("pci", "")}
        )
        self._instance = f"{provider.id}/{device['selector']}"

    def memory_info(self, kind: OrtDeviceMemoryType, /) -> OrtMemoryInfo | None:
        """None for the processor, as there."""
        OrtDeviceMemoryType(kind)
        return None

    @raises("OrtEpDevice.create_sync_stream", "Runs use streams of their own")
    def create_sync_stream(self) -> OrtSyncStream:
        """Not supported."""
        raise NotImplementedError


def get_ep_devices() -> list[OrtEpDevice]:
    """Every device of every usable provider."""
    return [
        OrtEpDevice(provider, device, number)
        for provider in usable(scan=True)
        if provider.id != "image"
        for number, device in enumerate(provider.details.get("devices", []))
    ]


def get_hardware_devices() -> list[OrtHardwareDevice]:
    """The devices of all providers."""
    return [device.device for device in get_ep_devices()]
