"""`kubectl headway`: what operators ask and do, by kubectl, in a release of the chart."""
