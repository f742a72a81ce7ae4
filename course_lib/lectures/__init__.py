"""One folder a lecture, one file a section: the experiment, its result, its drawing."""
