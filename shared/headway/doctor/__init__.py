"""What `headway doctor` looks at: one function a check, one module a group of checks.

    finding    what a check returns
    examine    all checks, in their order; what the database is asked, and what it is not

To add a check, write a function in the module of its group and name it in the tuple at that
module's end.  A new module is named in `examine`.  A check of a module of `IN_DATABASE` gets a
`Subject` and a transaction of its own; it only reads, as any role may run it.
docs/doctor.md lists the checks.
"""
