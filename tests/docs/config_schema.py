#!/usr/bin/env python3
"""config_schema.py TENON: the JSON Schema of the config says what `tenon config check` says.

It is valid by its own rules; every config of the documents and of these tables that Tenon takes passes it; what is wrong is refused by both,
but for the rows of ONLY_TENON, which no schema can judge.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

import jsonschema

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "tools"))
import config_keys  # noqa: E402

TENON = ""

GOOD = """
schema = 1
select.order = ['acme/npu:0', 'cpu']
select.order = 'auto'
select.fallback = 'next'
provider.acme.version = '>=1.2, <2'
provider.acme.version = '=1.2.3-rc.1+build.5'
provider.acme.version = ' ^1 , * '
provider.acme.devices = ['npu:1', 'npu:0']
provider.acme.on_lost = 'restart'
provider.a-1_b = {}
provider.acme.options = { tiles = 4, name = 'x', deep = [1, 2] }
memory.host_limit = '1.5GiB'
memory.host_limit = ' 100 kB '
memory.host_limit = '.5MB'
memory.host_limit = '5'
memory.device_limit = 0
threads.count = 4096
discovery.scan_timeout = 3
discovery.scan_timeout = 0.1
discovery.search = ['/opt/providers']
shapes.input = [[1, 128], []]
shapes.input = { a = [[1]], b = [[2]] }
state.pairs = ['past_*=present_*', 'a=b']
state.pairs = []
placement = [{ match = { op = 'Conv' }, provider = 'cpu' }]
placement = [{ match = { op = ['Conv'], node = 'a.*', model = '*' }, provider = 'cpu', required = true }]
placement = []
precision.default = 'bf16'
limits.load_time = 2
profiling.file = ''
transforms.disable = ['*']
""".strip().splitlines()

BAD = """
schema = 2
schema = '1'
thread.count = 1
threads.cuont = 1
threads = 1
threads.count = '1'
threads.count = true
threads.count = 1.5
threads.count = -1
threads.count = 4097
discovery.scan_timeout = 0
discovery.scan_timeout = '3'
discovery.search = ['relative/folder']
discovery.search = '/opt'
discovery.allow = ['']
discovery.allow = [1]
discovery.trust = 'signature'
discovery.user = 1
select.order = []
select.order = 'cpu'
select.order = ['cpu', 'cpu']
select.order = ['/gpu:0']
select.fallback = 'nxt'
select.partition = 'price'
select.record_times = 1
provider = 1
provider.Acme.version = '1'
provider.-a.version = '1'
provider.acme = 1
provider.acme.verzion = '1'
provider.acme.version = 1
provider.acme.version = '>>1'
provider.acme.version = 'latest'
provider.acme.version = ''
provider.acme.options = 1
provider.acme.isolation = 'process'
memory.host_limit = -1
memory.host_limit = '-1GiB'
memory.host_limit = '4 parsecs'
memory.host_limit = 1.5
shapes.keep = 0
shapes.input = []
shapes.input = {}
shapes.input = [1]
shapes.input = [[-1]]
shapes.input = { a = [] }
state.pairs = 'a=b'
state.pairs = ['a']
state.pairs = ['a=']
state.pairs = ['=b']
state.pairs = ['a=b=c']
state.pairs = ['a*=b']
state.pairs = ['a**=b**']
placement = { match = { op = 'Conv' }, provider = 'cpu' }
placement = [1]
placement = [{ provider = 'cpu' }]
placement = [{ match = {}, provider = 'cpu' }]
placement = [{ match = { op = [] }, provider = 'cpu' }]
placement = [{ match = { op = 1 }, provider = 'cpu' }]
placement = [{ match = { op = 'Conv' } }]
placement = [{ match = { op = 'Conv' }, provider = '' }]
placement = [{ match = { opp = 'Conv' }, provider = 'cpu' }]
placement = [{ match = { op = 'Conv' }, provider = 'cpu', require = true }]
placement = [{ match = { op = 'Conv' }, provider = 'cpu', required = 1 }]
upgrade.mode = 'migrate'
profiling.file = 1
""".strip().splitlines()

# Wrong, and beyond what a schema can tell.
ONLY_TENON = """
placement = [{ match = { node = '(' }, provider = 'cpu' }]
shapes.input = { a = [[1]], b = [[1], [2]] }
provider.acme.version = '01.2'
""".strip().splitlines()


def documented() -> list[tuple[str, str]]:
    return [(f"{page.name} {number}", text) for page in [REPO / "README.md", *sorted((REPO / "docs").glob("*.md"))]
            for number, text in enumerate(re.findall(r"^```toml\n(.*?)^```", page.read_text(), re.S | re.M))]


class ConfigSchema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = config_keys.schema(TENON)
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def passes_schema(self, text: str) -> bool:
        return jsonschema.Draft202012Validator(self.schema).is_valid(tomllib.loads(text))

    def passes_tenon(self, text: str) -> bool:
        """Whether the file is read: providers that are not there are no matter of its form."""
        path = Path(self.folder.name) / "c.toml"
        path.write_text(text)
        done = subprocess.run([TENON, "config", "show", "--config", path], capture_output=True, text=True, check=False)
        self.assertIn(done.returncode, (0, 11), done.stderr)
        return done.returncode == 0

    def test_it_is_a_schema_of_the_draft_that_it_names(self):
        self.assertEqual(self.schema["$schema"], "https://json-schema.org/draft/2020-12/schema")
        jsonschema.Draft202012Validator.check_schema(self.schema)

    def test_every_key_has_type_and_meaning_and_a_default_that_fits(self):
        keys = config_keys.keys(self.schema)
        self.assertGreater(len(keys), 30)
        for name, key in keys.items():
            self.assertTrue(key["title"] and key["description"], name)
            if "default" in key:
                jsonschema.Draft202012Validator(key).validate(key["default"])

    def test_the_examples_of_the_documents_pass(self):
        examples = documented()
        self.assertGreater(len(examples), 4)
        for name, text in examples:
            with self.subTest(name):
                self.assertTrue(self.passes_schema(text))

    def test_what_tenon_takes_passes(self):
        for text in GOOD:
            with self.subTest(text):
                self.assertTrue(self.passes_tenon(text))
                self.assertTrue(self.passes_schema(text))

    def test_what_is_wrong_is_refused_by_both(self):
        for text in BAD:
            with self.subTest(text):
                self.assertFalse(self.passes_tenon(text))
                self.assertFalse(self.passes_schema(text))

    def test_what_only_tenon_can_tell_passes_the_schema(self):
        for text in ONLY_TENON:
            with self.subTest(text):
                self.assertFalse(self.passes_tenon(text))
                self.assertTrue(self.passes_schema(text))


if __name__ == "__main__":
    TENON = sys.argv.pop(1)
    unittest.main()
