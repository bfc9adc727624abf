"""The operators that come with Headway, one module each."""
