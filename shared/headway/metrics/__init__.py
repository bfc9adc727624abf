"""All metrics of Headway: what is declared here is counted by services, and shown at /metrics.

    pass, supervisor, manager ──inc, set, observe──▶ Counter, Gauge, Histogram ──▶ exposition

One module for each subject declares what there is: name, type, labels, unit, help, and which
services show it.  To count needs nothing but this package; what writes the page is imported only
where there is a port to ask at.
"""
