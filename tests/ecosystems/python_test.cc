// pip, Poetry and PDM as the distribution packages them, offline.
#include "ecosystems/checkout.h"

namespace cordon::test {
namespace {
using testing::HasSubstr;

CORDON_PROMISE(PythonTools);

constexpr const char* kExtension = R"(#include <Python.h>
static PyObject *answer(PyObject *self, PyObject *none) { return PyLong_FromLong(42); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, 0}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "ext", 0, -1, methods};
PyMODINIT_FUNC PyInit_ext(void) { return PyModule_Create(&module); }
)";

TEST_P(PythonTools, PipBuildsAWheelWithACompiledExtensionFromSource) {
  const Checkout project(scene, {"p.egg-info"});
  project.file("pyproject.toml",
               "[build-system]\nrequires = [\"setuptools\"]\nbuild-backend = \"setuptools.build_meta\"\n");
  project.file("setup.py",
               "import os\nfrom setuptools import setup, Extension\nos.system('sh evil.sh')\n"
               "setup(name='p', version='1', ext_modules=[Extension('ext', ['ext.c'])])\n");
  project.file("ext.c", kExtension);
  project.plant("build");
  project.commit();
  const Finished made = project.run({"python3", "-m", "venv", "--system-site-packages", ".venv"});
  EXPECT_EQ(made.code, 0) << made;
  const Finished installed = project.run({"./.venv/bin/pip", "install", "--no-index", "--no-build-isolation", "."});
  EXPECT_EQ(installed.code, 0) << installed;
  const std::string use = "import ext; print(ext.answer(), ext.__file__.startswith('" + project.path() + "/.venv/'))";
  EXPECT_EQ(project.outside("cd / && " + project.path() + "/.venv/bin/python -c \"" + use + "\"").out, "42 True\n")
      << installed;
  const Finished used = project.run({"./.venv/bin/python", "-P", "-c", use});
  EXPECT_EQ(used.out, "42 True\n") << used;
  project.expect_held();
}

TEST_P(PythonTools, PoetryInstallsTheProjectIntoAnEnvironmentOfItsOwn) {
  const Checkout project(scene, {"dist"});
  project.file("pyproject.toml",
               "[tool.poetry]\nname = \"p\"\nversion = \"0.1.0\"\ndescription = \"\"\nauthors = [\"a <a@b.c>\"]\n"
               "[tool.poetry.dependencies]\npython = \"^3.9\"\n"
               "[build-system]\nrequires = [\"poetry-core\"]\nbuild-backend = \"poetry.core.masonry.api\"\n");
  project.file("p/__init__.py", "x = 1\n");
  project.file("use.py", "import os, p, sys\nos.system('sh evil.sh')\nprint(p.x, 'pypoetry' in sys.prefix)\n");
  project.plant("build");
  project.commit();
  const Finished installed = project.run({"poetry", "install", "-n"});
  EXPECT_EQ(installed.code, 0) << installed;
  EXPECT_TRUE(project.has("poetry.lock")) << installed;
  EXPECT_FALSE(scene.tree().exists("home/.cache/pypoetry")) << "the environment is the project's own";
  const Finished used = project.run({"poetry", "run", "python", "use.py"});
  EXPECT_EQ(used.out, "1 True\n") << used;
  project.expect_held({"poetry.lock"});
}

TEST_P(PythonTools, PdmMakesALockFileAndAnEnvironment) {
  const Checkout project(scene, {"dist"});
  project.file("pyproject.toml",
               "[project]\nname = \"p\"\nversion = \"1\"\nrequires-python = \">=3.9\"\ndependencies = []\n"
               "[tool.pdm.scripts]\nuse = \"python use.py\"\n");
  project.file("use.py", "import os, sys\nos.system('sh evil.sh')\nprint(sys.prefix)\n");
  project.plant("build");
  project.commit();
  const Finished made = project.run({"python3", "-m", "venv", "--without-pip", ".venv"});
  EXPECT_EQ(made.code, 0) << made;
  const Finished installed = project.command({"pdm", "install", "--no-self"}).env("PDM_CHECK_UPDATE", "0").run();
  EXPECT_EQ(installed.code, 0) << installed;
  EXPECT_TRUE(project.has("pdm.lock")) << installed;
  const Finished used = project.command({"pdm", "run", "use"}).env("PDM_CHECK_UPDATE", "0").run();
  EXPECT_THAT(used.out, HasSubstr(project.path() + "/.venv\n")) << used;
  project.expect_held({"pdm.lock"});
}

}  // namespace
}  // namespace cordon::test
