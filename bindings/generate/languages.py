"""The list of languages. Each has a module here that defines its LANGUAGE."""
from . import rust

LANGUAGES = (rust.LANGUAGE,)
