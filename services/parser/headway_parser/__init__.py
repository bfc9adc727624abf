"""The parser service: DAG files in, serialized DAG versions out."""
