"Build and packaging. All settings live in settings.ini; edit them there."

import re
import shlex
import shutil
from configparser import ConfigParser
from pathlib import Path

import setuptools
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
config = ConfigParser(delimiters=["="])
config.read(ROOT / "settings.ini", encoding="utf-8")
settings = config["DEFAULT"]
SPDX = {"apache2": "Apache-2.0"}
STATUS = {"3": "3 - Alpha", "4": "4 - Beta", "5": "5 - Production/Stable"}
BRANCH = settings["branch"]
SHIPPED = ("data", "docs", "nbs/reports")  # read by the library, kept outside it in the repository
NOT_SHIPPED = (
    "__pycache__",
    ".ipynb_checkpoints",
    *("*.py", "library_pages"),  # of docs/: programs for a clone, and what they read
    *("overview.png", "published.png"),  # the pictures of the README
)


def requirements(key: str) -> list[str]:
    "The space separated specifications under `key`."
    return shlex.split(settings.get(key) or "")


def readme_for_an_index() -> str:
    "The README with whole addresses: who reads it on PyPI has no repository around it."
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    inside = r"\]\((?![a-z]+:|#)"  # a link that leads into the repository
    text = re.sub(rf"(!\[[^\]]*){inside}", rf"\1]({settings['git_url']}/raw/{BRANCH}/", text)
    return re.sub(inside, f"]({settings['git_url']}/blob/{BRANCH}/", text)


class BuildWithShippedFiles(build_py):
    "Copy data, report templates and site glue into the wheel as cogbias/_shipped."

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for folder in SHIPPED:
            target = Path(self.build_lib) / settings["lib_path"] / "_shipped" / Path(folder).name
            shutil.copytree(
                ROOT / folder,
                target,
                dirs_exist_ok=True,
                ignore=shutil.ignore_patterns(*NOT_SHIPPED),
            )


extras = {
    key.removesuffix("_requirements"): requirements(key)
    for key in settings
    if key.endswith("_requirements")
}
setuptools.setup(
    name=settings["lib_name"],
    version=settings["version"],
    description=settings["description"],
    keywords=settings["keywords"],
    author=settings["author"],
    author_email=settings["author_email"],
    url=settings["git_url"],
    license_expression=SPDX[settings["license"]],
    classifiers=[
        f"Development Status :: {STATUS[settings['status']]}",
        f"Intended Audience :: {settings['audience']}",
        f"Natural Language :: {settings['language']}",
        "Programming Language :: Python :: 3",
    ],
    packages=setuptools.find_packages(include=[settings["lib_path"], settings["lib_path"] + ".*"]),
    package_data={settings["lib_path"]: ["py.typed"]},
    install_requires=requirements("requirements"),
    extras_require=extras,
    python_requires=f">={settings['min_python']}",
    long_description=readme_for_an_index(),
    long_description_content_type="text/markdown",
    zip_safe=False,
    cmdclass={"build_py": BuildWithShippedFiles},
    entry_points={
        "console_scripts": shlex.split(settings["console_scripts"]),
        "inspect_ai": ["cogbias = cogbias.exchange.inspect_tasks"],
        "nbdev": [f"{settings['lib_path']}={settings['lib_path']}._modidx:d"],
    },
)
