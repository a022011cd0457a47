"""Everything that varfocus installs has a licence that is allowed. `make licences` lists them."""

from licences import verdicts


def test_all_dependencies_have_permissive_licences():
    found = verdicts()
    assert {"numpy", "tifffile", "pillow"} <= set(found)
    assert {name: licence for name, (licence, fine) in found.items() if not fine} == {}
