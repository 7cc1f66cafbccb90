package dissect
