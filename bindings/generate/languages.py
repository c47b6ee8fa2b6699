"""The list of languages. Each has a module here that defines its LANGUAGE."""
from . import go, java, python, rust

LANGUAGES = (go.LANGUAGE, java.LANGUAGE, python.LANGUAGE, rust.LANGUAGE)
