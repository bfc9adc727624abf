"""What is only shown: lists, histories, explanations, figures.  Nothing here writes.

Functions return frozen records, for the command line as for any other reader.  Their fields are
named as in `-o json`, and in that order.  A time is aware and in UTC; a state is an enum of
`headway.domain.states`; what is not there, or not yet, is None.
"""
