"""The list of languages. Each has a module here that defines its LANGUAGE."""
from . import go, rust

LANGUAGES = (go.LANGUAGE, rust.LANGUAGE)
