"""The part of JSON schema by which params are checked."""
