"""What is made of the definition of a special function: documentation, signature, promotion, errors."""

import doctest
import importlib
import inspect
import pickle
import pkgutil
from typing import get_type_hints

import numpy as np
import pytest

import tangrad
from tangrad._scipy import special_functions
from tangrad._scipy.definitions import defined
from tangrad.core import dtypes
from tangrad.scipy import special
from tangrad.typing import ArrayLike

MODULES = [
    importlib.import_module(f"{special_functions.__name__}.{one.name}")
    for one in pkgutil.iter_modules(special_functions.__path__)
]
DEFINITIONS = {
    name: value.definition
    for module in MODULES
    for name, value in vars(module).items()
    if getattr(getattr(value, "definition", None), "module", "") == module.__name__
}
NAMES = sorted(DEFINITIONS)


def test_definitions_are_public_by_their_names():
    assert len(NAMES) > 30 and {"entr", "xlogy", "gammaln", "ndtr"} <= set(NAMES)
    for name, definition in DEFINITIONS.items():
        assert definition.name == name
        assert inspect.unwrap(getattr(special, name)).__module__ == definition.module


@pytest.mark.parametrize("name", NAMES)
def test_documentation_signature_and_source(name):
    public, definition = getattr(special, name), DEFINITIONS[name]
    found = doctest.DocTestParser().get_doctest(public.__doc__, {}, name, None, 0)
    assert found.examples
    assert doctest.DocTestRunner(verbose=False).run(found, out=lambda text: None).failed == 0
    parameters = inspect.signature(public).parameters
    assert tuple(parameters) == definition.arguments
    hints = get_type_hints(inspect.unwrap(public))
    assert hints.pop("return") is tangrad.Array and set(map(str, hints.values())) == {str(ArrayLike)}
    assert f"def {name}(" in inspect.getsource(public)
    assert pickle.loads(pickle.dumps(public)) is public


@pytest.mark.parametrize("name", NAMES)
def test_dtypes_shapes_and_batches(name):
    public, at = getattr(special, name), DEFINITIONS[name].at
    single = public(*[np.float32(value) for value in at])
    for dtype in ("float16", "bfloat16", "float32"):
        found = public(*[tangrad.numpy.full((2, 3), value, dtype) for value in at])
        assert found.dtype == dtype and found.shape == (2, 3)
        eps = float(dtypes.finfo(found.dtype).eps)
        np.testing.assert_allclose(np.asarray(found, "float64"), np.full((2, 3), float(single)), 30 * eps, 4 * eps)
    for dtype in ("bool", "int8", "int32"):
        assert public(*[np.ones(2, dtype) for _ in at]).dtype == "float32"
    if DEFINITIONS[name].complex_too:
        assert public(*[np.complex64(0.4 + 0.1j) for _ in at]).dtype == "complex64"
    mapped = tangrad.jit(tangrad.vmap(public))(*[np.full(3, value, "float32") for value in at])
    np.testing.assert_allclose(mapped, np.full(3, float(single)), 1e-5, 1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_bad_arguments_are_named(name):
    public, definition = getattr(special, name), DEFINITIONS[name]
    for place in range(len(definition.at)):
        for wrong in ["a", [1.0], *([] if definition.complex_too else [1j])]:
            with pytest.raises(TypeError, match=rf"^{name} "):
                public(*definition.at[:place], wrong, *definition.at[place + 1 :])
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'nothing'"):
        public(*definition.at, nothing=1)
    with pytest.raises(TypeError, match=rf"^{name}\(\) missing {len(definition.at)} required positional argument"):
        public()
    if len(definition.at) > 1:
        with pytest.raises(ValueError, match=rf"^{name} got shapes"):
            public(np.ones(2), *[np.ones(3)] * (len(definition.at) - 1))


def test_a_definition_makes_a_function():
    @defined(2.0, 3.0, gives="7.00", weak="never", returns="as it should be", y="what is added")
    def plus_one(x: ArrayLike, y: ArrayLike) -> tangrad.Array:
        """2x + y."""
        return 2 * tangrad.numpy.asarray(x) + y

    assert plus_one(1, y=np.float16([1.0, 2.0])).dtype == "float16"
    assert not plus_one(1.0, 2.0).aval.weak_type
    np.testing.assert_allclose(plus_one(np.arange(2), 1.0), [1.0, 3.0])
    text = inspect.getdoc(plus_one)
    for line in ("2x + y.", "    x: an array or number, real; ", "    y: what is added.", "shape; as it should be."):
        assert line in text
    assert text.rstrip().endswith(">>> f\"{plus_one(2.0, 3.0):.2f}\"\n'7.00'")
