"""The list of languages. Each has a module here that defines its LANGUAGE."""
from . import go, java, rust

LANGUAGES = (go.LANGUAGE, java.LANGUAGE, rust.LANGUAGE)
