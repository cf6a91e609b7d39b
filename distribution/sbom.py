"""A bill of materials (CycloneDX 1.5, JSON) of what an environment holds: `make sbom`."""

import json
import re
import sys
import uuid
from importlib.metadata import distributions

_BESIDE = {"pip", "setuptools", "wheel"}
"""What venv itself puts there."""


def _plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def _component(one):
    name, about = _plain(one.metadata["Name"]), one.metadata
    made = {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{one.version}",
        "name": name,
        "version": one.version,
        "purl": f"pkg:pypi/{name}@{one.version}",
    }
    licence = about.get("License-Expression") or about.get("License") or ""
    if licence and "\n" not in licence:
        key = "expression" if about.get("License-Expression") else "license"
        made["licenses"] = [{key: licence if key == "expression" else {"name": licence}}]
    return made


def bill(folder):
    """Return the bill of a folder of installed packages, the same for the same packages."""
    found = {_plain(one.metadata["Name"]): one for one in distributions(path=[str(folder)])}
    found = {name: found[name] for name in sorted(found) if name not in _BESIDE}
    parts = {name: _component(one) for name, one in found.items()}
    needs = {
        name: sorted({
            _plain(re.match(r"[\w.-]+", line)[0])
            for line in one.requires or () if "extra ==" not in line
        } & found.keys())
        for name, one in found.items()
    }  # fmt: skip
    own = {**parts.pop("rpac"), "type": "application"}
    stamp = json.dumps([own, *parts.values()], sort_keys=True)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, stamp)}",
        "version": 1,
        "metadata": {"component": own},
        "components": [*parts.values()],
        "dependencies": [
            {"ref": _ref(found[name]), "dependsOn": [_ref(found[need]) for need in needs[name]]}
            for name in found
        ],
    }


def _ref(one):
    return f"pkg:pypi/{_plain(one.metadata['Name'])}@{one.version}"


if __name__ == "__main__":
    print(json.dumps(bill(sys.argv[1]), indent=1))
