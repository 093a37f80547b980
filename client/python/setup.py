"""Built by `./dev python`, which puts libbandana.so.0 and schema.sql into the package first."""

from setuptools import Distribution, setup
from wheel.bdist_wheel import bdist_wheel


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return True


class ForAnyPython(bdist_wheel):
    """The library is C and is loaded by ctypes: one wheel for every Python of this platform."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


with open("VERSION", encoding="utf-8") as file:
    version = file.read().strip()

setup(
    name="bandana",
    version=version,
    description="Recommendations that learn what users like without learning what they did",
    license="Apache-2.0",
    python_requires=">=3.11",
    packages=["bandana"],
    package_data={"bandana": ["libbandana.so.0", "schema.sql", "py.typed"]},
    distclass=WithLibrary,
    cmdclass={"bdist_wheel": ForAnyPython},
)
